"""Diagnostics of files of the workspace that are not open."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio

F = "void f(int n) {\n    for (i = 0; i < n; i++) a[i] = 0;\n}\n"
G = "void g(int n) {\n    for (t = 1; t < n; t++) a[t] = a[t - 1];\n}\n"
VSCODE = "vscode1139-ext11"
TOKEN = "files"


@pytest.fixture
def folder(tmp_path) -> Path:
    found = tmp_path / "project"
    found.mkdir()
    (found / "a.c").write_text(F)
    (found / "b.c").write_text(G)
    return found


@pytest_asyncio.fixture
async def begin(start, folder):
    """Starts an editor with the folder open, and the setting on unless `settings` says otherwise."""

    async def begin_one(settings: dict[str, Any] | None = None, *command: str) -> Any:
        values = {"workspaceDiagnostics": True} if settings is None else settings

        def prepare(initialize: dict[str, Any]) -> None:
            initialize["workspaceFolders"] = [{"uri": folder.as_uri(), "name": "project"}]
            options = initialize.get("initializationOptions") or {}
            initialize["initializationOptions"] = {**options, "settings": values}

        return await start(VSCODE, *command, settings=values, prepare=prepare)

    return begin_one


async def pull(editor, *previous: Any, token: str | None = None, work: str | None = None) -> list[Any]:
    return list((await asked(editor, *previous, token=token, work=work)).items)


def asked(editor, *previous: Any, token: str | None = None, work: str | None = None) -> asyncio.Future[Any]:
    params = types.WorkspaceDiagnosticParams(
        previous_result_ids=[types.PreviousResultId(each.uri, each.result_id) for each in previous],
        partial_result_token=token,
        work_done_token=work,
    )
    return asyncio.wait_for(
        asyncio.wrap_future(editor.client.protocol.send_request(types.WORKSPACE_DIAGNOSTIC, params)), 30
    )


def codes(reports: list[Any]) -> dict[str, list[str]]:
    return {each.uri.rpartition("/")[2]: [one.code for one in each.items] for each in reports}


async def test_files_that_are_not_open_are_analysed_with_their_schedules(begin):
    editor = await begin()
    assert editor.result.capabilities.diagnostic_provider.workspace_diagnostics is True
    found = await pull(editor)
    assert codes(found) == {"a.c": ["parallel-loop"], "b.c": ["needs-skewing"]}
    assert [each.version for each in found] == [None, None]
    assert found[0].items[0].range.start == types.Position(1, 4)


async def test_it_is_off_unless_the_client_says_otherwise(begin):
    editor = await begin({})
    assert editor.result.capabilities.diagnostic_provider.workspace_diagnostics is False
    with pytest.raises(JsonRpcException, match="Not Found"):
        await pull(editor)


async def test_findings_are_withdrawn_when_it_is_turned_off(begin):
    editor = await begin()
    found = await pull(editor)
    waiting = asyncio.ensure_future(asked(editor, *found))
    editor.settings = {"workspaceDiagnostics": False}
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings={}))
    assert codes(list((await waiting).items)) == {"a.c": [], "b.c": []}


async def test_an_open_file_is_left_to_its_document(begin, folder):
    editor = await begin()
    uri = editor.open(F, uri=(folder / "a.c").as_uri())
    assert codes(await pull(editor)) == {"b.c": ["needs-skewing"]}
    editor.close(uri)
    assert codes(await pull(editor)) == {"a.c": ["parallel-loop"], "b.c": ["needs-skewing"]}


async def test_partial_results_come_file_by_file(begin, tmp_path, folder):
    (folder / "b.c").write_text(G.replace("a[t] =", "WAIT_gate; a[t] ="))
    editor = await begin()
    waiting = asyncio.ensure_future(asked(editor, token=TOKEN))
    first = await editor.until(types.PROGRESS, lambda params: params.token == TOKEN)
    (tmp_path / "gate").touch()
    assert not (await waiting).items
    parts = [params.value for method, params in editor.received if method == types.PROGRESS]
    assert [_name(each) for each in _items(first.value)] == ["a.c"]
    assert [_name(each) for part in parts for each in _items(part)] == ["a.c", "b.c"]


async def test_a_client_that_has_everything_is_answered_when_a_file_changes(begin, folder):
    editor = await begin()
    found = await pull(editor)
    waiting = asyncio.ensure_future(asked(editor, *found))
    await editor.settle()
    assert not waiting.done()
    (folder / "b.c").write_text(F)
    change = types.FileEvent((folder / "b.c").as_uri(), types.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
    items = list((await waiting).items)
    assert {each.uri.rpartition("/")[2]: each.kind for each in items} == {"a.c": "unchanged", "b.c": "full"}
    assert [one.code for each in items if each.kind == "full" for one in each.items] == ["parallel-loop"]


async def test_a_file_that_is_closed_gets_its_findings_again(begin, folder):
    """The client drops those of a document that it closes, and what it had of the file before is gone."""
    editor = await begin()
    found = await pull(editor)
    uri = editor.open(F, uri=(folder / "a.c").as_uri())
    await editor.pull(uri)
    waiting = asyncio.ensure_future(asked(editor, *found))
    await editor.settle()
    assert not waiting.done()
    editor.close(uri)
    items = {each.uri.rpartition("/")[2]: each.kind for each in (await waiting).items}
    assert items == {"a.c": "full", "b.c": "unchanged"}


async def test_a_file_that_is_removed_loses_its_findings(begin, folder):
    editor = await begin()
    found = await pull(editor)
    (folder / "a.c").unlink()
    items = await pull(editor, *found)
    assert [(each.uri, list(each.items)) for each in items if each.kind == "full"] == [(found[0].uri, [])]


async def test_hidden_folders_and_environments_are_left_out(begin, folder):
    for name in (".hidden", "venv", "node_modules"):
        (folder / name).mkdir()
        (folder / name / "c.c").write_text(F)
    (folder / "venv" / "pyvenv.cfg").write_text("")
    editor = await begin()
    assert set(codes(await pull(editor))) == {"a.c", "b.c"}


async def test_a_file_that_cannot_be_read_costs_itself_alone(begin, folder):
    (folder / "latin.py").write_bytes(b"x = '\xe4'\n")
    (folder / "lost.c").symlink_to(folder / "nowhere.c")
    editor = await begin()
    assert set(codes(await pull(editor))) == {"a.c", "b.c"}


async def test_a_bug_of_ours_costs_its_file_alone_and_once(begin, folder, tmp_path):
    (folder / "a.c").write_text(F.replace("a[i]", "BUG; a[i]"))
    editor = await begin()
    assert codes(await pull(editor)) == {"b.c": ["needs-skewing"]}
    assert codes(await pull(editor)) == {"b.c": ["needs-skewing"]}
    assert (tmp_path / "analysed").read_text().split("\n").count("full f") == 1
    assert codes(await _changed(editor, folder)) == {"b.c": ["needs-skewing"]}
    assert (tmp_path / "analysed").read_text().split("\n").count("full f") == 2


async def test_cancelling_a_request_stops_the_analysis(begin, folder, tmp_path):
    (folder / "a.c").write_text(F.replace("a[i]", "MARK_began; WAIT_gate; a[i]"))
    editor = await begin()
    request = editor.client.protocol.send_request(
        types.WORKSPACE_DIAGNOSTIC, types.WorkspaceDiagnosticParams(previous_result_ids=[])
    )
    await editor.begun(tmp_path / "began")
    number = next(iter(editor.client.protocol._request_futures))
    editor.client.cancel_request(types.CancelParams(id=number))
    with pytest.raises(JsonRpcException, match="cancelled"):
        await asyncio.wait_for(asyncio.wrap_future(request), 30)
    (tmp_path / "gate").touch()
    await editor.settle()
    assert "full g" not in (tmp_path / "analysed").read_text()


async def test_the_button_of_the_progress_bar_stops_until_something_changes(begin, folder, tmp_path):
    (folder / "b.c").write_text(G.replace("a[t] =", "MARK_began; WAIT_gate; a[t] ="))
    editor = await begin()
    waiting = asyncio.ensure_future(asked(editor, work="bar"))
    await editor.begun(tmp_path / "began")
    titles = [params.value for method, params in editor.received if method == types.PROGRESS]
    assert _field(titles[0], "title") == "Analysing the workspace"
    assert [_field(each, "message") for each in titles[1:]] == ["a.c (1/2)", "b.c (2/2)"]
    editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token="bar"))
    found = list((await waiting).items)
    (tmp_path / "gate").touch()
    assert codes(found) == {"a.c": ["parallel-loop"]}
    assert set(codes(await pull(editor))) == {"a.c"}, "it is not begun anew"
    assert set(codes(await _changed(editor, folder))) == {"a.c", "b.c"}


async def test_an_open_document_comes_before_them(begin, folder, tmp_path):
    (folder / "a.c").write_text(F.replace("a[i]", "MARK_began; WAIT_gate; a[i]"))
    editor = await begin()
    waiting = asyncio.ensure_future(asked(editor))
    await editor.begun(tmp_path / "began")
    uri = editor.open(F.replace("f(", "opened("), uri=(folder / "open.c").as_uri())
    (tmp_path / "gate").touch()
    await waiting
    await editor.pull(uri)
    lines = (tmp_path / "analysed").read_text().split()
    assert lines.index("opened") < lines.index("g")


async def _changed(editor, folder: Path) -> list[Any]:
    """Reports after a header has changed."""
    change = types.FileEvent((folder / "x.h").as_uri(), types.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
    return await pull(editor)


def _items(value: Any) -> list[Any]:
    return list(_field(value, "items") or ())


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _name(report: Any) -> str:
    return _field(report, "uri").rpartition("/")[2]
