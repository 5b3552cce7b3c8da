"""What the worker is at, and what becomes of what it says.

One job runs at a time; `queue.py` says which comes first. A newer text of a document cancels its running
analysis, and whatever comes before full analyses cancels a running one. A cancelled analysis keeps what it
had worked out, since the worker remembers the functions that it has finished.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any, overload

from typing_extensions import assert_never

from polylsp.server import messages
from polylsp.server.answers import Answers
from polylsp.server.blaming import blame_analysis, declined, may_be_asked_again
from polylsp.server.job import Job, Observer, Question
from polylsp.server.messages import (
    Analyse,
    Answered,
    Began,
    Cancel,
    Cancelled,
    Draw,
    Edit,
    Failed,
    Finished,
    Ready,
    Reply,
    Request,
)
from polylsp.server.queue import Queue
from polylsp.server.supervisor import Loss, Supervisor

if TYPE_CHECKING:
    from polylsp.model.action import Answer, Ask, Declined
    from polylsp.model.measurement import AskToMeasure, NoPlan, Plan
    from polylsp.model.space import Drawing, Drawn
    from polylsp.server.documents import Document
    from polylsp.settings import Settings

logger = logging.getLogger(__name__)

_SECONDS_TO_CANCEL = 1.0
_SECONDS_TO_START = 60.0
_SECONDS_TO_PREPARE = 60.0
"""For reading a whole file, before its first function is analysed."""


@dataclass(slots=True, eq=False)
class Jobs:
    """The queue and the one worker. All methods run in the event loop and return at once."""

    command: Sequence[str]
    documents: InitVar[Callable[[], Iterable[Document]]]
    settings_of: InitVar[Callable[[Document], Settings]]
    observer: Observer
    held: bool = False
    _worker: Supervisor = field(init=False)
    _queue: Queue = field(init=False)
    _answers: Answers = field(default_factory=Answers)
    _job: Job | Question | None = None

    def __post_init__(
        self, documents: Callable[[], Iterable[Document]], settings_of: Callable[[Document], Settings]
    ) -> None:
        self._worker = Supervisor(self.command, self)
        self._queue = Queue(documents, settings_of)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being worked out or due, but for drawings, which are no work to speak of."""
        drawing = isinstance(self._job, Question) and self._job.is_drawing
        return (self._job is None or drawing) and self._queue.is_quiet

    @property
    def trouble(self) -> str:
        """A sentence for the user while the worker is left alone after dying too often."""
        return self._worker.trouble

    @property
    def restarts(self) -> int:
        """How many workers were lost."""
        return self._worker.restarts

    @property
    def worker_pid(self) -> int | None:
        """The process id of the worker, if it runs."""
        return self._worker.pid

    def start(self) -> None:
        """Start the worker, if it does not run and is not left alone."""
        self._worker.start()

    def want(self, document: Document, *, quick: bool = True, full: bool = False) -> None:
        """Ask for an analysis of the present text, in place of any that is under way."""
        self._queue.want(document, quick=quick, full=full)
        self._reconsider()

    def want_schedules(self, document: Document) -> None:
        """Ask for the full analysis of the present text, after any quick one."""
        document.needs_full = True
        self._reconsider()

    @overload
    def ask(self, document: Document, ask: Ask) -> asyncio.Future[Answer | None]: ...
    @overload
    def ask(self, document: Document, ask: Drawing) -> asyncio.Future[Drawn | Declined | None]: ...
    @overload
    def ask(
        self, document: Document, ask: AskToMeasure
    ) -> asyncio.Future[Plan | NoPlan | Declined | None]: ...
    def ask(self, document: Document, ask: Ask | AskToMeasure | Drawing) -> asyncio.Future[Any]:
        """Ask for an edit of the present text, a drawing, or how to measure it; the answer is `None` if
        that changes meanwhile."""
        asked = self._queue.question(document, ask)
        if asked.key in self._worker.blame.given_up:
            asked.answer(declined("took too long or died when it was last asked for this edit"))
        else:
            self._queue.questions.add(asked)
            self._reconsider()
        return asked.answered

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
            self._cancel(job)
            self._worker.watch(_SECONDS_TO_CANCEL)

    def restart(self) -> None:
        """Replace the worker by a new one, and forget all that was held against it."""
        self._worker.forget()
        self._queue.want_everything()
        if isinstance(self._job, Question):
            self._queue.questions.add(self._job, first=True)
        self._end_job()

    def close(self) -> None:
        """End the worker."""
        self._worker.close()
        self._job = None

    # --- choosing ----------------------------------------------------------------------------

    def _reconsider(self) -> None:
        """Start the most urgent job, or make room for it."""
        self._queue.questions.forget_stale()
        match self._job:
            case Job() as job:
                if job.is_stale or (job.full and self._queue.is_urgent):
                    self._cancel(job)
            case Question() as asked:
                if asked.is_stale:
                    asked.answer(None)
            case None:
                if not self.held and not self._queue.is_empty:
                    self._begin_next()
        self.observer.state_changed()

    def _begin_next(self) -> None:
        if not self._worker.start():
            why = declined("is left alone for a while after dying too often")
            self._queue.questions.answer_all(why)
            return
        self._job = job = self._queue.take()
        self._worker.send(self._request(job))
        self._watch(job)
        if isinstance(job, Job):
            self.observer.job_progressed(job)

    def _request(self, job: Job | Question) -> Request:
        path, text = job.document.path, job.source.text
        if isinstance(job, Question):
            # Told apart by its name: the model is loaded only once somebody asks.
            if job.ask.action == "drawing":
                return Draw(job.number, path, text, job.settings, job.ask)
            return Edit(job.number, path, text, job.settings, job.ask)
        return Analyse(
            job.number,
            path,
            text,
            job.settings,
            job.full,
            self._worker.blame.given_up,
            self._answers.take_forgotten(),
            self._answers.take_resend(),
        )

    def _watch(self, job: Job | Question) -> None:
        if not self._worker.is_ready:
            self._worker.watch(_SECONDS_TO_START)
        elif isinstance(job, Question) or job.function:
            self._worker.watch(job.settings.max_seconds)
        else:
            self._worker.watch(_SECONDS_TO_PREPARE)

    def _cancel(self, job: Job) -> None:
        if not job.cancelled:
            job.cancelled = True
            self._worker.send(Cancel(job.number))

    # --- replies -----------------------------------------------------------------------------

    def worker_replied(self, reply: Reply) -> None:
        """Take what the worker has found."""
        job = self._job
        if isinstance(reply, messages.Answers):
            self._answers.add(reply.answers)
        elif not isinstance(reply, Ready) and job is not None and reply.job == job.number:
            self._on_job_reply(job, reply)
        if self._job is job and job is not None and not (isinstance(job, Job) and job.abandoned):
            self._watch(job)

    def _on_job_reply(
        self, job: Job | Question, reply: Began | Finished | Answered | Cancelled | Failed
    ) -> None:
        match reply:
            case Began():
                if isinstance(job, Job):
                    job.function, job.done, job.total = (reply.key, reply.name), reply.done, reply.total
                    self.observer.job_progressed(job)
            case Finished():
                self._worker.succeeded()
                if isinstance(job, Job) and not job.is_stale and self._answers.deliver(job, reply):
                    self.observer.report_ready(job)
                self._end_job()
            case Answered():
                self._worker.succeeded()
                if isinstance(job, Question):
                    job.answer(None if job.is_stale else reply.answer)
                self._end_job()
            case Cancelled():
                self._end_job()
            case Failed():
                logger.error("The analysis of %s failed:\n%s", job.document.path, reply.traceback)
                self._fail(job)
                self._end_job()
            case _:
                assert_never(reply)

    def _fail(self, job: Job | Question) -> None:
        """A bug of ours: the job will not be tried again."""
        if isinstance(job, Question):
            job.answer(declined("met with an internal error, which its log tells of"))
        elif not job.is_stale:
            job.document.stop()

    def _end_job(self) -> None:
        job, self._job = self._job, None
        self._worker.stop_watching()
        if isinstance(job, Job):
            self.observer.job_ended(job)
        self._reconsider()

    # --- the worker falls over -----------------------------------------------------------------

    def worker_lost(self, loss: Loss) -> None:
        """Blame what the worker was at."""
        match self._job:
            case Job() as job:
                if not job.abandoned:
                    blame_analysis(self._worker, job, loss)
            case Question() as asked:
                if may_be_asked_again(self._worker, asked, loss):
                    self._queue.questions.add(asked, first=True)
            case None:
                if not self._worker.is_ready:
                    self._worker.strike("could not be started", loss.words)
        self._end_job()

    def worker_rested(self) -> None:
        """Go on."""
        self._reconsider()

    def tell_user(self, message: str) -> None:
        """Pass it on."""
        self.observer.tell_user(message)
