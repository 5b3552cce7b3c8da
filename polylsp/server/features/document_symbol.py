"""textDocument/documentSymbol."""

from __future__ import annotations

from lsprotocol import types

from polylsp.ide.symbols import inside, symbols
from polylsp.server import convert
from polylsp.server.features.freshness import fresh
from polylsp.server.session import PolylspServer


async def document_symbol(ls: PolylspServer, params: types.DocumentSymbolParams) -> list[convert.Json] | None:
    """The functions, nests and loops of a document, as a tree or as a list."""
    uri = params.text_document.uri
    document = ls.document_of(uri)
    report = await fresh(document)
    source, encoding = document.seen(uri) if document else None, ls.client.encoding
    if document is None or source is None or report is None:
        return None
    found = inside(symbols(source, report), document.extent(uri))
    if ls.client.symbol_tree:
        return convert.symbol_tree(source, found, encoding)
    return convert.symbol_list(source, found, uri, encoding)
