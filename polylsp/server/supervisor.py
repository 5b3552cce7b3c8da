"""Supervision of one worker: started when it is needed, and ended when its work takes too long.

Limits are CPU time of the worker's process, which a busy machine does not change. Time on the clock counts
only for processes that are stuck without computing.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import psutil

from polylsp.process import EXIT_OUT_OF_MEMORY, Stop
from polylsp.server.job import Job, Question, Since
from polylsp.server.messages import Ready, Reply, Request
from polylsp.server.worker import Worker

logger = logging.getLogger(__name__)

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
