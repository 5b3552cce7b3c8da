"""The whole way: client, server, worker, the real analysis."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from lsprotocol import types

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
    editor = await start("nvim-bookworm", *REAL)
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
    editor = await start("nvim-bookworm", *REAL)
    uri = editor.open(SHIFTED, uri=source.as_uri())
    await editor.diagnostics(uri, 1, "parallel-loop")
    compile_with("-DSHIFT=1", "-O2")
    event = types.FileEvent(uri=database.as_uri(), type=types.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
    await editor.diagnostics(uri, 1, "sequential-loop")


async def test_the_working_directory_and_the_output_of_the_worker_do_not_matter(start, tmp_path: Path):
    editor = await start("nvim-bookworm", *REAL)
    uri = editor.open(
        "void f(int n, double *a) { for (int i = 0; i < n; i++) a[i] = 0; }", uri="untitled:new"
    )
    await editor.diagnostics(uri, 1, "parallel-loop")
