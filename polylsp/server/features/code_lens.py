"""textDocument/codeLens: links above loops, to commands of the client's and to measuring."""

from __future__ import annotations

from lsprotocol import types

from polylsp.ide import measuring
from polylsp.ide.lenses import lenses
from polylsp.language import PYTHON
from polylsp.model.report import FileReport
from polylsp.server import convert
from polylsp.server.documents import Document
from polylsp.server.features.commands import MEASURE
from polylsp.server.features.freshness import fresh
from polylsp.server.session import PolylspServer
from polylsp.text import Source, Span

_COMMAND = "polylsp.{}"


async def code_lens(ls: PolylspServer, params: types.CodeLensParams) -> list[convert.Json] | None:
    """Links that the settings enable, and links to measuring."""
    uri = params.text_document.uri
    document = ls.document_of(uri)
    report = await fresh(document)
    if document is None:
        return None
    # Methods have lenses once their edits are found.
    is_first = document.needs_full and document.language == PYTHON.name
    if not document.is_reported or is_first:
        ls.owe_lenses(document)
    # Of a notebook, each cell requests its lenses; commands of the client work in files.
    source = document.seen(uri)
    if report is None or source is None:
        return None
    links = [] if document.is_notebook else _links(ls, document, report)
    return [*links, *_to_measure(ls, document, report, source, document.extent(uri))]


def _links(ls: PolylspServer, document: Document, report: FileReport) -> list[convert.Json]:
    """Links with a command that the client has."""
    source, encoding = document.source, ls.client.encoding
    found: list[convert.Json] = []
    for each in lenses(report, ls.settings_of(document)):
        command = _COMMAND.format(each.kind)
        if command in ls.client.commands:
            at = [document.uri, convert.position(source, each.span.start, encoding)]
            found.append(convert.code_lens(source, each.span, each.title, command, at, encoding))
    return found


def _to_measure(
    ls: PolylspServer, document: Document, report: FileReport, source: Source, extent: Span
) -> list[convert.Json]:
    if not ls.measurements.is_trusted or "measure" not in ls.settings_of(document).code_lenses:
        return []
    return [
        convert.code_lens(
            source,
            each.span,
            each.title,
            MEASURE,
            [{"uri": document.uri, "function": each.function, "ordinal": each.ordinal}],
            ls.client.encoding,
        )
        for each in measuring.lenses(document.source, report, ls.measurements.of(document))
        if extent.start <= each.span.start < extent.end
    ]
