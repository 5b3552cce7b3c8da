"""Diagnostics, pushed and pulled."""

from __future__ import annotations

import pytest
from lsprotocol import types

pytestmark = pytest.mark.asyncio

F = "void f(int n) {\n    for (i = 0; i < n; i++) a[i] = 0;\n}\n"
G = "void g(int n) {\n    for (t = 1; t < n; t++) a[t] = a[t - 1];\n}\n"


async def test_open_publishes_quick_then_full(start):
    editor = await start()
    uri = editor.open(F + G)
    quick = await editor.diagnostics(uri, 1, "parallel-loop", "sequential-loop")
    full = await editor.diagnostics(uri, 1, "parallel-loop", "needs-skewing")
    assert quick[0].source == "polylsp"
    assert quick[0].range == types.Range(start=types.Position(1, 4), end=types.Position(1, 27))
    assert full[1].severity == types.DiagnosticSeverity.Information
    assert quick[1].related_information


async def test_change_publishes_for_its_version_and_keeps_transforms_of_other_functions(start):
    editor = await start()
    uri = editor.open(F + G)
    await editor.diagnostics(uri, 1, "parallel-loop", "needs-skewing")
    version = editor.replace(uri, "i++", "i += 2")
    found = await editor.diagnostics(uri, version)
    assert [each.code for each in found] == ["parallel-loop", "needs-skewing"]


async def test_save_brings_the_transform_of_the_edited_function(start):
    editor = await start()
    uri = editor.open(G)
    await editor.diagnostics(uri, 1, "needs-skewing")
    version = editor.replace(uri, "t++", "t += 2")
    await editor.diagnostics(uri, version, "sequential-loop")
    editor.save(uri)
    await editor.diagnostics(uri, version, "needs-skewing")


async def test_lines_above_move_findings_and_the_lines_in_their_messages(start):
    editor = await start()
    uri = editor.open(G)
    await editor.diagnostics(uri, 1, "needs-skewing")
    (before,) = await editor.diagnostics(uri, editor.replace(uri, "t++", "t += 2"))
    (after,) = await editor.diagnostics(uri, editor.replace(uri, "void g", "\n\n\nvoid g"))
    assert after.range.start.line == before.range.start.line + 3
    assert [each.location.range.start.line for each in after.related_information or ()] == [
        each.location.range.start.line + 3 for each in before.related_information or ()
    ]
    assert "line 2" in before.message and "line 5" in after.message


async def test_close_clears(start):
    editor = await start()
    uri = editor.open(F)
    await editor.diagnostics(uri, 1, "parallel-loop")
    editor.close(uri)
    cleared = await editor.until(
        types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, lambda params: not params.diagnostics
    )
    assert cleared.uri == uri


async def test_a_file_problem_is_published(start):
    editor = await start()
    uri = editor.open("#include <missing.h>\n" + F)
    found = await editor.diagnostics(uri, 1, "missing-header", "parallel-loop")
    assert found[0].range.end == types.Position(0, 20)


async def test_pull_once_then_unchanged(start):
    editor = await start("vscode1139-ext11")
    assert editor.result.capabilities.diagnostic_provider is not None
    uri = editor.open(F)
    first = await editor.pull(uri)
    assert [each.code for each in first.items] == ["parallel-loop"]
    again = await editor.pull(uri, first.result_id)
    assert again.kind == "unchanged"
    assert types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS not in editor.methods()


async def test_pull_clients_are_told_when_the_transforms_are_known(start):
    editor = await start("vscode1139-ext11")
    uri = editor.open(G)
    first = await editor.pull_now(uri)
    await editor.until(types.WORKSPACE_DIAGNOSTIC_REFRESH)
    second = await editor.pull(uri, first.result_id)
    assert [each.code for each in second.items] == ["needs-skewing"]


async def test_a_client_that_cannot_refresh_is_sent_diagnostics(start):
    editor = await start("nvim-trixie")
    assert editor.result.capabilities.diagnostic_provider is None
    uri = editor.open(F)
    await editor.diagnostics(uri, 1, "parallel-loop")


async def test_code_pages_only_for_clients_that_link_them(start):
    plain = await start("nvim-bookworm")
    uri = plain.open(F)
    assert (await plain.diagnostics(uri, 1))[0].code_description is None
    linking = await start("vscode1139-ext11")
    linking.open(F)
    (found,) = (await linking.pull(uri)).items
    assert found.code_description.href.startswith("file://")


async def test_other_languages_are_left_alone(start):
    editor = await start("vscode1139-ext11")
    uri = editor.open("x = 1", uri="file:///project/a.rs", language="rust")
    assert list((await editor.pull(uri)).items) == []
