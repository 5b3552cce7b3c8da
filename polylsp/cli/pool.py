"""Work in child processes, any of which may die or never end, or on a Dask cluster.

isl can search for an integer point forever without counting operations, so only the system can end
it: a worker is ended after its share of CPU time, and another resumes without that function. Idle
workers take over later steps of an argument.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from multiprocessing import util
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic
from typing import Any, Generic, TypeVar, Union

from polylsp.core.processes import (
    EXIT_OUT_OF_MEMORY,
    Unusable,
    check_workers,
    connected,
    end_with_parent,
    limit_cpu_time,
    limit_memory,
    ran_out_of_cpu_time,
    take_standard_output,
)
from polylsp.core.settings import Settings
from polylsp.launch import entry_point_command, isolate_multiprocessing

# --------------------------------------------------------------------------------------------------
# Processes preloaded with the analysis: forks of a server process that does nothing else.
#
# A fork of the process that a command runs in may hang, if that has threads; a fork of a dedicated
# server cannot. It loads the analysis while the command reads its arguments and its files.
# --------------------------------------------------------------------------------------------------


_PRELOADED = (
    "polylsp.engine.queries",
    "polylsp.engine.c_files",
    "polylsp.ide.check_json",
    "polylsp.ide.diagnostics",
    "polylsp.ide.terminal",
)
"""Modules that most work needs."""


def _context() -> Any:
    isolate_multiprocessing()
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOADED))
    return context


CONTEXT = _context()


def begin() -> None:
    """Let the server load, for who is soon to need it."""
    if CONTEXT.get_start_method() == "forkserver":
        from multiprocessing.forkserver import ensure_running

        _choose_socket_folder()
        ensure_running()


_LONGEST = 70
"""Bytes of the path of a temporary folder to which `multiprocessing` can add the name of a socket: the
address of one has 104 on macOS, and few more on Linux."""


def _choose_socket_folder() -> None:
    """Let the server's socket be in `/tmp` where the path of the user's temporary folder is too long."""
    usual = tempfile.gettempdir()
    if len(os.fsencode(usual)) <= _LONGEST or not os.access("/tmp", os.W_OK | os.X_OK):
        return
    tempfile.tempdir = "/tmp"
    try:
        util.get_temp_dir()
    finally:
        tempfile.tempdir = usual


# --------------------------------------------------------------------------------------------------
# Work in child processes, any of which may die or never come to an end.
#
# isl can search for an integer point for ever without counting operations, so only the system can
# end it. A worker reports the function that it is at, and is ended when that has taken its share of
# CPU time, which does not depend on the load of the machine. Then, or if it dies or is silent for
# very long, another one begins the same argument again and gives up that function.
#
# An argument may be worked on in steps (the functions of a file), each of which is answered as it
# is done. An idle worker takes over the later half of the steps that another one has still before
# it.
# --------------------------------------------------------------------------------------------------


A = TypeVar("A")
R = TypeVar("R")
Observer = Callable[[str, str, int, int], None]

_SECONDS_TO_BEGIN = 60.0
"""Of CPU time, for reading a file before its first function is analysed."""

_PATIENCE = 20
"""Times the CPU time that a function may take, and that for reading, after which a worker that says nothing
is given up: it waits for something."""

_MORE_TIME = 3.0
"""Factor on the CPU time of a function whose schedules took too long, for its verdicts: so much that isl
operations, which every machine counts alike, end them before the time does."""

_SECONDS_BETWEEN_LOOKS = 0.2
"""Interval at which an idle worker looks for steps to take over."""

Work = Callable[[A, frozenset[str], Observer], R]
"""A function of a module, called in a worker. It calls its observer with `(key, name, done, total)` before
each function that it analyses, and leaves out those whose key is among the ones given up."""


class Share:
    """The steps of an argument that a worker takes, from `first` to before `last` (`None`: to the end), which
    may become less as long as it is at them. Functions whose key is in `given_up` are left out."""

    def __init__(
        self,
        first: int = 0,
        last: int | None = None,
        given_up: frozenset[str] = frozenset(),
        shortened: Callable[[], int | None] = lambda: None,
    ) -> None:
        self.given_up = given_up
        self.total = 0
        self._first = first
        self._last = last
        self._shortened = shortened

    def takes(self, number: int) -> bool:
        """True if a step is to be taken, as of now."""
        last = self._shortened()
        self._last = self._last if last is None else last
        return self._first <= number and (self._last is None or number < self._last)


Tell = Callable[[int, R], None]
"""Called with a step's number and its value; -1: before the first step."""

Steps = Callable[[A, Share, Observer, Tell[R]], None]
"""A function of a module, called in a worker, which may work in steps: it tells its share their `total`, asks
it before each step, and tells a value before the first and for each. It observes as `Work` does."""


@dataclass(frozen=True, slots=True)
class Crashed:
    """In the place of a result: the process that worked on it died, or did not come to an end."""

    reason: str


@dataclass(frozen=True, slots=True)
class Finished:
    """After the last value of an argument."""


def results(
    work: Work[A, R], arguments: Sequence[A], jobs: int, settings: Settings
) -> Generator[Union[R, Crashed], None, None]:
    """The results in the order of the arguments, within the settings' limits on time and memory. An
    exception in a worker is raised here, in words."""
    done: dict[int, Any] = {}
    following = 0
    for number, value in stream(_Whole(work), arguments, jobs, settings):
        if not isinstance(value, Finished):
            done[number] = value
        while following in done:
            yield done.pop(following)
            following += 1


def stream(
    work: Steps[A, R], arguments: Sequence[A], jobs: int, settings: Settings
) -> Generator[tuple[int, Union[R, Crashed, Finished]], None, None]:
    """Values of each argument, with its number, as they come; then that it is finished. Messages before the
    first step come again from each worker that takes over steps, and a step may come twice where a worker
    died. Limits and exceptions are as for `results`."""
    pool = _Pool(work, settings, deque(_Errand(n, argument) for n, argument in enumerate(arguments)), jobs)
    try:
        while pool.waiting or pool.busy():
            pool.assign()
            yield from pool.listen()
    finally:
        for worker in pool.workers:
            worker.close()


@dataclass(frozen=True, slots=True)
class _Whole(Generic[A, R]):
    """Work that is done in one piece."""

    work: Work[A, R]

    def __call__(self, argument: A, share: Share, observe: Observer, tell: Tell[R]) -> None:
        tell(-1, self.work(argument, share.given_up, observe))


# --- In the process that asks ----------------------------------------------------------------


@dataclass(slots=True)
class _Errand(Generic[A]):
    """Steps of one argument, from `first` to before `last`; `at` is the key of the function that a worker is
    at, `total` the number of steps of the argument, as soon as reported. `sent` and `began` are when it was
    given to a worker and when that had read the argument, `taken` the steps that this one has answered."""

    number: int
    argument: A
    given_up: frozenset[str] = frozenset()
    first: int = 0
    last: int | None = None
    at: str | None = None
    total: int = 0
    sent: float = 0.0
    began: float = 0.0
    taken: set[int] = field(default_factory=set[int])

    @property
    def end(self) -> int:
        """Step before which the errand ends, as of now."""
        return self.total if self.last is None else min(self.last, self.total)

    def is_worth_halving(self, now: float, is_read: bool) -> bool:
        """True if all steps but the one at hand would take longer, at the pace so far, than another worker
        takes to read the argument and do half of them; `is_read`: it has done so before."""
        remaining = self.end - self.first - 1
        reading = 0.0 if is_read else self.began - self.sent
        return remaining > 0 and (now - self.began) / (len(self.taken) + 1) * remaining > 2 * reading


@dataclass(frozen=True, slots=True)
class _Began:
    key: str


@dataclass(frozen=True, slots=True)
class _Value:
    """Message about a step; -1: before the first."""

    value: Any
    number: int
    total: int


@dataclass(frozen=True, slots=True)
class _Raised:
    traceback: str


@dataclass(frozen=True, slots=True)
class _Shortened:
    """To a worker: its errand ends earlier, before the step `last`."""

    last: int


@dataclass(slots=True)
class _Worker(Generic[A, R]):
    """A process that works on one errand at a time, and its successors. `read` are the numbers of the
    arguments that the process has been given."""

    work: Steps[A, R]
    settings: Settings
    errand: _Errand[A] | None = None
    deadline: float = 0.0
    read: set[int] = field(default_factory=set[int])
    connection: Connection = field(init=False)
    _process: Any = field(init=False)

    def __post_init__(self) -> None:
        self._start()

    def begin(self, errand: _Errand[A]) -> None:
        """Give it something to do."""
        self.errand = errand
        errand.sent = monotonic()
        self._be_patient()
        self.read.add(errand.number)
        self._send((Path.cwd(), errand.argument, errand.given_up, errand.first, errand.last))

    def halve(self) -> _Errand[A]:
        """Leave the later half of the steps to another one."""
        errand = self.errand
        assert errand is not None
        middle = errand.first + (errand.end - errand.first + 1) // 2
        later = _Errand(errand.number, errand.argument, errand.given_up, middle, errand.last)
        errand.last = middle
        self._send(_Shortened(middle))
        return later

    def hear(self) -> Union[_Value, Finished, Crashed, None]:
        """Take a message; returns its value, if it has one."""
        errand = self.errand
        assert errand is not None
        try:
            message = self.connection.recv()
        except (EOFError, ConnectionError):
            return self.replace(self._cause_of_death())
        if isinstance(message, _Began):
            errand.at = message.key
            self._be_patient()
            return None
        if isinstance(message, _Raised):
            raise RuntimeError(message.traceback)
        if isinstance(message, _Value):
            return self._valued(errand, message)
        self.errand = None
        return message

    def _valued(self, errand: _Errand[A], found: _Value) -> _Value | None:
        """The value, unless its step has been left to another worker."""
        self._be_patient()
        if found.number < 0:
            errand.began, errand.total = monotonic(), found.total
            return found
        if found.number >= errand.end:
            return None
        errand.taken.add(found.number)
        while errand.first in errand.taken:
            errand.first += 1
        return found

    def replace(self, reason: str) -> Crashed | None:
        """End the process and let another one try without the function that this one was at; if
        there is none to blame, the whole errand is given up."""
        self.close()
        self.read.clear()
        self._start()
        errand, self.errand = self.errand, None
        assert errand is not None
        if errand.at is None or errand.at in errand.given_up:
            return Crashed(reason)
        given_up = errand.given_up | {errand.at}
        self.begin(replace(errand, given_up=given_up, at=None, total=0, taken=set()))
        return None

    def _be_patient(self) -> None:
        self.deadline = monotonic() + _PATIENCE * self.settings.max_seconds + _SECONDS_TO_BEGIN

    def _cause_of_death(self) -> str:
        self._process.join()
        status = self._process.exitcode
        if ran_out_of_cpu_time(status):
            seconds = _SECONDS_TO_BEGIN if self.errand is None or self.errand.at is None else None
            return _took_too_long(seconds, self.settings)
        if status == EXIT_OUT_OF_MEMORY:
            limit = f"{self.settings.max_memory_mb} MiB"
            return f"the analysis needed more than {limit} of memory; raise `polylsp.max_memory_mb`"
        return "the analysis process died"

    def close(self) -> None:
        """End the worker process."""
        self.connection.close()
        self._process.kill()
        self._process.join()

    def _send(self, message: object) -> None:
        with contextlib.suppress(ConnectionError):  # it has died: heard of in its turn
            self.connection.send(message)

    def _start(self) -> None:
        ours, theirs = CONTEXT.Pipe()
        self._process = CONTEXT.Process(target=_serve, args=(self.work, theirs, self.settings), daemon=True)
        self._process.start()
        theirs.close()
        self.connection = ours


@dataclass(slots=True)
class _Pool(Generic[A, R]):
    """At most `jobs` workers, and the errands that wait for one. `open` counts the errands of each argument
    that has some in work."""

    work: Steps[A, R]
    settings: Settings
    waiting: deque[_Errand[A]]
    jobs: int
    workers: list[_Worker[A, R]] = field(default_factory=list[_Worker[A, R]])
    open: dict[int, int] = field(default_factory=dict[int, int])

    def busy(self) -> list[_Worker[A, R]]:
        """The workers with an errand."""
        return [worker for worker in self.workers if worker.errand is not None]

    def assign(self) -> None:
        """Give errands to workers; where none wait, parts of others'."""
        while self.waiting and (worker := self._idle()) is not None:
            self._begin(worker, self.waiting.popleft())
        now = monotonic()
        while not self.waiting and self._has_room():
            idle = next((one for one in self.workers if one.errand is None), None)
            slow = [one for one in self.busy() if self._can_halve(one, idle, now)]
            if not slow:
                return
            longest = max(slow, key=lambda one: one.errand.end - one.errand.first if one.errand else 0)
            self._begin(idle or self._new(), longest.halve())

    def listen(self) -> Iterator[tuple[int, Any]]:
        """Wait for news of a worker, or for the first deadline."""
        busy = self.busy()
        patience = max(0.0, min(worker.deadline for worker in busy) - monotonic())
        if self._has_room() and any(worker.errand and worker.errand.total for worker in busy):
            patience = min(patience, _SECONDS_BETWEEN_LOOKS)
        heard = wait([worker.connection for worker in busy], patience)
        for worker in busy:
            errand = worker.errand
            assert errand is not None
            if worker.connection in heard:
                news = worker.hear()
            else:
                is_late = worker.deadline <= monotonic()
                news = worker.replace("the analysis did not come on") if is_late else None
            if isinstance(news, _Value):
                yield errand.number, news.value
            elif news is not None:
                yield from self._ended(errand.number, news)

    def _ended(self, number: int, news: Union[Finished, Crashed]) -> Iterator[tuple[int, Any]]:
        if isinstance(news, Crashed):
            yield number, news
        self.open[number] -= 1
        if not self.open[number]:
            yield number, Finished()

    def _begin(self, worker: _Worker[A, R], errand: _Errand[A]) -> None:
        self.open[errand.number] = self.open.get(errand.number, 0) + 1
        worker.begin(errand)

    def _can_halve(self, worker: _Worker[A, R], idle: _Worker[A, R] | None, now: float) -> bool:
        errand = worker.errand
        return errand is not None and errand.is_worth_halving(
            now, is_read=idle is not None and errand.number in idle.read
        )

    def _has_room(self) -> bool:
        return len(self.workers) < self.jobs or len(self.busy()) < len(self.workers)

    def _idle(self) -> _Worker[A, R] | None:
        found = next((one for one in self.workers if one.errand is None), None)
        return found or (self._new() if len(self.workers) < self.jobs else None)

    def _new(self) -> _Worker[A, R]:
        self.workers.append(worker := _Worker(self.work, self.settings))
        return worker


def _took_too_long(seconds: float | None, settings: Settings) -> str:
    """The reason for ending a worker that read a file for so many seconds, or analysed a function."""
    if seconds is not None:
        return f"reading the file took more than {seconds:g} s of CPU time"
    limit = f"{settings.max_seconds:g} s of CPU time"
    return f"the analysis took more than {limit}; raise `polylsp.max_seconds`"


# --- In the worker ---------------------------------------------------------------------------


def _serve(work: Steps[Any, Any], connection: Connection, settings: Settings) -> None:
    """Do errands until there are no more."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout = sys.stderr
    limit_memory(settings.max_memory_mb)
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    while True:
        try:
            message = connection.recv()
        except (EOFError, ConnectionError):
            return
        if isinstance(message, _Shortened):
            continue  # It came when the errand was done.
        folder, argument, given_up, first, last = message
        os.chdir(folder)
        share = Share(first, last, given_up, lambda: _shortened(connection))
        limit_cpu_time(_SECONDS_TO_BEGIN)
        outcome = _outcome(work, argument, share, connection, settings)
        limit_cpu_time(0)
        connection.send(outcome)


def _shortened(connection: Connection) -> int | None:
    """Before which step the errand at hand is to end by now, if that has changed."""
    found = None
    while connection.poll():
        message = connection.recv()
        found = message.last if isinstance(message, _Shortened) else found
    return found


def _outcome(
    work: Steps[Any, Any], argument: Any, share: Share, connection: Connection, settings: Settings
) -> Finished | _Raised:
    def observe(key: str, _name: str, _done: int, _total: int) -> None:
        from polylsp.engine.decisions import stands_in

        connection.send(_Began(key))
        limit_cpu_time(settings.max_seconds * (_MORE_TIME if stands_in(key, share.given_up) else 1))

    def tell(number: int, value: Any) -> None:
        connection.send(_Value(value, number, share.total))
        limit_cpu_time(_SECONDS_TO_BEGIN)

    try:
        work(argument, share, observe, tell)
    except MemoryError:
        os._exit(EXIT_OUT_OF_MEMORY)
    except Exception:
        return _Raised(traceback.format_exc())
    return Finished()


# --------------------------------------------------------------------------------------------------
# The work of `pool` spread over the machines of a Dask cluster.
#
# Dask restarts a dead worker's work elsewhere. Each batch runs in a separate process beside the
# worker: one that Dask started may not have the processes by which `pool` survives an analysis that
# never ends.
# --------------------------------------------------------------------------------------------------


_LARGEST_BATCH = 32
_BATCHES_PER_THREAD = 4
"""So that threads end at about the same time, though files differ."""


def cluster_results(
    work: Work[A, R], arguments: Sequence[A], address: str, settings: Settings
) -> Generator[Union[R, Crashed], None, None]:
    """As `pool.results`, from the workers of the scheduler at `address`; raises `Unusable`."""
    with connected(address) as client:
        check_workers(client)
        batches = _batches(arguments, sum(client.nthreads().values()))
        sent = [pickle.dumps((work, batch, settings)) for batch in batches]
        futures = client.map(done_here, sent, folder=str(Path.cwd()), pure=False)
        try:
            for batch, future in zip(batches, futures, strict=True):
                yield from _cluster_outcome(batch, future, address)
                future.release()
        finally:
            client.cancel(futures)


def done_here(batch: bytes, folder: str) -> bytes:
    """The results of a pickled batch, pickled; called in a worker of Dask."""
    if not Path(folder).is_dir():
        raise Unusable(f"{folder} is not there: workers need the files in the same places as here")
    command = entry_point_command("polylsp.cli.pool:main")
    done = subprocess.run(command, input=batch, capture_output=True, cwd=folder)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return done.stdout


def _batches(arguments: Sequence[A], threads: int) -> list[Sequence[A]]:
    size = max(1, min(_LARGEST_BATCH, len(arguments) // (_BATCHES_PER_THREAD * threads)))
    return [arguments[first : first + size] for first in range(0, len(arguments), size)]


def _cluster_outcome(batch: Sequence[A], future: Any, address: str) -> Sequence[Union[Any, Crashed]]:
    from distributed import KilledWorker

    try:
        return pickle.loads(future.result())
    except KilledWorker as killed:
        return [Crashed(f"several workers died at it, {killed.last_worker.address} the last")] * len(batch)
    except (CancelledError, OSError) as error:
        raise Unusable(f"the scheduler at {address} went away") from error


def main() -> None:
    """Carry out one batch of work, read from standard input, and write its results."""
    end_with_parent()
    answer = take_standard_output()
    work, arguments, settings = pickle.load(sys.stdin.buffer)
    with answer:
        pickle.dump(list(results(work, arguments, 1, settings)), answer)
