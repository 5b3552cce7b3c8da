"""The server: its capabilities, and the ways to run it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lsprotocol import types
from pygls.io_ import StdoutWriter

from polylsp.server.features import (
    commands,
    configuration,
    lifecycle,
    trace,
    watched_files,
    workspace_folders,
)
from polylsp.server.features.on_demand import answer, note
from polylsp.server.log import log_to_client
from polylsp.server.parent import leave
from polylsp.server.session import PolylspServer
from polylsp.server.starting import all_started
from polylsp.server.stdio import take_standard_output
from polylsp.server.stream import Stream, converse
from polylsp.server.tcp import serve
from polylsp.server.worker import WORKER_COMMAND

ITERATION_SPACE = "polylsp/iterationSpace"
LOOP_AT = "polylsp/loopAt"
"""Requests of this server's protocol: the content of a drawing beside the text; the loop at a cursor."""

_FEATURES: dict[str, Callable[..., Any]] = {
    types.INITIALIZE: lifecycle.initialize,
    types.INITIALIZED: lifecycle.initialized,
    types.SHUTDOWN: lifecycle.shutdown,
    types.SET_TRACE: trace.set_trace,
    types.WINDOW_WORK_DONE_PROGRESS_CANCEL: trace.cancel_progress,
    types.TEXT_DOCUMENT_DID_OPEN: note("text_sync", "did_open"),
    types.TEXT_DOCUMENT_DID_CHANGE: note("text_sync", "did_change"),
    types.TEXT_DOCUMENT_DID_SAVE: note("text_sync", "did_save"),
    types.TEXT_DOCUMENT_DID_CLOSE: note("text_sync", "did_close"),
    types.NOTEBOOK_DOCUMENT_DID_OPEN: note("notebook_sync", "did_open"),
    types.NOTEBOOK_DOCUMENT_DID_CHANGE: note("notebook_sync", "did_change"),
    types.NOTEBOOK_DOCUMENT_DID_SAVE: note("notebook_sync", "did_save"),
    types.NOTEBOOK_DOCUMENT_DID_CLOSE: note("notebook_sync", "did_close"),
    types.TEXT_DOCUMENT_HOVER: answer("hover", "hover"),
    types.TEXT_DOCUMENT_INLAY_HINT: answer("inlay_hint", "inlay_hint"),
    types.INLAY_HINT_RESOLVE: note("inlay_hint", "resolve"),
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: answer("document_symbol", "document_symbol"),
    types.TEXT_DOCUMENT_CODE_LENS: answer("code_lens", "code_lens"),
    ITERATION_SPACE: answer("iteration_space", "iteration_space"),
    LOOP_AT: answer("iteration_space", "loop_at"),
    types.CODE_ACTION_RESOLVE: answer("code_action", "resolve"),
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: configuration.did_change_configuration,
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: watched_files.did_change_watched_files,
    lifecycle.DID_CHANGE_TRUST: lifecycle.did_change_trust,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: workspace_folders.did_change_workspace_folders,
}

_CODE_ACTIONS = types.CodeActionOptions(
    code_action_kinds=[
        types.CodeActionKind.QuickFix,
        types.CodeActionKind.RefactorRewrite,
        "source.fixAll.polylsp",
    ],
    resolve_provider=True,
)

_COMMANDS: dict[str, Callable[..., Any]] = {
    commands.RESTART_WORKER: commands.restart_worker,
    commands.STATUS: commands.status,
    commands.APPLY_ACTION: commands.apply_action,
    commands.TELL_REMARKS: commands.tell_remarks,
    commands.MEASURE: commands.measure,
    commands.TUNE: commands.tune,
}


def create_server(worker_command: Sequence[str] = WORKER_COMMAND) -> PolylspServer:
    """A server with all its handlers, not yet running."""
    server = PolylspServer(worker_command)
    for method, handler in _FEATURES.items():
        server.feature(method)(handler)
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, _CODE_ACTIONS)(answer("code_action", "code_action"))
    for command, handler in _COMMANDS.items():
        server.command(command)(handler)
    return server


def serve_stdio(worker_command: Sequence[str] = WORKER_COMMAND) -> int:
    """Serve one client on standard input and output; returns the exit status that LSP asks for:
    0 if the client said `shutdown` before it left, else 1."""
    server = create_server(worker_command)
    log_to_client(server)
    server.protocol.client_lost = lambda: leave("The client does not read any more.", server.jobs.close)
    server.protocol.set_writer(StdoutWriter(take_standard_output()))
    try:
        asyncio.run(_converse(server))
    except KeyboardInterrupt:
        leave("Interrupted.", server.jobs.close)
    finally:
        server.jobs.close()
    return 0 if server.protocol.is_shut_down else 1


async def _converse(server: PolylspServer) -> None:
    await converse(_standard_input(), server.protocol, Stream())
    await all_started()


def serve_tcp(host: str, port: int, token: str = "", worker_command: Sequence[str] = WORKER_COMMAND) -> int:
    """Serve clients on a TCP port, one after the other, until the user ends it. Only those who show the
    `token` are let in, if there is one; raises `OSError` where nothing can listen there."""

    def make() -> PolylspServer:
        server = create_server(worker_command)
        log_to_client(server)
        return server

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(make, host, port, token))
    return 0


def _standard_input() -> Callable[[], Awaitable[bytes]]:
    """Reader of the available bytes of standard input."""
    arrived, number = ThreadPoolExecutor(1, "standard input"), sys.stdin.fileno()

    def read() -> Awaitable[bytes]:
        return asyncio.get_running_loop().run_in_executor(arrived, os.read, number, 2**20)

    return read
