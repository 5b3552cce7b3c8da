"""Language server: capabilities, service on stdio or TCP, and its log.

TCP clients are served one after the other, and must show the token if there is one. The log goes
to standard error, which editors save, and warnings to the client as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import logging
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lsprotocol import types
from pygls.io_ import StdoutWriter

from polylsp.core.processes import leave, take_standard_output
from polylsp.server.features import commands
from polylsp.server.features import lifecycle as configuration
from polylsp.server.features.commands import answer, note
from polylsp.server.features.lifecycle import shutdown
from polylsp.server.protocol import Stream, converse
from polylsp.server.session import PolylspServer
from polylsp.server.worker import WORKER_COMMAND, all_started

logger = logging.getLogger(__name__)

_SECONDS_TO_BEGIN = 30.0
_BYTES_TO_BEGIN = 2**20
"""Limit on the bytes read from a client that has not shown its token."""


def is_of_this_machine(host: str) -> bool:
    """True if only programs of this machine can reach a listener on `host`; raises `OSError` for an unknown
    host name."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return all(ipaddress.ip_address(str(each[4][0]).partition("%")[0]).is_loopback for each in found)


async def serve(make: Callable[[], PolylspServer], host: str, port: int, token: str = "") -> None:
    """Listen (port 0: on any free port, printed to standard error), and talk with one client at a time; each
    gets a new server. With a `token`, a client is refused unless it shows it when it begins: as
    `initializationOptions.token`."""
    talking = asyncio.Lock()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            if talking.locked():
                logger.warning("A second client was sent away: polylsp serves one at a time.")
                return
            async with talking:
                with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
                    _keep_alive(writer)
                    await _tcp_converse(make(), reader, writer, token)

    listener = await asyncio.start_server(talk, host, port)
    address = listener.sockets[0].getsockname()
    print(f"polylsp: listening on {address[0]}:{address[1]}", file=sys.stderr, flush=True)
    async with listener:
        await listener.serve_forever()


async def _tcp_converse(
    server: PolylspServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str
) -> None:
    """Serve a client until it leaves."""
    protocol, stream = server.protocol, Stream()
    if token:
        protocol.admits = lambda params: _shows(params, token)
        stream.most = _BYTES_TO_BEGIN

    async def read() -> bytes:
        if not token or protocol.initialized:
            stream.most = Stream().most
            return await reader.read(2**20)
        return await asyncio.wait_for(reader.read(2**20), _SECONDS_TO_BEGIN)

    server.outlives_client = True
    protocol.set_writer(writer)  # pyright: ignore[reportArgumentType]
    try:
        await converse(read, protocol, stream)
        await writer.drain()
    finally:
        protocol.writer = None
        shutdown(server)
        server.end()


def _shows(params: types.InitializeParams, token: str) -> bool:
    options = params.initialization_options
    shown = options.get("token") if isinstance(options, dict) else None
    return isinstance(shown, str) and hmac.compare_digest(shown.encode("utf-8", "replace"), token.encode())


def _keep_alive(writer: asyncio.StreamWriter) -> None:
    """Have the system ask from time to time whether a silent client is still there."""
    found = writer.get_extra_info("socket")
    if found is not None:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


# --------------------------------------------------------------------------------------------------
# The server's log: to standard error, which editors keep, and warnings to the client as well.
# --------------------------------------------------------------------------------------------------


_KINDS = {
    logging.WARNING: types.MessageType.Warning,
    logging.ERROR: types.MessageType.Error,
}


class _ClientHandler(logging.Handler):
    """Sends log messages of the event loop to the client, by `window/logMessage`."""

    def __init__(self, server: PolylspServer) -> None:
        super().__init__(logging.WARNING)
        self._server = server

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record."""
        if self._server.protocol.initialized:
            kind = _KINDS.get(record.levelno, types.MessageType.Log)
            params = types.LogMessageParams(type=kind, message=self.format(record))
            self._server.window_log_message(params)


def log_to_client(server: PolylspServer) -> None:
    """Set up the log of the process. Messages of pygls are left out: our protocol reports each failure
    once."""
    to_stderr = logging.StreamHandler(sys.stderr)
    to_stderr.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("polylsp")
    logger.handlers = [to_stderr, _ClientHandler(server)]
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logging.getLogger("pygls").setLevel(logging.CRITICAL)


# --------------------------------------------------------------------------------------------------
# The server: its capabilities, and the ways to run it.
# --------------------------------------------------------------------------------------------------


ITERATION_SPACE = "polylsp/iterationSpace"
LOOP_AT = "polylsp/loopAt"
"""Requests of this server's protocol: the content of a drawing beside the text; the loop at a cursor."""

_FEATURES: dict[str, Callable[..., Any]] = {
    types.INITIALIZE: configuration.initialize,
    types.INITIALIZED: configuration.initialized,
    types.SHUTDOWN: configuration.shutdown,
    types.SET_TRACE: configuration.set_trace,
    types.WINDOW_WORK_DONE_PROGRESS_CANCEL: configuration.cancel_progress,
    types.TEXT_DOCUMENT_DID_OPEN: note("synchronisation", "did_open"),
    types.TEXT_DOCUMENT_DID_CHANGE: note("synchronisation", "did_change"),
    types.TEXT_DOCUMENT_DID_SAVE: note("synchronisation", "did_save"),
    types.TEXT_DOCUMENT_DID_CLOSE: note("synchronisation", "did_close"),
    types.NOTEBOOK_DOCUMENT_DID_OPEN: note("synchronisation", "notebook_did_open"),
    types.NOTEBOOK_DOCUMENT_DID_CHANGE: note("synchronisation", "notebook_did_change"),
    types.NOTEBOOK_DOCUMENT_DID_SAVE: note("synchronisation", "notebook_did_save"),
    types.NOTEBOOK_DOCUMENT_DID_CLOSE: note("synchronisation", "notebook_did_close"),
    types.TEXT_DOCUMENT_HOVER: answer("decorations", "hover"),
    types.TEXT_DOCUMENT_INLAY_HINT: answer("decorations", "inlay_hint"),
    types.INLAY_HINT_RESOLVE: note("decorations", "resolve"),
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: answer("decorations", "document_symbol"),
    types.TEXT_DOCUMENT_CODE_LENS: answer("decorations", "code_lens"),
    ITERATION_SPACE: answer("loop_pictures", "iteration_space"),
    LOOP_AT: answer("loop_pictures", "loop_at"),
    types.CODE_ACTION_RESOLVE: answer("code_action", "resolve"),
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: configuration.did_change_configuration,
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: configuration.did_change_watched_files,
    configuration.DID_CHANGE_TRUST: configuration.did_change_trust,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: configuration.did_change_workspace_folders,
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
    commands.RANK: commands.rank,
    commands.TOOL: commands.tool,
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
