"""The diagnostics of a notebook as JSON text, for each of its cells."""

from __future__ import annotations

from collections.abc import Mapping

from polylsp.ide.diagnostics import diagnostics
from polylsp.ide.lookup import loops_given_up
from polylsp.ide.measuring import Kept, Loop, stale
from polylsp.server.client import Client
from polylsp.server.convert import DiagnosticWriter
from polylsp.server.documents import Document
from polylsp.settings import Settings
from polylsp.text import Span


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
