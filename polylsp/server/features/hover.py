"""textDocument/hover."""

from __future__ import annotations

from functools import partial

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified

from polylsp.ide.hover import Part
from polylsp.ide.hover import hover as hover_at
from polylsp.ide.kernel_words import kernel_parts
from polylsp.ide.measuring import current, measured_of
from polylsp.server import convert
from polylsp.server.features.freshness import fresh
from polylsp.server.session import PolylspServer


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
    return convert.hover(source, found, ls.client) if found else None
