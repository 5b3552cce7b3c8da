"""The worker process, which owns isl: `python -m polylsp.server.worker_main`.

The main thread analyses, since an isl context belongs to one thread; another thread reads
requests, so that a running job can be cancelled between two functions. Standard output
carries the replies; whatever the process prints goes to standard error.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import BinaryIO, Protocol

from polylsp import frames
from polylsp.model.action import Answer, Ask
from polylsp.model.measurement import AskToMeasure, NoPlan, Plan
from polylsp.model.report import FileReport, FunctionAnswer
from polylsp.model.space import Drawing, Drawn
from polylsp.process import EXIT_OUT_OF_MEMORY, end_with_parent, limit_memory
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
    Ready,
    Reply,
)
from polylsp.server.stdio import take_standard_output
from polylsp.settings import Settings

_CHUNK = 64
"""Answers per message: small enough for the server to breathe between two of them."""


_SILENCE = 0.5
"""Seconds after which it is said again what is being analysed, as long as that goes on."""


class Analysis(Protocol):
    """The signature of `polylsp.pipeline.analyse`."""

    def __call__(
        self,
        path: str,
        text: str,
        settings: Settings,
        *,
        schedules: bool = True,
        edits: bool = False,
        given_up: frozenset[str] = frozenset(),
        observe: Callable[[str, str, int, int], None] | None = None,
    ) -> FileReport:
        """Analyse a text; `observe` is called before each function that is really analysed, and between
        two edits of it that are tried."""
        ...


Editing = Callable[[str, str, Settings, Ask], Answer]
"""The signature of `polylsp.pipeline.edit`."""

Enumerating = Callable[[str, str, Settings, Drawing], Drawn]
"""The signature of `polylsp.pipeline.drawn`."""

Planning = Callable[[str, str, Settings, AskToMeasure], Plan | NoPlan]
"""The signature of `polylsp.pipeline.measurable`."""


@dataclass(frozen=True, slots=True)
class Answering:
    """What answers the questions of people."""

    edit: Editing
    measurable: Planning
    draw: Enumerating


def main(analyse: Analysis | None = None, answering: Answering | None = None) -> None:
    """Serve requests from standard input until it ends."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    replies = take_standard_output()
    if analyse is None or answering is None:
        # Imported here, not above: a test's worker brings another analysis and needs no isl.
        from polylsp import pipeline
        from polylsp.language import C
        from polylsp.languages.reading import load

        analyse = pipeline.analyse
        answering = Answering(pipeline.edit, pipeline.measurable, pipeline.drawn)

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
        threading.Thread(target=self._receive, daemon=True).start()

    def next(self) -> Analyse | Edit | Draw:
        """The next request, when there is one."""
        with self._arrived:
            self._arrived.wait_for(lambda: self._waiting)
            return self._waiting.popleft()

    def is_cancelled(self, job: int) -> bool:
        """Whether the server no longer wants that job."""
        return job in self._cancelled

    def _receive(self) -> None:
        while (message := frames.read(self._stream.read)) is not None:
            with self._arrived:
                if isinstance(message, Cancel):
                    self._cancelled.add(message.job)
                else:
                    self._waiting.append(message)
                    self._arrived.notify()
        os._exit(0)


def _serve(analyse: Analysis, answering: Answering, inbox: _Inbox, replies: BinaryIO) -> None:
    def send(reply: Reply) -> None:
        replies.write(frames.frame(reply))
        replies.flush()

    sent: set[str] = set()
    send(Ready())
    while True:
        request = inbox.next()
        limit_memory(request.settings.max_memory_mb)
        try:
            if isinstance(request, Analyse):
                _send_report(request, _run(analyse, request, inbox, send), sent, send)
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


def _run(analyse: Analysis, request: Analyse, inbox: _Inbox, send: Callable[[Reply], None]) -> FileReport:
    said: tuple[str, float] = ("", 0.0)

    def observe(key: str, name: str, done: int, total: int) -> None:
        nonlocal said
        if inbox.is_cancelled(request.job):
            raise _Stop
        if key != said[0] or monotonic() - said[1] > _SILENCE:
            said = (key, monotonic())
            send(Began(request.job, key, name, done, total))

    if inbox.is_cancelled(request.job):
        raise _Stop
    return analyse(
        request.path,
        request.text,
        request.settings,
        schedules=request.schedules,
        edits=request.schedules,
        given_up=request.given_up,
        observe=observe,
    )


def _send_report(request: Analyse, report: FileReport, sent: set[str], send: Callable[[Reply], None]) -> None:
    if request.resend:
        sent.clear()
    sent.difference_update(request.forgotten)
    fresh: dict[str, FunctionAnswer] = {
        placed.answer.key: placed.answer for placed in report.functions if placed.answer.key not in sent
    }
    answers = tuple(fresh.values())
    for start in range(0, len(answers), _CHUNK):
        send(Answers(request.job, answers[start : start + _CHUNK]))
    sent.update(fresh)
    layout = tuple((placed.start, placed.answer.key) for placed in report.functions)
    send(Finished(request.job, report.language, layout, report.problems))


if __name__ == "__main__":
    main()
