"""Pool of workers, and functions set aside since a worker was lost over them.

Further workers start only while others take long. Restarts pause after repeated failures. A change
of a function's text clears its record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace

from polylsp.core.processes import Stop
from polylsp.server.queue import Job
from polylsp.server.worker import Listener, Supervisor

STRIKES = 3
"""Losses in a row without a function to blame, after which workers are left alone for a while."""

_KILLS = 12
"""The same for workers that were killed from outside."""

_MEMORY = 1000
_MORE_TIME = 4.0
"""Factor on the limit when a function is tried again."""

_IDLE_RETRIES = 1
_IDLE_RETRIES_AFTER_KILLS = 4


@dataclass(frozen=True, slots=True)
class Culprit:
    """Work during which a worker was lost: its key, the name of its function and its document. `is_asked`: a
    person requested it, and has to request it again."""

    key: str
    name: str
    uri: str
    is_asked: bool = False


@dataclass(frozen=True, slots=True)
class _Record:
    """`stop` is `None` while the work may be tried."""

    culprit: Culprit
    stop: Stop | None = None
    kills: int = 0
    retries: int = 0
    is_killed: bool = False


@dataclass(slots=True)
class Blame:
    """The records, by key. Since a key depends on the function's text, changing the text clears it."""

    _records: dict[str, _Record] = field(default_factory=dict[str, _Record])
    _strikes: int = 0
    _kills: int = 0

    @property
    def stops(self) -> dict[str, Stop]:
        """The limits that were reached, by the keys of the work that is not tried."""
        return {key: each.stop for key, each in self._records.items() if each.stop is not None}

    @property
    def set_aside(self) -> list[tuple[Culprit, Stop]]:
        """The functions that are not tried, and why."""
        return [
            (each.culprit, each.stop)
            for each in self._records.values()
            if each.stop is not None and not each.culprit.is_asked
        ]

    def function(self, culprit: Culprit, stop: Stop, *, killed: bool) -> bool:
        """Hold a loss against a function; one that was `killed`, from outside perhaps, only from the second
        time on. Answers whether that explains the loss: no, if the function had been set aside before."""
        known = self._records.pop(culprit.key, _Record(culprit))
        self._records[culprit.key] = known
        if known.stop is not None:
            return False
        kills = known.kills + killed
        is_suspect = killed and kills == 1
        self._records[culprit.key] = replace(
            known, stop=None if is_suspect else stop, kills=kills, is_killed=killed
        )
        if len(self._records) > _MEMORY:
            del self._records[next(iter(self._records))]
        return True

    def factor(self, key: str) -> float:
        """Factor on the usual limit for some work."""
        known = self._records.get(key)
        return _MORE_TIME if known is not None and known.retries else 1.0

    def retry(self, uri: str) -> bool:
        """Let all of a document be tried once more, with more time; answers whether anything is."""
        return self._lift([each for each in self._records.values() if each.culprit.uri == uri])

    def retry_idle(self, uris: set[str]) -> set[str]:
        """Let everything of some documents be tried once more that was not yet, now that there is time;
        those that it is of."""
        chosen = [each for each in self._records.values() if _deserves(each, uris)]
        self._lift(chosen)
        return {each.culprit.uri for each in chosen}

    def has_retries(self, uris: set[str]) -> bool:
        """True if `retry_idle` would find work."""
        return any(_deserves(each, uris) for each in self._records.values())

    def strike(self, *, killed: bool) -> int:
        """Count a loss without a function to blame; answers how many there were in a row once that is too
        many, else 0."""
        self._strikes += not killed
        self._kills += killed
        return self._strikes + self._kills if self._strikes >= STRIKES or self._kills >= _KILLS else 0

    def success(self) -> None:
        """A worker has found something."""
        self._strikes = self._kills = 0

    def forget(self) -> None:
        """Clear all records and counts of failures."""
        self._records.clear()
        self.success()

    def _lift(self, records: list[_Record]) -> bool:
        lifted = [each for each in records if each.stop is not None]
        for each in lifted:
            self._records[each.culprit.key] = replace(each, stop=None, kills=0, retries=each.retries + 1)
        return bool(lifted)


def _deserves(record: _Record, uris: set[str]) -> bool:
    if record.stop is None or record.culprit.is_asked or record.culprit.uri not in uris:
        return False
    most = _IDLE_RETRIES_AFTER_KILLS if record.is_killed else _IDLE_RETRIES
    return record.retries < most


# --------------------------------------------------------------------------------------------------
# The workers: few, of which all but the first are started only while others take long, and none for
# a while after they fell over again and again.
# --------------------------------------------------------------------------------------------------


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
