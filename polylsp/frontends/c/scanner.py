"""Finds where a top-level item of a C file ends, by brackets and by the look of lines.

Recovery rests on layout: a line that starts in column 0 and looks like a function's header ends
whatever was left open before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from polylsp.frontends.c.layout import (
    AGGREGATE,
    ATTRIBUTE_USE,
    BLANK,
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
    blanked,
    directive_word,
    function_name,
    harmless_before,
    line_end,
    starts_line,
    trimmed,
)

if TYPE_CHECKING:
    from polylsp.frontends.c.outline import Item


@dataclass(frozen=True, slots=True)
class Cut:
    """One item: `[start, end)` of the text. `merged` items before it are now part of it; the
    skeleton is `None` where it is the text itself."""

    kind: Literal["function", "declaration", "directive", "stray"]
    start: int
    end: int
    name: str = ""
    skeleton: str | None = None
    body: int = -1
    merged: int = 0
    returned: bool = False


@dataclass(slots=True)
class Scanner:
    """The text being cut, and how far it was looked at since `reach` was last set."""

    text: str
    reach: int = 0
    comment_ends: dict[int, int] = field(default_factory=dict[int, int])

    def look(self, end: int) -> None:
        """Note that the text before `end` played a part in a decision."""
        if end > self.reach:
            self.reach = end

    def at_header(self, at: int) -> bool:
        """Whether a function's header starts here, up to its brace."""
        self.look(at + LOOK)
        return HEADER.match(self.text, at, at + LOOK) is not None

    def comment_end(self, at: int) -> int:
        """Where the `/*` comment at `at` ends. One that is never closed, or closed only beyond
        another comment and a function, ends with its line."""
        close = self.text.find("*/", at + 2)
        if close < 0:
            self.look(len(self.text) + 1)
            return line_end(self.text, at)
        self.look(close + 2)
        inner = self.text.find("/*", at + 2, close)
        if inner < 0 or "\n" not in self.text[at:inner]:
            return close + 2
        line = self.text.find("\n", at)
        while 0 <= line < inner:
            if self.at_header(line + 1):
                return line_end(self.text, at)
            line = self.text.find("\n", line + 1)
        return close + 2

    def cut(self, start: int, items: Sequence[Item], starts: Sequence[int]) -> Cut:
        """The item that starts at `start`, where something stands that is not blank."""
        text = self.text
        first = text[start]
        if first in "#%" and (first == "#" or text.startswith("%:", start)) and starts_line(text, start):
            directive = DIRECTIVE.match(text, start)
            assert directive is not None
            return Cut("directive", start, max(trimmed(text, start, directive.end()), start + 1))
        if first in "};)":
            return Cut("stray", start, start + 1)
        return _ItemScan(self, start, items, starts).run()


def skip_blank(scanner: Scanner, at: int) -> int:
    """The next offset that is neither white space nor comment."""
    text = scanner.text
    while True:
        blank = BLANK.match(text, at)
        if blank:
            at = blank.end()
        if not text.startswith("/*", at):
            scanner.look(at + 2)
            return at
        at = scanner.comment_end(at)


@dataclass(slots=True)
class _Conditional:
    """An `#if` inside an item: the open brackets at it, and at the end of its first branch."""

    opened: list[int]
    parens: int
    after: list[int] | None = None


class _ItemScan:
    """The scan of one item; `opened` are the offsets of the braces that are open."""

    def __init__(self, scanner: Scanner, start: int, items: Sequence[Item], starts: Sequence[int]) -> None:
        self.scanner = scanner
        self.text = scanner.text
        self.start = start
        self.items = items
        self.starts = starts
        self.merged = 0
        self.returned = False
        self.conditionals: list[_Conditional] = []
        self.opened: list[int] = []
        self.parens = 0
        self.pieces: list[str] = []  # of the skeleton, up to `copied`
        self.copied = start
        self.name = ""
        self.body = -1

    # --- The header: everything up to `;` or a function's brace ------------------------------

    def run(self) -> Cut:
        return self._header(self.start)

    def _header(self, at: int) -> Cut:
        text, search = self.text, EVENT.search
        closed = assigned = False
        begin = at
        while event := search(text, at):
            mark, where = text[event.start()], event.start()
            at = event.end()
            match mark:
                case "(":
                    self.parens += 1
                case ")":
                    closed = True
                    self.parens = max(0, self.parens - 1)
                case "=":
                    assigned = assigned or self.parens == 0
                case ";":
                    if self.parens == 0 and closed and not assigned:
                        brace = self._old_style_body(begin, where)
                        if brace >= 0:
                            return self._enter(begin, brace, old_style=True)
                    if self.parens and BLOCK.match(text, begin):
                        continue
                    return self._declaration(begin, at)
                case "{":
                    split = self._split(begin, where)
                    if split >= 0:
                        return self._leave("stray", split)
                    role = self._role(begin, where, closed, assigned)
                    if role == "linkage":
                        return self._leave("declaration", at)
                    if role == "function":
                        return self._enter(begin, where)
                    if role == "block":
                        return self._leave("stray", self._matching(where)[0])
                    at, broken = self._matching(where)
                    if broken:
                        return self._leave("stray", at)
                    begin_after = at
                    if self.scanner.at_header(self._next(begin_after)) and starts_line(
                        text, self._next(begin_after)
                    ):
                        return self._without_semicolon(begin_after)
                    closed = closed and assigned
                case "}":
                    return self._leave("stray", where)
                case "/":
                    at = self.scanner.comment_end(where) if text[where + 1] == "*" else at
                case "\n":
                    if at > where + 1:
                        directive = DIRECTIVE.match(text, where + 1)
                        assert directive is not None
                        if not self._header_directive(where + 1, directive.end()):
                            return self._leave("stray", where)
                        at = directive.end()
                    elif self.parens and self.scanner.at_header(at):
                        return self._leave("stray", where)
                case _:
                    pass
        return self._leave("stray", len(text))

    def _header_directive(self, start: int, end: int) -> bool:
        """Take in a directive inside a header; false if it ends the header."""
        word = directive_word(self.text, start)
        if word in ("if", "ifdef", "ifndef"):
            self.conditionals.append(_Conditional(list(self.opened), self.parens))
            return True
        if word in ("else", "elif", "elifdef", "elifndef"):
            if self.conditionals:
                self.parens = self.conditionals[-1].parens
                return True
            return self._merge_back()
        if word == "endif" and self.conditionals:
            self.conditionals.pop()
            return True
        return word in ("pragma", "line") and self.parens > 0

    def _merge_back(self) -> bool:
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
                    self.conditionals.append(_Conditional([], 0))
                    return True
                depth -= 1
        return False

    def _old_style_body(self, begin: int, semicolon: int) -> int:
        """The brace after the parameter declarations of an old-style definition, or -1."""
        header = self._clean(begin, semicolon)
        if not OLD_STYLE_START.match(header.lstrip()) or header.lstrip().startswith("typedef"):
            return -1
        self.scanner.look(semicolon + LOOK)
        rest = COMMENTS.sub(blanked, self.text[semicolon : semicolon + LOOK])
        match = OLD_STYLE_REST.match(rest)
        return semicolon + match.end() - 1 if match else -1

    def _split(self, begin: int, brace: int) -> int:
        """Where a header that follows unfinished text on earlier lines starts, or -1."""
        text = self.text
        line = text.rfind("\n", begin, brace)
        while line >= 0:
            if line + 1 < brace and (text[line + 1].isalpha() or text[line + 1] == "_"):
                header = HEADER.match(text, line + 1, min(brace + 1, line + 1 + LOOK))
                if header and header.end() == brace + 1:
                    before = self._clean(begin, line)
                    own = text[line + 1 : brace].split("(")[0]
                    has_type = len(own.split()) > 1 and TYPE_WORD.search(own)
                    if has_type and not harmless_before(before):
                        return line
                    return -1
            line = text.rfind("\n", begin, line)
        return -1

    def _role(self, begin: int, brace: int, closed: bool, assigned: bool) -> str:
        header = self._clean(begin, brace).strip()
        if BLOCK.match(header) or not header:
            return "block"
        if header.startswith("extern") and LINKAGE.fullmatch(self.text[begin:brace].strip()):
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

    def _matching(self, brace: int) -> tuple[int, bool]:
        """The end of the braces opened at `brace`, and whether they were never closed."""
        text, at, depth = self.text, brace + 1, 1
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
                at = self.scanner.comment_end(where)
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
            elif mark == "\n" and self.scanner.at_header(at):
                return where, True
        self.scanner.look(len(text) + 1)
        return len(text), True

    # --- The body of a function --------------------------------------------------------------

    def _enter(self, begin: int, brace: int, old_style: bool = False) -> Cut:
        header = self._clean(begin, brace)
        if not self.name:
            self.name = function_name(header)
            self.body = brace - self.start
        if old_style:
            specifiers = header[: header.rfind(self.name, 0, header.find("(") + 1)].strip()
            self.pieces += [self.text[self.copied : begin], f"{specifiers or 'int'} {self.name}();"]
        else:
            signature = self.text[self.copied : brace].rstrip()
            self.pieces += [signature, "\n;" if "#" in signature or "//" in signature else ";"]
        self.opened = [brace]
        return self._body(brace + 1)

    def _body(self, at: int) -> Cut:
        text, search = self.text, BODY_EVENT.search
        opened = self.opened
        own_column = starts_line(text, opened[0]) or self._column_zero(self.start)
        fallback = -1  # where the function ends if nothing says that its last brace was surplus
        while event := search(text, at):
            mark, where = text[event.start()], event.start()
            at = event.end()
            if mark == "{":
                opened.append(where)
            elif mark == "}":
                column_zero = where == 0 or text[where - 1] == "\n"
                if fallback >= 0 and column_zero:
                    return self._leave("function", at)
                opener = opened.pop() if opened else where
                if not opened:
                    if fallback >= 0:
                        continue
                    if self.conditionals and self._continues(at):
                        continue
                    if column_zero or not own_column or not self._surplus(at):
                        return self._leave("function", at)
                    fallback = at
                elif column_zero and not self._column_zero(opener) and self._begins_item(at):
                    return self._leave("function", at)
            elif mark == "/":
                at = self.scanner.comment_end(where) if text[where + 1] == "*" else at
            elif mark == "\n" and at > where + 1:
                directive = DIRECTIVE.match(text, where + 1)
                assert directive is not None
                at = directive.end()
                reopened = self._body_directive(where + 1, at)
                if reopened:
                    return self._header(at)
                opened = self.opened
                if not opened and not self.conditionals and fallback < 0:
                    return self._leave("function", at)
            elif mark == "\n" and self.scanner.at_header(at):
                return self._leave("function", fallback if fallback >= 0 else where)
        self.scanner.look(len(text) + 1)
        return self._leave("function", fallback if fallback >= 0 else len(text))

    def _body_directive(self, start: int, end: int) -> bool:
        """Follow a directive in the body; true if the function's header starts anew after it."""
        word = directive_word(self.text, start)
        if word not in ("pragma", "line"):
            self.pieces.append("\n" + self.text[start:end].rstrip() + "\n")
        if word in ("if", "ifdef", "ifndef"):
            self.conditionals.append(_Conditional(list(self.opened), 0))
        elif word in ("else", "elif", "elifdef", "elifndef"):
            if not self.conditionals:
                if self._merge_back():
                    self.opened = []
                    self.copied = end
                    self.parens = 0
                    # What the first branch left open is what the function has open after `#endif`.
                    self.conditionals[-1].after = None
                    return True
                return False
            top = self.conditionals[-1]
            if top.after is None:
                top.after = list(self.opened)
            self.opened = list(top.opened)
        elif word == "endif" and self.conditionals:
            top = self.conditionals.pop()
            if top.after is not None:
                self.opened = list(top.after)
        return False

    def _continues(self, at: int) -> bool:
        """Whether the next thing is another branch or the end of the conditional."""
        following = self._next(at)
        if self.text[following : following + 1] not in ("#", "%"):
            return False
        return directive_word(self.text, following) in ("else", "elif", "elifdef", "elifndef", "endif")

    def _surplus(self, at: int) -> bool:
        """Whether the text goes on as the inside of a function does: indented, on a later line."""
        following = self._next(at)
        text = self.text
        if following >= len(text) or text[following] in "#%" or self._column_zero(following):
            return False
        if "\n" not in text[at:following]:
            return False
        line = text.rfind("\n", 0, following) + 1
        return line < following and not text[line:following].strip() and not self.scanner.at_header(following)

    def _begins_item(self, at: int) -> bool:
        """Whether a new top-level item plainly starts after this."""
        following = self._next(at)
        if following >= len(self.text):
            return True
        if not self._column_zero(following):
            return False
        self.scanner.look(following + 10)
        if self.text[following] == "#":
            return directive_word(self.text, following) in ("include", "define", "undef")
        return DEFINITE.match(self.text, following) is not None or self.scanner.at_header(following)

    # --- Ends --------------------------------------------------------------------------------

    def _declaration(self, begin: int, end: int) -> Cut:
        if self.parens:
            return self._leave("stray", end)
        return self._leave("declaration", end)

    def _without_semicolon(self, end: int) -> Cut:
        text = self.text[self.start : end]
        return Cut("declaration", self.start, end, "", text + ";", -1, self.merged, self.returned)

    def _leave(self, kind: Literal["function", "declaration", "stray"], end: int) -> Cut:
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

    # --- Looking around ----------------------------------------------------------------------

    def _next(self, at: int) -> int:
        return skip_blank(self.scanner, at)

    def _column_zero(self, at: int) -> bool:
        """Whether the line of `at`, or the item if it starts in that line, begins in column 0."""
        line = self.text.rfind("\n", 0, at) + 1
        if line < self.start:  # nothing before the item may matter: it would outdate on an edit there
            return False
        return not self.text[line : line + 1].isspace()

    def _clean(self, begin: int, end: int) -> str:
        text = self.text[begin:end]
        if "/" in text or '"' in text or "'" in text:
            text = COMMENTS.sub(blanked, text)
        if "#" in text:
            text = re.sub(rf"(?m)^{DIRECTIVE.pattern}", lambda match: " " * len(match.group()), text)
        return text
