"""textDocument/hover."""

from __future__ import annotations

from lsprotocol import types

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
    found = hover_at(document.source, report, offset)
    return convert.hover(document.source, found, ls.client) if found else None
