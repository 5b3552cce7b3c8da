"""textDocument/didOpen, didChange, didSave, didClose."""

from __future__ import annotations

from lsprotocol import types

from polylsp.language import named_after
from polylsp.server.convert import edit_of
from polylsp.server.documents import Document
from polylsp.server.findings import Findings
from polylsp.server.session import PolylspServer, path_of
from polylsp.text import Source


def did_open(ls: PolylspServer, params: types.DidOpenTextDocumentParams) -> None:
    """A document is open: from now on the client determines its text."""
    item = params.text_document
    path = named_after(path_of(item.uri), item.language_id)
    document = Document(item.uri, path, item.language_id, item.version, Source(item.text))
    ls.open(document, Findings(item.uri, ls.client))


def did_change(ls: PolylspServer, params: types.DidChangeTextDocumentParams) -> None:
    """The text changed."""
    edits = [edit_of(change) for change in params.content_changes]
    uri, version = params.text_document.uri, params.text_document.version
    document = ls.follows(uri, version, is_whole=any(each.start is None for each in edits))
    if document is not None:
        document.edit(edits, version, ls.client.encoding)
        ls.changed(document)


def did_save(ls: PolylspServer, params: types.DidSaveTextDocumentParams) -> None:
    """The document was saved: work out schedules and transforms as well."""
    document = ls.documents.get(params.text_document.uri)
    if document is not None:
        ls.saved(document)


def did_close(ls: PolylspServer, params: types.DidCloseTextDocumentParams) -> None:
    """The document is closed."""
    ls.close(params.text_document.uri)
