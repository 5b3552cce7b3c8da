"""Which document is analysed next, and what happens when the worker falls over.

One job runs at a time. Quick jobs (without schedules) come before full ones, the document
edited last before the others. A newer text of a document cancels its running job, and any quick
job cancels a running full one. A cancelled job keeps what it had worked out, since the
worker remembers the functions that it has finished.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import signal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from typing_extensions import assert_never

from polylsp.process import EXIT_OUT_OF_MEMORY
from polylsp.server import messages
from polylsp.server.answers import Answers
from polylsp.server.blame import STRIKES, Blame
from polylsp.server.messages import (
    Analyse,
    Began,
    Cancel,
    Cancelled,
    Failed,
    Finished,
    Ready,
    Reply,
)
from polylsp.server.worker import Worker

if TYPE_CHECKING:
    from polylsp.server.documents import Document
    from polylsp.settings import Settings
    from polylsp.text import Source

logger = logging.getLogger(__name__)

_SECONDS_TO_CANCEL = 1.0
_SECONDS_TO_START = 60.0
_SECONDS_TO_PREPARE = 60.0
"""For reading a whole file, before its first function is analysed."""


@dataclass(slots=True, eq=False)
class Job:
    """A request that the worker has. `function` is the key and the name of the function it
    is at; `done` of `total` functions came before it. `abandoned`: the user cancelled it."""

    number: int
    document: Document
    source: Source
    revision: int
    settings: Settings
    full: bool
    started: float
    function: tuple[str, str] | None = None
    done: int = 0
    total: int = 0
    cancelled: bool = False
    abandoned: bool = False

    @property
    def is_stale(self) -> bool:
        """Whether its result would be about a text, or settings, that are no more."""
        return self.document.revision != self.revision or self.document.source is not self.source


class Observer(Protocol):
    """Who wants to know how the jobs go."""

    def job_progressed(self, job: Job) -> None:
        """A job began, or came to another function."""
        ...

    def job_ended(self, job: Job) -> None:
        """A job came to its end, whichever."""
        ...

    def report_ready(self, job: Job) -> None:
        """The document of the job has a new report."""
        ...

    def state_changed(self) -> None:
        """`Jobs.trouble` or `Jobs.is_idle` may have changed."""
        ...

    def tell_user(self, message: str) -> None:
        """Something happened that the user should know."""
        ...


@dataclass(slots=True, eq=False)
class Jobs:
    """The queue and the one worker. All methods run in the event loop and return at once.

    `trouble` is a sentence for the user while the worker is left alone after dying too often.
    """

    command: Sequence[str]
    documents: Callable[[], Iterable[Document]]
    settings_of: Callable[[Document], Settings]
    observer: Observer
    back_off_seconds: float = 30.0
    held: bool = False
    trouble: str = ""
    restarts: int = 0
    _answers: Answers = field(default_factory=Answers)
    _blame: Blame = field(default_factory=Blame)
    _worker: Worker | None = None
    _worker_is_ready: bool = False
    _job: Job | None = None
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _touches: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _resend: bool = False
    _watchdog: asyncio.TimerHandle | None = None
    _back_off: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being analysed or due."""
        return self._job is None and self._next() is None

    @property
    def worker_pid(self) -> int | None:
        """The process id of the worker, if it runs."""
        return self._worker.pid if self._worker else None

    def start(self) -> None:
        """Start the worker, if it does not run and is not left alone."""
        if self._worker is None and self._back_off is None:
            self._worker_is_ready = False
            self._worker = Worker(self.command, self._on_reply, self._on_death)

    def want(self, document: Document, *, quick: bool = True, full: bool = False) -> None:
        """Ask for an analysis of the present text, in place of any that is under way."""
        document.revision += 1
        document.touched = next(self._touches)
        document.needs_quick = document.needs_quick or quick
        document.needs_full = document.needs_full or full
        self._reconsider()

    def want_schedules(self, document: Document) -> None:
        """Ask for the full analysis of the present text, after any quick one."""
        document.needs_full = True
        self._reconsider()

    def resume(self) -> None:
        """Begin: until now, jobs were held back."""
        self.held = False
        self._reconsider()

    def drop(self, document: Document) -> None:
        """Forget what a document wanted."""
        document.stop()
        document.revision += 1
        self._reconsider()

    def abandon(self, job: Job) -> None:
        """The user cancels a job: it is not repeated until the text changes. A worker that does not
        come to the end of a function soon is replaced."""
        job.document.stop()
        if job is self._job:
            job.abandoned = True
            self._cancel_running()
            self._watch(_SECONDS_TO_CANCEL)

    def restart(self) -> None:
        """Replace the worker by a new one, and forget all that was held against it."""
        self._blame.forget()
        self._clear_trouble()
        self._discard_worker()
        for document in self.documents():
            document.revision += 1
            document.needs_quick = document.needs_full = document.is_ours
        self._end_job()

    def close(self) -> None:
        """End the worker."""
        self._stop_watching()
        self._clear_trouble()
        self._discard_worker()
        self._job = None

    # --- choosing ----------------------------------------------------------------------------

    def _next(self) -> Document | None:
        due = [each for each in self.documents() if each.needs_quick or each.needs_full]
        return max(due, key=lambda each: (each.needs_quick, each.touched), default=None)

    def _reconsider(self) -> None:
        """Start the most urgent job, or make room for it."""
        document = self._next()
        running = self._job
        if running is not None:
            preempted = running.full and document is not None and document.needs_quick
            if running.is_stale or preempted:
                self._cancel_running()
        elif document is not None and not self.held:
            self.start()
            if self._worker is not None:
                self._begin(self._worker, document)
        self.observer.state_changed()

    def _begin(self, worker: Worker, document: Document) -> None:
        self._job = job = Job(
            next(self._numbers),
            document,
            document.source,
            document.revision,
            self.settings_of(document),
            full=not document.needs_quick,
            started=asyncio.get_running_loop().time(),
        )
        request = Analyse(
            job.number,
            document.path,
            job.source.text,
            job.settings,
            job.full,
            self._blame.given_up,
            self._answers.take_forgotten(),
            self._resend,
        )
        self._resend = False
        worker.send(request)
        self._watch(_SECONDS_TO_PREPARE if self._worker_is_ready else _SECONDS_TO_START)
        self.observer.job_progressed(job)

    def _cancel_running(self) -> None:
        if self._job is not None and not self._job.cancelled and self._worker is not None:
            self._job.cancelled = True
            self._worker.send(Cancel(self._job.number))

    # --- replies -----------------------------------------------------------------------------

    def _on_reply(self, worker: Worker, reply: Reply) -> None:
        if worker is not self._worker:
            return
        job = self._job
        if isinstance(reply, Ready):
            self._worker_is_ready = True
        elif isinstance(reply, messages.Answers):
            self._answers.add(reply.answers)
        elif job is not None and reply.job == job.number:
            self._on_job_reply(job, reply)
        if self._job is job and job is not None and not job.abandoned:
            self._watch(job.settings.max_seconds if job.function else _SECONDS_TO_PREPARE)

    def _on_job_reply(self, job: Job, reply: Began | Finished | Cancelled | Failed) -> None:
        match reply:
            case Began():
                job.function, job.done, job.total = (reply.key, reply.name), reply.done, reply.total
                self.observer.job_progressed(job)
            case Finished():
                self._blame.success()
                self._clear_trouble()
                if not job.is_stale:
                    self._take_result(job, reply)
                self._end_job()
            case Cancelled():
                self._end_job()
            case Failed():
                logger.error("The analysis of %s failed:\n%s", job.document.path, reply.traceback)
                if not job.is_stale:
                    job.document.stop()
                self._end_job()
            case _:
                assert_never(reply)

    def _take_result(self, job: Job, result: Finished) -> None:
        document = job.document
        if job.full:
            self._answers.pair(document.layout, result.layout)
        report = self._answers.report(document.path, result.language, result.layout, result.problems)
        if report is None:
            self._resend = True
            return
        document.needs_quick = False
        if job.full:
            document.needs_full = False
        document.layout = () if job.full else result.layout
        document.set_report(report)
        self.observer.report_ready(job)

    def _end_job(self) -> None:
        job, self._job = self._job, None
        self._stop_watching()
        if job is not None:
            self.observer.job_ended(job)
        self._reconsider()

    # --- the worker falls over -----------------------------------------------------------------

    def _watch(self, seconds: float) -> None:
        self._stop_watching()
        self._watchdog = asyncio.get_running_loop().call_later(seconds, self._on_silence)

    def _stop_watching(self) -> None:
        if self._watchdog is not None:
            self._watchdog.cancel()
            self._watchdog = None

    def _on_silence(self) -> None:
        """The worker has said nothing of its job for too long."""
        job = self._job
        if job is not None:
            self._discard_worker()
            if not job.abandoned:
                self._accuse(job, "took too long", second_chance=False)
            self._end_job()

    def _on_death(self, worker: Worker, status: int) -> None:
        if worker is not self._worker:
            return
        words = worker.last_words[-1] if worker.last_words else ""
        logger.warning("The analysis process ended with status %d. %s", status, words)
        job, self._worker = self._job, None
        self.restarts += 1
        if job is not None:
            reason = "ran out of memory" if status == EXIT_OUT_OF_MEMORY else "ended unexpectedly"
            # Killed from outside, perhaps for no fault of the function at hand.
            killed = status in (-signal.SIGTERM, -9)
            self._accuse(job, reason, second_chance=killed, words=words)
        elif not self._worker_is_ready:
            self._strike("could not be started", words)
        self._end_job()

    def _discard_worker(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None
            self.restarts += 1

    def _accuse(self, job: Job, reason: str, *, second_chance: bool, words: str = "") -> None:
        if job.function is None or not self._blame.function(job.function[0], second_chance=second_chance):
            self._strike(f"{reason} on {job.document.path}", words, job.document)
        else:
            logger.warning("%s: the analysis of %s %s.", job.document.path, job.function[1], reason)

    def _strike(self, reason: str, words: str, document: Document | None = None) -> None:
        if not self._blame.strike():
            return
        self._blame.success()
        if document is not None:
            document.stop()
        details = f" ({words})" if words else ""
        self.trouble = (
            f"The analysis process {reason}, {STRIKES} times in a row{details}. It is started again in "
            f"{self.back_off_seconds:.0f} s, or at once by the command polylsp.restartWorker."
        )
        self.observer.tell_user(self.trouble)
        loop = asyncio.get_running_loop()
        self._back_off = loop.call_later(self.back_off_seconds, self._end_back_off)

    def _end_back_off(self) -> None:
        self._back_off = None
        self._reconsider()

    def _clear_trouble(self) -> None:
        self.trouble = ""
        if self._back_off is not None:
            self._back_off.cancel()
            self._back_off = None
