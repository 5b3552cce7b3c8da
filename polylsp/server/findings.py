"""Diagnostics of documents and notebooks as JSON text, updated only for functions that changed.

A file of 10,000 lines has thousands of findings; converting all at every keystroke would cost more
than the analysis. The JSON of a function is stored with its text, and moved by whole lines by
filling in other line numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from polylsp.core.settings import Settings
from polylsp.core.text import Source, Span
from polylsp.ide.diagnostics import Suppressed, diagnostics, function_diagnostics, is_suppressed, suppressed
from polylsp.ide.lookup import function_span, loops_given_up
from polylsp.ide.measurement_view import Kept, Loop, stale
from polylsp.model.facts import FileReport, FunctionAnswer, PlacedFunction
from polylsp.server.client import Client
from polylsp.server.convert import DiagnosticWriter, Template, relative
from polylsp.server.documents import Document


@dataclass(frozen=True, slots=True)
class _Written:
    """JSON of a function's findings: valid while its text, its first column, and the suppressed codes on its
    lines (counted from its first) are the same."""

    answer: FunctionAnswer
    length: int
    text: str
    character: int
    hidden: Suppressed
    template: Template
    line: int
    json: str


@dataclass(slots=True)
class Findings:
    """The findings of one document, as last written; `given_up` counts the loops that took too long."""

    uri: str
    client: Client
    rewritten: int = 0
    given_up: int = 0
    _settings: Settings = field(default_factory=Settings)
    _written: dict[str, _Written] = field(default_factory=dict[str, _Written])

    def by_document(
        self, document: Document, settings: Settings, kept: Mapping[Loop, Kept]
    ) -> dict[str, str]:
        """Findings as JSON by the URI of the client's document: a text file is one."""
        assert document.report is not None
        return {self.uri: self.json(document.source, document.report, settings, kept)}

    def json(
        self, source: Source, report: FileReport, settings: Settings, kept: Mapping[Loop, Kept] | None = None
    ) -> str:
        """The JSON array of all diagnostics of a report, and of the stored measurements (`kept`); `rewritten`
        counts the functions whose findings had to be written for it."""
        if settings != self._settings:
            self._written.clear()
            self._settings = settings
        self.rewritten = 0
        self.given_up = loops_given_up(report)
        old, self._written = self._written, {}
        parts = [self._problems(source, report)]
        hidden = suppressed(source, report.language)
        for placed in report.functions:
            key = placed.answer.key
            written = self._written[key] = self._function(source, placed, hidden, old.get(key))
            parts.append(written.json)
        outdated = stale(source, report, kept or {}, settings)
        parts.append(DiagnosticWriter(source, 0, self._uri_of, self.client).template(outdated).at(0))
        return f"[{','.join(part for part in parts if part)}]"

    def _function(
        self, source: Source, placed: PlacedFunction, hidden: Suppressed, old: _Written | None
    ) -> _Written:
        if old is not None and old.answer is not placed.answer:
            old = None
        length = old.length if old else _length(placed)
        text = source.text[placed.start : placed.start + length]
        start = source.position(placed.start, self.client.encoding)
        mine = _from_line(start.line, hidden, source.line_of(placed.start + length) if hidden else 0)
        if old is None or old.text != text or old.character != start.character or old.hidden != mine:
            self.rewritten += 1
            template = self._template(placed.answer, text, start.character, mine)
            json = template.at(start.line)
            return _Written(placed.answer, length, text, start.character, mine, template, start.line, json)
        if old.line == start.line:
            return old
        return replace(old, line=start.line, json=old.template.at(start.line))

    def _template(self, answer: FunctionAnswer, text: str, character: int, hidden: Suppressed) -> Template:
        source = relative(text)
        found = function_diagnostics(source, PlacedFunction(0, answer), self._settings)
        lines = Source(text)
        shown = [d for d in found if not is_suppressed(hidden, lines.line_of(d.span.start), d.code)]
        return DiagnosticWriter(source, character, self._uri_of, self.client).template(shown)

    def _uri_of(self, _: Span) -> str:
        return self.uri

    def _problems(self, source: Source, report: FileReport) -> str:
        if not report.problems:
            return ""
        found = diagnostics(source, replace(report, functions=()), self._settings)
        return DiagnosticWriter(source, 0, self._uri_of, self.client).template(found).at(0)


def _length(placed: PlacedFunction) -> int:
    span = function_span(placed)
    return span.end - span.start


def _from_line(first: int, hidden: Suppressed, last: int) -> Suppressed:
    """Suppressed codes on some lines, counted from the first of them."""
    return {line - first: codes for line, codes in hidden.items() if first <= line <= last}


# --------------------------------------------------------------------------------------------------
# The diagnostics of a notebook as JSON text, for each of its cells.
# --------------------------------------------------------------------------------------------------


class CellFindings:
    """The findings of one notebook; `rewritten` counts the functions whose findings were last written,
    `given_up` the loops that took too long."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.rewritten = 0
        self.given_up = 0

    def by_document(
        self, document: Document, settings: Settings, kept: Mapping[Loop, Kept]
    ) -> dict[str, str]:
        """The JSON array of the diagnostics of each cell, by its URI."""
        report, source = document.report, document.source
        assert report is not None
        self.rewritten, self.given_up = len(report.functions), loops_given_up(report)
        found = {uri: list[str]() for uri in document.uris}

        def uri_of(span: Span) -> str:
            return document.text_document(span.start)[0]

        writer = DiagnosticWriter(source, 0, uri_of, self.client)
        for each in (*diagnostics(source, report, settings), *stale(source, report, kept, settings)):
            found[uri_of(each.span)].append(writer.template([each]).at(0))
        return {uri: f"[{','.join(each)}]" for uri, each in found.items()}
