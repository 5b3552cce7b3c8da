"""Findings for a person at a terminal: a sentence, then the source with marks under it.

The result is lines of styled pieces; the caller decides about colour.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator

from typing_extensions import assert_never

from polylsp.ide.diagnostics import Diagnostic, diagnostics
from polylsp.ide.hover import Bullets, Code, Image, Part, Table, aligned
from polylsp.ide.snippet import Mark, snippet
from polylsp.ide.styled import Line, Piece, Style, counted
from polylsp.model.report import FileReport
from polylsp.model.verdict import word
from polylsp.settings import Settings
from polylsp.text import Source

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
