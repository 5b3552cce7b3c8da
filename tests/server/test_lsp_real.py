"""The whole way: client, server, worker, the real analysis."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from editor import with_real_analysis
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.codegen.editing import assert_same
from tests.codegen.transform.edited import WARNINGS, printed

pytestmark = pytest.mark.asyncio

REAL = (sys.executable, "-m", "polylsp", "serve")
SHIFTED = "void f(int n, double *a)\n{\n    for (int i = 1; i < n; i++) a[i] = a[i - SHIFT] + 1;\n}\n"
SAMPLES = Path(__file__).parents[2] / "samples"


async def test_a_sample_from_open_to_save(start):
    editor = await start("nvim-bookworm", *REAL)
    path = SAMPLES / "polybench/c/seidel-2d.c"
    uri = editor.open(path.read_text(), uri=path.as_uri())
    found = await editor.diagnostics(uri, 1)
    codes = {each.range.start.line: each.code for each in found}
    kernel = editor.texts[uri][1].splitlines().index("    for (int t = 0; t < TSTEPS; t++)")
    assert codes[kernel] in ("sequential-loop", "needs-skewing")
    hovered = await editor.hover(uri, kernel, 6)
    assert "A" in hovered.contents.value
    version = editor.replace(uri, "A[i][j] = (A[i - 1][j - 1]", "A[i][j] = ((A[i - 1][j - 1]")
    found = await editor.diagnostics(uri, version)
    assert {each.code for each in found if each.range.start.line == kernel} != {codes[kernel]}
    version = editor.replace(uri, "((A", "(A")
    found = await editor.diagnostics(uri, version)
    assert {each.range.start.line for each in found} == set(codes)


async def test_a_changed_header_changes_the_findings(start, tmp_path: Path):
    header = tmp_path / "shift.h"
    header.write_text("#define SHIFT 0\n")
    text = '#include "shift.h"\n' + SHIFTED
    editor = await start("nvim-bookworm", *with_real_analysis())
    uri = editor.open(text, uri=(tmp_path / "f.c").as_uri())
    await editor.diagnostics(uri, 1, "parallel-loop")
    header.write_text("#define SHIFT 1\n")
    event = types.FileEvent(uri=header.as_uri(), type=types.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
    await editor.diagnostics(uri, 1, "sequential-loop")


async def test_changed_compile_commands_change_the_findings(start, tmp_path: Path):
    source = tmp_path / "f.c"
    database = tmp_path / "compile_commands.json"

    def compile_with(*flags: str) -> None:
        entry = {"directory": str(tmp_path), "file": "f.c", "arguments": ["cc", *flags, "-c", "f.c"]}
        database.write_text(json.dumps([entry]))

    compile_with("-DSHIFT=0")
    source.write_text(SHIFTED)
    editor = await start("nvim-bookworm", *with_real_analysis())
    uri = editor.open(SHIFTED, uri=source.as_uri())
    await editor.diagnostics(uri, 1, "parallel-loop")
    compile_with("-DSHIFT=1", "-O2")
    event = types.FileEvent(uri=database.as_uri(), type=types.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
    await editor.diagnostics(uri, 1, "sequential-loop")


async def test_the_working_directory_and_the_output_of_the_worker_do_not_matter(start, tmp_path: Path):
    editor = await start("nvim-bookworm", *with_real_analysis())
    uri = editor.open(
        "void f(int n, double *a) { for (int i = 0; i < n; i++) a[i] = 0; }", uri="untitled:new"
    )
    await editor.diagnostics(uri, 1, "parallel-loop")


async def test_an_action_on_a_sample(start):
    editor = await start("vscode1139-ext11", *with_real_analysis())
    path = SAMPLES / "polybench/c/gemm.c"
    uri = editor.open(path.read_text(), uri=path.as_uri())
    await editor.pull(uri)
    line = path.read_text().splitlines().index("    for (int i = 0; i < ni; i++) {")
    (action,) = [each for each in await editor.actions(uri, line, 6) if each.title.endswith("with OpenMP")]
    resolved = await editor.request(types.CODE_ACTION_RESOLVE, action)
    (document,) = resolved.edit.document_changes
    (edit,) = document.edits
    assert edit.range.start == edit.range.end == types.Position(line, 0)
    assert edit.new_text.startswith("    #pragma omp parallel for ")


@pytest.mark.parametrize(
    ("sample", "header", "title"),
    [
        ("gemm", "    for (int i = 0; i < ni; i++) {", "Restructure the loops of `kernel_gemm` for speed: "),
        ("mvt", "static void kernel_mvt(", "Restructure the loops of `kernel_mvt` for speed: "),
        ("syrk", "        for (int k = 0; k < m; k++)", "Unroll and jam the loops around `j` "),
        ("atax", "        for (int j = 0; j < n; j++)", "Vectorise the sum over `j`"),
    ],
)
async def test_a_sample_made_faster_by_the_lightbulb_prints_the_same(
    start, tmp_path: Path, sample: str, header: str, title: str
):
    editor = await start("vscode1139-ext11", *with_real_analysis())
    path = SAMPLES / f"polybench/c/{sample}.c"
    text = path.read_text()
    uri = editor.open(text, uri=path.as_uri())
    line = next(k for k, each in enumerate(text.splitlines()) if each.startswith(header))
    listed = await editor.actions(uri, line, len(header) - len(header.lstrip()))
    (action,) = [each for each in listed if each.title.startswith(title)]
    resolved = await editor.request(types.CODE_ACTION_RESOLVE, action)
    (document,) = resolved.edit.document_changes
    edited = _applied(text, document.edits)
    assert edited != text
    assert_same(printed(text, tmp_path), printed(edited, tmp_path, "-fopenmp", *WARNINGS))


def _applied(text: str, edits: Sequence[types.TextEdit]) -> str:
    starts = [0, *(at + 1 for at, letter in enumerate(text) if letter == "\n")]
    for each in sorted(edits, key=lambda one: one.range.start.line, reverse=True):
        first, last = (starts[at.line] + at.character for at in (each.range.start, each.range.end))
        text = text[:first] + each.new_text + text[last:]
    return text


async def test_a_loop_in_a_macro_is_shown_but_cannot_be_chosen(start):
    text = (
        "#define CLEAR(a, n) do { for (int i = 0; i < (n); i++) (a)[i] = 0; } while (0)\n"
        "void clear(int n, double *a) { CLEAR(a, n); }\n"
    )
    telling = await start("vscode1139-ext11", *with_real_analysis())
    uri = telling.open(text)
    await telling.pull(uri)
    found = await telling.actions(uri, 1, 33, only=["refactor"])
    assert found and all("inside a macro" in each.disabled.reason for each in found)
    # Even so, an explicit request is declined.
    resolved = await telling.request(types.CODE_ACTION_RESOLVE, found[0])
    assert resolved.edit is None
    await telling.until(types.WINDOW_SHOW_MESSAGE, lambda params: "inside a macro" in params.message)
    plain = await start("nvim-bookworm", *with_real_analysis())
    uri = plain.open(text)
    await plain.diagnostics(uri, 1)
    assert not await plain.actions(uri, 1, 33, only=["refactor"])


LACKING = """\
double sum(int n, double a[n][n]) {
    double s = 0;
    int j;
    #pragma omp parallel for
    for (int i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            s += a[i][j];
    return s;
}
"""
MENDS = ("Add `private(j)` to the directive", "Add `reduction(+:s)` to the directive")


async def test_a_directive_is_mended_until_nothing_is_wrong_with_it(start):
    editor = await start("vscode1139-ext11", *with_real_analysis())
    uri, text = editor.open(LACKING), LACKING
    for title in MENDS:
        found = [each for each in (await editor.pull(uri)).items if each.code == "incomplete-pragma"]
        actions = await editor.actions(uri, 3, diagnostics=found, only=["quickfix"])
        action = next(each for each in actions if each.title == title)
        clause = title.split("`")[1]
        assert [clause in each.message for each in action.diagnostics] == [True]
        (edit,) = action.edit.document_changes[0].edits
        line = text.splitlines()[3]
        assert edit.new_text == f"{line.strip()} {clause}" and edit.range.start == types.Position(3, 4)
        text = text.replace(line, f"    {edit.new_text}")
        editor.replace(uri, line.strip(), edit.new_text)
    assert "incomplete-pragma" not in {each.code for each in (await editor.pull(uri)).items}


async def test_the_mend_that_leaves_nothing_wrong_is_preferred(start):
    editor = await start("vscode1139-ext11", *with_real_analysis())
    uri = editor.open(LACKING)
    found = [each for each in (await editor.pull(uri)).items if each.code == "incomplete-pragma"]
    for line in (3, 4):
        listed = await editor.actions(uri, line, diagnostics=found, only=["quickfix"])
        mends = {each.title: bool(each.is_preferred) for each in listed if "directive" in each.title}
        both = "Complete the directive with `reduction(+:s)` and `private(j)`"
        assert mends == {both: True, **dict.fromkeys(MENDS, False)}
        assert [len(each.diagnostics) for each in listed if each.title == both] == [2]
    uri = editor.open(LACKING.replace("int j;", "").replace("(j = 0", "(int j = 0"), uri="file:///b.c")
    await editor.pull(uri)
    (only,) = [each for each in await editor.actions(uri, 3, only=["quickfix"]) if each.title in MENDS]
    assert only.is_preferred and only.diagnostics is None


async def test_old_clients_mend_a_directive_by_a_command(start):
    def prepare(params):
        params["capabilities"]["textDocument"]["codeAction"] = {}

    editor = await start("nvim-bookworm", *with_real_analysis(), prepare=prepare)
    uri = editor.open(LACKING)
    (command,) = [each for each in await editor.actions(uri, 3) if each.title == MENDS[0]]
    assert await editor.execute(command.command, *command.arguments) == {"applied": True}
    applied = await editor.until(types.WORKSPACE_APPLY_EDIT)
    ((edit,),) = applied.edit.changes.values()
    assert edit.new_text == "#pragma omp parallel for private(j)"
    editor.replace(uri, "double s = 0;", "double s = 1;")
    with pytest.raises(JsonRpcException) as refused:
        await editor.execute(command.command, *command.arguments)
    assert refused.value.code == types.LSPErrorCodes.ContentModified


SWEEP = """\
void sweep(int n, double a[n][n]) {
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++)
            a[i][j] = a[i - 1][j] + a[i][j - 1];
}
"""
ADD = """\
void add(int n, double *a, double *b, const int *at) {
    for (int i = 0; i < n; i++)
        a[i] += b[at[i]];
}
"""
SKEW = "Skew the loops of `i` to run a wavefront in parallel"


async def test_a_transform_is_listed_and_worked_out_for_the_text_that_it_was_listed_for(start):
    editor = await start("vscode1139-ext11", *with_real_analysis())
    uri = editor.open(SWEEP)
    await editor.settle()
    found = (await editor.pull(uri)).items
    (action,) = [each for each in await editor.actions(uri, 1, diagnostics=found) if each.title == SKEW]
    assert [each.code for each in action.diagnostics] == ["needs-skewing"] and not action.is_preferred
    resolved = await editor.request(types.CODE_ACTION_RESOLVE, action)
    (edit,) = resolved.edit.document_changes[0].edits
    assert "for (long long w = 2;" in edit.new_text
    for old, new in (("double a", "float a"), ("float a", "double a")):
        editor.replace(uri, old, new)
        request = editor.request(types.CODE_ACTION_RESOLVE, action)
        if new == "float a":
            with pytest.raises(JsonRpcException) as refused:
                await request
            assert refused.value.code == types.LSPErrorCodes.ContentModified
    assert (await request).edit is not None  # The text is again the one that it was listed for.


async def test_transforms_are_listed_once_the_file_is_saved(start):
    editor = await start("vscode1139-ext11", *with_real_analysis())
    uri = editor.open(SWEEP.replace("a[i - 1][j] + ", ""))
    assert SKEW not in [each.title for each in await editor.actions(uri, 1)]
    editor.replace(uri, "a[i][j - 1]", "a[i - 1][j] + a[i][j - 1]")
    await editor.actions(uri, 1)
    editor.save(uri)
    assert SKEW in [each.title for each in await editor.actions(uri, 1)]


async def test_a_file_that_has_vanished_is_edited_in_the_editor_all_the_same(start, tmp_path: Path):
    path = tmp_path / "sweep.c"
    path.write_text(SWEEP)
    editor = await start("vscode1139-ext11", *with_real_analysis())
    uri = editor.open(SWEEP, uri=path.as_uri())
    await editor.pull(uri)
    path.unlink()
    (action,) = [each for each in await editor.actions(uri, 2) if each.title == SKEW]
    assert (await editor.request(types.CODE_ACTION_RESOLVE, action)).edit is not None


async def test_what_a_finding_about_overlap_is_answered_by(start):
    editor = await start("vscode1139-ext11", *with_real_analysis())
    uri = editor.open(ADD)
    found = [each for each in (await editor.pull(uri)).items if each.code == "needs-restrict"]
    listed = await editor.actions(uri, 1, diagnostics=found)
    fixes = {each.title: len(each.diagnostics or []) for each in listed if each.kind == "quickfix"}
    promise = "Promise with `restrict` that `a` and `b` do not overlap"
    offload = "Offload `i` to a GPU (CUDA)"
    assert fixes == {promise: 1, offload: 1, "Ignore `needs-restrict` on line 2": 1}
    assert not any(each.is_preferred for each in listed)
    devices = [each for each in listed if "OpenACC" in each.title or "offloading" in each.title]
    assert [each.disabled for each in devices] == [None, None]
    plain = await start("nvim-bookworm", *with_real_analysis())
    uri = plain.open(ADD)
    await plain.diagnostics(uri, 1)
    titles = [each.title for each in await plain.actions(uri, 1, only=["refactor"])]
    runs = [f"Run `i` in parallel with {how}" for how in ("OpenMP", "OpenACC", "OpenMP offloading")]
    assert [title.partition(" (")[0] for title in titles] == ["Offload `i` to a GPU", *runs]


STENCIL = """\
import numpy as np
from numpy.typing import NDArray

def f(n: int, a: NDArray[np.float64]):
    for i in range(1, n):
        a[i] = a[i] + 1.0
"""


async def test_a_python_file_is_analysed_as_it_is_typed(start, tmp_path: Path):
    editor = await start("nvim-bookworm", *with_real_analysis())
    uri = editor.open(STENCIL, uri=(tmp_path / "f.py").as_uri())
    await editor.diagnostics(uri, 1, "parallel-loop")
    version = editor.replace(uri, "a[i] + 1.0", "a[i - 1] + 1.0")
    found = await editor.diagnostics(uri, version, "sequential-loop")
    assert [each.range.start.line for each in found] == [4]
    hovered = await editor.hover(uri, 4, 6)
    assert "a[i - 1]" in hovered.contents.value


SCALE = "void f(int n, double *a)\n{\n    for (int i = 0; i < n; i++)\n        a[i] *= 2;\n}\n"
GPU = "Offload `i` to a GPU (CUDA)"


@pytest.mark.parametrize("capture", ["vscode1139-ext11", "nvim-bookworm"])
async def test_kernels_for_a_gpu_are_a_file_of_their_own(start, tmp_path: Path, capture: str):
    editor = await start(capture, *with_real_analysis())
    uri = editor.open(SCALE, uri=(tmp_path / "f g.c").as_uri())
    (offer,) = [each for each in await editor.actions(uri, 2) if each.title == GPU]
    assert offer.disabled is None and offer.edit is None
    made = await editor.request(types.CODE_ACTION_RESOLVE, offer)
    create, written, edited = made.edit.document_changes
    assert create.kind == "create" and create.uri == (tmp_path / "f_cuda.cu").as_uri()
    assert not create.options.overwrite and not create.options.ignore_if_exists
    assert written.text_document.uri == create.uri and "__global__" in written.edits[0].new_text
    assert edited.text_document.uri == uri
    assert any("f_cuda(n, a) != 0" in each.new_text for each in edited.edits)


TWICE = SCALE.replace("}\n", "    for (int i = 1; i < n; i++)\n        a[i] += 1;\n}\n")


async def test_all_nests_of_a_function_are_one_file(start, tmp_path: Path):
    editor = await start("vscode1139-ext11", *with_real_analysis())
    uri = editor.open(TWICE, uri=(tmp_path / "f.c").as_uri())
    offers = [each for each in await editor.actions(uri, 0) if "to a GPU (CUDA)" in each.title]
    (offer,) = offers
    assert offer.title == "Offload the 2 nests of `f` to a GPU (CUDA), sharing what is on the device"
    made = await editor.request(types.CODE_ACTION_RESOLVE, offer)
    _, written, _ = made.edit.document_changes
    assert all(each in written.edits[0].new_text for each in ("a[i] *= 2;", "a[i] += 1;"))
    assert written.edits[0].new_text.count("cudaMemcpyHostToDevice") == 1


async def test_a_file_that_is_there_is_left_alone(start, tmp_path: Path):
    editor = await start("vscode1139-ext11", *with_real_analysis())
    (tmp_path / "f_cuda.cu").write_text("// mine\n")
    uri = editor.open(SCALE, uri=(tmp_path / "f.c").as_uri())
    (offer,) = [each for each in await editor.actions(uri, 2) if each.title == GPU]
    assert (await editor.request(types.CODE_ACTION_RESOLVE, offer)).edit is None
    told = await editor.until(types.WINDOW_SHOW_MESSAGE)
    assert "`f_cuda.cu` is there already" in told.message and "The log shows" in told.message
    logged = await editor.until(types.WINDOW_LOG_MESSAGE, lambda each: "@@" in each.message)
    assert logged.message.startswith("--- f_cuda.cu\n+++ f_cuda.cu\n@@ ")
    assert "\n-// mine\n+/* The loops from line 3 on, in `f`, on a GPU.\n" in logged.message
    assert (tmp_path / "f_cuda.cu").read_text() == "// mine\n"


async def test_an_editor_that_makes_no_files_says_so(start, tmp_path: Path):
    def unable(params):
        params["capabilities"]["workspace"]["workspaceEdit"] = {"documentChanges": True}

    editor = await start("vscode1139-ext11", *with_real_analysis(), prepare=unable)
    uri = editor.open(SCALE, uri=(tmp_path / "f.c").as_uri())
    (offer,) = [each for each in await editor.actions(uri, 2) if each.title == GPU]
    assert "polylsp offload --target cuda" in offer.disabled.reason


async def test_a_loop_of_python_is_run_with_numba(start, tmp_path: Path):
    editor = await start("vscode1139-ext11", *with_real_analysis())
    uri = editor.open(STENCIL, uri=(tmp_path / "f.py").as_uri())
    await editor.settle()
    listed = await editor.actions(uri, 4)
    (action,) = [each for each in listed if each.title == "Run `i` in parallel with Numba"]
    assert action.is_preferred
    resolved = await editor.request(types.CODE_ACTION_RESOLVE, action)
    edits = sorted(resolved.edit.document_changes[0].edits, key=lambda each: each.range.start.line)
    assert [(each.range.start.line, each.new_text) for each in edits] == [
        (1, "\nfrom numba import njit, prange"),
        (3, "@njit(parallel=True)\n"),
        (4, "prange"),
    ]


async def test_a_loop_of_python_has_kernels_before_its_function(start, tmp_path: Path):
    editor = await start("vscode1139-ext11", *with_real_analysis())
    uri = editor.open(STENCIL, uri=(tmp_path / "f.py").as_uri())
    await editor.settle()
    listed = await editor.actions(uri, 4)
    (offer,) = [each for each in listed if each.title == "Offload `i` to a GPU (PyCUDA)"]
    assert offer.disabled is None
    resolved = await editor.request(types.CODE_ACTION_RESOLVE, offer)
    create, shared, own = resolved.edit.document_changes
    assert create.uri == (tmp_path / "polylsp_gpu.py").as_uri() == shared.text_document.uri
    assert "class PyCuda(Gpu):" in shared.edits[0].new_text
    made = applied(STENCIL, own.edits)
    assert (
        "from polylsp_gpu import PyCuda\n" in made
        and "\nf_cuda_kernel0(" in made.partition("def f_cuda(n, a):")[0]
    )
    assert "    if not f_cuda(n, a):\n        for i in range(1, n):\n            a[i] = a[i] + 1.0\n" in made


def applied(text: str, edits: Sequence[types.TextEdit]) -> str:
    """A text after edits, the last of which come first."""
    lines = [*text.splitlines(keepends=True), ""]
    starts = [sum(map(len, lines[:k])) for k in range(len(lines))]
    for each in sorted(
        edits, key=lambda one: (one.range.start.line, one.range.start.character), reverse=True
    ):
        first, last = (starts[at.line] + at.character for at in (each.range.start, each.range.end))
        text = text[:first] + each.new_text + text[last:]
    return text


RACING = STENCIL.replace("range(", "prange(").replace("= a[i]", "= a[i - 1]")
RACING = RACING.replace("def f", "from numba import njit, prange\n\n@njit(parallel=True)\ndef f")


async def test_a_race_over_prange_is_told_and_mended(start, tmp_path: Path):
    editor = await start("nvim-bookworm", *with_real_analysis())
    uri = editor.open(RACING, uri=(tmp_path / "f.py").as_uri())
    every = await editor.diagnostics(uri, 1)
    (found,) = [each for each in every if each.code == "wrong-pragma"]
    assert found.message.startswith("`prange` lets iterations of `i` run at once, but `a[i - 1]` on line 9 ")
    assert (found.range.start.line, found.severity) == (7, types.DiagnosticSeverity.Error)
    titles = [each.title for each in await editor.actions(uri, 7)]
    assert "Write `range` in place of `prange`: the loop runs in order" in titles
    assert not any("Numba" in title for title in titles)
