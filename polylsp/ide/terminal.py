"""Findings at a terminal: a sentence, then the source with marks under it.

The result is lines of styled pieces; the caller decides about colour. Printing processes must not
load the analysis.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from typing_extensions import assert_never

from polylsp.core.settings import Settings
from polylsp.core.text import Source, Span
from polylsp.ide.diagnostics import Diagnostic, diagnostics
from polylsp.ide.hover import Bullets, Code, Image, Part, Table, aligned
from polylsp.ir.verdict import word
from polylsp.model.facts import FileReport

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


# --------------------------------------------------------------------------------------------------
# Lines of styled pieces for a person at a terminal: shared by the processes that generate them and
# those that print them.
#
# No further module is loaded with it: a printing process must not load the analysis.
# --------------------------------------------------------------------------------------------------


Style = Literal[
    "plain",
    "path",
    "good",
    "blocked",
    "advice",
    "warning",
    "error",
    "gutter",
    "primary",
    "secondary",
    "quote",
]


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text of one style. The text of a `quote` is between backticks where there is no colour."""

    text: str
    style: Style = "plain"


Line = tuple[Piece, ...]


_PICTURES = {
    # Bytes that could not be decoded; what makes text run the other way, or cannot be seen.
    **dict.fromkeys((*range(0x80, 0xA0), *range(0xD800, 0xE000)), 0xFFFD),
    **dict.fromkeys((0x200E, 0x200F, 0x061C, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF), 0xFFFD),
    **{code: 0x2400 + code for code in range(0x20)},
    0x7F: 0x2421,
}


def visible(text: str, keeps: str = "") -> str:
    """The text with a picture, of the same width, for each character that a terminal obeys: a name or a line
    of a source may hold any."""
    return text.translate({code: to for code, to in _PICTURES.items() if chr(code) not in keeps})


def visible_line(line: Line) -> Line:
    """A line with control characters made visible."""
    return tuple(
        piece if piece.text.isprintable() else Piece(visible(piece.text), piece.style) for piece in line
    )


def plain_text(line: Sequence[Piece]) -> str:
    """A line without colour: code stands between backticks."""
    return "".join(f"`{piece.text}`" if piece.style == "quote" else piece.text for piece in line)


def counted(words: Counter[str]) -> str:
    """Count of loops by verdict: "3 loops: 2 parallel, 1 sequential"."""
    total = sum(words.values())
    if not total:
        return "no loops"
    shown = [
        f"{words[each]} {each}" for each in ("parallel", "reduction", "sequential", "unknown") if words[each]
    ]
    return f"{total} {'loop' if total == 1 else 'loops'}: {', '.join(shown)}"


# --------------------------------------------------------------------------------------------------
# Findings for a person at a terminal: a sentence, then the source with marks under it.
#
# The result is lines of styled pieces; the caller decides about colour.
# --------------------------------------------------------------------------------------------------


_STYLES: dict[str, Style] = {
    "parallel-loop": "good",
    "parallel-band": "good",
    "reduction-loop": "good",
    "sequential-loop": "blocked",
    "not-analyzable": "blocked",
}

_INDENT = 4
_NO_BREAK = "\u00a0"


def file_lines(source: Source, report: FileReport, settings: Settings, width: int) -> Iterator[Line]:
    """All findings of a file in at most `width` columns, then a line that sums them up."""
    found = diagnostics(source, report, settings)
    for finding in found:
        yield from finding_lines(source, report.path, finding, width)
        yield ()
    yield (Piece(f"{report.path}: ", "path"), Piece(summary([report])))


def finding_lines(source: Source, path: str, finding: Diagnostic, width: int) -> Iterator[Line]:
    """Finding as lines: its place and code, its message, and the source it is about."""
    column = source.position(finding.span.start, "utf-32").character + 1
    where = f"{path}:{source.place(finding.span.start)}:{column}: "
    style = _style(finding)
    level = f"{finding.severity}: " if finding.severity in ("warning", "error") else ""
    yield (Piece(where, "path"), Piece(f"{level}{finding.code}", style))
    yield from sentence_lines(finding.message, width, " " * _INDENT)
    marks = [Mark(finding.span, "", primary=True)]
    marks += [Mark(related.span, related.label, primary=False) for related in finding.related]
    for row in snippet(source, marks, width):
        if row.primary is None:
            yield (Piece(row.gutter, "gutter"), Piece(row.text))
        else:
            yield (Piece(row.gutter, "gutter"), Piece(row.text, "primary" if row.primary else "secondary"))


def sentence_lines(sentence: str, width: int, indent: str = "", bullet: str = "") -> Iterator[Line]:
    """A sentence wrapped to `width` columns after a bullet; code in backticks is never broken."""
    held = "`".join(
        part.replace(" ", _NO_BREAK) if index % 2 else part for index, part in enumerate(sentence.split("`"))
    )
    wrapped = textwrap.wrap(
        held,
        max(width, len(indent) + 20),
        initial_indent=indent + bullet,
        subsequent_indent=indent + " " * len(bullet),
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in wrapped:
        parts = line.replace(_NO_BREAK, " ").split("`")
        yield tuple(
            Piece(part, "quote" if index % 2 else "plain") for index, part in enumerate(parts) if part
        )


def part_lines(part: Part, width: int) -> Iterator[Line]:
    """A part of a hover or an explanation as lines; a table keeps its columns at any width."""
    match part:
        case str():
            yield from sentence_lines(part, width)
        case Bullets(heading=heading, items=items):
            yield (Piece(f"{heading}:", "path"),)
            for item in items:
                yield from sentence_lines(item, width, "  ", "- ")
        case Code(heading=heading, text=text):
            yield (Piece(f"{heading}:", "path"),)
            yield from ((Piece(f"  {line}"),) for line in text.strip().splitlines())
        case Table():
            rows = aligned(part).split("\n")
            yield (Piece(rows[0], "path"),)
            yield from ((Piece(row),) for row in rows[1:])
        case Image():
            pass
        case _:
            assert_never(part)


def summary(reports: Iterable[FileReport]) -> str:
    """Count of the loops of files by verdict."""
    words = Counter[str](
        word(loop.verdict)
        for report in reports
        for each in report.functions
        for loop in each.answer.facts.loops
    )
    return counted(words)


def _style(finding: Diagnostic) -> Style:
    if finding.severity == "error":
        return "error"
    if finding.severity == "warning":
        return "warning"
    return _STYLES.get(finding.code, "advice")
