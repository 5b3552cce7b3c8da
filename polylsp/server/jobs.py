"""Scheduling of the workers' jobs, and the handling of their replies.

`queue.py` determines the order. One worker does as much as it can; another one takes part while the first is
longer at a job than others should wait: it begins with other documents, or with the rest of the same
document, and receives the answers found so far. A newer text of a document cancels its running analysis, and
whatever precedes full analyses cancels one in its way. Functions that are finished stay so whatever happens
to the worker: their answers have been sent (`answers.py`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any, overload

from typing_extensions import assert_never

from polylsp.server import messages
from polylsp.server.crew import Crew, Culprit
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
    Focus,
    Ready,
    Reply,
    Request,
)
from polylsp.server.queue import Answers, Job, Observer, Question, Queue, Since
from polylsp.server.worker import Limit, Loss, Supervisor

if TYPE_CHECKING:
    from polylsp.core.settings import Settings
    from polylsp.model.action import Answer, Ask, Declined
    from polylsp.model.facts import FileReport
    from polylsp.model.iteration_points import Drawing, Drawn
    from polylsp.model.measurement import AskToMeasure, NoPlan, Plan
    from polylsp.server.documents import Document


logger = logging.getLogger(__name__)

_TO_CANCEL = Limit(1.0, 1.0, "")
_TO_START = Limit.of(60.0, "see the server's log")
_TO_PREPARE = Limit.of(60.0, "split the file")
"""For reading a whole file, before its first function is analysed."""

_SECONDS_BETWEEN_LOOKS = 0.1

_STUCK = 15.0
"""Seconds on the clock that others wait for each second of CPU time that they leave to a worker."""


@dataclass(slots=True, eq=False)
class Jobs:
    """The queue and the workers. All methods run in the event loop and return at once. `patience`: seconds of
    CPU time that others leave to a worker before another one is started; `rest`: seconds without work after
    which work that was set aside is tried again."""

    command: Sequence[str]
    documents: InitVar[Callable[[], Iterable[Document]]]
    settings_of: InitVar[Callable[[Document], Settings]]
    observer: Observer
    held: bool = False
    patience: float = 2.0
    rest: float = 2.0
    _crew: Crew = field(init=False)
    _queue: Queue = field(init=False)
    _answers: Answers = field(default_factory=Answers)
    _homes: dict[str, Supervisor] = field(default_factory=dict[str, Supervisor])
    _stopped: list[Document] = field(default_factory=list["Document"])
    _look: asyncio.TimerHandle | None = None
    _retry: asyncio.TimerHandle | None = None

    def __post_init__(
        self, documents: Callable[[], Iterable[Document]], settings_of: Callable[[Document], Settings]
    ) -> None:
        self._crew = Crew(self.command, self, self._rested, _now)
        self._queue = Queue(documents, settings_of)

    @property
    def is_idle(self) -> bool:
        """True if no job is running or due, except for drawings, which take little time."""
        jobs = (each.job for each in self._crew.workers if each.job is not None)
        return self._queue.is_quiet and all(isinstance(job, Question) and job.is_drawing for job in jobs)

    @property
    def trouble(self) -> str:
        """A sentence for the user while workers are left alone after dying too often."""
        return self._crew.trouble

    @property
    def set_aside(self) -> list[str]:
        """A sentence about each function that was set aside."""
        sentences = (f"`{culprit.name}`: {stop.reason}." for culprit, stop in self._crew.blame.set_aside)
        return list(dict.fromkeys(sentences))

    @property
    def restarts(self) -> int:
        """Number of workers that were lost."""
        return self._crew.losses

    @property
    def worker_pid(self) -> int | None:
        """The process id of the first worker, if it runs."""
        return self._crew.pid

    @property
    def worker_pids(self) -> list[int]:
        """The process ids of all workers that run."""
        return [each.pid for each in self._crew.workers if each.pid is not None]

    def start(self) -> None:
        """Start the first worker, if none runs and they are not left alone."""
        first = self._crew.workers[0] if self._crew.workers else self._crew.hire()
        if first is not None:
            first.start()

    def want(
        self, document: Document, *, quick: bool = True, full: bool = False, again: bool = False
    ) -> None:
        """Ask for an analysis of the present text, in place of any that is under way; `again`: of functions
        that were set aside, too."""
        if again:
            self._crew.blame.retry(document.uri)
            settings = self._queue.settings_of(document)
            for supervisor, job in self._crew.jobs():
                if job.document is document and not job.abandoned:
                    supervisor.relimit(self._limit(supervisor, job, settings))
        self._queue.want(document, quick=quick, full=full)
        self._reconsider()

    def want_schedules(self, document: Document) -> None:
        """Ask for the full analysis of the present text, after any quick one, and once more for functions
        that were set aside."""
        if self._crew.blame.retry(document.uri):
            self._queue.want(document, quick=True, full=True)
        document.needs_full = True
        self._reconsider()

    def refocus(self, document: Document) -> None:
        """Pass on a document's new focus: running analyses continue there."""
        for supervisor, job in self._crew.jobs():
            if job.document is document and not job.is_stale:
                supervisor.send(Focus(job.number, document.focus))

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
        stop = self._crew.blame.stops.get(asked.key)
        if stop is not None:
            asked.answer(
                declined(
                    f"was stopped when it was last asked for this: {stop.reason}; save the file to try again"
                )
            )
        elif self._crew.is_left_alone and not self.worker_pids:
            asked.answer(_left_alone())
        else:
            self._queue.questions.add(asked)
            self._reconsider()
        return asked.answered

    def resume(self) -> None:
        """Begin with the jobs queued until now."""
        self.held = False
        self._reconsider()

    def drop(self, document: Document) -> None:
        """Forget the requests of a document."""
        document.stop()
        document.revision += 1
        self._homes.pop(document.uri, None)
        self._reconsider()

    def abandon(self, job: Job) -> None:
        """The user cancels the analysis of a document: it is not repeated until the text changes. A worker
        that does not come to the end of a function soon is replaced."""
        job.document.stop()
        for supervisor, each in self._crew.jobs():
            if each.document is job.document:
                each.abandoned = True
                self._cancel(supervisor, each)
                supervisor.watch(_TO_CANCEL)

    def restart(self) -> None:
        """Replace all workers by a new one, and forget all losses blamed on them."""
        jobs = [each.job for each in self._crew.workers]
        self._crew.forget()
        self._queue.want_everything()
        for job in jobs:
            if isinstance(job, Question):
                self._queue.questions.add(job, first=True)
            elif job is not None:
                self.observer.job_ended(job)
        self._reconsider()

    def close(self) -> None:
        """End the workers."""
        self._crew.close()
        for timer in (self._look, self._retry):
            if timer is not None:
                timer.cancel()
        self._look = self._retry = None

    # --- choosing ----------------------------------------------------------------------------

    def _reconsider(self) -> None:
        """Start due work, or make room for it."""
        self._queue.questions.forget_stale()
        for supervisor in self._crew.workers:
            job = supervisor.job
            if isinstance(job, Question) and job.is_stale:
                job.answer(None)
            elif isinstance(job, Job) and job.is_stale:
                self._cancel(supervisor, job)
        self._begin_due()
        self._look_again()
        self._plan_retry()
        self.observer.state_changed()

    def _begin_due(self) -> None:
        if self.held:
            return
        for due in self._queue.due():
            if isinstance(due, Question) or self._is_open(due):
                worker = self._worker_for(due)
                if worker is not None:
                    self._begin(worker, due)

    def _is_open(self, document: Document) -> bool:
        """True if there is work on a document that no worker is at: all of it, or the part after functions
        that take long."""
        jobs = [each for each in self._crew.jobs() if each[1].document is document]
        at_it = [(worker, job) for worker, job in jobs if not job.is_stale and not job.cancelled]
        if not at_it:
            return not document.left & self._keys_at_hand()
        return all(
            job.function and job.done + 1 < job.total and self._is_long(worker, job.since)
            for worker, job in at_it
        )

    def _keys_at_hand(self) -> frozenset[str]:
        return frozenset(job.function[0] for _, job in self._crew.jobs() if job.function is not None)

    def _worker_for(self, due: Question | Document) -> Supervisor | None:
        """Worker that begins with a job now; `None` if the job waits for one, which is asked to hurry."""
        document = due.document if isinstance(due, Question) else due
        is_urgent = isinstance(due, Question) or due.needs_quick
        home, idle = self._homes.get(document.uri), self._crew.idle
        first = [each for each in self._crew.workers if each is home]
        if idle is not None:
            first.append(idle)
        for each in (*first, *self._crew.workers):
            if each.job is None:
                if not self._crew.is_left_alone or each.pid is not None:
                    return each
            elif not self._is_slow(each, each.job, document, is_urgent=is_urgent):
                return None
        # No process is started for a file that nobody looks at, unless there is none.
        return self._crew.hire() if document.is_open or not self._crew.workers else None

    def _is_slow(
        self, supervisor: Supervisor, job: Job | Question, document: Document, *, is_urgent: bool
    ) -> bool:
        """True if the worker of a job will not be free soon for another; a full analysis makes room for
        urgent work, and one of a file that is not open for any open document."""
        if isinstance(job, Question):
            return self._is_long(supervisor, job.started)
        if job.full and (is_urgent or (document.is_open and not job.document.is_open)):
            self._cancel(supervisor, job)
        at_function = job.cancelled or job.document is document
        return self._is_long(supervisor, job.since if at_function else job.started)

    def _is_long(self, supervisor: Supervisor, since: Since) -> bool:
        now = supervisor.moment
        return now.cpu - since.cpu >= self.patience or now.clock - since.clock >= _STUCK * self.patience

    def _begin(self, supervisor: Supervisor, due: Question | Document) -> None:
        supervisor.start()
        if isinstance(due, Question):
            self._queue.questions.take(due)
            job = due
        else:
            due.left = frozenset()
            for other, its in self._crew.jobs():
                if its.document is due:
                    # It ends with the function that it is at; this one has the rest.
                    self._cancel(other, its)
            job = self._queue.job(due)
        self._homes[job.document.uri] = supervisor
        supervisor.send(self._request(supervisor, job))
        supervisor.job = job
        job.started = supervisor.moment
        if isinstance(job, Job):
            job.since = job.started
        self._watch(supervisor, job)
        if isinstance(job, Job):
            self.observer.job_progressed(job)

    def _request(self, supervisor: Supervisor, job: Job | Question) -> Request:
        path, text = job.document.path, job.source.text
        if isinstance(job, Question):
            # Distinguished by its name: the model is loaded on the first request only.
            if job.ask.action == "drawing":
                return Draw(job.number, path, text, job.settings, job.ask)
            return Edit(job.number, path, text, job.settings, job.ask)
        forgotten = self._answers.forgotten(supervisor.has)
        supervisor.has -= forgotten
        finished = self._answers.unknown_to(supervisor.has, path)
        supervisor.has.update(each.key for each in finished)
        stops, busy, focus = self._crew.blame.stops, self._keys_at_hand(), job.document.focus
        return Analyse(
            job.number, path, text, job.settings, job.full, stops, busy, finished, forgotten, focus
        )

    def _watch(self, supervisor: Supervisor, job: Job | Question, used: float | None = None) -> None:
        supervisor.watch(self._limit(supervisor, job, job.settings), used)

    def _limit(self, supervisor: Supervisor, job: Job | Question, settings: Settings) -> Limit:
        if not supervisor.is_ready:
            return _TO_START
        if isinstance(job, Job) and job.function is None:
            return _TO_PREPARE
        key = job.key if isinstance(job, Question) else job.function[0] if job.function else ""
        seconds = settings.max_seconds
        advice = f"raise `polylsp.max_seconds` (now {seconds:g}), or split the function"
        return Limit.of(seconds * self._crew.blame.factor(key), advice)

    def _cancel(self, supervisor: Supervisor, job: Job) -> None:
        if not job.cancelled:
            job.cancelled = True
            supervisor.send(Cancel(job.number))

    # --- time passes ---------------------------------------------------------------------------

    def _look_again(self) -> None:
        """Look in a while whether workers have reached their limits, or others wait for them too long."""
        if self._look is None and any(each.job for each in self._crew.workers):
            self._look = asyncio.get_running_loop().call_later(_SECONDS_BETWEEN_LOOKS, self._on_look)
        elif self._look is None and len(self._crew.workers) > 1:
            self._look = asyncio.get_running_loop().call_later(self.rest, self._on_look)

    def _on_look(self) -> None:
        self._look = None
        for each in tuple(self._crew.workers):
            each.check()
        self._crew.retire()
        self._begin_due()
        self._look_again()

    def _plan_retry(self) -> None:
        """Plan to retry work that was set aside, after an idle time."""
        if self._retry is None and self.is_idle and self._crew.blame.has_retries(self._uris()):
            self._retry = asyncio.get_running_loop().call_later(self.rest, self._on_rest)

    def _on_rest(self) -> None:
        self._retry = None
        if not self.is_idle or self._crew.is_left_alone:
            return
        uris = self._crew.blame.retry_idle(self._uris())
        for document in self._queue.documents():
            if document.uri in uris:
                document.needs_quick = document.needs_full = True
        self._reconsider()

    def _uris(self) -> set[str]:
        return {document.uri for document in self._queue.documents()}

    # --- replies -----------------------------------------------------------------------------

    def worker_replied(self, supervisor: Supervisor, reply: Reply) -> None:
        """Take a worker's reply."""
        job = supervisor.job
        if isinstance(reply, Ready):
            if job is not None:
                self._watch(supervisor, job)
        elif job is not None and reply.job == job.number:
            self._on_job_reply(supervisor, job, reply)

    def _on_job_reply(
        self,
        supervisor: Supervisor,
        job: Job | Question,
        reply: Began | messages.Answers | Finished | Answered | Cancelled | Failed,
    ) -> None:
        match reply:
            case Began():
                if isinstance(job, Job):
                    self._on_begun(supervisor, job, reply)
            case messages.Answers():
                if isinstance(job, Job):
                    self._on_found(supervisor, job, reply)
            case Finished():
                self._crew.succeeded()
                if isinstance(job, Job) and not job.is_stale:
                    self._on_finished(job, reply)
                self._end_job(supervisor)
            case Answered():
                self._crew.succeeded()
                if isinstance(job, Question):
                    job.answer(None if job.is_stale else reply.answer)
                self._end_job(supervisor)
            case Cancelled():
                self._end_job(supervisor)
            case Failed():
                logger.error("The analysis of %s failed:\n%s", job.document.path, reply.traceback)
                self._fail(job)
                self._end_job(supervisor)
            case _:
                assert_never(reply)

    def _on_begun(self, supervisor: Supervisor, job: Job, began: Began) -> None:
        if job.function is None or job.function[0] != began.key:
            job.since = Since(_now(), began.cpu)
        job.function, job.done, job.total = (began.key, began.name), began.done, began.total
        if not job.abandoned:
            self._watch(supervisor, job, began.cpu)
        self.observer.job_progressed(job)

    def _on_found(self, supervisor: Supervisor, job: Job, found: messages.Answers) -> None:
        if found.answers:
            self._crew.succeeded()
        supervisor.has.update(each.key for each in found.answers)
        self._answers.add(found.answers)
        self._answers.note(job.document.path, found.layout)
        job.function, job.since = None, Since(_now(), found.cpu)
        if not job.abandoned:
            self._watch(supervisor, job, found.cpu)
        if not job.is_stale:
            job.document.note_found(job.revision, found.layout)
            self.observer.part_ready(job.document)

    def _on_finished(self, job: Job, result: Finished) -> None:
        document = job.document
        self._answers.note(document.path, result.layout)
        document.note_found(job.revision, result.layout)
        document.left = result.left
        if not result.left and self._answers.deliver(job, result):
            self.observer.report_ready(job)
        else:
            self.observer.part_ready(document)

    def part(self, document: Document) -> FileReport:
        """Report so far of the present text of a document that is being analysed."""
        return self._answers.partial(
            document, document.found if document.found_for == document.revision else {}
        )

    def _fail(self, job: Job | Question) -> None:
        """A bug of ours: the job will not be tried again."""
        if isinstance(job, Question):
            job.answer(declined("met with an internal error, which its log tells of"))
        elif not job.is_stale:
            job.document.stop()

    def _end_job(self, supervisor: Supervisor) -> None:
        job, supervisor.job = supervisor.job, None
        supervisor.idle_since = _now()
        supervisor.stop_watching()
        if isinstance(job, Job):
            self.observer.job_ended(job)
        self._reconsider()

    # --- a worker falls over -------------------------------------------------------------------

    def worker_lost(self, supervisor: Supervisor, loss: Loss) -> None:
        """Blame the worker's job; others go on."""
        self._crew.lost(supervisor)
        match supervisor.job:
            case Job() as job:
                if not job.abandoned:
                    self._blame_analysis(job, loss)
            case Question() as asked:
                self._blame_question(supervisor, asked, loss)
            case None:
                if not supervisor.is_ready:
                    self._strike(None, "it could not be started", loss)
        self._end_job(supervisor)

    def _blame_analysis(self, job: Job, loss: Loss) -> None:
        """Blame the function that an analysis was at; where it was at none, or was rid of it already, the
        workers."""
        document = job.document
        if job.function is not None:
            culprit = Culprit(*job.function, document.uri)
            if self._crew.blame.function(culprit, loss.stop, killed=loss.killed):
                logger.warning("%s: `%s` is set aside: %s.", document.path, culprit.name, loss.stop.reason)
                return
        self._strike(document, f"{loss.stop.reason} on {document.path}", loss)

    def _blame_question(self, supervisor: Supervisor, asked: Question, loss: Loss) -> None:
        """Blame a question, and answer it, unless its worker never began or was killed for the first time."""
        if supervisor.is_ready:
            culprit = Culprit(asked.key, asked.ask.action, asked.document.uri, is_asked=True)
            self._crew.blame.function(culprit, loss.stop, killed=loss.killed)
            if asked.key in self._crew.blame.stops:
                logger.warning(
                    "%s: `%s` was stopped: %s.", asked.document.path, culprit.name, loss.stop.reason
                )
                asked.answer(declined(f"was stopped: {loss.stop.reason}"))
                return
        else:
            self._strike(None, "it could not be started", loss)
        if self._crew.is_left_alone:
            asked.answer(_left_alone())
        else:
            self._queue.questions.add(asked, first=True)

    def _strike(self, document: Document | None, reason: str, loss: Loss) -> None:
        told = self._crew.strike(reason, loss.words, killed=loss.killed)
        if self._crew.is_left_alone:
            self._queue.questions.answer_all(_left_alone())
            if document is not None and document.is_due:
                self._stopped.append(document)
                document.stop()
        if told:
            self.observer.tell_user(told)

    def _rested(self) -> None:
        """Go on where the workers were left alone."""
        stopped, self._stopped = self._stopped, []
        documents = set(self._queue.documents())
        for document in stopped:
            if document in documents and not document.is_reported:
                document.needs_quick = document.needs_full = True
        self._reconsider()


def declined(what: str) -> Answer:
    """There is no edit because of the analysis process."""
    # Imported here: the model need not be loaded before the editor has its `initialize` answered.
    from polylsp.model.action import Declined

    return Declined(f"There is no edit: the analysis process {what}.")


def _left_alone() -> Answer:
    return declined("is left alone for a while after dying too often")


def _now() -> float:
    return asyncio.get_running_loop().time()
