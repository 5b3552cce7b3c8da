"""Code actions over stdio: listing, resolving, commands for old clients, and what may go wrong meanwhile."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from editor import COLD, Editor
from lsprotocol import types
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio

F = "void f(int n) {\n    for (i = 0; i < n; i++) a[i] = 0;\n}\n"
G = "void g(int n) {\n    for (t = 1; t < n; t++) a[t] = a[t - 1];\n}\n"
NONE = "file:///project/none.c"
OPENMP = "Run `i` in parallel with OpenMP"
IGNORE = "Ignore `parallel-loop` on line 2"


def able(**abilities: Any):
    """A client whose code actions are those abilities, and which edits documents by version."""

    def prepare(params):
        params["capabilities"]["textDocument"]["codeAction"] = abilities
        params["capabilities"]["workspace"]["workspaceEdit"] = {"documentChanges": True}

    return prepare


LITERALS = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": [""]}}}
RESOLVES = {"dataSupport": True, "resolveSupport": {"properties": ["edit", "command"]}}


def titled(actions, title: str):
    return next(each for each in actions if each.title == title)


def only_edit(action) -> tuple[types.Range, str]:
    (document,) = action.edit.document_changes
    (edit,) = document.edits
    return edit.range, edit.new_text


def line_start(line: int) -> types.Range:
    return types.Range(types.Position(line, 0), types.Position(line, 0))


async def refusal(request) -> int:
    with pytest.raises(JsonRpcException) as refused:
        await request
    return refused.value.code


# --- listing -----------------------------------------------------------------------------------


async def test_the_server_says_which_actions_it_has(start):
    editor = await start()
    provider = editor.result.capabilities.code_action_provider
    kinds = ["quickfix", "refactor.rewrite", "source.fixAll.polylsp"]
    assert list(provider.code_action_kinds) == kinds and provider.resolve_provider
    assert "polylsp.applyAction" in editor.result.capabilities.execute_command_provider.commands


async def test_actions_on_a_parallel_loop(start):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F)
    found = await editor.actions(uri, 1)
    assert titled(found, OPENMP).kind == "quickfix" and titled(found, OPENMP).is_preferred
    assert titled(found, OPENMP).edit is None and titled(found, OPENMP).data is not None
    assert titled(found, IGNORE).kind == "quickfix"


async def test_no_action_where_there_is_no_loop(start):
    editor = await start()
    uri = editor.open(F)
    for line, character in ((0, 0), (2, 1), (99, 99)):
        assert not await editor.actions(uri, line, character)


async def test_no_action_on_a_document_that_is_not_open_or_in_another_language(start):
    editor = await start()
    assert await editor.actions(NONE, 0) is None
    uri = editor.open(F, uri="file:///project/a.f90", language="fortran")
    assert await editor.actions(uri, 1) is None


async def test_edits_that_there_was_no_time_for_are_tried_where_actions_are_listed(start, tmp_path: Path):
    editor = await start()
    late = G.replace("{", "{ UNTRIED;", 1)
    uri = editor.open(F + late + late.replace("g(", "h("))
    editor.save(uri)
    await editor.settle()

    async def tiled(line: int) -> bool:
        return any("Tile" in each.title for each in await editor.actions(uri, line))

    assert not await tiled(4)
    await editor.settle()
    assert await tiled(4)
    assert not await tiled(7)
    await editor.settle()
    assert await tiled(7) and await tiled(4)
    # Tried ones cost nothing again.
    assert (tmp_path / "analysed").read_text().split("\n").count("full g") == 1


async def test_selections(start):
    editor = await start()
    uri = editor.open(F + G)
    half = await editor.actions(uri, 1, 10, end=types.Position(1, 30))
    backwards = await editor.actions(uri, 1, 30, end=types.Position(1, 8))
    to_the_end = await editor.actions(uri, 1, 8, end=types.Position(99, 99))
    for found in (half, backwards):
        assert titled(found, OPENMP) and titled(found, IGNORE)
    assert titled(to_the_end, OPENMP) and titled(to_the_end, "Ignore `needs-skewing` on line 5")


async def test_the_best_fix_comes_first_and_is_alone_preferred_and_ignoring_last(start):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F)
    known = (await editor.pull(uri)).items
    found = await editor.actions(uri, 1, diagnostics=known)
    fixes = [each for each in found if each.kind == "quickfix"]
    assert [each.title for each in fixes] == [OPENMP, "Offload `i` to a GPU (CUDA)", IGNORE]
    assert [bool(each.is_preferred) for each in found] == [True] + [False] * (len(found) - 1)
    assert all(each.diagnostics for each in fixes) and found[-1].title == IGNORE


async def test_a_quick_fix_is_still_found_by_a_client_that_asks_for_rewrites(start):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F)
    for only in (["refactor"], ["refactor.rewrite"]):
        found = await editor.actions(uri, 1, only=only)
        assert {OPENMP, "Offload `i` to a GPU (CUDA)"} <= {each.title for each in found}
        assert {each.kind for each in found} == {"refactor.rewrite"}
    both = await editor.actions(uri, 1, only=["refactor", "quickfix"])
    assert [each.title for each in both].count(OPENMP) == 1


async def test_where_no_finding_is_shown_nothing_is_a_quick_fix(start):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F.replace("    for", "    // polylsp: ignore\n    for"))
    found = await editor.actions(uri, 2)
    assert titled(found, OPENMP).kind == "refactor.rewrite"
    assert not any(each.is_preferred for each in found)


@pytest.mark.parametrize("fixes", [[], ["clauses"], ["directives"]])
async def test_all_safe_fixes_at_once_where_the_user_wants_them(start, fixes: list[str]):
    editor = await start("vscode1139-ext11", settings={"fixAll": fixes})
    uri = editor.open(F + F.replace("f(", "h("))
    only = ["source.fixAll.polylsp"]
    found = await editor.actions(uri, 0, only=only)
    if fixes != ["directives"]:
        assert not found
        return
    (action,) = found
    (document,) = action.edit.document_changes
    assert action.kind == only[0] and [each.range for each in document.edits] == [
        line_start(1),
        line_start(4),
    ]
    assert [each.kind for each in await editor.actions(uri, 0, only=["source"])] == only
    assert not any(each.kind == only[0] for each in await editor.actions(uri, 1))


async def test_only_the_kinds_that_are_asked_for(start):
    editor = await start()
    uri = editor.open(F)
    for only, kinds in (
        (["quickfix"], {"quickfix"}),
        (["refactor"], {"refactor.rewrite"}),
        (["refactor.rewrite"], {"refactor.rewrite"}),
        ([""], {"quickfix", "refactor.rewrite"}),
        (["quickfix", "refactor"], {"quickfix", "refactor.rewrite"}),
        (["refactor.rewrite.deeper"], set()),
        (["refactor.re"], set()),
        (["source.fixAll"], set()),
        ([], set()),
    ):
        assert {each.kind for each in await editor.actions(uri, 1, only=only)} == kinds, only


async def test_an_action_names_the_diagnostics_that_it_answers(start):
    editor = await start()
    uri = editor.open(F)
    known = await editor.diagnostics(uri, 1, "parallel-loop")
    other = types.Diagnostic(range=known[0].range, message="of another tool", code="parallel-loop")
    found = await editor.actions(uri, 1, diagnostics=[*known, other])
    for title in (OPENMP, IGNORE):
        assert [each.source for each in titled(found, title).diagnostics] == ["polylsp"]
    moved = types.Diagnostic(line_start(0), known[0].message, code="parallel-loop", source="polylsp")
    assert titled(await editor.actions(uri, 1, diagnostics=[moved]), OPENMP).diagnostics is None


async def test_what_the_client_does_not_know_is_left_out(start):
    editor = await start(prepare=able(**LITERALS, **RESOLVES))
    assert titled(await editor.actions(editor.open(F), 1), OPENMP).is_preferred is None


def asked(editor: Editor, uri: str, line: int, trigger: types.CodeActionTriggerKind | None):
    """The answer to come to a request for the code actions on a line."""
    context = types.CodeActionContext([], trigger_kind=trigger)
    place = types.Range(*[types.Position(line, 8)] * 2)
    params = types.CodeActionParams(types.TextDocumentIdentifier(uri), place, context)
    return editor.sent(types.TEXT_DOCUMENT_CODE_ACTION, params)


# Clients of before LSP 3.17 do not say who asks, and ask for a person most of the time.
@pytest.mark.parametrize("trigger", [types.CodeActionTriggerKind.Invoked, None])
async def test_somebody_who_asks_waits_for_the_analysis(start, tmp_path: Path, trigger):
    editor = await start()
    uri = editor.open(F.replace("a[i]", "MARK_begun[i] + WAIT_later[i]"))
    await editor.begun(tmp_path / "begun")
    assert await asked(editor, uri, 1, types.CodeActionTriggerKind.Automatic) is None
    invoked = asked(editor, uri, 1, trigger)
    await editor.hover(NONE, 0, 0)
    (tmp_path / "later").touch()
    assert titled(await invoked, OPENMP)


async def test_somebody_who_asks_does_not_wait_for_other_functions(start, tmp_path: Path):
    editor = await start()
    uri = editor.open(F + G.replace("a[t]", "WAIT_later[t]"))
    await editor.diagnostics(uri, 1, "parallel-loop")
    assert titled(await asked(editor, uri, 1, types.CodeActionTriggerKind.Invoked), OPENMP)
    assert (await editor.execute("polylsp.status"))["analysing"] == 1
    assert await asked(editor, uri, 4, types.CodeActionTriggerKind.Invoked) == ()
    told = await editor.until(types.WINDOW_SHOW_MESSAGE)
    assert told.message == "a.c is still being analysed: ask again in a moment."
    (tmp_path / "later").touch()
    await editor.settle()
    assert await asked(editor, uri, 4, types.CodeActionTriggerKind.Invoked)
    assert editor.methods().count(types.WINDOW_SHOW_MESSAGE) == 1


# --- resolving ---------------------------------------------------------------------------------


async def test_an_edit_is_worked_out_when_it_is_asked_for(start):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F, version=7)
    action = titled(await editor.actions(uri, 1), OPENMP)
    resolved = await editor.request(types.CODE_ACTION_RESOLVE, action)
    assert only_edit(resolved) == (line_start(1), "#pragma openmp\n")
    (document,) = resolved.edit.document_changes
    assert (document.text_document.uri, document.text_document.version) == (uri, 7)
    assert resolved.title == OPENMP and resolved.command is None


async def test_clients_that_know_no_versions_get_plain_changes(start):
    editor = await start("nvim-bookworm")
    uri = editor.open(F)
    action = titled(await editor.actions(uri, 1), OPENMP)
    resolved = await editor.request(types.CODE_ACTION_RESOLVE, action)
    assert resolved.edit.document_changes is None
    assert [each.new_text for each in resolved.edit.changes[uri]] == ["#pragma openmp\n"]


async def test_clients_that_resolve_nothing_get_the_edits_at_once(start):
    editor = await start(prepare=able(**LITERALS))
    uri = editor.open(F)
    action = titled(await editor.actions(uri, 1), OPENMP)
    assert only_edit(action) == (line_start(1), "#pragma openmp\n") and action.data is None


async def test_what_is_declined_at_once_is_left_out_or_disabled(start):
    text = F.replace("a[i]", "EDIT_DECLINE[i]")
    plain = await start(prepare=able(**LITERALS))
    assert [each.title for each in await plain.actions(plain.open(text), 1)] == [IGNORE]
    telling = await start(prepare=able(**LITERALS, disabledSupport=True))
    found = await telling.actions(telling.open(text), 1)
    assert titled(found, OPENMP).disabled.reason == "`f` is declined." and titled(found, OPENMP).edit is None


async def test_what_is_declined_later_is_told(start):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F.replace("a[i]", "EDIT_DECLINE[i]"))
    action = titled(await editor.actions(uri, 1), OPENMP)
    resolved = await editor.request(types.CODE_ACTION_RESOLVE, action)
    assert resolved.edit is None
    assert (await editor.until(types.WINDOW_SHOW_MESSAGE)).message == "`f` is declined."


async def test_a_remark_is_shown_once_the_edit_is_applied(start):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F.replace("a[i]", "EDIT_REMARK[i]"))
    action = titled(await editor.actions(uri, 1), OPENMP)
    resolved = await editor.request(types.CODE_ACTION_RESOLVE, action)
    assert types.WINDOW_SHOW_MESSAGE not in editor.methods()
    await editor.execute(resolved.command.command, *resolved.command.arguments)
    assert (await editor.until(types.WINDOW_SHOW_MESSAGE)).message == "It is a small loop."


async def test_a_remark_is_logged_for_clients_that_run_no_command_afterwards(start):
    editor = await start("nvim-bookworm")
    uri = editor.open(F.replace("a[i]", "EDIT_REMARK[i]"))
    action = titled(await editor.actions(uri, 1), OPENMP)
    resolved = await editor.request(types.CODE_ACTION_RESOLVE, action)
    assert resolved.edit is not None and resolved.command is None
    await editor.until(types.WINDOW_LOG_MESSAGE, lambda params: params.message == "It is a small loop.")


# --- commands for clients that take no edits along with actions -----------------------------------


async def test_old_clients_get_commands(start):
    editor = await start(prepare=able())
    uri = editor.open(F)
    found = await editor.actions(uri, 1)
    assert {type(each) for each in found} == {types.Command}
    command = titled(found, OPENMP)
    assert await editor.execute(command.command, *command.arguments) == {"applied": True}
    applied = await editor.until(types.WORKSPACE_APPLY_EDIT)
    assert only_edit(applied) == (line_start(1), "#pragma openmp\n")
    command = titled(found, IGNORE)
    await editor.execute(command.command, *command.arguments)
    applied = await editor.until(types.WORKSPACE_APPLY_EDIT, count=2)
    assert only_edit(applied) == (line_start(1), "    // polylsp: ignore parallel-loop\n")


async def test_clients_that_apply_nothing_get_nothing(start):
    def prepare(params):
        able()(params)
        params["capabilities"]["workspace"]["applyEdit"] = False

    editor = await start(prepare=prepare)
    assert not await editor.actions(editor.open(F), 1)


async def test_a_command_that_is_declined_or_not_applied_is_told(start):
    editor = await start(prepare=able())
    editor.applies = False
    uri = editor.open(F)
    command = titled(await editor.actions(uri, 1), OPENMP)
    assert await editor.execute(command.command, *command.arguments) == {"applied": False}
    told = await editor.until(types.WINDOW_SHOW_MESSAGE)
    assert "was not applied" in told.message
    uri = editor.open(F.replace("a[i]", "EDIT_DECLINE[i]"), uri="file:///project/b.c")
    command = titled(await editor.actions(uri, 1), OPENMP)
    assert await editor.execute(command.command, *command.arguments) == {"applied": False}
    await editor.until(types.WINDOW_SHOW_MESSAGE, lambda params: params.message == "`f` is declined.")


# --- what may happen meanwhile ---------------------------------------------------------------------


async def test_an_action_on_a_text_that_has_changed_is_refused(start):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F)
    found = await editor.actions(uri, 1)
    editor.replace(uri, "void", "static void")
    request = editor.request(types.CODE_ACTION_RESOLVE, titled(found, OPENMP))
    assert await refusal(request) == types.LSPErrorCodes.ContentModified


async def test_an_action_on_a_document_that_was_closed_is_refused(start):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F)
    found = await editor.actions(uri, 1)
    editor.close(uri)
    request = editor.request(types.CODE_ACTION_RESOLVE, titled(found, OPENMP))
    assert await refusal(request) == types.LSPErrorCodes.ContentModified
    editor.open(F.replace("n)", "m)"))
    request = editor.request(types.CODE_ACTION_RESOLVE, titled(found, OPENMP))
    assert await refusal(request) == types.LSPErrorCodes.ContentModified


@pytest.mark.parametrize("change", ["edit", "close"])
async def test_a_text_that_changes_while_its_edit_is_worked_out(start, tmp_path: Path, change: str):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F.replace("a[i]", "EDIT_MARK_begun[i] + EDIT_WAIT_later[i]"))
    action = titled(await editor.actions(uri, 1), OPENMP)
    request = editor.sent(types.CODE_ACTION_RESOLVE, action)
    await editor.begun(tmp_path / "begun")
    if change == "edit":
        editor.replace(uri, "i++", "i += 2")
    else:
        editor.close(uri)
    assert await refusal(request) == types.LSPErrorCodes.ContentModified  # before the worker has done
    (tmp_path / "later").touch()
    other = editor.open(F, uri="file:///project/b.c")
    assert [each.code for each in (await editor.pull(other)).items] == ["parallel-loop"]


async def test_an_action_that_was_never_listed_is_refused(start):
    editor = await start()
    backwards = {"from": 3, "to": 1, "write": ""}
    forged: list[Any] = [None, {}, 5, "x", {"action": "rm"}, {"action": ["openmp"]}, {"from": 3}, backwards]
    for data in forged:
        action = types.CodeAction(title="forged", data=data)
        assert await refusal(editor.request(types.CODE_ACTION_RESOLVE, action)) == -32602
        assert await refusal(editor.execute("polylsp.applyAction", data)) == -32602
    assert await refusal(editor.execute("polylsp.applyAction")) == -32602


async def test_an_action_on_a_loop_that_never_was_is_declined(start):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F)
    action = titled(await editor.actions(uri, 1), OPENMP)
    action.data["starts"] = 5
    resolved = await editor.request(types.CODE_ACTION_RESOLVE, action)
    assert resolved.edit is None
    await editor.until(types.WINDOW_SHOW_MESSAGE, lambda params: "is declined" in params.message)


async def test_a_request_that_is_cancelled_is_worked_out_no_more(start, tmp_path: Path):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F.replace("a[i]", "EDIT_MARK_begun[i] + EDIT_WAIT_later[i]"))
    action = titled(await editor.actions(uri, 1), OPENMP)
    first = editor.sent(types.CODE_ACTION_RESOLVE, action)
    await editor.begun(tmp_path / "begun")
    (tmp_path / "begun").unlink()
    second = editor.client.protocol.send_request(types.CODE_ACTION_RESOLVE, action, msg_id="second")
    editor.client.protocol.notify(types.CANCEL_REQUEST, types.CancelParams(id="second"))
    assert await refusal(asyncio.wrap_future(second)) == types.LSPErrorCodes.RequestCancelled
    (tmp_path / "later").touch()
    assert only_edit(await first)[1] == "#pragma openmp\n"
    assert (await editor.execute("polylsp.status"))["quiescent"]
    assert not (tmp_path / "begun").exists()


# --- the worker ------------------------------------------------------------------------------------


async def test_a_question_comes_before_a_running_full_analysis(start, tmp_path: Path):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F)
    action = titled(await editor.actions(uri, 1), OPENMP)
    first = G.replace("a[t]", "FULL_MARK_begun[t] + FULL_WAIT_later[t]")
    second = G.replace("g(", "h(").replace("a[t]", "FULL_WAIT_answered[t]")
    other = editor.open(first + second, uri="file:///project/b.c")
    await editor.begun(tmp_path / "begun")
    request = editor.sent(types.CODE_ACTION_RESOLVE, action)
    await editor.hover(NONE, 0, 0)
    (tmp_path / "later").touch()
    assert only_edit(await request)[1] == "#pragma openmp\n"
    (tmp_path / "answered").touch()
    await editor.until(types.WORKSPACE_DIAGNOSTIC_REFRESH)
    assert [each.code for each in (await editor.pull(other)).items] == ["needs-skewing"] * 2


async def test_an_edit_that_takes_too_long_costs_nothing_else(start):
    editor = await start("vscode1139-ext11", *COLD, settings={"max_seconds": 1.0})
    uri = editor.open(F.replace("a[i]", "EDIT_STALL[i]") + G)
    action = titled(await editor.actions(uri, 1), OPENMP)
    for told in ("was stopped: it took too long", "was stopped when it was last asked for this"):
        resolved = await editor.request(types.CODE_ACTION_RESOLVE, action)
        assert resolved.edit is None
        await editor.until(types.WINDOW_SHOW_MESSAGE, lambda p, told=told: told in p.message)
    status = await editor.execute("polylsp.status")
    assert status["health"] == "ok" and status["workerRestarts"] == 1
    assert len((await editor.pull(uri)).items) == 2
    editor.replace(uri, "EDIT_STALL", "a")
    action = titled(await editor.actions(uri, 1), OPENMP)
    resolved = await editor.request(types.CODE_ACTION_RESOLVE, action)
    assert only_edit(resolved)[1] == "#pragma openmp\n"


@pytest.mark.parametrize(
    ("trouble", "told"), [("GREEDY", "ran out of memory"), ("BUG", "internal error"), ("DIE", "ended")]
)
async def test_an_edit_that_fails_is_told(start, trouble: str, told: str):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F.replace("a[i]", f"EDIT_{trouble}[i]"))
    action = titled(await editor.actions(uri, 1), OPENMP)
    resolved = await editor.request(types.CODE_ACTION_RESOLVE, action)
    assert resolved.edit is None
    await editor.until(types.WINDOW_SHOW_MESSAGE, lambda params: told in params.message)
    other = editor.open(G, uri="file:///project/b.c")
    assert len((await editor.pull(other)).items) == 1


async def test_a_worker_killed_from_outside_is_asked_again(start, tmp_path: Path):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F.replace("a[i]", "EDIT_MARK_begun[i] + EDIT_WAIT_later[i]"))
    action = titled(await editor.actions(uri, 1), OPENMP)
    request = editor.sent(types.CODE_ACTION_RESOLVE, action)
    await editor.begun(tmp_path / "begun")
    status = await editor.execute("polylsp.status")
    os.kill(status["workerPid"], signal.SIGKILL)
    (tmp_path / "later").touch()
    assert only_edit(await request)[1] == "#pragma openmp\n"


async def test_a_worker_restarted_by_command_is_asked_again(start, tmp_path: Path):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F.replace("a[i]", "EDIT_MARK_begun[i] + EDIT_WAIT_later[i]"))
    action = titled(await editor.actions(uri, 1), OPENMP)
    request = editor.sent(types.CODE_ACTION_RESOLVE, action)
    await editor.begun(tmp_path / "begun")
    (tmp_path / "later").touch()
    await editor.execute("polylsp.restartWorker")
    assert only_edit(await request)[1] == "#pragma openmp\n"


async def test_no_edit_comes_from_a_worker_that_cannot_be_started(start, tmp_path: Path):
    fake = Path(__file__).with_name("fake_analysis.py")
    code = (
        "import pathlib, runpy, sys\n"
        f"if pathlib.Path({str(tmp_path / 'gone')!r}).exists(): sys.exit('it is gone')\n"
        f"sys.path.insert(0, {str(fake.parent)!r})\n"
        f"runpy.run_path({str(fake)!r}, run_name='__main__')"
    )
    server = str(Path(__file__).with_name("fake_server.py"))
    editor = await start("vscode1139-ext11", sys.executable, server, sys.executable, "-c", code)
    uri = editor.open(F)
    action = titled(await editor.actions(uri, 1), OPENMP)
    assert len((await editor.pull(uri)).items) == 1
    (tmp_path / "gone").touch()
    os.kill((await editor.execute("polylsp.status"))["workerPid"], signal.SIGKILL)
    resolved = await editor.request(types.CODE_ACTION_RESOLVE, action)
    assert resolved.edit is None
    await editor.until(types.WINDOW_SHOW_MESSAGE, lambda params: "is left alone" in params.message)
    (tmp_path / "gone").unlink()
    await editor.execute("polylsp.restartWorker")
    resolved = await editor.request(types.CODE_ACTION_RESOLVE, action)
    assert only_edit(resolved)[1] == "#pragma openmp\n"


# --- suppressing -----------------------------------------------------------------------------------


async def test_a_finding_is_suppressed_by_the_comment_that_the_action_inserts(start):
    editor = await start()
    uri = editor.open(F + G)
    await editor.diagnostics(uri, 1, "parallel-loop", "needs-skewing")
    action = titled(await editor.actions(uri, 1), IGNORE)
    (edit,) = action.edit.changes[uri]
    assert edit.new_text == "    // polylsp: ignore parallel-loop\n" and edit.range == line_start(1)
    change = types.TextDocumentContentChangePartial(range=edit.range, text=edit.new_text)
    version = editor.change(uri, change)
    await editor.diagnostics(uri, version, "needs-skewing")
    assert IGNORE not in [each.title for each in await editor.actions(uri, 2)]
    unchanged = types.TextDocumentContentChangePartial(range=line_start(0), text="\n")
    version = editor.change(uri, unchanged)
    await editor.diagnostics(uri, version, "needs-skewing")
    gone = types.Range(types.Position(2, 0), types.Position(3, 0))
    version = editor.change(uri, types.TextDocumentContentChangePartial(range=gone, text=""))
    await editor.diagnostics(uri, version, "parallel-loop", "needs-skewing")
