"""The workers: few, of which all but the first are started only while others take long, and none for a while
after they fell over again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

from polylsp.server.blame import Blame
from polylsp.server.job import Job
from polylsp.server.supervisor import Listener, Supervisor

MOST = 3
"""Workers at once: each needs memory, and at most this many functions can hold the others up."""

_SPARE_SECONDS = 30.0
"""Time without a job after which a worker is ended, but for the first."""

_LONGEST_BACK_OFF = 600.0


@dataclass(slots=True, eq=False)
class Crew:
    """The workers of one server. `trouble` is a sentence for the user while they are left alone; `losses`
    counts those that were lost; `rested` is called when they may be started again."""

    command: Sequence[str]
    listener: Listener
    rested: Callable[[], None]
    now: Callable[[], float]
    back_off_seconds: float = 30.0
    trouble: str = ""
    losses: int = 0
    blame: Blame = field(default_factory=Blame)
    workers: list[Supervisor] = field(default_factory=list[Supervisor])
    _back_off: asyncio.TimerHandle | None = None
    _back_offs: int = 0

    @property
    def pid(self) -> int | None:
        """The process id of the first worker, if it runs."""
        return self.workers[0].pid if self.workers else None

    @property
    def is_left_alone(self) -> bool:
        """True if no worker may be started now."""
        return self._back_off is not None

    @property
    def idle(self) -> Supervisor | None:
        """A worker without a job, if there is one."""
        return next((each for each in self.workers if each.job is None), None)

    def hire(self) -> Supervisor | None:
        """Start another worker, or `None` if the crew is full."""
        if self.is_left_alone or len(self.workers) >= MOST:
            return None
        supervisor = Supervisor(self.command, self.listener, self.now)
        self.workers.append(supervisor)
        return supervisor

    def jobs(self) -> Generator[tuple[Supervisor, Job], None, None]:
        """The workers that analyse, with their jobs."""
        for each in self.workers:
            if isinstance(each.job, Job):
                yield each, each.job

    def lost(self, supervisor: Supervisor) -> None:
        """Note that a worker's process is no more."""
        self.losses += 1
        if len(self.workers) > 1:
            self.workers.remove(supervisor)

    def retire(self) -> None:
        """End workers that have not been needed for a while."""
        for each in self.workers[1:]:
            if each.job is None and self.now() - each.idle_since > _SPARE_SECONDS:
                each.close()
                self.workers.remove(each)

    def succeeded(self) -> None:
        """A worker has found something."""
        self.blame.success()
        self._back_offs = 0
        self._clear_trouble()

    def strike(self, reason: str, words: str, *, killed: bool) -> str:
        """Count a loss without a function to blame; returns a message for the user once workers are no longer
        started because of it."""
        times = self.blame.strike(killed=killed)
        if not times:
            return ""
        self.blame.success()
        seconds = min(self.back_off_seconds * 2**self._back_offs, _LONGEST_BACK_OFF)
        details = f" ({words})" if words else ""
        self.trouble = (
            f"The analysis process was lost {times} times in a row: {reason}{details}. It is started again "
            f"in {seconds:.0f} s, or at once by the command polylsp.restartWorker."
        )
        self._back_offs += 1
        self._back_off = asyncio.get_running_loop().call_later(seconds, self._end_back_off)
        return self.trouble if self._back_offs == 1 else ""

    def forget(self) -> None:
        """End all workers, and forget all losses blamed on them and on functions."""
        self.blame.forget()
        self._back_offs = 0
        self.close()

    def close(self) -> None:
        """End all workers."""
        self._clear_trouble()
        self.losses += sum(each.close() for each in self.workers)
        self.workers.clear()

    def _end_back_off(self) -> None:
        self._back_off = None
        self.rested()

    def _clear_trouble(self) -> None:
        self.trouble = ""
        if self._back_off is not None:
            self._back_off.cancel()
            self._back_off = None
