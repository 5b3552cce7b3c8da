"""Scanned text that is being cut into items, and the extent of the scan.

Recovery rests on layout: a line that starts in column 0 and looks like a function's header ends all that was
left open before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from polylsp.frontends.c.layout import BLANK, HEADER, LOOK, line_end


@dataclass(frozen=True, slots=True)
class Cut:
    """An item: `[start, end)` of the text. `merged` items before it are now part of it; the skeleton is
    `None` where it is the text itself."""

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
    searched: int = 0
    closing: int = 0
    """Offset of the first `*/` at or after `searched`, or -1."""
    line: int = 0
    line_known: int = 0
    """Start of a line that goes on to `line_known` at least."""

    def look(self, end: int) -> None:
        """Note that the text before `end` played a part in a decision."""
        if end > self.reach:
            self.reach = end

    def at_header(self, at: int) -> bool:
        """True if a function's header starts here, up to its brace."""
        self.look(at + LOOK)
        return HEADER.match(self.text, at, at + LOOK) is not None

    def comment_end(self, at: int) -> int:
        """End of the `/*` comment at `at`. An unclosed comment, or one closed only beyond another comment and
        a function, ends with its line."""
        close = self._close_after(at + 2)
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

    def _close_after(self, at: int) -> int:
        """Offset of the next `*/`, or -1."""
        if not self.searched <= at <= self.closing and not (self.closing < 0 and self.searched <= at):
            self.searched, self.closing = at, self.text.find("*/", at)
        return self.closing

    def line_start(self, at: int) -> int:
        """Offset of the start of the line of `at`."""
        if at < self.line:
            self.line = self.line_known = self.text.rfind("\n", 0, at) + 1
        if at > self.line_known:
            self.line = max(self.line, self.text.rfind("\n", self.line_known, at) + 1)
            self.line_known = at
        return self.line


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
