"""textDocument/hover."""

from __future__ import annotations

from functools import partial

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified

from polylsp.ide.hover import hover as hover_at
from polylsp.ide.measuring import current, measured_of
from polylsp.server import convert
from polylsp.server.features.freshness import fresh
from polylsp.server.session import PolylspServer


async def hover(ls: PolylspServer, params: types.HoverParams) -> convert.Json | None:
    """What is known of the loop under the cursor."""
    document = ls.document_of(params.text_document.uri)
    report = await fresh(document)
    source = document.seen(params.text_document.uri) if document is not None else None
    if document is None or source is None or report is None:
        return None
    offset = convert.offset_of(source, params.position, ls.client.encoding)
    measured = current(source, report, ls.measurements.of(document))
    found = hover_at(source, report, offset, partial(measured_of, measured, images=ls.client.images))
    if found is not None and ls.client.images and document.is_reported:
        whole = document.source
        found = await ls.pictures.add(found, document, ls.jobs)
        if document.source is not whole:
            raise JsonRpcContentModified("The text changed")
    return convert.hover(source, found, ls.client) if found else None
