"""Lines of the source with marks under them, as compilers show them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polylsp.text import Source, Span

_TAB = 4
_MARGIN = 8


@dataclass(frozen=True, slots=True)
class Mark:
    """A span to be underlined, with `^` when `primary`, else with `-`, and words beside it."""

    span: Span
    label: str
    primary: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A row: the gutter and the text; `primary` is `None` for a row of source text."""

    gutter: str
    text: str
    primary: bool | None = None


_Placed = tuple[int, int, Mark]
"""A mark and the columns at which it begins and ends."""


def snippet(source: Source, marks: Sequence[Mark], width: int) -> Iterator[Row]:
    """The marked lines in order, each with its marks below it; a gap is shown as `...`."""
    by_line: dict[int, list[Mark]] = {}
    for mark in marks:
        by_line.setdefault(source.line_of(mark.span.start), []).append(mark)
    lines = sorted(by_line)
    digits = max(len(str(lines[-1] + 1)), 3) if lines else 3
    room = max(width - digits - 4, 20)
    for line, previous in zip(lines, [None, *lines[:-1]], strict=True):
        if previous is not None and line > previous + 1:
            yield Row(" " * (digits - 1) + "...", "")
        yield from _line(source, line, by_line[line], digits, room)


def _line(source: Source, line: int, marks: Sequence[Mark], digits: int, room: int) -> Iterator[Row]:
    """A line with its marks; one that is too long is shown once for each part that has marks."""
    start = source.line_starts[line]
    text = source.line_text(line)
    columns = _columns(text)
    expanded = _expanded(text)
    for group in _groups([_placed(mark, start, columns) for mark in marks], columns[-1], room):
        first = _first_column(group, columns[-1], room)
        yield Row(f" {source.number(line):>{digits}} | ", _window(expanded, first, room))
        for begin, end, mark in group:
            left = min(max(begin - first, 0), room - 1)
            length = min(max(end - begin, 1), room - left)
            under = " " * left + ("^" if mark.primary else "-") * length
            label = mark.label.replace("`", "")
            yield from _marked(f" {'':>{digits}} | ", under, label, left, room, mark.primary)


def _groups(placed: list[_Placed], width: int, room: int) -> Iterator[list[_Placed]]:
    """The marks that can be seen together where only `room` columns of a line are shown."""
    if width <= room:
        yield placed
        return
    group: list[_Placed] = []
    for each in placed:
        together = [*group, each]
        if group and max(e for _, e, _ in together) - min(b for b, _, _ in together) > room - _MARGIN:
            yield group
            together = [each]
        group = together
    yield group


def _marked(gutter: str, marks: str, label: str, left: int, room: int, primary: bool) -> Iterator[Row]:
    """The marks with the label beside them, or below them where it does not fit."""
    if not label or len(marks) + 1 + len(label) <= room:
        yield Row(gutter, f"{marks} {label}".rstrip(), primary)
        return
    yield Row(gutter, marks, primary)
    yield Row(gutter, " " * min(left, max(room - len(label), 0)) + label, primary)


def _placed(mark: Mark, start: int, columns: Sequence[int]) -> _Placed:
    """The columns of the part of a mark that is on its first line."""
    last = len(columns) - 1
    begin = min(max(mark.span.start - start, 0), last)
    return columns[begin], columns[min(max(mark.span.end - start, begin), last)], mark


def _first_column(group: Sequence[_Placed], width: int, room: int) -> int:
    """The column at which a long line is cut on the left, so that its marks are seen."""
    left, right = min(begin for begin, _, _ in group), max(end for _, end, _ in group)
    if width <= room or right < room:
        return 0
    return max(0, left - _MARGIN, right - room + 1) if right - left < room - _MARGIN else max(left - 1, 0)


def _window(text: str, first: int, room: int) -> str:
    shown = text[first:]
    if first and shown:
        shown = "…" + shown[1:]
    return shown.rstrip() if len(shown) <= room else shown[: room - 1] + "…"


def _columns(text: str) -> list[int]:
    """The terminal column at which each character starts, and at the end where the line ends."""
    columns = [0]
    for character in text:
        columns.append(columns[-1] + _width(character, columns[-1]))
    return columns


def _width(character: str, column: int) -> int:
    if character == "\t":
        return _TAB - column % _TAB
    if character < "\x7f":
        return 1
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _expanded(text: str) -> str:
    """The line with tabs as spaces and without characters that would disturb a terminal."""
    text = text.expandtabs(_TAB)
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)
