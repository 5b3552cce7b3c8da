"""textDocument/hover."""

from __future__ import annotations

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified

from polylsp.ide.hover import hover as hover_at
from polylsp.server import convert
from polylsp.server.features.freshness import fresh
from polylsp.server.session import PolylspServer


async def hover(ls: PolylspServer, params: types.HoverParams) -> convert.Json | None:
    """What is known of the loop under the cursor."""
    document = ls.document_of(params.text_document.uri)
    report = await fresh(document)
    source = document.seen(params.text_document.uri) if document is not None else None
    if source is None or report is None:
        return None
    found = hover_at(source, report, convert.offset_of(source, params.position, ls.client.encoding))
    if found is not None and ls.client.images and document is not None and document.is_reported:
        text = document.source
        found = await ls.pictures.add(found, document, ls.jobs)
        if document.source is not text:
            raise JsonRpcContentModified("The text changed")
    return convert.hover(source, found, ls.client) if found else None
