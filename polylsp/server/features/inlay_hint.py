"""textDocument/inlayHint and inlayHint/resolve."""

from __future__ import annotations

from collections.abc import Mapping

from lsprotocol import types

from polylsp.ide.hints import hint_tooltip, hints
from polylsp.ide.measuring import current, measured_hints, measured_of
from polylsp.server import convert
from polylsp.server.features.freshness import fresh
from polylsp.server.session import PolylspServer


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
    found = (*hints(source, report, span, settings), *measured_hints(report, span, measured, settings))
    return [convert.inlay_hint(source, hint, document.uri, encoding) for hint in found]


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
