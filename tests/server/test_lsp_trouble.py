"""Bad input, a worker that dies or hangs, and clients that leave."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from editor import COLD
from lsprotocol import types
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio

F = "void f(int n) {\n    for (i = 0; i < n; i++) a[i] = 0;\n}\n"
G = "void g(int n) {\n    for (t = 1; t < n; t++) a[t] = a[t - 1];\n}\n"
H = "void h(int n) {\n    for (j = 0; j < n; j++) a[j] = 0;\n}\n"


async def is_alive(editor) -> bool:
    uri = editor.open(F, uri="file:///project/alive.c")
    return bool(await editor.diagnostics(uri, 1, "parallel-loop"))


# --- messages --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"{not json",
        b"\xff\xfe\x00binary",
        b"[1, 2]",
        b"5",
        b'{"jsonrpc":"2.0"}',
        b"[" * 100_000,
        b'{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":7}}',
        b'{"jsonrpc":"2.0","method":"textDocument/didChange"}',
        b'{"jsonrpc":"2.0","method":"$/unheardOf"}',
    ],
)
async def test_a_malformed_message_costs_nothing(start, body: bytes):
    editor = await start()
    editor.raw(body)
    assert await is_alive(editor)


async def test_a_request_with_wrong_parameters_is_answered(start):
    editor = await start()
    answer = editor.client.protocol._request_futures["9"] = asyncio.Future()
    editor.raw(b'{"jsonrpc":"2.0","id":"9","method":"textDocument/hover","params":{"position":"here"}}')
    with pytest.raises(JsonRpcException) as refused:
        await asyncio.wait_for(answer, 30)
    assert refused.value.code == -32602


def change(uri: str, version: int, changes: bytes) -> bytes:
    params = b'{"textDocument":{"uri":"%s","version":%d},"contentChanges":%s}' % (
        uri.encode(),
        version,
        changes,
    )
    return b'{"jsonrpc":"2.0","method":"textDocument/didChange","params":%s}' % params


@pytest.mark.parametrize(
    "changes",
    [
        b'[{"text":5}]',
        b'[{"text":null}]',
        b'[{"text":["a"]}]',
        b'[{"range":{"start":{"line":"0","character":0},"end":{"line":0,"character":0}},"text":"x"}]',
        b'[{"range":{"start":{"line":1e999,"character":0},"end":{"line":0,"character":0}},"text":"x"}]',
        b"7",
        b"null",
    ],
)
async def test_an_edit_that_cannot_be_read_is_told_and_the_text_asked_for_again(start, changes: bytes):
    editor = await start()
    uri = editor.open(F)
    await editor.diagnostics(uri, 1, "parallel-loop")
    editor.raw(change(uri, 2, changes))
    told = await editor.until(types.WINDOW_SHOW_MESSAGE)
    assert "lost track of the text of a.c" in told.message and "open it again" in told.message
    assert await editor.hover(uri, 1, 8) is None
    editor.raw(
        change(
            uri,
            3,
            b'[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"text":"x"}]',
        )
    )
    assert await editor.hover(uri, 1, 8) is None
    editor.change(uri, types.TextDocumentContentChangeWholeDocument(text=G), version=4)
    await editor.diagnostics(uri, 4, "sequential-loop")
    assert editor.methods().count(types.WINDOW_SHOW_MESSAGE) == 1


async def test_an_edit_of_a_document_that_is_not_open_is_told_once(start):
    editor = await start()
    for version in (1, 2):
        editor.raw(change("file:///project/closed.c", version, b'[{"text":""}]'))
    told = await editor.until(types.WINDOW_SHOW_MESSAGE)
    assert "closed.c" in told.message
    assert await is_alive(editor)
    assert editor.methods().count(types.WINDOW_SHOW_MESSAGE) == 1


async def test_a_document_that_is_opened_twice_has_the_later_text(start):
    editor = await start()
    uri = editor.open(F)
    await editor.diagnostics(uri, 1, "parallel-loop")
    editor.open(G, version=7)
    await editor.diagnostics(uri, 7, "sequential-loop")


# --- frames ------------------------------------------------------------------------------------

HOVER = b'{"jsonrpc":"2.0","id":%d,"method":"textDocument/hover","params":{}}'


def framed(body: bytes, length: int | None = None, name: bytes = b"Content-Length") -> bytes:
    return b"%b: %d\r\n\r\n%b" % (name, len(body) if length is None else length, body)


@pytest.mark.parametrize(
    "frame",
    [
        framed(HOVER % 5, name=b"content-length"),
        b"CONTENT-TYPE: application/vscode-jsonrpc; charset=utf-8\r\n" + framed(HOVER % 5),
        framed(b"{}", 10**12),
        framed(b"{}", 10**30),
        framed(b"{}", 500),
        framed(HOVER % 5, 10),
        framed(HOVER % 5, len(HOVER % 5) + 3),
        b"no header at all",
        b"Content-Length: -7\r\n\r\n",
        b"Content-Length: seven\r\n\r\n",
        b"Content-Type: text\r\n\r\n{}",
        b"\r\n\r\n\n",
        b"\0\xff" * 50_000,
        b'{"jsonrpc":"2.0","method":"exit"}',
    ],
)
async def test_after_a_broken_frame_the_next_message_is_answered(start, frame: bytes):
    editor = await start()
    editor.process.stdin.write(frame)
    assert await is_alive(editor)
    assert (await editor.execute("polylsp.status"))["health"] == "ok"


async def test_after_a_broken_frame_a_gap_in_the_versions_is_a_lost_edit(start):
    editor = await start()
    uri, other = editor.open(F), editor.open(H, uri="file:///project/b.c")
    editor.process.stdin.write(b"Content-Length: 9\r\n\r\nbad bytes")
    version = editor.change(uri, replacement(0, 0, 0, 0, "\n"), version=2)
    editor.change(other, replacement(0, 0, 0, 0, "\n"), version=3)
    assert [each.range.start.line for each in await editor.diagnostics(uri, version)] == [2]
    told = await editor.until(types.WINDOW_SHOW_MESSAGE)
    assert "b.c" in told.message
    assert await editor.hover(other, 2, 8) is None


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"\xff\xfe\xfd", -32700),
        (b"{not json", -32700),
        (b'{"jsonrpc":"2.0","id":NaN}', -32700),
        (b'[{"jsonrpc":"2.0","id":1,"method":"shutdown"}]', -32600),
        (b"[]", -32600),
        (b'"text"', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"shutdown"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600),
        (b'{"jsonrpc":"2.0","id":[1],"method":"shutdown"}', -32600),
        (b'{"jsonrpc":"2.0","id":{"a":1},"result":null}', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
    ],
)
async def test_what_is_no_message_is_answered_with_an_error(body: bytes, code: int):
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).with_name("fake_server.py")),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    process.stdin.write(framed(body))
    answer = await answered(process.stdout)
    assert answer["error"]["code"] == code
    process.stdin.write(framed(HOVER % 77))
    assert (await answered(process.stdout))["id"] == 77
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), 30) == 1


async def answered(stream: asyncio.StreamReader) -> dict[str, Any]:
    """The next message of a server."""
    header = await asyncio.wait_for(stream.readuntil(b"\r\n\r\n"), 30)
    length = int(header.lower().partition(b"content-length:")[2].split()[0])
    return json.loads(await stream.readexactly(length))


@pytest.mark.parametrize("params", [None, {"a": 1}])
async def test_an_unknown_method_is_not_found(start, params):
    editor = await start()
    with pytest.raises(JsonRpcException) as refused:
        await editor.request("textDocument/makeCoffee", params)
    assert refused.value.code == -32601


async def test_requests_before_initialize_are_refused():
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).with_name("fake_server.py")),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    body = b'{"jsonrpc":"2.0","id":1,"method":"textDocument/hover","params":{}}'
    process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    answer = await answered(process.stdout)
    assert answer["id"] == 1 and answer["error"]["code"] in (-32002, -32602)
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), 30) == 1


# --- texts -------------------------------------------------------------------------------------


def replacement(start_line: int, start: int, end_line: int, end: int, text: str):
    extent = types.Range(types.Position(start_line, start), types.Position(end_line, end))
    return types.TextDocumentContentChangePartial(range=extent, text=text)


async def test_edits_out_of_range_are_clamped(start):
    editor = await start()
    uri = editor.open(F)
    version = editor.change(
        uri,
        replacement(99, 99, 199, 0, H),
        replacement(0, 10_000, 0, 20_000, " "),
        replacement(1, 4, 0, 0, ""),  # backwards: the text between the two ends
    )
    found = await editor.diagnostics(uri, version)
    assert [each.range.start.line for each in found] == [4 - 1]


@pytest.mark.parametrize("version", [5, 4, -3])
async def test_a_change_counts_whatever_its_version(start, version: int):
    editor = await start()
    uri = editor.open(F, version=5)
    await editor.diagnostics(uri, 5, "parallel-loop")
    editor.change(uri, replacement(0, 0, 0, 0, "\n"), version=version)
    await editor.settle()
    await editor.hover(uri, 0, 0)
    version = editor.change(uri, replacement(0, 0, 0, 0, "\n"), version=6)
    assert [each.range.start.line for each in await editor.diagnostics(uri, version)] == [3]


async def test_a_change_of_the_whole_text(start):
    editor = await start()
    uri = editor.open(F)
    version = editor.change(uri, types.TextDocumentContentChangeWholeDocument(text=H + G))
    assert [each.code for each in await editor.diagnostics(uri, version)] == [
        "parallel-loop",
        "needs-skewing",
    ]


@pytest.mark.parametrize("text", ["\0\1\2\ufffd", "\ud800", "x" * 1_000_000, "\n" * 100_000, "{" * 10_000])
async def test_odd_texts(start, text: str):
    editor = await start()
    uri = editor.open("/* " + text + " */\n" + F)
    found = await editor.diagnostics(uri, 1, "parallel-loop")
    assert found[0].range.start.line == 2 + text.count("\n")


# --- the worker ----------------------------------------------------------------------------------


async def test_a_function_that_never_ends_is_given_up_alone(start):
    editor = await start("nvim-sid", *COLD, settings={"max_seconds": 1.0})
    uri = editor.open(F + G.replace("a[t]", "STALL[t]") + H)
    found = (await editor.pull(uri)).items
    assert [each.code for each in found] == ["parallel-loop", "not-analyzable", "parallel-loop"]
    assert (await editor.execute("polylsp.status"))["workerRestarts"] >= 1
    editor.replace(uri, "STALL", "a")
    found = (await editor.pull(uri)).items
    assert [each.code for each in found] == ["parallel-loop", "sequential-loop", "parallel-loop"]


@pytest.mark.parametrize("trouble", ["DIE", "GREEDY"])
async def test_a_function_that_kills_the_worker_is_given_up_alone(start, trouble: str):
    editor = await start()
    uri = editor.open(F + G.replace("a[t]", f"{trouble}[t]") + H)
    await editor.diagnostics(uri, 1, "parallel-loop", "not-analyzable", "parallel-loop")


async def test_a_worker_killed_while_busy_loses_no_answer(start, tmp_path: Path):
    editor = await start()
    uri = editor.open(F + G + H.replace("a[j]", "MARK_begun[j] + WAIT_later[j]"))
    await editor.begun(tmp_path / "begun")
    status = await editor.execute("polylsp.status")
    os.kill(status["workerPid"], signal.SIGKILL)
    # Not before: the worker could answer until the signal comes.
    (tmp_path / "later").touch()
    await editor.diagnostics(uri, 1, "parallel-loop", "sequential-loop", "parallel-loop")
    # Another worker may have found all of it before the end of the first one is seen.
    while (restarts := (await editor.execute("polylsp.status"))["workerRestarts"]) == 0:
        pass
    assert restarts == 1


async def test_a_worker_killed_while_idle_is_replaced(start):
    editor = await start()
    uri = editor.open(F)
    await editor.diagnostics(uri, 1, "parallel-loop")
    os.kill((await editor.execute("polylsp.status"))["workerPid"], signal.SIGKILL)
    version = editor.replace(uri, "i++", "i += 2")
    await editor.diagnostics(uri, version, "parallel-loop")


async def test_a_worker_that_cannot_start_is_told_once_and_left_alone(start):
    editor = await start(
        "nvim-bookworm",
        sys.executable,
        str(Path(__file__).with_name("fake_server.py")),
        sys.executable,
        "-c",
        "raise SystemExit('no islpy here')",
    )
    editor.open(F)
    told = await editor.until(types.WINDOW_SHOW_MESSAGE)
    assert "3 times" in told.message and "no islpy here" in told.message
    status = await editor.execute("polylsp.status")
    assert status["health"] == "error" and status["workerRestarts"] == 3 and status["workerPid"] is None
    assert editor.methods().count(types.WINDOW_SHOW_MESSAGE) == 1


async def test_a_bug_in_the_analysis_is_logged_and_the_next_text_analysed(start):
    editor = await start()
    uri = editor.open(F.replace("a[i]", "BUG[i]"))
    logged = await editor.until(types.WINDOW_LOG_MESSAGE, lambda params: "a bug in" in params.message)
    assert "Traceback" in logged.message
    version = editor.replace(uri, "BUG", "a")
    await editor.diagnostics(uri, version, "parallel-loop")


async def test_only_the_latest_version_is_answered(start, tmp_path: Path):
    editor = await start()
    uri = editor.open(F.replace("a[i]", "MARK_begun[i] + WAIT_later[i]"))
    await editor.begun(tmp_path / "begun")
    editor.replace(uri, "i++", "i += 2")
    last = editor.replace(uri, "void f", G + "void f")
    other = editor.open(H, uri="file:///project/b.c")
    await editor.hover("file:///project/none.c", 0, 0)
    (tmp_path / "later").touch()
    await editor.diagnostics(uri, last, "needs-skewing", "parallel-loop")
    await editor.diagnostics(other, 1, "parallel-loop")
    published = [
        (params.version, len(params.diagnostics))
        for method, params in editor.received
        if method == types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS and params.uri == uri
    ]
    assert set(published) == {(last, 2)}


async def test_the_rest_of_a_superseded_text_is_not_analysed(start, tmp_path: Path):
    editor = await start()
    uri = editor.open(F.replace("a[i]", "MARK_begun[i] + WAIT_later[i]") + G.replace("a[t]", "MARK_old[t]"))
    await editor.begun(tmp_path / "begun")
    last = editor.replace(uri, "MARK_old", "MARK_new")
    await editor.hover("file:///project/none.c", 0, 0)
    (tmp_path / "later").touch()
    await editor.diagnostics(uri, last)
    assert (tmp_path / "new").exists() and not (tmp_path / "old").exists()


async def test_edits_within_the_delay_are_analysed_once(start):
    def patient(params):
        params["initializationOptions"] = {"settings": {"delay_ms": 1000}}

    editor = await start("nvim-bookworm", *COLD, prepare=patient)
    uri = editor.open(F)
    await editor.diagnostics(uri, 1, "parallel-loop")
    # The full analysis would be of whatever text there is as it begins.
    await editor.settle()
    # Stopped while it is sent both, the server finds them together, however busy the machine is.
    editor.process.send_signal(signal.SIGSTOP)
    editor.replace(uri, "i++", "i += 2")
    last = editor.replace(uri, "i += 2", "i += 3")
    editor.process.send_signal(signal.SIGCONT)
    await editor.diagnostics(uri, last)
    published = {p.version for m, p in editor.received if m == types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS}
    assert published == {1, last}


async def test_progress_is_shown_and_cancel_really_cancels(start, tmp_path: Path):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F.replace("a[i]", "WAIT_never[i]") + G)
    request = asyncio.ensure_future(editor.pull(uri))
    created = await editor.until(types.WINDOW_WORK_DONE_PROGRESS_CREATE)
    begun = await editor.until(types.PROGRESS)
    assert begun.value["kind"] == "begin" and begun.value["cancellable"]
    assert begun.value["message"] == "f (1/2)"
    params = types.WorkDoneProgressCancelParams(token=created.token)
    editor.client.window_work_done_progress_cancel(params)
    with pytest.raises(JsonRpcException) as refused:
        await request
    assert refused.value.data["retriggerRequest"] is False
    await editor.until(types.PROGRESS, lambda params: params.value["kind"] == "end")
    (tmp_path / "never").touch()
    version = editor.replace(uri, "i++", "i += 2")
    assert version == 2
    assert [each.code for each in (await editor.pull(uri)).items] == ["parallel-loop", "sequential-loop"]


async def test_progress_on_the_token_of_a_request(start, tmp_path: Path):
    editor = await start("vscode1139-ext11")
    uri = editor.open(F.replace("a[i]", "WAIT_later[i]"))
    params = types.DocumentDiagnosticParams(
        text_document=types.TextDocumentIdentifier(uri), work_done_token="mine"
    )
    request = asyncio.ensure_future(editor.request(types.TEXT_DOCUMENT_DIAGNOSTIC, params))
    await editor.until(types.PROGRESS, lambda params: params.token == "mine")
    (tmp_path / "later").touch()
    await request
    await editor.until(types.PROGRESS, lambda p: p.token == "mine" and p.value["kind"] == "end")


# --- leaving -------------------------------------------------------------------------------------


async def gone(pid: int) -> None:
    """Wait until a process has ended (a zombie has)."""
    while True:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        await asyncio.sleep(0.01)


async def test_shutdown_and_exit(start):
    editor = await start("nvim-bookworm", *COLD)
    uri = editor.open(F)
    await editor.diagnostics(uri, 1)
    pid = (await editor.execute("polylsp.status"))["workerPid"]
    await editor.client.shutdown_session()
    assert await asyncio.wait_for(editor.process.wait(), 30) == 0
    await asyncio.wait_for(gone(pid), 30)


async def test_a_client_that_dies_takes_server_and_worker_along(start, tmp_path: Path):
    editor = await start("nvim-bookworm", *COLD)
    editor.open(F.replace("a[i]", "MARK_begun[i] + WAIT_never[i]"))
    await editor.begun(tmp_path / "begun")
    pid = (await editor.execute("polylsp.status"))["workerPid"]
    editor.process.stdin.close()
    assert await asyncio.wait_for(editor.process.wait(), 30) == 1
    await asyncio.wait_for(gone(pid), 30)


async def test_a_client_that_no_longer_reads(start):
    editor = await start("nvim-bookworm", *COLD)
    pid = (await editor.execute("polylsp.status"))["workerPid"]
    editor.process.stdout._transport.close()
    editor.open(F)
    assert await asyncio.wait_for(editor.process.wait(), 30) == 1
    await asyncio.wait_for(gone(pid), 30)


async def test_the_parent_process_is_watched(start):
    parent = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE)

    def adopt(params):
        params["processId"] = parent.pid

    editor = await start("nvim-bookworm", *COLD, prepare=adopt)
    pid = (await editor.execute("polylsp.status"))["workerPid"]
    parent.kill()
    await parent.wait()
    assert await asyncio.wait_for(editor.process.wait(), 30) == 1
    await asyncio.wait_for(gone(pid), 30)


async def test_a_server_killed_outright_leaves_no_worker(start, tmp_path: Path):
    editor = await start("nvim-bookworm", *COLD)
    editor.open(F.replace("a[i]", "MARK_begun[i] + WAIT_never[i]"))
    await editor.begun(tmp_path / "begun")
    pid = (await editor.execute("polylsp.status"))["workerPid"]
    editor.process.kill()
    await asyncio.wait_for(editor.process.wait(), 30)
    await asyncio.wait_for(gone(pid), 30)


async def listening(*arguments: object) -> tuple[asyncio.subprocess.Process, str, int]:
    code = f"from polylsp.server.app import serve_tcp; serve_tcp('127.0.0.1', 0, *{arguments!r})"
    server = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stderr=asyncio.subprocess.PIPE)
    line = await asyncio.wait_for(server.stderr.readline(), 30)
    host, _, port = line.decode().strip().rpartition(" ")[2].rpartition(":")
    return server, host, int(port)


def asked(number: int, method: str, params: object) -> bytes:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return framed(json.dumps(message).encode())


async def test_a_server_on_a_port_outlives_its_clients():
    server, host, port = await listening()
    leavings = (
        asked(2, "shutdown", None) + framed(b'{"jsonrpc":"2.0","method":"exit"}'),
        b"Content-Length: 9",
        b"",
    )
    for leaving in leavings:
        reader, writer = await asyncio.open_connection(host, port)
        # A client whose process is over by now: that is no reason to end.
        writer.write(asked(1, "initialize", {"capabilities": {}, "processId": 1}))
        assert "capabilities" in (await answered(reader))["result"]
        writer.write(leaving)
        writer.write_eof()
        while await reader.read(2**16):
            pass
        writer.close()
    server.terminate()
    await server.wait()


async def test_a_second_client_at_a_time_is_sent_away():
    server, host, port = await listening()
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(asked(1, "initialize", {"capabilities": {}}))
    await answered(reader)
    second, second_writer = await asyncio.open_connection(host, port)
    assert await second.read() == b""
    second_writer.close()
    writer.write(asked(2, "shutdown", None))
    while (await answered(reader)).get("id") != 2:
        pass  # The log reports the other one.
    writer.close()
    server.terminate()
    await server.wait()


@pytest.mark.parametrize("options", [None, {}, {"token": "wrong"}, {"token": 5}, {"token": "s\u00e9cret"}])
async def test_a_client_without_the_token_is_sent_away(options: object):
    server, host, port = await listening("secret")
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(asked(1, "initialize", {"capabilities": {}, "initializationOptions": options}))
    assert (await answered(reader))["error"]["message"] == "The token is missing or wrong"
    assert await reader.read() == b""
    writer.close()
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(asked(1, "initialize", {"capabilities": {}, "initializationOptions": {"token": "secret"}}))
    assert "result" in await answered(reader)
    writer.close()
    server.terminate()
    await server.wait()


@pytest.mark.parametrize(("host", "status"), [("0.0.0.0", 2), ("[::]", 2), ("no.such.host.invalid", 2)])
async def test_a_port_that_other_machines_reach_wants_a_token(host: str, status: int):
    environment = {key: value for key, value in os.environ.items() if key != "POLYLSP_TOKEN"}
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "polylsp", "serve", "--tcp", f"{host}:0"),
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    _, said = await asyncio.wait_for(server.communicate(), 60)
    assert server.returncode == status
    assert said.startswith(b"polylsp: ") and said.count(b"\n") == 1
