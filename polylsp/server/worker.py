"""Worker process: start, messages, supervision and end.

Limits are CPU time of the worker, which a busy machine does not change. Wall-clock time counts only
for processes that are stuck without computing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import psutil

from polylsp.core.processes import EXIT_OUT_OF_MEMORY, Stop, frame, received
from polylsp.launch import entry_point_command
from polylsp.server.messages import Ready, Reply, Request
from polylsp.server.queue import Job, Question, Since

# --------------------------------------------------------------------------------------------------
# Start of child processes, which no cancellation interrupts.
# --------------------------------------------------------------------------------------------------


_NAME = "start of a process"


async def start_process(*command: str, with_log: bool = True) -> Process:
    """Start a process with pipes to its standard input and output, and `with_log` to its standard error. When
    this is cancelled, the process is killed once it runs: asyncio would wait for ever for a process whose
    pipes are not all connected (`base_subprocess.py` of Python 3.11). Raises `OSError`."""
    stderr = PIPE if with_log else None
    starting = asyncio.get_running_loop().create_task(
        asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=stderr, limit=2**20),
        name=_NAME,
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        process = await starting
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        raise


async def all_started() -> None:
    """Wait for the processes that are being started: whoever ends the event loop cancels all that it runs."""
    starting = [task for task in asyncio.all_tasks() if task.get_name() == _NAME]
    if starting:
        await asyncio.wait(starting)


# --------------------------------------------------------------------------------------------------
# The worker as the server sees it: a child process that is started, fed, and killed at will.
# --------------------------------------------------------------------------------------------------


logger = logging.getLogger(__name__)

WORKER_COMMAND: tuple[str, ...] = entry_point_command("polylsp.server.worker_main:main")


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


# --------------------------------------------------------------------------------------------------
# Supervision of one worker: started when it is needed, and ended when its work takes too long.
#
# Limits are CPU time of the worker's process, which a busy machine does not change. Time on the
# clock counts only for processes that are stuck without computing.
# --------------------------------------------------------------------------------------------------


_STUCK = 30.0
"""Times the CPU time that work may take that may pass on the clock."""

_LEAST_STUCK = 120.0
"""Seconds on the clock that any work may take."""


def cpu_seconds(pid: int) -> float | None:
    """The CPU time that a process has used; `None` if it is gone."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return None
    return times.user + times.system


@dataclass(frozen=True, slots=True)
class Limit:
    """Seconds of CPU time, and on the clock, after which a worker is ended. `advice` says how to avoid
    that."""

    cpu: float
    clock: float
    advice: str

    @staticmethod
    def of(cpu: float, advice: str) -> Limit:
        """The limit on CPU time, with the clock as a distant net."""
        return Limit(cpu, max(_LEAST_STUCK, _STUCK * cpu), advice)


@dataclass(frozen=True, slots=True)
class Loss:
    """Cause of the loss of a worker. `killed`: perhaps from outside, and for no fault of its work. `words`
    are its last output."""

    stop: Stop
    words: str = ""
    killed: bool = False


class Listener(Protocol):
    """Receiver of the workers' replies."""

    def worker_replied(self, supervisor: Supervisor, reply: Reply) -> None:
        """A worker said something."""
        ...

    def worker_lost(self, supervisor: Supervisor, loss: Loss) -> None:
        """A worker's process is no more."""
        ...


@dataclass(slots=True, eq=False)
class Supervisor:
    """A worker, if it runs, and its `job`. `has` are the keys of the answers that it knows the server has;
    `is_ready`: it has loaded; `idle_since` is when it last had a job."""

    command: Sequence[str]
    listener: Listener
    now: Callable[[], float]
    cpu: Callable[[int], float | None] = cpu_seconds
    job: Job | Question | None = None
    has: set[str] = field(default_factory=set[str])
    is_ready: bool = False
    idle_since: float = 0.0
    _worker: Worker | None = None
    _limit: Limit | None = None
    _cpu_then: float = 0.0
    _then: float = 0.0

    @property
    def pid(self) -> int | None:
        """The process id of the worker, if it runs."""
        return self._worker.pid if self._worker else None

    def start(self) -> None:
        """Start the worker, if it does not run."""
        if self._worker is None:
            self.is_ready = False
            self.has.clear()
            self._worker = Worker(self.command, self._on_reply, self._on_death)

    def send(self, request: Request) -> None:
        """Send a request to the worker, if there is one."""
        if self._worker is not None:
            self._worker.send(request)

    def relimit(self, limit: Limit) -> None:
        """Set another limit for the worker's current job."""
        self._limit = limit

    def watch(self, limit: Limit, used: float | None = None) -> None:
        """From now on the worker must say something within a limit; `used` is the CPU time that it had used
        as it began."""
        self._limit = limit
        self._then = self.now()
        self._cpu_then = self._used() if used is None else used

    def stop_watching(self) -> None:
        """The worker may take as long as it likes."""
        self._limit = None

    @property
    def moment(self) -> Since:
        """Current time of the clock and of the worker's CPU."""
        return Since(self.now(), self._used())

    def check(self) -> None:
        """End the worker if it has reached its limit."""
        limit = self._limit
        if limit is None or self._worker is None:
            return
        if self._used() - self._cpu_then >= limit.cpu:
            self._end(Stop(f"it took too long ({limit.cpu:g} s of CPU time)", limit.advice))
        elif self.now() - self._then >= limit.clock:
            self._end(Stop(f"it took too long (no progress in {limit.clock:g} s)", limit.advice))

    def close(self) -> bool:
        """End the worker; answers whether there was one."""
        self.stop_watching()
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()
        return worker is not None

    def _used(self) -> float:
        pid = self.pid
        return (self.cpu(pid) or 0.0) if pid is not None else 0.0

    def _end(self, stop: Stop) -> None:
        self.close()
        self.listener.worker_lost(self, Loss(stop))

    def _on_reply(self, worker: Worker, reply: Reply) -> None:
        if worker is self._worker:
            self.is_ready = self.is_ready or isinstance(reply, Ready)
            self.listener.worker_replied(self, reply)

    def _on_death(self, worker: Worker, status: int) -> None:
        if worker is not self._worker:
            return
        words = worker.last_words[-1] if worker.last_words else ""
        logger.warning("The analysis process ended with status %d. %s", status, words)
        self._worker = None
        self.stop_watching()
        killed = status in (-signal.SIGTERM, -9)
        self.listener.worker_lost(self, Loss(_reason(status), words, killed))


def _reason(status: int) -> Stop:
    if status == EXIT_OUT_OF_MEMORY:
        return Stop("it ran out of memory", "raise `polylsp.max_memory_mb`, or split the function")
    return Stop("the analysis process ended unexpectedly", "see the server's log, and report it")
