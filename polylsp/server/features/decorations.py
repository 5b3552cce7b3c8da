"""Hover, inlay hints, code lenses and document symbols, within time limits.

Requests wait for the analysis of the present text up to a limit.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from urllib.parse import quote

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified

from polylsp.core.language import PYTHON
from polylsp.core.text import Source, Span
from polylsp.ide import measurement_view
from polylsp.ide.actions import Offer
from polylsp.ide.hints import Hint, hint_tooltip, hints, inside, lenses, symbols
from polylsp.ide.hover import Hover, Part, kernel_parts, linked
from polylsp.ide.hover import hover as hover_at
from polylsp.ide.lightbulb import lightbulb
from polylsp.ide.measurement_view import current, measured_hints, measured_of
from polylsp.measuring.trials import best_of
from polylsp.model.facts import FileReport
from polylsp.model.measurement import Figure
from polylsp.server import convert
from polylsp.server.documents import Document
from polylsp.server.features.commands import APPLY_ACTION, MEASURE
from polylsp.server.session import PolylspServer

_PATIENCE_SECONDS = 0.3

PATIENCE_OF_A_PERSON = 3.0
"""For explicit requests, which a person would repeat if there was no answer."""


async def fresh(
    document: Document | None, seconds: float = _PATIENCE_SECONDS, at: Span | None = None
) -> FileReport | None:
    """Report of a document: about the present text if that comes within some seconds, else the functions that
    the edits since have left untouched. With `at`, the analysis of the function there has to be awaited, not
    that of the others. Raises `JsonRpcContentModified` if the text changes meanwhile."""
    if document is None:
        return None
    loop = asyncio.get_running_loop()
    end, outcome = loop.time() + seconds, "part"
    while outcome == "part" and not (at is not None and document.reports(at)):
        outcome = await document.settle(end - loop.time(), in_part=at is not None)
    if outcome == "changed":
        raise JsonRpcContentModified("The text changed")
    return document.known()


# --------------------------------------------------------------------------------------------------
# textDocument/hover.
# --------------------------------------------------------------------------------------------------


async def hover(ls: PolylspServer, params: types.HoverParams) -> convert.Json | None:
    """Facts of the loop under the cursor."""
    document = ls.document_of(params.text_document.uri)
    report = await fresh(document)
    source = document.seen(params.text_document.uri) if document is not None else None
    if document is None or source is None or report is None:
        return None
    offset = convert.offset_of(source, params.position, ls.client.encoding)
    settings = ls.settings_of(document)
    measured = current(source, report, ls.measurements.of(document))

    def more(function: str, ordinal: int) -> tuple[Part, ...]:
        figures = measured_of(measured, function, ordinal, images=ls.client.images)
        return *figures, *kernel_parts(report, partial(ls.kernel_words.of, settings), function, ordinal)

    found = hover_at(source, report, offset, more)
    if found is not None and ls.client.images and document.is_reported:
        whole = document.source
        found = await ls.pictures.add(found, document, ls.jobs)
        if document.source is not whole:
            raise JsonRpcContentModified("The text changed")
    if found is not None and APPLY_ACTION in ls.client.commands:
        found = _with_fix(ls, document, report, source, found)
    return convert.hover(source, found, ls.client) if found else None


def _with_fix(
    ls: PolylspServer, document: Document, report: FileReport, source: Source, found: Hover
) -> Hover:
    """The hover with the best fix of its loop as a link, for clients that let links run that command."""
    at = Span(found.span.start, found.span.start)
    ls.wishes(document, at)
    listed = lightbulb(source, report, ls.settings_of(document), at, makes_files=False)
    best = next((each for each in listed if isinstance(each, Offer) and each.kind == "quickfix"), None)
    if best is None or best.disabled:
        return found
    data = json.dumps([convert.reference(document, best.ask)])
    return linked(found, best.title, f"command:{APPLY_ACTION}?{quote(data, safe='')}")


# --------------------------------------------------------------------------------------------------
# textDocument/inlayHint and inlayHint/resolve.
# --------------------------------------------------------------------------------------------------


async def inlay_hint(ls: PolylspServer, params: types.InlayHintParams) -> list[convert.Json] | None:
    """The verdicts beside the loops of a range."""
    document = ls.document_of(params.text_document.uri)
    if document is not None and (seen := document.seen(params.text_document.uri)) is not None:
        ls.shows(document, convert.span_of(seen, params.range, ls.client.encoding))
    report = await fresh(document)
    if document is not None and not document.is_reported:
        ls.owe_hints(document)
    source, encoding = document.seen(params.text_document.uri) if document else None, ls.client.encoding
    if document is None or source is None or report is None:
        return None
    span = convert.span_of(source, params.range, encoding)
    settings = ls.settings_of(document)
    measured = current(source, report, ls.measurements.of(document))
    links = [
        (hint, _to_hover(ls, source, params.text_document.uri, hint))
        for hint in hints(source, report, span, settings)
    ]
    for hint in measured_hints(report, span, measured, settings):
        best = best_of(measured[hint.function, hint.ordinal].figures)
        links.append((hint, _to_edit(ls, document, report, source, hint, best) if best else None))
    return [convert.inlay_hint(source, hint, document.uri, encoding, click) for hint, click in links]


def _to_hover(ls: PolylspServer, source: Source, uri: str, hint: Hint) -> convert.Json | None:
    """The command that opens the hover of a hint's loop, for clients that have it."""
    if WHY not in ls.client.commands:
        return None
    at = convert.position(source, max(hint.offset - 1, 0), ls.client.encoding)
    return {"title": "Why?", "command": WHY, "arguments": [uri, at]}


def _to_edit(
    ls: PolylspServer, document: Document, report: FileReport, source: Source, hint: Hint, best: Figure
) -> convert.Json | None:
    """The command that makes the edit with a measured figure, for clients that let hints run it."""
    if APPLY_ACTION not in ls.client.commands:
        return None
    at = Span(hint.offset - 1, hint.offset - 1)
    listed = lightbulb(source, report, ls.settings_of(document), at, makes_files=False)
    action = best.target if best.form == "directives" else "restructure"
    offers = (each for each in listed if isinstance(each, Offer) and not each.disabled)
    offer = next((each for each in offers if each.ask.action == action), None)
    if offer is None:
        return None
    asked = convert.reference(document, offer.ask)
    return {"title": offer.title, "command": APPLY_ACTION, "arguments": [asked]}


def resolve(ls: PolylspServer, hint: types.InlayHint) -> types.InlayHint:
    """The hint with its tooltip."""
    data = hint.data if isinstance(hint.data, Mapping) else {}
    document = ls.documents.get(data.get("uri", ""))
    report = document.known() if document else None
    if document is not None and report is not None:
        function, ordinal = data.get("function", ""), data.get("ordinal", 0)
        measured = current(document.source, report, ls.measurements.of(document))
        more = measured_of(measured, function, ordinal, images=ls.client.images)
        text = hint_tooltip(document.source, report, function, ordinal, more)
        kind = types.MarkupKind.Markdown if ls.client.markdown else types.MarkupKind.PlainText
        hint.tooltip = types.MarkupContent(kind=kind, value=text)
    return hint


# --------------------------------------------------------------------------------------------------
# textDocument/codeLens: links above loops, to commands of the client's and to measuring.
# --------------------------------------------------------------------------------------------------


_COMMAND = "polylsp.{}"
WHY = _COMMAND.format("why")


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
        for each in measurement_view.lenses(document.source, report, ls.measurements.of(document))
        if extent.start <= each.span.start < extent.end
    ]


# --------------------------------------------------------------------------------------------------
# textDocument/documentSymbol.
# --------------------------------------------------------------------------------------------------


async def document_symbol(ls: PolylspServer, params: types.DocumentSymbolParams) -> list[convert.Json] | None:
    """The functions, nests and loops of a document, as a tree or as a list."""
    uri = params.text_document.uri
    document = ls.document_of(uri)
    report = await fresh(document)
    source, encoding = document.seen(uri) if document else None, ls.client.encoding
    if document is None or source is None or report is None:
        return None
    found = inside(symbols(report), document.extent(uri))
    if ls.client.symbol_tree:
        return convert.symbol_tree(source, found, encoding)
    return convert.symbol_list(source, found, uri, encoding)
