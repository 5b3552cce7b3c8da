"""Text and notebook synchronisation: didOpen, didChange, didSave, didClose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lsprotocol import types

from polylsp.core.language import PYTHON, named_after
from polylsp.core.notebook import SUFFIX
from polylsp.core.text import Source
from polylsp.server.convert import edit_of
from polylsp.server.documents import Document, HeldCell, NotebookDocument
from polylsp.server.findings import CellFindings, Findings
from polylsp.server.session import PolylspServer, path_of


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


# --------------------------------------------------------------------------------------------------
# notebookDocument/didOpen, didChange, didSave, didClose.
# --------------------------------------------------------------------------------------------------


_Texts = Mapping[str, types.TextDocumentItem]


def notebook_did_open(ls: PolylspServer, params: types.DidOpenNotebookDocumentParams) -> None:
    """A notebook is open: from now on the client determines its cells."""
    opened = params.notebook_document
    path = path_of(opened.uri)
    # The name of one that is not saved yet may tell nothing.
    named = path if path.lower().endswith(SUFFIX) else f"{path}{SUFFIX}"
    document = NotebookDocument(opened.uri, named, PYTHON.name, opened.version, Source(""))
    document.begin(_held(opened.cells, _by_uri(params.cell_text_documents)))
    ls.open(document, CellFindings(ls.client))


def notebook_did_change(ls: PolylspServer, params: types.DidChangeNotebookDocumentParams) -> None:
    """Cells came, went, became something else, or have another text."""
    version, changed = params.notebook_document.version, params.change.cells
    document = ls.follows(params.notebook_document.uri, version)
    if not isinstance(document, NotebookDocument):
        return
    if changed is not None:
        _structure(document, changed.structure)
        for cell in changed.data or ():
            document.set_kind(cell.document, is_code=cell.kind == types.NotebookCellKind.Code)
        for text in changed.text_content or ():
            if text.document.uri not in document.uris:
                ls.edits_lost(document.uri)
                return
            edits = [edit_of(change) for change in text.changes]
            document.edit_cell(text.document.uri, edits, text.document.version, ls.client.encoding)
    document.commit(version)
    if changed is not None:
        ls.changed(document)


def notebook_did_save(ls: PolylspServer, params: types.DidSaveNotebookDocumentParams) -> None:
    """The notebook was saved: work out schedules and transforms as well."""
    document = ls.documents.get(params.notebook_document.uri)
    if document is not None:
        ls.saved(document)


def notebook_did_close(ls: PolylspServer, params: types.DidCloseNotebookDocumentParams) -> None:
    """The notebook is closed."""
    ls.close(params.notebook_document.uri)


def _structure(
    document: NotebookDocument, structure: types.NotebookDocumentCellChangeStructure | None
) -> None:
    if structure is not None:
        array, texts = structure.array, _by_uri(structure.did_open or ())
        document.splice(array.start, array.delete_count, _held(array.cells or (), texts))


def _held(cells: Sequence[types.NotebookCell], texts: _Texts) -> list[HeldCell]:
    return [_cell(cell, texts.get(cell.document)) for cell in cells]


def _cell(cell: types.NotebookCell, text: types.TextDocumentItem | None) -> HeldCell:
    is_code = cell.kind == types.NotebookCellKind.Code
    if text is None:
        return HeldCell(cell.document, 0, is_code, is_python=True, text="")
    return HeldCell(cell.document, text.version, is_code, text.language_id == PYTHON.name, text.text)


def _by_uri(texts: Sequence[types.TextDocumentItem]) -> _Texts:
    return {text.uri: text for text in texts}
