"""Positions in text: half-open spans of offsets, and a source that knows its lines.

An offset counts Unicode code points from the start of the text. No other position
type crosses a layer; lines and columns exist only at the edges (LSP, terminal, JSON).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The text from `start` up to, not including, `end` (offsets)."""

    start: int
    end: int

    def shift(self, by: int) -> Span:
        """The same text after `by` characters were inserted before it."""
        return Span(self.start + by, self.end + by)

    def cover(self, other: Span) -> Span:
        """The smallest span that holds both."""
        return Span(min(self.start, other.start), max(self.end, other.end))

    def holds(self, other: Span) -> bool:
        """Whether the other one is inside."""
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
        """What people call a 0-based line: lines are counted from 1."""
        return line + 1

    def line_name(self, offset: int) -> str:
        """What a sentence about this text calls the line of `offset`."""
        return str(self.number(self.line_of(offset)))

    def place(self, offset: int) -> str:
        """The line of `offset` after the name of a file, as in `a.c:12`."""
        return self.line_name(offset)

    def near(self, offset: int) -> Source:
        """The same text as somebody sees it who looks at `offset`."""
        return self

    def position(self, offset: int, encoding: Encoding = "utf-16") -> Position:
        """Where `offset` stands, in the units of `encoding`; clamped to the text."""
        offset = max(0, min(offset, len(self.text)))
        line = self.line_of(offset)
        prefix = self.text[self.line_starts[line] : offset]
        return Position(line, _units(prefix, encoding))

    def offset(self, position: Position, encoding: Encoding = "utf-16") -> int:
        """The offset of a position; one outside the text is clamped into its line or the text."""
        if position.line >= len(self.line_starts):
            return len(self.text)
        start, end = self._line_bounds(max(0, position.line))
        line = self.text[start:end]
        if line.isascii() or encoding == "utf-32":
            return start + min(max(0, position.character), len(line))
        return start + _points(line, position.character, encoding)

    def _line_bounds(self, line: int) -> tuple[int, int]:
        start = self.line_starts[line]
        end = self.line_starts[line + 1] if line + 1 < len(self.line_starts) else len(self.text)
        while end > start and self.text[end - 1] in "\r\n":
            end -= 1
        return start, end


def newline(text: str) -> str:
    """How the lines of a text end."""
    return "\r\n" if "\r\n" in text else "\n"


def _units(text: str, encoding: Encoding) -> int:
    """The length of `text` in code units."""
    if text.isascii() or encoding == "utf-32":
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(1 for c in text if ord(c) > 0xFFFF)


def _points(line: str, units: int, encoding: Encoding) -> int:
    """How many characters of `line` the first `units` code units hold."""
    count = 0
    for index, character in enumerate(line):
        if count >= units:
            return index
        count += _units(character, encoding)
    return len(line)
