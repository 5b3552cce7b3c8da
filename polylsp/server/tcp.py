"""One client on a TCP port."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading

from pygls.io_ import run_async

from polylsp.server.session import PolylspServer

logger = logging.getLogger(__name__)


async def serve_one(server: PolylspServer, host: str, port: int) -> None:
    """Listen (port 0: on any free port, told on standard error), talk with the first client until it
    leaves, and listen no more."""
    left = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        listener.close()
        server.protocol.set_writer(writer)  # pyright: ignore[reportArgumentType]
        try:
            await run_async(threading.Event(), reader, server.protocol, logger, server.report_server_error)
        finally:
            writer.close()
            left.set()

    listener = await asyncio.start_server(talk, host, port)
    address = listener.sockets[0].getsockname()
    print(f"polylsp: listening on {address[0]}:{address[1]}", file=sys.stderr, flush=True)
    await left.wait()
