"""Scan of one item of a file, shared by the scanners of its header and its body."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from polylsp.frontends.c.layout import COMMENTS, DIRECTIVE, blanked, directive_word, trimmed
from polylsp.frontends.c.scanner import Cut, Scanner, skip_blank

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
