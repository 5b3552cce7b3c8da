"""The worker as the server sees it: a child process that is started, fed, and killed at will."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Sequence

from polylsp.frames import frame, received
from polylsp.launch import python_command
from polylsp.server.messages import Reply, Request
from polylsp.server.starting import start_process

logger = logging.getLogger(__name__)

WORKER_COMMAND: tuple[str, ...] = python_command("polylsp.server.worker_main:main")


class Worker:
    """A worker process. `on_reply` gets its messages, and `on_death` its exit status, once, unless it was
    stopped by `close`."""

    def __init__(
        self,
        command: Sequence[str],
        on_reply: Callable[[Worker, Reply], None],
        on_death: Callable[[Worker, int], None],
    ) -> None:
        self.last_words: deque[str] = deque(maxlen=20)
        self._command = command
        self._on_reply = on_reply
        self._on_death = on_death
        self._process: asyncio.subprocess.Process | None = None
        self._unsent: list[bytes] = []
        self._closed = False
        self._task = asyncio.get_running_loop().create_task(self._live())

    @property
    def pid(self) -> int | None:
        """The process id, once it runs."""
        return self._process.pid if self._process else None

    def send(self, request: Request) -> None:
        """Send a request, as soon as the process runs."""
        data = frame(request)
        if self._process is None:
            self._unsent.append(data)
        else:
            self._write(data)

    def kill(self) -> None:
        """Kill the process; `on_death` follows."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    def close(self) -> None:
        """Kill the process and hear nothing more of it."""
        self._closed = True
        self.kill()

    async def _live(self) -> None:
        try:
            self._process = await start_process(*self._command)
        except OSError as error:
            self.last_words.append(str(error))
            self._end(127)
            return
        if self._closed:
            self.kill()
        for data in self._unsent:
            self._write(data)
        await asyncio.gather(self._read_replies(self._process), self._read_log(self._process))
        self._end(await self._process.wait())

    def _end(self, status: int) -> None:
        if not self._closed:
            self._closed = True
            self._on_death(self, status)

    def _write(self, data: bytes) -> None:
        # A write to a process that has just died is lost; its death is reported by `_live`.
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(ConnectionError, RuntimeError):
                self._process.stdin.write(data)

    async def _read_replies(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                reply: Reply = await received(process.stdout)
                if not self._closed:
                    self._on_reply(self, reply)

    async def _read_log(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        rest = ""
        with contextlib.suppress(ConnectionError):
            while data := await process.stderr.read(2**16):
                *lines, rest = (rest + data.decode("utf-8", "replace")).split("\n")
                for line in lines:
                    self.last_words.append(line)
                    logger.info("worker: %s", line)
                rest = rest[-2000:]
        if rest:
            self.last_words.append(rest)
