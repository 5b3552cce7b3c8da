"""Measuring over stdio: the lens, the command, what is shown afterwards, and what may go wrong."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from editor import COLD, SECONDS_BETWEEN_LOOKS, Editor
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from polylsp.measuring.stored_figures import load, save

pytestmark = pytest.mark.asyncio

F = "void f(int n) {\n    for (int i = 0; i < n; i++) n--;\n}\n"
ENDLESS = "void f(int n) {\n    /* TUNE */ for (int i = 0; n; ) ;\n}\n"
DECLINED = "void f(int n) {\n    /* MEASURE_DECLINE */ for (int i = 0; i < n; i++) n--;\n}\n"
UNKNOWN = "void f(int n) {\n    /* SIZES_UNKNOWN */ for (int i = 0; i < n; i++) n--;\n}\n"
COMMAND = "polylsp.measure"


async def lenses(editor: Editor, uri: str) -> list[types.CodeLens]:
    await editor.settle()
    params = types.CodeLensParams(types.TextDocumentIdentifier(uri))
    return await editor.request(types.TEXT_DOCUMENT_CODE_LENS, params) or []


async def hints(editor: Editor, uri: str) -> list[str]:
    await editor.settle()
    everywhere = types.Range(types.Position(0, 0), types.Position(9, 0))
    params = types.InlayHintParams(types.TextDocumentIdentifier(uri), everywhere)
    return [each.label for each in await editor.request(types.TEXT_DOCUMENT_INLAY_HINT, params) or []]


async def chosen(editor: Editor, uri: str) -> Any:
    (lens,) = await lenses(editor, uri)
    return await editor.execute(lens.command.command, *lens.command.arguments)


def loop(uri: str) -> dict[str, Any]:
    return {"uri": uri, "function": "f", "ordinal": 1}


async def test_what_was_measured_is_shown_until_the_code_changes_and_when_the_file_is_opened_again(
    start, tmp_path: Path
) -> None:
    editor = await start("vscode1139-ext11")
    uri = editor.open(F, uri=(tmp_path / "a.c").as_uri())
    found = await chosen(editor, uri)
    assert found["function"] == "f" and found["line"] == 2 and found["original"]["runs"] >= 5
    assert [each["matches"] for each in found["targets"]] == [True]
    await editor.until(types.WORKSPACE_INLAY_HINT_REFRESH)
    shown = await hints(editor, uri)
    assert len(shown) == 2 and shown[1].startswith("OpenMP")
    hover = await editor.hover(uri, 1, 6)
    assert hover is not None and "| original |" in hover.contents.value
    assert (await lenses(editor, uri))[0].command.title.startswith("Measure again (OpenMP")

    editor.replace(uri, "n--", "n -= 2")
    report = await pulled(editor, uri)
    assert "stale-measurement" in [each.code for each in report]
    assert len(await hints(editor, uri)) == 1
    assert "the code has changed" in (await lenses(editor, uri))[0].command.title
    editor.replace(uri, "n -= 2", "n--  ")
    assert "stale-measurement" not in [each.code for each in await pulled(editor, uri)]

    again = await start("vscode1139-ext11")
    again.open(F, uri=uri)
    assert await hints(again, uri) == shown


async def test_sizes_that_nothing_gives_are_asked_for_once(start, tmp_path: Path) -> None:
    editor = await start("vscode1139-ext11")
    uri = editor.open(UNKNOWN, uri=(tmp_path / "a.c").as_uri())
    await editor.settle()
    assert await editor.execute(COMMAND, {**loop(uri), "asks": True}) == {"asks": ["n"]}
    found = await editor.execute(COMMAND, {**loop(uri), "sizes": {"n": 7}})
    assert found["sizes"] == {"n": 7}
    again = await start("vscode1139-ext11")
    again.open(UNKNOWN, uri=uri)
    await again.settle()
    at = {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 30}}
    assert plain(await again.request("polylsp/loopAt", at))["given"].n == 7
    found = await again.execute(COMMAND, {**loop(uri), "asks": True})
    assert found["sizes"] == {"n": 7}, "remembered beyond the session"
    found = await again.execute(COMMAND, {**loop(uri), "sizes": {}})
    assert found["sizes"] == {"n": 100}, "the user leaves the choice to us"
    found = await again.execute(COMMAND, {**loop(uri), "asks": True})
    assert found["sizes"] == {"n": 100}, "and is not asked again"


@pytest.mark.parametrize("text", [F, UNKNOWN], ids=["known", "never asked"])
async def test_clients_are_asked_for_sizes_only_where_they_ask_the_user(start, tmp_path, text) -> None:
    editor = await start("vscode1139-ext11")
    uri = editor.open(text, uri=(tmp_path / "a.c").as_uri())
    await editor.settle()
    found = await editor.execute(COMMAND, {**loop(uri), "asks": text is F})
    assert found["function"] == "f"


async def test_a_click_on_a_figure_makes_the_edit_that_was_measured(start, tmp_path: Path) -> None:
    def prepare(params: dict[str, Any]) -> None:
        params["initializationOptions"] = {"commands": ["polylsp.applyAction"]}

    path = tmp_path / "a.c"
    editor = await start("vscode1139-ext11", prepare=prepare)
    uri = editor.open(F, uri=path.as_uri())
    await chosen(editor, uri)
    for outcome, is_link in (("faster", True), ("slower", False)):
        (place, (code, found)), *_ = load(str(path)).items()
        figures = tuple(
            replace(each, target="openmp", form="directives", outcome=outcome) for each in found.figures
        )
        save(str(path), {place: (code, replace(found, figures=figures))})
        again = await start("vscode1139-ext11", prepare=prepare)
        again.open(F, uri=uri)
        *_, label = await hints(again, uri)
        assert isinstance(label, str) != is_link
        if is_link:
            (part,) = label
            assert part.command.command == "polylsp.applyAction"
            assert part.command.arguments[0]["action"] == "openmp"


async def pulled(editor: Editor, uri: str) -> list[types.Diagnostic]:
    await editor.settle()
    return list((await editor.pull(uri)).items)


@pytest.mark.parametrize(
    ("command", "words", "button"),
    [(COMMAND, "Measuring f", True), (COMMAND, "Measuring f", False), ("polylsp.tune", "Tuning f", True)],
    ids=["progress", "request", "tuning"],
)
async def test_a_measurement_that_is_cancelled_leaves_nothing_behind(
    start, tmp_path: Path, command: str, words: str, button: bool
) -> None:
    editor = await start("vscode1139-ext11")
    uri = editor.open(ENDLESS)
    await editor.settle()
    params = types.ExecuteCommandParams(command=command, arguments=[loop(uri)])
    measuring = editor.sent(types.WORKSPACE_EXECUTE_COMMAND, params)
    (number,) = [n for n, f in editor.client.protocol._request_futures.items() if not f.done()]
    begun = await editor.until(types.PROGRESS, lambda p: words in str(p.value))
    await editor.until(types.PROGRESS, lambda p: p.token == begun.token and "small sizes" in str(p.value))
    (folder,) = (tmp_path / "folders").glob("polylsp-*")
    if button:
        cancel = types.WorkDoneProgressCancelParams(token=begun.token)
        editor.client.window_work_done_progress_cancel(cancel)
    else:
        editor.client.protocol.notify(types.CANCEL_REQUEST, types.CancelParams(id=number))
    assert plain(await measuring) == {"reason": "cancelled"}
    await editor.until(types.PROGRESS, lambda p: p.token == begun.token and "end" in str(p.value))
    assert not folder.exists()
    while running(str(folder)):
        await asyncio.sleep(SECONDS_BETWEEN_LOOKS)


async def test_whichever_process_is_killed_the_next_measurement_is_made(start, tmp_path: Path) -> None:
    editor = await start("vscode1139-ext11", *COLD)
    uri = editor.open(ENDLESS)
    await editor.settle()
    measuring = asyncio.ensure_future(editor.execute(COMMAND, loop(uri)))
    await editor.until(types.PROGRESS, lambda p: "small sizes" in str(p.value))
    (folder,) = (tmp_path / "folders").glob("polylsp-*")
    (pid,) = children(editor.client._server.pid, "polylsp.measuring.measuring_process:main")
    os.kill(pid, signal.SIGKILL)
    assert (await measuring)["reason"] == "The process that measures died."
    shown = await editor.until(types.WINDOW_SHOW_MESSAGE)
    assert (shown.type, shown.message) == (types.MessageType.Error, "The process that measures died.")
    assert not folder.exists()
    while running(str(folder)):
        await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
    editor.replace(uri, "n; )", "i < n; i++)")
    await editor.settle()
    # That of the analysis has done its part, once programs are compiled.
    measuring = asyncio.ensure_future(editor.execute(COMMAND, loop(uri)))
    await editor.until(types.PROGRESS, lambda p: "compiling" in str(p.value))
    os.kill((await editor.execute("polylsp.status"))["workerPid"], signal.SIGKILL)
    assert (await measuring)["function"] == "f"


def children(pid: int, word: str) -> list[int]:
    """The processes that a process started and that have a word in their command lines."""
    started = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(each) for each in started if word in Path(f"/proc/{each}/cmdline").read_text()]


def plain(answer: Any) -> Any:
    """An answer as the client has it, which makes objects of what it has no type for."""
    return answer._asdict() if hasattr(answer, "_asdict") else answer


def running(mark: str) -> bool:
    """True if a process has a word in its command line."""
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in each.read_bytes():
                return True
        except OSError:
            continue
    return False


async def test_one_is_measured_at_a_time_and_the_next_one_waits(start) -> None:
    editor = await start("vscode1139-ext11")
    uri = editor.open(F)
    await editor.settle()
    both = await asyncio.gather(editor.execute(COMMAND, loop(uri)), editor.execute(COMMAND, loop(uri)))
    assert all(each["function"] == "f" for each in both)
    order = [
        p.value["kind"] + p.token for m, p in editor.received if m == types.PROGRESS and "measure" in p.token
    ]
    first, second = [each[len("begin") :] for each in order if each.startswith("begin")]
    assert order.index(f"end{first}") < order.index(f"report{second}")


async def test_nothing_is_run_in_a_folder_that_is_not_trusted(start) -> None:
    def distrust(params: dict[str, Any]) -> None:
        params["initializationOptions"] = {"trusted": False}

    editor = await start("vscode1139-ext11", prepare=distrust)
    uri = editor.open(F)
    assert await lenses(editor, uri) == []
    assert "do not trust" in (await editor.execute(COMMAND, loop(uri)))["reason"]
    editor.client.protocol.notify("polylsp/didChangeTrust", {"trusted": True})
    assert len(await lenses(editor, uri)) == 1


async def test_what_cannot_be_measured_is_told(start) -> None:
    editor = await start("vscode1139-ext11")
    uri = editor.open(DECLINED)
    assert (await chosen(editor, uri))["reason"] == "`f` cannot be measured."
    shown = await editor.until(types.WINDOW_SHOW_MESSAGE)
    assert shown.message == "`f` cannot be measured."


@pytest.mark.parametrize("wrong", [{}, {"function": "f"}, {"function": "f", "ordinal": "1"}])
async def test_a_command_without_a_loop_is_refused(start, wrong: dict[str, Any]) -> None:
    editor = await start()
    uri = editor.open(F)
    with pytest.raises(JsonRpcException) as refused:
        await editor.execute(COMMAND, {"uri": uri, **wrong})
    assert refused.value.code == -32602


TUNED = "void f(int n) {\n    /* TUNE */ for (int i = 0; i < n; i++) n--;\n}\n"


async def test_tuning_tries_other_settings_and_the_next_edit_is_made_with_what_it_found(start) -> None:
    editor = await start("vscode1139-ext11")
    uri = editor.open(TUNED)
    await editor.settle()
    found = await editor.execute("polylsp.tune", loop(uri))
    tried = [each["parameters"] for each in found["targets"]]
    others = {"collapse": "2", "unroll_factors": "1", "tile_sizes": "16", "cache_kb": "64"}
    assert len(tried) == 5 and {} in tried and all({name: value} in tried for name, value in others.items())
    told = [str(p.value) for m, p in editor.received if m == types.PROGRESS]
    assert any("Tuning f" in each for each in told) and any("versions tried" in each for each in told)
    assert found["best"] is None or found["best"]["parameters"] in tried
    assert len(await hints(editor, uri)) == 2


async def test_where_settings_change_nothing_there_is_nothing_to_tune(start) -> None:
    editor = await start("vscode1139-ext11")
    uri = editor.open(F)
    await editor.settle()
    assert "nothing to tune in `f`" in (await editor.execute("polylsp.tune", loop(uri)))["reason"]


async def test_nothing_is_tuned_in_a_folder_that_is_not_trusted(start) -> None:
    def distrust(params: dict[str, Any]) -> None:
        params["initializationOptions"] = {"trusted": False}

    editor = await start("vscode1139-ext11", prepare=distrust)
    uri = editor.open(TUNED)
    await editor.settle()
    assert "do not trust" in (await editor.execute("polylsp.tune", loop(uri)))["reason"]
