"""Outlines of the loops in a function that does not parse, by its lines and their indentation."""

from __future__ import annotations

from polylsp.frontends.python.tokens import Line
from polylsp.model.program import Block, Loop, Site


def loop_outlines(texts: tuple[str, ...], lines: tuple[Line, ...]) -> tuple[Loop, ...]:
    """The loops found by their first words and their layout, nested as they stand, without content."""
    scan = _Scan(texts, lines)
    return scan.until(0, len(lines))


class _Scan:
    def __init__(self, texts: tuple[str, ...], lines: tuple[Line, ...]):
        self.texts = texts
        self.lines = lines
        self.count = 0

    def until(self, number: int, end: int) -> tuple[Loop, ...]:
        """The loops of the lines `number` up to `end`."""
        found: list[Loop] = []
        while number < end:
            line = self.lines[number]
            word = self.texts[line.first] if line.first < line.last else ""
            if word in ("for", "while"):
                last = self._end(number, end)
                found.append(self._loop(number, last))
                number = last
            else:
                number += 1
        return tuple(found)

    def _end(self, number: int, end: int) -> int:
        after = number + 1
        while after < end and self.lines[after].indent > self.lines[number].indent:
            after += 1
        return after

    def _loop(self, number: int, end: int) -> Loop:
        self.count += 1
        ordinal, line = self.count, self.lines[number]
        words = self.texts[line.first : line.last]
        kind = "for" if words[0] == "for" else "while"
        name = words[1] if kind == "for" and len(words) > 1 and words[1].isidentifier() else None
        inner = Block(self.until(number + 1, end))
        last = line.last - 1 - (words[1:][-1:] == (":",))
        header = Site(line.first, last)
        site = Site(line.first, max(last, self.lines[end - 1].last - 1))
        return Loop(ordinal, kind, name, Block(), None, inner, Block(), False, header, site)
