"""Hover, inlay hints, document symbols, commands, configuration, watched files, folders, trace, status."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from polylsp.measuring.tools import compiler_here, gpu_here

pytestmark = pytest.mark.asyncio

F = "void f(int n) {\n    for (i = 0; i < n; i++) a[i] = 0;\n}\n"
G = "void g(int n) {\n    for (t = 1; t < n; t++) a[t] = a[t - 1];\n}\n"
ALL = types.Range(start=types.Position(0, 0), end=types.Position(99, 0))


def hints_params(uri: str) -> types.InlayHintParams:
    return types.InlayHintParams(text_document=types.TextDocumentIdentifier(uri), range=ALL)


async def test_hover_in_markdown_for_the_header_only(start):
    editor = await start()
    uri = editor.open(F)
    await editor.settle()
    found = await editor.hover(uri, 1, 8)
    assert found.contents.kind == types.MarkupKind.Markdown
    assert "parallel" in found.contents.value
    assert found.range == types.Range(types.Position(1, 4), types.Position(1, 27))
    assert await editor.hover(uri, 0, 2) is None


async def test_hover_in_plain_text(start):
    def plain(params):
        params["capabilities"]["textDocument"]["hover"]["contentFormat"] = ["plaintext"]

    editor = await start(prepare=plain)
    uri = editor.open(F)
    await editor.settle()
    found = await editor.hover(uri, 1, 8)
    assert found.contents.kind == types.MarkupKind.PlainText


async def test_the_hover_links_to_the_best_fix_where_the_client_runs_links(start):
    def runs_links(params):
        params["initializationOptions"] = {"commands": ["polylsp.applyAction"]}

    editor = await start("vscode1139-ext11", prepare=runs_links)
    uri = editor.open(F)
    await editor.settle()
    found = (await editor.hover(uri, 1, 8)).contents.value
    title, target = re.search(r"\n\n\[(.*?)\]\(command:polylsp\.applyAction\?(.*?)\)", found).groups()
    assert title == "Run `i` in parallel with OpenMP"
    await editor.execute("polylsp.applyAction", *json.loads(unquote(target)))
    applied = await editor.until(types.WORKSPACE_APPLY_EDIT)
    assert "#pragma openmp" in str(applied.edit)


async def test_no_link_for_other_clients(start):
    plain = await start("vscode1139-ext11")
    uri = plain.open(F)
    await plain.settle()
    assert "command:" not in (await plain.hover(uri, 1, 8)).contents.value


async def test_hover_while_another_function_is_being_analysed(start, tmp_path: Path):
    editor = await start()
    uri = editor.open(F + G)
    await editor.diagnostics(uri, 1, "parallel-loop", "needs-skewing")
    editor.replace(uri, "a[t]", "WAIT_later[t]")
    top = types.Range(types.Position(0, 0), types.Position(0, 0))
    editor.change(uri, types.TextDocumentContentChangePartial(range=top, text="\n"))
    found = await editor.hover(uri, 2, 8)
    assert "parallel" in found.contents.value and found.range.start.line == 2
    assert await editor.hover(uri, 5, 8) is None
    (tmp_path / "later").touch()
    await editor.diagnostics(uri, 3)
    assert await editor.hover(uri, 5, 8) is not None


async def test_hover_is_refused_when_the_text_changes_meanwhile(start, tmp_path: Path):
    editor = await start()
    uri = editor.open(F.replace("a[i]", "WAIT_later[i]"))
    asked = editor.request(
        types.TEXT_DOCUMENT_HOVER,
        types.HoverParams(text_document=types.TextDocumentIdentifier(uri), position=types.Position(1, 8)),
    )
    request = asyncio.ensure_future(asked)
    await editor.hover("file:///project/none.c", 0, 0)  # the first hover has arrived before this one
    editor.replace(uri, "i++", "i += 2")
    with pytest.raises(JsonRpcException) as refused:
        await request
    assert refused.value.code == types.LSPErrorCodes.ContentModified
    (tmp_path / "later").touch()


async def test_cancelled_request(start, tmp_path: Path):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F.replace("a[i]", "WAIT_later[i]"))
    params = types.DocumentDiagnosticParams(text_document=types.TextDocumentIdentifier(uri))
    request = editor.client.protocol.send_request(types.TEXT_DOCUMENT_DIAGNOSTIC, params, msg_id="pull")
    editor.client.protocol.notify(types.CANCEL_REQUEST, types.CancelParams(id="pull"))
    with pytest.raises(JsonRpcException) as refused:
        await asyncio.wrap_future(request)
    assert refused.value.code == types.LSPErrorCodes.RequestCancelled
    (tmp_path / "later").touch()


async def test_a_pull_that_is_superseded_says_ask_again(start, tmp_path: Path):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F.replace("a[i]", "WAIT_later[i]"))
    request = asyncio.ensure_future(editor.pull(uri))
    await editor.hover("file:///project/none.c", 0, 0)
    editor.replace(uri, "i++", "i += 2")
    with pytest.raises(JsonRpcException) as refused:
        await request
    assert refused.value.code == types.LSPErrorCodes.ServerCancelled
    (tmp_path / "later").touch()
    assert [each.code for each in (await editor.pull(uri)).items] == ["parallel-loop"]


async def test_inlay_hints_and_their_tooltips(start):
    editor = await start("nvim-sid")
    uri = editor.open(F + G)
    await editor.settle()
    found = await editor.request(types.TEXT_DOCUMENT_INLAY_HINT, hints_params(uri))
    assert [each.label.split(":")[0] for each in found] == ["parallel", "sequential"]
    assert found[0].position == types.Position(1, 27)
    resolved = await editor.request(types.INLAY_HINT_RESOLVE, found[1])
    assert "cannot run in parallel" in resolved.tooltip.value


async def test_hints_are_asked_for_again_when_they_were_late(start, tmp_path: Path):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F.replace("a[i]", "WAIT_later[i]"))
    assert await editor.request(types.TEXT_DOCUMENT_INLAY_HINT, hints_params(uri)) is None
    assert types.WORKSPACE_INLAY_HINT_REFRESH not in editor.methods()
    (tmp_path / "later").touch()
    await editor.until(types.WORKSPACE_INLAY_HINT_REFRESH)
    assert await editor.request(types.TEXT_DOCUMENT_INLAY_HINT, hints_params(uri))


async def test_symbols_as_a_tree(start):
    editor = await start()
    uri = editor.open(F + G)
    await editor.settle()
    params = types.DocumentSymbolParams(text_document=types.TextDocumentIdentifier(uri))
    found = await editor.request(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, params)
    assert [each.name for each in found] == ["f", "g"]
    assert found[1].range.start.line == 3 and len(found[1].children) == 1


async def test_symbols_as_a_list(start):
    def flat(params):
        del params["capabilities"]["textDocument"]["documentSymbol"]["hierarchicalDocumentSymbolSupport"]

    editor = await start(prepare=flat)
    uri = editor.open(F)
    await editor.settle()
    params = types.DocumentSymbolParams(text_document=types.TextDocumentIdentifier(uri))
    found = await editor.request(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, params)
    assert found[0].name == "f" and found[1].container_name == "f"
    assert found[1].location.uri == uri


async def test_encodings_are_negotiated_and_honoured(start):
    text = "void f(int n) { /* 𝄞é */ for (i = 0; i < n; i++) /* 𝄞é */ a[i] = 0;\n}\n"
    expected = {"utf-16": 26, "utf-8": 29, "utf-32": 25}
    for encoding, column in expected.items():

        def only(params, encoding=encoding):
            params["capabilities"]["general"] = {"positionEncodings": [encoding]}

        editor = await start(prepare=only)
        assert editor.result.capabilities.position_encoding == encoding
        uri = editor.open(text)
        (found,) = await editor.diagnostics(uri, 1, "parallel-loop")
        assert found.range.start.character == column
        for character in (found.range.start.character, found.range.end.character):
            hovered = await editor.hover(uri, 0, character)
            assert hovered.range == found.range
        # an edit behind the wide characters lands where that encoding says
        at = types.Position(0, column + len("for (i = 0; i < n; "))
        end = types.Position(0, at.character + len("i++"))
        change = types.TextDocumentContentChangePartial(range=types.Range(at, end), text="++i")
        version = editor.change(uri, change)
        (again,) = await editor.diagnostics(uri, version)
        assert again.range == found.range


async def test_settings_are_asked_for_and_wrong_ones_told(start):
    settings = {"disabledDiagnostics": ["parallel-loop"], "max_seconds": "soon", "unheardOf": 1}
    editor = await start("vscode1139-ext11", settings=settings)
    told = await editor.until(types.WINDOW_SHOW_MESSAGE)
    assert "polylsp.max_seconds" in told.message and "10.0" in told.message
    uri = editor.open(F + G)
    assert "parallel-loop" not in {each.code for each in (await editor.pull(uri)).items}


async def test_changed_settings_are_pulled_and_refresh(start):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F)
    assert len((await editor.pull(uri)).items) == 1
    editor.settings = {"disabledDiagnostics": ["parallel-loop"]}
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
    await editor.until(types.WORKSPACE_DIAGNOSTIC_REFRESH)
    assert len((await editor.pull(uri)).items) == 0


async def test_changed_settings_are_pushed_by_simple_clients(start):
    editor = await start()
    uri = editor.open(F)
    await editor.diagnostics(uri, 1, "parallel-loop")
    settings = {"polylsp": {"disabled_diagnostics": ["parallel-loop"]}}
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=settings))
    await editor.until(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, lambda params: not params.diagnostics)


async def test_settings_in_the_initialization_options(start):
    def options(params):
        params["initializationOptions"] = {"settings": {"disabledDiagnostics": ["parallel-loop"]}}

    editor = await start(prepare=options)
    uri = editor.open(F + G)
    assert len(await editor.diagnostics(uri, 1)) == 1


async def test_files_are_watched_and_changes_analysed(start, tmp_path: Path):
    editor = await start("vscode1139-ext11")
    registered = await editor.until(
        types.CLIENT_REGISTER_CAPABILITY,
        lambda params: params.registrations[0].method == types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
    )
    watchers = registered.registrations[0].register_options["watchers"]
    assert [each["globPattern"] for each in watchers] == [
        "**/compile_commands.json",
        "**/*.{h,c,py}",
        "**/{.polylsp,pyproject}.toml",
    ]
    uri = editor.open(F.replace("a[i]", "a[i] /* MARK_seen */"))
    await editor.pull(uri)
    change = types.FileEvent(uri="file:///project/x.h", type=types.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
    assert [each.code for each in (await editor.pull(uri)).items] == ["parallel-loop"]


async def test_folders_come_and_go_with_their_settings(start, tmp_path: Path):
    def folder(params):
        params["workspaceFolders"] = [{"uri": tmp_path.as_uri(), "name": "one"}]

    editor = await start("vscode1139-ext11", prepare=folder)
    asked = await editor.until(types.WORKSPACE_CONFIGURATION)
    assert [each.scope_uri for each in asked.items] == [None, tmp_path.as_uri()]
    other = types.WorkspaceFolder(uri="file:///elsewhere", name="two")
    event = types.WorkspaceFoldersChangeEvent(
        added=[other], removed=[types.WorkspaceFolder(uri=tmp_path.as_uri(), name="one")]
    )
    editor.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
    asked = await editor.until(types.WORKSPACE_CONFIGURATION, count=2)
    assert [each.scope_uri for each in asked.items] == [None, "file:///elsewhere"]


async def test_trace(start):
    editor = await start()
    editor.client.set_trace(types.SetTraceParams(value=types.TraceValue.Verbose))
    uri = editor.open(F)
    await editor.diagnostics(uri, 1)
    traced = await editor.until(types.LOG_TRACE)
    assert "version 1 analysed" in traced.message and traced.verbose
    editor.client.set_trace(types.SetTraceParams(value=types.TraceValue.Off))


async def test_status_only_for_clients_that_ask(start):
    def ask(params):
        params["initializationOptions"] = {"status": True}

    asking = await start(prepare=ask)
    uri = asking.open(F)
    busy = await asking.until("polylsp/status", lambda params: not params.quiescent)
    assert busy.analysing == 1
    await asking.diagnostics(uri, 1)
    working = max(i for i, (m, p) in enumerate(asking.received) if m == "polylsp/status" and not p.quiescent)
    rest = [p for m, p in asking.received[working + 1 :] if m == "polylsp/status"]
    if not rest:
        await asking.until("polylsp/status", lambda params: params.quiescent, count=2)
    assert (await asking.execute("polylsp.status"))["analysing"] == 0
    plain = await start()
    await plain.diagnostics(plain.open(F), 1)
    assert "polylsp/status" not in plain.methods()


async def test_commands(start):
    editor = await start()
    uri = editor.open(F)
    await editor.diagnostics(uri, 1, "parallel-loop")
    before = await editor.execute("polylsp.status")
    assert before["health"] == "ok" and before["documents"] == 1
    assert before["compiler"] == compiler_here() and before["gpu"] == gpu_here()
    await editor.execute("polylsp.restartWorker")
    published = await editor.until(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, count=3)
    assert published.version == 1
    after = await editor.execute("polylsp.status")
    assert after["workerPid"] not in (None, before["workerPid"])


async def test_unknown_command(start):
    editor = await start()
    with pytest.raises(JsonRpcException) as refused:
        await editor.execute("polylsp.makeCoffee")
    assert refused.value.code == -32602


async def test_the_server_process_never_loads_isl():
    loaded = "any(name in sys.modules for name in ('islpy', 'polylsp.engine.queries', 'polylsp.analysis'))"
    code = f"import polylsp.server.app, sys; sys.exit({loaded})"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    assert await process.wait() == 0


async def test_settings_of_the_project_are_heeded_and_change_while_it_is_open(start, tmp_path: Path):
    editor = await start()
    (tmp_path / ".polylsp.toml").write_text('disabled_diagnostics = ["parallel-loop"]')
    uri = editor.open(F + G, uri=(tmp_path / "a.c").as_uri())
    assert len(await editor.diagnostics(uri, 1)) == 1
    (tmp_path / ".polylsp.toml").write_text("max_second = 3")
    change = types.FileEvent((tmp_path / ".polylsp.toml").as_uri(), types.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
    shown = await editor.until(types.WINDOW_SHOW_MESSAGE)
    assert shown.type == types.MessageType.Warning
    assert "there is no setting `max_second`; did you mean `max_seconds`?" in shown.message
    await editor.until(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, lambda params: len(params.diagnostics) == 2)
