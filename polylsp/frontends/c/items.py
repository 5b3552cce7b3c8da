"""Scan of one item of a C file: its header up to `;` or `{`, and the body of a function.

Finds the end of a body also where braces are missing, surplus, or differ between the branches of
an `#if`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from polylsp.frontends.c.text_layout import (
    AGGREGATE,
    ATTRIBUTE_USE,
    BLOCK,
    BODY_EVENT,
    COMMENTS,
    DEFINITE,
    DIRECTIVE,
    EVENT,
    HEADER,
    LINKAGE,
    LOOK,
    OLD_STYLE_REST,
    OLD_STYLE_START,
    TYPE_WORD,
    Cut,
    Scanner,
    blanked,
    directive_end,
    directive_word,
    function_name,
    harmless_before,
    skip_blank,
    starts_line,
    trimmed,
)

if TYPE_CHECKING:
    from polylsp.frontends.c.outline import Item


@dataclass(frozen=True, slots=True)
class Brace:
    """An open brace, and the one around it: a list that conditionals share."""

    at: int
    around: Brace | None = None


@dataclass(slots=True)
class Conditional:
    """An `#if` inside an item: the innermost open brace at it, and at the end of its first branch, once
    that has `ended`."""

    opened: Brace | None
    parens: int
    after: Brace | None = None
    ended: bool = False


class ItemScan:
    """The scan of one item; `opened` is the innermost brace that is open."""

    def __init__(self, scanner: Scanner, start: int, items: Sequence[Item], starts: Sequence[int]) -> None:
        self.scanner = scanner
        self.text = scanner.text
        self.start = start
        self.items = items
        self.starts = starts
        self.merged = 0
        self.returned = False
        self.conditionals: list[Conditional] = []
        self.opened: Brace | None = None
        self.parens = 0
        self.pieces: list[str] = []  # of the skeleton, up to `copied`
        self.copied = start
        self.name = ""
        self.body = -1

    def merge_back(self) -> bool:
        """Take in the items since the `#if` whose `#else` was met, so that the item starts at it."""
        self.returned = True
        depth = 0
        for back in range(1, min(40, len(self.items) - self.merged) + 1):
            index = len(self.items) - self.merged - back
            item = self.items[index]
            if item.kind == "function":
                return False
            if item.kind != "directive":
                continue
            word = directive_word(item.text, 0)
            if word == "endif":
                depth += 1
            elif word in ("if", "ifdef", "ifndef"):
                if depth == 0:
                    self.merged += back
                    start = self.starts[index]
                    self.pieces.insert(0, self.text[start : self.start])
                    self.body += (self.start - start) if self.body >= 0 else 0
                    self.start = start
                    self.conditionals.append(Conditional(None, 0))
                    return True
                depth -= 1
        return False

    def without_semicolon(self, end: int) -> Cut:
        """The declaration that ends here, its semicolon missing."""
        text = self.text[self.start : end]
        return Cut("declaration", self.start, end, "", text + ";", -1, self.merged, self.returned)

    def leave(self, kind: Literal["function", "declaration", "stray"], end: int) -> Cut:
        """The item that ends here; an item with a body is a function, however it ends."""
        end = max(trimmed(self.text, self.start, end), self.start + 1)
        skeleton = None
        if kind == "function":
            skeleton = "".join(self.pieces)
        elif self.body >= 0:
            kind = "function"
            skeleton = "".join(self.pieces)
        name = self.name if kind == "function" else ""
        body = self.body if kind == "function" else -1
        return Cut(kind, self.start, end, name, skeleton, body, self.merged, self.returned)

    def next(self, at: int) -> int:
        """The next offset that is neither white space nor comment."""
        return skip_blank(self.scanner, at)

    def column_zero(self, at: int) -> bool:
        """True if the line of `at`, or the item if it starts in that line, begins in column 0."""
        line = self.scanner.line_start(at)
        if line < self.start:  # nothing before the item may matter: it would outdate on an edit there
            return False
        return not self.text[line : line + 1].isspace()

    def clean(self, begin: int, end: int) -> str:
        """The text between two offsets with blanks for comments, literals and directives."""
        text = self.text[begin:end]
        if "/" in text or '"' in text or "'" in text:
            text = COMMENTS.sub(blanked, text)
        if "#" in text:
            text = re.sub(rf"(?m)^{DIRECTIVE.pattern}", lambda match: " " * len(match.group()), text)
        return text


# --------------------------------------------------------------------------------------------------
# The header of an item: everything up to `;` or a function's brace.
# --------------------------------------------------------------------------------------------------


def scan_header(scan: ItemScan, at: int) -> Cut | int:
    """The item whose header starts at `at`; where a function's body starts, its offset."""
    header, search = _Header(scan, at, at), EVENT.search
    while event := search(scan.text, header.at):
        header.at = event.end()
        found = header.take(event.start())
        if found is not None:
            return found
    return scan.leave("stray", len(scan.text))


@dataclass(slots=True)
class _Header:
    """A header from `begin` on that is read up to `at`. `closed`: a parenthesis was; `assigned`: there was an
    equals sign outside of them. `passed` is where the last braces of a type or
    a value ended. What ends it is answered: the item, or where the function's body starts."""

    scan: ItemScan
    begin: int
    at: int
    closed: bool = False
    assigned: bool = False
    passed: int = -1

    def take(self, where: int) -> Cut | int | None:
        """Read a mark."""
        scan = self.scan
        match scan.text[where]:
            case "(":
                scan.parens += 1
            case ")":
                self.closed = True
                scan.parens = max(0, scan.parens - 1)
            case "=":
                self.assigned = self.assigned or scan.parens == 0
            case ";":
                return self._semicolon(where)
            case "{":
                return self._brace(where)
            case "}":
                return scan.leave("stray", where)
            case "/" if scan.text[where + 1] == "*":
                self.at = scan.scanner.comment_end(where)
            case "\n":
                return self._line_end(where)
            case _:
                pass
        return None

    def _semicolon(self, where: int) -> Cut | int | None:
        scan = self.scan
        if scan.parens == 0 and self.closed and not self.assigned:
            brace = _old_style_body(scan, self.begin, where)
            if brace >= 0:
                return _enter(scan, self.begin, brace, old_style=True)
        if scan.parens and BLOCK.match(scan.text, self.begin):
            return None
        return scan.leave("stray" if scan.parens else "declaration", self.at)

    def _brace(self, where: int) -> Cut | int | None:
        scan = self.scan
        split = _split(scan, self.begin, max(self.begin, self.passed), where)
        if split >= 0:
            return scan.leave("stray", split)
        if self.passed >= 0 and (self.assigned or not self.closed):
            return self._aggregate(where)
        role = _role(scan, self.begin, where, self.closed, self.assigned)
        if role == "linkage":
            return scan.leave("declaration", self.at)
        if role == "function":
            return _enter(scan, self.begin, where)
        if role == "block":
            return scan.leave("stray", _matching(scan, where)[0])
        return self._aggregate(where)

    def _aggregate(self, where: int) -> Cut | None:
        """Scan the braces of a type or of a value."""
        scan = self.scan
        self.at, broken = _matching(scan, where)
        self.passed = self.at
        if broken:
            return scan.leave("stray", self.at)
        after = scan.next(self.at)
        if scan.scanner.at_header(after) and starts_line(scan.text, after):
            return scan.without_semicolon(self.at)
        self.closed = self.closed and self.assigned
        return None

    def _line_end(self, where: int) -> Cut | None:
        scan = self.scan
        if self.at == where + 1:
            stray = scan.parens > 0 and scan.scanner.at_header(self.at)
            return scan.leave("stray", where) if stray else None
        directive = DIRECTIVE.match(scan.text, where + 1)
        assert directive is not None
        if not _header_directive(scan, where + 1):
            return scan.leave("stray", where)
        self.at = directive.end()
        return None


def _header_directive(scan: ItemScan, start: int) -> bool:
    """Take in a directive inside a header; false if it ends the header."""
    word = directive_word(scan.text, start)
    if word in ("if", "ifdef", "ifndef"):
        scan.conditionals.append(Conditional(scan.opened, scan.parens))
        return True
    if word in ("else", "elif", "elifdef", "elifndef"):
        if scan.conditionals:
            scan.parens = scan.conditionals[-1].parens
            return True
        return scan.merge_back()
    if word == "endif" and scan.conditionals:
        scan.conditionals.pop()
        return True
    return word in ("pragma", "line") and scan.parens > 0


def _old_style_body(scan: ItemScan, begin: int, semicolon: int) -> int:
    """The brace after the parameter declarations of an old-style definition, or -1."""
    header = scan.clean(begin, semicolon)
    if not OLD_STYLE_START.match(header.lstrip()) or header.lstrip().startswith("typedef"):
        return -1
    scan.scanner.look(semicolon + LOOK)
    rest = COMMENTS.sub(blanked, scan.text[semicolon : semicolon + LOOK])
    match = OLD_STYLE_REST.match(rest)
    return semicolon + match.end() - 1 if match else -1


def _split(scan: ItemScan, begin: int, passed: int, brace: int) -> int:
    """Start of a header that follows unfinished text on earlier lines, or -1; none starts before the braces
    that were `passed`."""
    text = scan.text
    nearest = max(passed, brace - LOOK)
    line = text.rfind("\n", nearest, brace)
    while line >= 0:
        if line + 1 < brace and (text[line + 1].isalpha() or text[line + 1] == "_"):
            header = HEADER.match(text, line + 1, min(brace + 1, line + 1 + LOOK))
            if header and header.end() == brace + 1:
                before = scan.clean(begin, line)
                own = text[line + 1 : brace].split("(")[0]
                has_type = len(own.split()) > 1 and TYPE_WORD.search(own)
                if has_type and not harmless_before(before):
                    return line
                return -1
        line = text.rfind("\n", nearest, line)
    return -1


def _role(scan: ItemScan, begin: int, brace: int, closed: bool, assigned: bool) -> str:
    header = scan.clean(begin, brace).strip()
    if BLOCK.match(header) or not header:
        return "block"
    if header.startswith("extern") and LINKAGE.fullmatch(scan.text[begin:brace].strip()):
        return "linkage"
    if assigned or not closed or header.startswith("typedef"):
        return "aggregate"
    bare = ATTRIBUTE_USE.sub(" ", header)
    if "(" not in bare:
        return "aggregate"
    tail = bare[bare.rfind(")") + 1 :].strip()
    if tail and AGGREGATE.search(bare[: bare.find("(")]):
        return "aggregate"
    return "function"


def _matching(scan: ItemScan, brace: int) -> tuple[int, bool]:
    """The end of the braces opened at `brace`, and whether they were never closed."""
    text, at, depth = scan.text, brace + 1, 1
    conditionals: list[int] = []
    while event := BODY_EVENT.search(text, at):
        mark, where = text[event.start()], event.start()
        at = event.end()
        if mark == "{":
            depth += 1
        elif mark == "}":
            depth -= 1
            if depth == 0:
                return at, False
        elif mark == "/" and text[where + 1] == "*":
            at = scan.scanner.comment_end(where)
        elif mark == "\n" and at > where + 1:
            directive = DIRECTIVE.match(text, where + 1)
            assert directive is not None
            at = directive.end()
            word = directive_word(text, where + 1)
            if word in ("if", "ifdef", "ifndef"):
                conditionals.append(depth)
            elif word in ("else", "elif") and conditionals:
                depth = conditionals[-1]
            elif word == "endif" and conditionals:
                conditionals.pop()
        elif mark == "\n" and scan.scanner.at_header(at):
            return where, True
    scan.scanner.look(len(text) + 1)
    return len(text), True


def _enter(scan: ItemScan, begin: int, brace: int, old_style: bool = False) -> int:
    """Note the signature of a function; the offset at which its body starts."""
    header = scan.clean(begin, brace)
    if not scan.name:
        scan.name = function_name(header)
        scan.body = brace - scan.start
    if old_style:
        specifiers = header[: header.rfind(scan.name, 0, header.find("(") + 1)].strip()
        scan.pieces += [scan.text[scan.copied : begin], f"{specifiers or 'int'} {scan.name}();"]
    else:
        signature = scan.text[scan.copied : brace].rstrip()
        scan.pieces += [signature, "\n;" if "#" in signature or "//" in signature else ";"]
    scan.opened = Brace(brace)
    return brace + 1


# --------------------------------------------------------------------------------------------------
# The body of a function: where it ends, also where braces are missing or too many.
# --------------------------------------------------------------------------------------------------


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
        scan.pieces.append("\n" + scan.text[start : directive_end(scan.text, start, end)] + "\n")
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
