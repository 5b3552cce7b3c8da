"""textDocument/documentSymbol."""

from __future__ import annotations

from lsprotocol import types

from polylsp.ide.symbols import symbols
from polylsp.server import convert
from polylsp.server.features.freshness import fresh
from polylsp.server.session import PolylspServer


async def document_symbol(ls: PolylspServer, params: types.DocumentSymbolParams) -> list[convert.Json] | None:
    """The functions, nests and loops of a document, as a tree or as a list."""
    document = ls.documents.get(params.text_document.uri)
    report = await fresh(document)
    if document is None or report is None:
        return None
    source, encoding = document.source, ls.client.encoding
    found = symbols(source, report)
    if ls.client.symbol_tree:
        return convert.symbol_tree(source, found, encoding)
    return convert.symbol_list(source, found, document.uri, encoding)
