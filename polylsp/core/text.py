"""Positions in text: half-open spans of offsets, and a source that knows its lines.

An offset counts Unicode code points from the start of the text. No other position
type crosses a layer; lines and columns exist only at the edges (LSP, terminal, JSON).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]

_TWO, _THREE, _FOUR = (re.compile(f"[{first}-\U0010ffff]") for first in "\x80\u0800\U00010000")
_LONGER: dict[Encoding, tuple[re.Pattern[str], ...]] = {
    "utf-8": (_TWO, _THREE, _FOUR),
    "utf-16": (_FOUR,),
    "utf-32": (),
}
"""Characters with more than one code unit, with more than two, and so on."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The text from `start` up to, not including, `end` (offsets)."""

    start: int
    end: int

    def shift(self, by: int) -> Span:
        """Span moved by a number of characters."""
        return Span(self.start + by, self.end + by)

    def cover(self, other: Span) -> Span:
        """The smallest span that holds both."""
        return Span(min(self.start, other.start), max(self.end, other.end))

    def touches(self, other: Span) -> bool:
        """True if the two share a place, which may be the end of one."""
        return self.start <= other.end and other.start <= self.end

    def holds(self, other: Span) -> bool:
        """True if the other span is inside."""
        return self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A 0-based line and a 0-based character in the units of some encoding."""

    line: int
    character: int


@dataclass(frozen=True)
class Source:
    """A text with its line table. Lines end at `\\n`, `\\r\\n` or `\\r`, as in LSP."""

    text: str

    @cached_property
    def line_starts(self) -> list[int]:
        """The offset at which each line starts."""
        text = self.text
        if "\r" in text:
            text = text.replace("\r\n", " \n").replace("\r", "\n")
        starts = [0]
        find = text.find
        at = find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = find("\n", at + 1)
        return starts

    @cached_property
    def _wide(self) -> dict[Encoding, tuple[list[int], ...]]:
        """The offsets of longer characters, once for each code unit beyond the first."""
        return {}

    def _longer(self, encoding: Encoding) -> tuple[list[int], ...]:
        if encoding not in self._wide:
            found = () if self.text.isascii() else _LONGER[encoding]
            self._wide[encoding] = tuple([m.start() for m in one.finditer(self.text)] for one in found)
        return self._wide[encoding]

    def _units(self, start: int, end: int, encoding: Encoding) -> int:
        """The length of a part of the text in code units."""
        longer = self._longer(encoding)
        return end - start + sum(bisect_left(each, end) - bisect_left(each, start) for each in longer)

    def line_of(self, offset: int) -> int:
        """The 0-based line that holds `offset`."""
        return bisect_right(self.line_starts, offset) - 1

    def line_text(self, line: int) -> str:
        """The text of a line without its terminator."""
        start, end = self._line_bounds(line)
        return self.text[start:end]

    def cell(self, offset: int) -> int | None:
        """The cell of a notebook in which `offset` stands, counted from 0 with all its cells; `None` in a
        text that is no notebook."""
        return None

    def number(self, line: int) -> int:
        """Line number for people: lines are counted from 1."""
        return line + 1

    def line_name(self, offset: int) -> str:
        """Name of the line of `offset` in a sentence about this text."""
        return str(self.number(self.line_of(offset)))

    def place(self, offset: int) -> str:
        """The line of `offset` after the name of a file, as in `a.c:12`."""
        return self.line_name(offset)

    def near(self, offset: int) -> Source:
        """View of the same text from an `offset`, which determines how lines are named."""
        return self

    def position(self, offset: int, encoding: Encoding = "utf-16") -> Position:
        """Position of `offset`, in the units of `encoding`; clamped to the text."""
        offset = max(0, min(offset, len(self.text)))
        line = self.line_of(offset)
        return Position(line, self._units(self.line_starts[line], offset, encoding))

    def offset(self, position: Position, encoding: Encoding = "utf-16") -> int:
        """The offset of a position; one outside the text is clamped into its line or the text."""
        if position.line >= len(self.line_starts):
            return len(self.text)
        start, end = self._line_bounds(max(0, position.line))
        units = range(start, end + 1)
        found = bisect_left(units, position.character, key=lambda at: self._units(start, at, encoding))
        return min(start + found, end)

    def _line_bounds(self, line: int) -> tuple[int, int]:
        start = self.line_starts[line]
        end = self.line_starts[line + 1] if line + 1 < len(self.line_starts) else len(self.text)
        while end > start and self.text[end - 1] in "\r\n":
            end -= 1
        return start, end


def newline(text: str) -> str:
    """Line ending of a text."""
    return "\r\n" if "\r\n" in text else "\n"
