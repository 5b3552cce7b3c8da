"""The body of a function: where it ends, also where braces are missing or too many."""

from __future__ import annotations

from polylsp.frontends.c.item_scan import Brace, Conditional, ItemScan
from polylsp.frontends.c.layout import BODY_EVENT, DEFINITE, DIRECTIVE, directive_word, starts_line
from polylsp.frontends.c.scanner import Cut


def scan_body(scan: ItemScan, at: int) -> Cut | int:
    """The function whose body starts at `at`; where its header starts anew, as in the other branch of
    an `#if`, that offset."""
    text, search = scan.text, BODY_EVENT.search
    opened = scan.opened
    own_column = opened is None or starts_line(text, opened.at) or scan.column_zero(scan.start)
    fallback = -1  # where the function ends if nothing says that its last brace was surplus
    while event := search(text, at):
        mark, where = text[event.start()], event.start()
        at = event.end()
        if mark == "{":
            opened = Brace(where, opened)
        elif mark == "}":
            column_zero = where == 0 or text[where - 1] == "\n"
            if fallback >= 0 and column_zero:
                return scan.leave("function", at)
            opener, opened = (opened.at, opened.around) if opened else (where, None)
            if opened is None:
                if fallback >= 0:
                    continue
                if scan.conditionals and _continues(scan, at):
                    continue
                if column_zero or not own_column or not _surplus(scan, at):
                    return scan.leave("function", at)
                fallback = at
            elif column_zero and not scan.column_zero(opener) and _begins_item(scan, at):
                return scan.leave("function", at)
        elif mark == "/":
            at = scan.scanner.comment_end(where) if text[where + 1] == "*" else at
        elif mark == "\n" and at > where + 1:
            directive = DIRECTIVE.match(text, where + 1)
            assert directive is not None
            at = directive.end()
            scan.opened = opened
            if _body_directive(scan, where + 1, at):
                return at
            opened = scan.opened
            if opened is None and not scan.conditionals and fallback < 0:
                return scan.leave("function", at)
        elif mark == "\n" and scan.scanner.at_header(at):
            return scan.leave("function", fallback if fallback >= 0 else where)
    scan.scanner.look(len(text) + 1)
    return scan.leave("function", fallback if fallback >= 0 else len(text))


def _body_directive(scan: ItemScan, start: int, end: int) -> bool:
    """Follow a directive in the body; true if the function's header starts anew after it."""
    word = directive_word(scan.text, start)
    if word not in ("pragma", "line"):
        scan.pieces.append("\n" + scan.text[start:end].rstrip() + "\n")
    if word in ("if", "ifdef", "ifndef"):
        scan.conditionals.append(Conditional(scan.opened, 0))
    elif word in ("else", "elif", "elifdef", "elifndef"):
        if not scan.conditionals:
            if scan.merge_back():
                scan.opened = None
                scan.copied = end
                scan.parens = 0
                # What the first branch left open is what the function has open after `#endif`.
                scan.conditionals[-1].ended = False
                return True
            return False
        top = scan.conditionals[-1]
        if not top.ended:
            top.after, top.ended = scan.opened, True
        scan.opened = top.opened
    elif word == "endif" and scan.conditionals:
        top = scan.conditionals.pop()
        if top.ended:
            scan.opened = top.after
    return False


def _continues(scan: ItemScan, at: int) -> bool:
    """True if another branch or the end of the conditional follows."""
    following = scan.next(at)
    if scan.text[following : following + 1] not in ("#", "%"):
        return False
    return directive_word(scan.text, following) in ("else", "elif", "elifdef", "elifndef", "endif")


def _surplus(scan: ItemScan, at: int) -> bool:
    """True if the text continues like the inside of a function: indented, on a later line."""
    following = scan.next(at)
    text = scan.text
    if following >= len(text) or text[following] in "#%" or scan.column_zero(following):
        return False
    if "\n" not in text[at:following]:
        return False
    line = scan.scanner.line_start(following)
    return line < following and not text[line:following].strip() and not scan.scanner.at_header(following)


def _begins_item(scan: ItemScan, at: int) -> bool:
    """True if a new top-level item clearly starts after this."""
    following = scan.next(at)
    if following >= len(scan.text):
        return True
    if not scan.column_zero(following):
        return False
    scan.scanner.look(following + 10)
    if scan.text[following] == "#":
        return directive_word(scan.text, following) in ("include", "define", "undef")
    return DEFINITE.match(scan.text, following) is not None or scan.scanner.at_header(following)
