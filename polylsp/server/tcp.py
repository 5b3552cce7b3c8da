"""Clients on a TCP port, one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import logging
import socket
import sys
from collections.abc import Callable

from lsprotocol import types

from polylsp.server.features.lifecycle import shutdown
from polylsp.server.session import PolylspServer
from polylsp.server.stream import Stream, converse

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
                    await _converse(make(), reader, writer, token)

    listener = await asyncio.start_server(talk, host, port)
    address = listener.sockets[0].getsockname()
    print(f"polylsp: listening on {address[0]}:{address[1]}", file=sys.stderr, flush=True)
    async with listener:
        await listener.serve_forever()


async def _converse(
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
