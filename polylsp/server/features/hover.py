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
    document = ls.documents.get(params.text_document.uri)
    report = await fresh(document)
    if document is None or report is None:
        return None
    offset = convert.offset_of(document.source, params.position, ls.client.encoding)
    source, found = document.source, hover_at(document.source, report, offset)
    if found is not None and ls.client.images and document.is_reported:
        found = await ls.pictures.add(found, document, ls.jobs)
    if document.source is not source:
        raise JsonRpcContentModified("The text changed")
    return convert.hover(source, found, ls.client) if found else None
