"""Work done in processes of its own, any of which may die or never come to an end.

isl can search for an integer point for ever without counting operations, so only another process can
end it. A worker says which function it is at; if it is silent for too long, or dies, another one begins the
same argument again and gives up that function.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic
from typing import Any, Generic, TypeVar, Union

from polylsp.cli.forking import CONTEXT
from polylsp.process import EXIT_OUT_OF_MEMORY, end_with_parent, limit_memory
from polylsp.settings import Settings

A = TypeVar("A")
R = TypeVar("R")
Observer = Callable[[str, str, int, int], None]

_SECONDS_TO_BEGIN = 60.0
"""For loading, and for reading a file before its first function is analysed."""

Work = Callable[[A, frozenset[str], Observer], R]
"""A function of a module, called in a worker. It calls its observer with `(key, name, done, total)` before
each function that it analyses, and leaves out those whose key is among the ones given up."""


@dataclass(frozen=True, slots=True)
class Crashed:
    """In the place of a result: the process that worked on it died, or did not come to an end."""

    reason: str


def results(
    work: Work[A, R], arguments: Sequence[A], jobs: int, settings: Settings
) -> Generator[Union[R, Crashed], None, None]:
    """The results in the order of the arguments, within the settings' limits on time and memory. An
    exception in a worker is raised here, in words."""
    waiting = deque(_Errand(number, argument) for number, argument in enumerate(arguments))
    workers = [_Worker(work, settings) for _ in range(min(jobs, len(arguments)))]
    done: dict[int, Union[R, Crashed]] = {}
    try:
        for number in range(len(arguments)):
            while number not in done:
                for worker in workers:
                    if worker.errand is None and waiting:
                        worker.begin(waiting.popleft())
                _listen(workers, done)
            yield done.pop(number)
    finally:
        for worker in workers:
            worker.close()


# --- In the process that asks ----------------------------------------------------------------


@dataclass(slots=True)
class _Errand(Generic[A]):
    """One argument; `at` is the key of the function that a worker is at."""

    number: int
    argument: A
    given_up: frozenset[str] = frozenset()
    at: str | None = None


@dataclass(frozen=True, slots=True)
class _Began:
    key: str


@dataclass(frozen=True, slots=True)
class _Done:
    result: Any


@dataclass(frozen=True, slots=True)
class _Raised:
    traceback: str


@dataclass(slots=True)
class _Worker(Generic[A, R]):
    """A process that works on one errand at a time, and its successors."""

    work: Work[A, R]
    settings: Settings
    errand: _Errand[A] | None = None
    deadline: float = 0.0
    connection: Connection = field(init=False)
    _process: Any = field(init=False)

    def __post_init__(self) -> None:
        self._start()

    def begin(self, errand: _Errand[A]) -> None:
        """Give it something to do."""
        self.errand = errand
        self.deadline = monotonic() + _SECONDS_TO_BEGIN
        with contextlib.suppress(ConnectionError):  # it has died: heard of in its turn
            self.connection.send((Path.cwd(), errand.argument, errand.given_up))

    def hear(self) -> Union[_Done, Crashed, None]:
        """Take a message; gives the result, if that is what it was."""
        assert self.errand is not None
        try:
            message = self.connection.recv()
        except (EOFError, ConnectionError):
            return self.replace("the analysis process died")
        if isinstance(message, _Began):
            self.errand.at = message.key
            self.deadline = monotonic() + self.settings.max_seconds
            return None
        if isinstance(message, _Raised):
            raise RuntimeError(message.traceback)
        self.errand = None
        return message

    def replace(self, reason: str) -> Crashed | None:
        """End the process and let another one try without the function that this one was at; if
        there is none to blame, the whole errand is given up."""
        self.close()
        self._start()
        errand, self.errand = self.errand, None
        assert errand is not None
        if errand.at is None or errand.at in errand.given_up:
            return Crashed(reason)
        self.begin(_Errand(errand.number, errand.argument, errand.given_up | {errand.at}))
        return None

    def close(self) -> None:
        """End the process."""
        self.connection.close()
        self._process.kill()
        self._process.join()

    def _start(self) -> None:
        ours, theirs = CONTEXT.Pipe()
        self._process = CONTEXT.Process(target=_serve, args=(self.work, theirs, self.settings), daemon=True)
        self._process.start()
        theirs.close()
        self.connection = ours


def _listen(workers: Sequence[_Worker[A, R]], done: dict[int, Union[R, Crashed]]) -> None:
    """Wait for news of a worker, or for the first deadline."""
    busy = [worker for worker in workers if worker.errand is not None]
    patience = max(0.0, min(worker.deadline for worker in busy) - monotonic())
    heard = wait([worker.connection for worker in busy], patience)
    for worker in busy:
        errand = worker.errand
        assert errand is not None
        if worker.connection in heard:
            news = worker.hear()
        else:
            news = worker.replace("the analysis took too long") if worker.deadline <= monotonic() else None
        if news is not None:
            done[errand.number] = news.result if isinstance(news, _Done) else news


# --- In the worker ---------------------------------------------------------------------------


def _serve(work: Work[Any, Any], connection: Connection, settings: Settings) -> None:
    """Do errands until there are no more."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout = sys.stderr
    limit_memory(settings.max_memory_mb)
    gc.freeze()
    while True:
        try:
            folder, argument, given_up = connection.recv()
        except (EOFError, ConnectionError):
            return
        os.chdir(folder)
        connection.send(_outcome(work, argument, given_up, connection))


def _outcome(
    work: Work[Any, Any], argument: Any, given_up: frozenset[str], connection: Connection
) -> _Done | _Raised:
    def observe(key: str, _name: str, _done: int, _total: int) -> None:
        connection.send(_Began(key))

    try:
        return _Done(work(argument, given_up, observe))
    except MemoryError:
        os._exit(EXIT_OUT_OF_MEMORY)
    except Exception:
        return _Raised(traceback.format_exc())
