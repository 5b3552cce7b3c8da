"""The worker process, which owns isl (`worker.WORKER_COMMAND`).

The main thread analyses, since an isl context belongs to one thread; another thread reads requests, so that a
running job can be cancelled between two functions. Standard output carries the replies; other output of the
process goes to standard error.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic, process_time
from typing import BinaryIO, Protocol

from polylsp.core import processes
from polylsp.core.processes import (
    EXIT_OUT_OF_MEMORY,
    Stop,
    end_with_parent,
    limit_memory,
    take_standard_output,
)
from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.engine.prepared import SILENT, Stream
from polylsp.model.action import Answer, Ask
from polylsp.model.facts import FileReport, FunctionAnswer
from polylsp.model.iteration_points import Drawing, Drawn
from polylsp.model.measurement import AskToMeasure, NoPlan, Plan
from polylsp.server.messages import (
    Analyse,
    Answered,
    Answers,
    Began,
    Cancel,
    Cancelled,
    Draw,
    Edit,
    Failed,
    Finished,
    Focus,
    Ready,
    Reply,
)

_CHUNK = 64
"""Answers per message: small enough for the server to breathe between two of them."""

_REMEMBERED = 8192
"""Number of other workers' answers that are remembered."""

_SILENCE = 0.5
"""Seconds after which it is said again what is being analysed, as long as that goes on."""


class Analysis(Protocol):
    """The signature of `polylsp.engine.queries.analyse`."""

    def __call__(
        self,
        path: str,
        text: str,
        settings: Settings,
        *,
        schedules: bool = True,
        edits: bool = False,
        given_up: Mapping[str, Stop] = ...,
        observe: Callable[[str, str, int, int], None] | None = None,
        stream: Stream = SILENT,
    ) -> FileReport:
        """Analyse a text; `observe` is called before each function that is really analysed, and between
        two edits of it that are tried; the `stream` takes answers as they are found."""
        ...


Editing = Callable[[str, str, Settings, Ask], Answer]
"""The signature of `polylsp.engine.queries.edit`."""

Enumerating = Callable[[str, str, Settings, Drawing], Drawn]
"""The signature of `polylsp.engine.queries.drawn`."""

Planning = Callable[[str, str, Settings, AskToMeasure], Plan | NoPlan]
"""The signature of `polylsp.engine.queries.measurable`."""


@dataclass(frozen=True, slots=True)
class Answering:
    """Functions that answer the questions of people."""

    edit: Editing
    measurable: Planning
    draw: Enumerating
    tidy: Callable[[Callable[[], bool]], None] = lambda _: None
    """Work that may be done between two requests, until one is there."""


def main(analyse: Analysis | None = None, answering: Answering | None = None) -> None:
    """Serve requests from standard input until it ends."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    replies = take_standard_output()
    if analyse is None or answering is None:
        # Imported here, not above: a test's worker brings another analysis and needs no isl.
        from polylsp.core.language import C
        from polylsp.engine import queries
        from polylsp.engine.fact_cache import fact_cache
        from polylsp.engine.reading import load

        analyse = queries.analyse
        answering = Answering(
            queries.edit, queries.measurable, queries.drawn, lambda wanted: fact_cache().flush(wanted)
        )

        load(C)
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    _serve(analyse, answering, _Inbox(sys.stdin.buffer), replies)


class _Stop(BaseException):
    """Raised out of an analysis that is no longer wanted; no handler of errors catches it."""


class _Inbox:
    """Requests as they arrive; ends the process when the server is gone."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._arrived = threading.Condition()
        self._waiting: deque[Analyse | Edit | Draw] = deque()
        self._cancelled: set[int] = set()
        self._focus: dict[int, tuple[Span, ...]] = {}
        threading.Thread(target=self._receive, daemon=True).start()

    def next(self) -> Analyse | Edit | Draw:
        """The next request, when there is one."""
        with self._arrived:
            self._arrived.wait_for(lambda: self._waiting)
            return self._waiting.popleft()

    def is_waited_for(self) -> bool:
        """True if there is a request."""
        return bool(self._waiting)

    def is_cancelled(self, job: int) -> bool:
        """True if the server cancelled that job."""
        return job in self._cancelled

    def focus(self, request: Analyse) -> tuple[Span, ...]:
        """The parts of the text that are wanted first."""
        return self._focus.get(request.job, request.focus)

    def _receive(self) -> None:
        while (message := processes.read(self._stream.read)) is not None:
            with self._arrived:
                if isinstance(message, Cancel):
                    self._cancelled.add(message.job)
                elif isinstance(message, Focus):
                    self._focus = {message.job: message.focus}
                else:
                    self._waiting.append(message)
                    self._arrived.notify()
        os._exit(0)


def _serve(analyse: Analysis, answering: Answering, inbox: _Inbox, replies: BinaryIO) -> None:
    def send(reply: Reply) -> None:
        replies.write(processes.frame(reply))
        replies.flush()

    known = _Known()
    send(Ready())
    while True:
        answering.tidy(inbox.is_waited_for)
        request = inbox.next()
        limit_memory(request.settings.max_memory_mb)
        try:
            if isinstance(request, Analyse):
                _Run(request, inbox, known, send).run(analyse)
            else:
                send(Answered(request.job, _answer(request, answering)))
        except _Stop:
            send(Cancelled(request.job))
        except MemoryError:
            os._exit(EXIT_OUT_OF_MEMORY)
        except Exception:
            send(Failed(request.job, traceback.format_exc()))


def _answer(request: Edit | Draw, answering: Answering) -> Answer | Plan | NoPlan | Drawn:
    path, text, settings = request.path, request.text, request.settings
    if isinstance(request, Draw):
        return answering.draw(path, text, settings, request.drawing)
    if isinstance(request.ask, AskToMeasure):
        return answering.measurable(path, text, settings, request.ask)
    return answering.edit(path, text, settings, request.ask)


@dataclass(slots=True)
class _Known:
    """The keys of the answers that the server has, and the answers of other workers by the keys of their
    tasks."""

    sent: set[str] = field(default_factory=set[str])
    finished: dict[str, FunctionAnswer] = field(default_factory=dict[str, FunctionAnswer])

    def take(self, request: Analyse) -> None:
        """Record a request's news of other workers and of the server."""
        self.sent -= request.forgotten
        for answer in request.finished:
            self.sent.add(answer.key)
            task = answer.key.partition("-")[0]
            if task not in self.finished or answer.feasibility is not None:
                self.finished[task] = answer
        while len(self.finished) > _REMEMBERED:
            del self.finished[next(iter(self.finished))]


@dataclass(slots=True)
class _Run:
    """State of an analysis. Answers are sent before the next function begins, so that a failure of this
    process then costs that function alone."""

    request: Analyse
    inbox: _Inbox
    known: _Known
    send: Callable[[Reply], None]
    left: set[str] = field(default_factory=set[str])
    _found: list[tuple[int, FunctionAnswer]] = field(default_factory=list[tuple[int, FunctionAnswer]])
    _said: tuple[str, float] = ("", 0.0)

    def run(self, analyse: Analysis) -> None:
        """Analyse, and send the answers."""
        request = self.request
        self.known.take(request)
        self._stop_if_cancelled()
        report = analyse(
            request.path,
            request.text,
            request.settings,
            schedules=request.schedules,
            edits=request.schedules,
            given_up=request.given_up,
            observe=self._observe,
            stream=Stream(self._take, self.known.finished.get, self._is_busy, self._focus, is_watched=True),
        )
        sent = self.known.sent
        self._found = [(each.start, each.answer) for each in report.functions if each.answer.key not in sent]
        self._flush()
        layout = tuple((placed.start, placed.answer.key) for placed in report.functions)
        self.send(Finished(request.job, report.language, layout, report.problems, frozenset(self.left)))

    def _observe(self, key: str, name: str, done: int, total: int) -> None:
        is_news = self._flush()
        self._stop_if_cancelled()
        if is_news or key != self._said[0] or monotonic() - self._said[1] > _SILENCE:
            self._said = (key, monotonic())
            self.send(Began(self.request.job, key, name, done, total, process_time()))

    def _stop_if_cancelled(self) -> None:
        if self.inbox.is_cancelled(self.request.job):
            raise _Stop

    def _take(self, start: int, answer: FunctionAnswer) -> None:
        self._found.append((start, answer))

    def _is_busy(self, key: str) -> bool:
        if key not in self.request.busy:
            return False
        self.left.add(key)
        return True

    def _focus(self) -> tuple[Span, ...]:
        return self.inbox.focus(self.request)

    def _flush(self) -> bool:
        """Send the new answers; true if there were any."""
        found, self._found = self._found, []
        for start in range(0, len(found), _CHUNK):
            some = found[start : start + _CHUNK]
            fresh = {answer.key: answer for _, answer in some if answer.key not in self.known.sent}
            layout = tuple((start, answer.key) for start, answer in some)
            self.send(Answers(self.request.job, layout, tuple(fresh.values()), process_time()))
            self.known.sent.update(fresh)
        return bool(found)
