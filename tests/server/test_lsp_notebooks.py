"""Notebooks over stdio, as VS Code sends them: cells come, go and change; answers are in the right one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from editor import Editor, with_real_analysis
from lsprotocol import types

pytestmark = pytest.mark.asyncio

NOTEBOOK = "file:///project/n.ipynb"
CODE, WORDS = types.NotebookCellKind.Code, types.NotebookCellKind.Markup

SETUP = "import numpy as np\nfrom numpy.typing import NDArray\n"
SCALE = (
    "def scale(a: NDArray[np.float64]):\n    '𝄞'; n = a.shape[0]\n    for i in range(n): a[i] = 2 * a[i]\n"
)
SWEEP = "%%time\ndef sweep(a: NDArray[np.float64]):\n    for i in range(1, a.shape[0]): a[i] += a[i - 1]\n"
PARALLEL = "void f(int n) {\n    for (i = 0; i < n; i++) a[i] = 0;\n}\n"
SEQUENTIAL = "void g(int n) {\n    for (t = 1; t < n; t++) a[t] = a[t - 1];\n}\n"


class Notebook:
    """A notebook that an editor has open."""

    def __init__(self, editor: Editor, *codes: str) -> None:
        self.editor = editor
        self.version = 1
        self.count = 0
        cells, texts = self._made(codes)
        opened = types.NotebookDocument(NOTEBOOK, "jupyter-notebook", 1, cells)
        editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(opened, texts))

    def uri(self, number: int) -> str:
        return f"vscode-notebook-cell:/project/n.ipynb#C{number}"

    def splice(self, start: int, count: int, *codes: str, closed: Sequence[int] = ()) -> None:
        cells, texts = self._made(codes)
        gone = [types.TextDocumentIdentifier(self.uri(number)) for number in closed]
        array = types.NotebookCellArrayChange(start, count, cells)
        structure = types.NotebookDocumentCellChangeStructure(array, texts, gone)
        self._change(types.NotebookDocumentCellChanges(structure=structure))

    def move(self, start: int, *numbers: int) -> None:
        """The cells from `start` on come in this order."""
        cells = [types.NotebookCell(CODE, self.uri(number)) for number in numbers]
        array = types.NotebookCellArrayChange(start, len(cells), cells)
        structure = types.NotebookDocumentCellChangeStructure(array)
        self._change(types.NotebookDocumentCellChanges(structure=structure))

    def become(self, number: int, kind: types.NotebookCellKind) -> None:
        cell = types.NotebookCell(kind, self.uri(number))
        self._change(types.NotebookDocumentCellChanges(data=[cell]))

    def type(self, number: int, line: int, start: int, end: int, text: str, version: int = 2) -> None:
        extent = types.Range(types.Position(line, start), types.Position(line, end))
        change = types.TextDocumentContentChangePartial(range=extent, text=text)
        document = types.VersionedTextDocumentIdentifier(uri=self.uri(number), version=version)
        content = types.NotebookDocumentCellContentChanges(document, [change])
        self._change(types.NotebookDocumentCellChanges(text_content=[content]))

    def save(self) -> None:
        """Save it, after which schedules are computed."""
        saved = types.DidSaveNotebookDocumentParams(types.NotebookDocumentIdentifier(NOTEBOOK))
        self.editor.client.notebook_document_did_save(saved)

    def close(self) -> None:
        closed = types.NotebookDocumentIdentifier(NOTEBOOK)
        texts = [types.TextDocumentIdentifier(self.uri(number)) for number in range(self.count)]
        self.editor.client.notebook_document_did_close(types.DidCloseNotebookDocumentParams(closed, texts))

    async def findings(self, number: int) -> list[tuple[int, str]]:
        """The lines and codes of what was published last for a cell, once all is analysed."""
        await self.editor.settle()
        published = [
            params
            for method, params in self.editor.received
            if method == types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS and params.uri == self.uri(number)
        ]
        assert published, f"nothing was published for cell {number}"
        return [(each.range.start.line, str(each.code)) for each in published[-1].diagnostics]

    def _made(self, codes: Sequence[str]) -> tuple[list[types.NotebookCell], list[types.TextDocumentItem]]:
        uris = [self.uri(self.count + number) for number in range(len(codes))]
        self.count += len(codes)
        cells = [types.NotebookCell(CODE, uri) for uri in uris]
        texts = zip(uris, codes, strict=True)
        return cells, [types.TextDocumentItem(uri, "python", 1, code) for uri, code in texts]

    def _change(self, cells: types.NotebookDocumentCellChanges) -> None:
        self.version += 1
        document = types.VersionedNotebookDocumentIdentifier(uri=NOTEBOOK, version=self.version)
        change = types.NotebookDocumentChangeEvent(cells=cells)
        params = types.DidChangeNotebookDocumentParams(document, change)
        self.editor.client.notebook_document_did_change(params)


async def test_the_server_asks_for_cells_in_python(start):
    editor = await start("vscode1139-ext11")
    (selector,) = editor.result.capabilities.notebook_document_sync.notebook_selector
    assert [cell.language for cell in selector.cells] == ["python"]
    assert (await start("nvim-bookworm")).result.capabilities.notebook_document_sync is None


async def test_findings_are_those_of_their_cells(start):
    notebook = Notebook(await start("vscode1139-ext11"), "int n;\n", PARALLEL, f"\n{SEQUENTIAL}")
    assert await notebook.findings(0) == []
    assert await notebook.findings(1) == [(1, "parallel-loop")]
    assert await notebook.findings(2) == [(2, "needs-skewing")]
    assert types.WORKSPACE_DIAGNOSTIC_REFRESH not in notebook.editor.methods()


async def test_nobody_pulls_what_is_pushed(start):
    notebook = Notebook(await start("vscode1139-ext11"), PARALLEL)
    pulled = await notebook.editor.pull(notebook.uri(0))
    assert pulled.kind == "full" and list(pulled.items) == []


async def test_cells_come_and_go(start):
    notebook = Notebook(await start("vscode1139-ext11"), PARALLEL)
    notebook.splice(0, 0, "int n;\n", SEQUENTIAL)
    notebook.save()
    assert await notebook.findings(2) == [(1, "needs-skewing")]
    assert await notebook.findings(0) == [(1, "parallel-loop")]
    notebook.splice(1, 2, closed=[2, 0])
    assert await notebook.findings(2) == await notebook.findings(0) == []
    assert await notebook.findings(1) == []


async def test_cells_change_their_places(start):
    notebook = Notebook(await start("vscode1139-ext11"), PARALLEL, SEQUENTIAL)
    await notebook.editor.settle()
    notebook.move(0, 1, 0)
    assert await notebook.findings(0) == [(1, "parallel-loop")]
    assert await notebook.findings(1) == [(1, "needs-skewing")]
    hovered = await notebook.editor.hover(notebook.uri(0), 1, 8)
    assert hovered.contents.value.startswith("`i` can run in parallel")


async def test_a_cell_becomes_words_and_code_again(start):
    notebook = Notebook(await start("vscode1139-ext11"), PARALLEL, SEQUENTIAL)
    notebook.become(0, WORDS)
    assert await notebook.findings(0) == []
    assert await notebook.findings(1) == [(1, "needs-skewing")]
    assert await notebook.editor.hover(notebook.uri(0), 1, 8) is None
    notebook.become(0, CODE)
    assert await notebook.findings(0) == [(1, "parallel-loop")]


async def test_typing_in_one_cell_moves_nothing_in_others(start):
    notebook = Notebook(await start("vscode1139-ext11"), PARALLEL, SEQUENTIAL)
    await notebook.editor.settle()
    before = len(notebook.editor.received)
    notebook.type(0, 0, 0, 0, "\n\n")
    assert await notebook.findings(0) == [(3, "parallel-loop")]
    told = [params for _, params in notebook.editor.received[before:] if hasattr(params, "diagnostics")]
    assert {each.uri for each in told} == {notebook.uri(0)} and told[-1].version == 2
    assert await notebook.findings(1) == [(1, "needs-skewing")]


async def test_a_change_counts_whatever_its_version(start):
    notebook = Notebook(await start("vscode1139-ext11"), PARALLEL)
    notebook.version = 0
    notebook.type(0, 0, 0, 0, "\n")
    assert await notebook.findings(0) == [(2, "parallel-loop")]


async def test_a_notebook_is_left_alone_after_a_change_of_a_cell_that_it_does_not_have(start):
    notebook = Notebook(await start("vscode1139-ext11"), PARALLEL)
    notebook.type(7, 0, 0, 0, "\n")
    told = await notebook.editor.until(types.WINDOW_SHOW_MESSAGE)
    assert "close the file and open it again" in told.message
    assert await notebook.findings(0) == []


async def test_a_closed_notebook_has_no_findings(start):
    notebook = Notebook(await start("vscode1139-ext11"), PARALLEL, SEQUENTIAL)
    await notebook.editor.settle()
    notebook.close()
    assert await notebook.findings(0) == await notebook.findings(1) == []
    assert await notebook.editor.hover(notebook.uri(0), 1, 8) is None


async def test_a_loop_of_a_cell_is_measured_and_the_figure_stands_in_that_cell(start):
    editor = await start("vscode1139-ext11", *with_real_analysis())
    rod = "class Rod:\n    def __init__(self, n: int): self.u = np.zeros(n)\n"
    clear = "    def clear(self):\n        for i in range(len(self.u)):\n            self.u[i] = 0.0\n"
    notebook = Notebook(editor, SETUP, "raise SystemExit", f"{rod}{clear}")
    await notebook.findings(2)
    if not await _lenses(notebook, 2):
        await editor.until(types.WORKSPACE_CODE_LENS_REFRESH)
    (lens,) = await _lenses(notebook, 2)
    assert [await _lenses(notebook, number) for number in range(2)] == [[], []]
    assert lens.range.start == types.Position(3, 8) and lens.command.title == "Measure"
    (asked,) = lens.command.arguments
    answer = await editor.execute(lens.command.command, {**asked, "sizes": {"self.u.shape[0]": 300}})
    assert (answer["cell"], answer["line"]) == (2, 4), answer
    assert "slices" in [each["target"] for each in answer["targets"] if each["matches"]]
    (again,) = await _lenses(notebook, 2)
    assert again.command.title.startswith("Measure again (") and "NumPy slices" in again.command.title


async def _lenses(notebook: Notebook, number: int) -> list[types.CodeLens]:
    params = types.CodeLensParams(types.TextDocumentIdentifier(notebook.uri(number)))
    return await notebook.editor.request(types.TEXT_DOCUMENT_CODE_LENS, params) or []


async def symbols_of(notebook: Notebook, number: int) -> list[str]:
    params = types.DocumentSymbolParams(types.TextDocumentIdentifier(notebook.uri(number)))
    found = await notebook.editor.request(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, params)
    return [each.name for each in found]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8"])
async def test_a_real_notebook(start, encoding: str):
    def prepare(params):
        params["capabilities"]["general"]["positionEncodings"] = [encoding]

    editor = await start("vscode1139-ext11", *with_real_analysis(), prepare=prepare)
    notebook = Notebook(editor, SETUP, SCALE, SWEEP, "u = np.zeros(9)\nfor k in range(9): u[k] = k\n")
    assert [line for line, _ in await notebook.findings(1)] == [2]
    assert await notebook.findings(2) == [(2, "sequential-loop")]
    assert await notebook.findings(3) == [(1, "parallel-loop")]
    hovered = await editor.hover(notebook.uri(2), 2, 8)
    assert "`a[i - 1]` on line 3 reads" in hovered.contents.value
    assert hovered.range.start == types.Position(2, 4)
    whole = types.Range(types.Position(0, 0), types.Position(9, 0))
    params = types.InlayHintParams(types.TextDocumentIdentifier(notebook.uri(1)), whole)
    (hint,) = await editor.request(types.TEXT_DOCUMENT_INLAY_HINT, params)
    assert hint.position == types.Position(2, 21) and hint.label.startswith("parallel")
    assert await symbols_of(notebook, 1) == ["scale"] and await symbols_of(notebook, 0) == []
    assert await symbols_of(notebook, 3) == ["for k"]
    # A character of two units of UTF-16, and of four of UTF-8, stands before what is typed.
    column = {"utf-16": 10, "utf-8": 12}[encoding]
    notebook.type(1, 1, column, column, "m = 0; ")
    assert [line for line, _ in await notebook.findings(1)] == [2]
    await edit_two_cells(notebook)


async def edit_two_cells(notebook: Notebook) -> None:
    """Check an edit of two cells: Numba's import in the first, and the directives in the second."""
    listed = await notebook.editor.actions(notebook.uri(1), 2)
    action = next(each for each in listed if each.title.startswith("Run `i` in parallel with Numba"))
    resolved = await notebook.editor.request(types.CODE_ACTION_RESOLVE, action)
    first, second = resolved.edit.document_changes
    assert (first.text_document.uri, first.text_document.version) == (notebook.uri(0), 1)
    assert (second.text_document.uri, second.text_document.version) == (notebook.uri(1), 2)
    assert [edit.new_text for edit in first.edits] == ["\nfrom numba import njit, prange"]
    assert first.edits[0].range.start == types.Position(1, 32)
    told = {(edit.range.start.line, edit.range.start.character): edit.new_text for edit in second.edits}
    assert told == {(0, 0): "@njit(parallel=True)\n", (2, 13): "prange"}


async def test_the_loop_at_a_cursor_in_a_cell(start):
    notebook = Notebook(await start("vscode1139-ext11"), "int n;\n", PARALLEL)
    await notebook.editor.settle()
    place = {"textDocument": {"uri": notebook.uri(1)}, "position": {"line": 1, "character": 8}}
    found = await notebook.editor.request("polylsp/loopAt", place)
    assert (found.function, found.ordinal, found.range.start.line) == ("f", 1, 1)


async def test_a_drawing_is_of_the_loop_in_the_cell(start):
    notebook = Notebook(await start("vscode1139-ext11"), "int n;\n", PARALLEL, f"\n{SEQUENTIAL}")
    notebook.type(2, 0, 0, 0, " ", version=5)
    await notebook.editor.settle()
    place = {"textDocument": {"uri": notebook.uri(2)}, "position": {"line": 2, "character": 8}}
    drawn = await notebook.editor.request("polylsp/iterationSpace", place)
    assert (drawn.function, drawn.version, drawn.reason, len(drawn.points)) == ("g", 5, None, 3)
    (between,) = drawn.dependences
    assert (drawn.range.start.line, between.source.range.start.line) == (2, 2)
    text = (await notebook.editor.hover(notebook.uri(2), 2, 8)).contents.value
    assert "data:image/svg+xml;base64," in text


async def test_what_a_drawing_in_a_real_notebook_names_is_in_its_cell(start):
    editor = await start("vscode1139-ext11", *with_real_analysis())
    notebook = Notebook(editor, SETUP, "u = np.zeros(9)\n", "\nfor k in range(1, 9):\n    u[k] = u[k - 1]\n")
    await editor.settle()
    place = {"textDocument": {"uri": notebook.uri(2)}, "position": {"line": 1, "character": 4}}
    drawn = await editor.request("polylsp/iterationSpace", place)
    (between,) = drawn.dependences
    assert (between.source.text, between.sink.text) == ("u[k] = …", "u[k - 1]")
    assert [between.source.range.start.line, between.sink.range.start.character] == [2, 11]
    assert "on line 3 reads" in drawn.sentence
