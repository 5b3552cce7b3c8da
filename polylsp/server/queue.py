"""Work queue of the server: jobs, user requests, and the received answers.

Order: requests that people wait for, open documents before other files of the workspace, quick
analyses before full ones, the document edited last before others. Answers are stored here, not by the
workers alone: a new worker receives those of its document, and recomputes none of them.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from polylsp.core.settings import Settings
    from polylsp.core.text import Source
    from polylsp.model.action import Answer, Ask
    from polylsp.model.facts import FileProblem, FileReport, FunctionAnswer, PlacedFunction
    from polylsp.model.iteration_points import Drawing, Drawn
    from polylsp.model.measurement import AskToMeasure, NoPlan, Plan
    from polylsp.server.documents import Document
    from polylsp.server.messages import Finished


@dataclass(frozen=True, slots=True)
class Since:
    """A moment: on the clock, and in the CPU time of a worker."""

    clock: float
    cpu: float = 0.0


@dataclass(slots=True, eq=False)
class Job:
    """An analysis that a worker has. `function` is the key and the name of the function it
    is at, since the time `since`; `done` of `total` functions came before it. `cancelled`: it ends with
    that function. `abandoned`: the user cancelled it."""

    number: int
    document: Document
    source: Source
    revision: int
    settings: Settings
    full: bool
    started: Since
    since: Since
    function: tuple[str, str] | None = None
    done: int = 0
    total: int = 0
    cancelled: bool = False
    abandoned: bool = False

    @property
    def is_stale(self) -> bool:
        """True if the result would be about an outdated text or outdated settings."""
        return self.document.revision != self.revision or self.document.source is not self.source


@dataclass(slots=True, eq=False)
class Question:
    """An edit, a drawing or a way to measure, to be worked out for the text of `source`. `key` stays the same
    as long as its function does. A worker has it since `started`. `answered` holds the answer, or
    `None` where the text has changed meanwhile."""

    number: int
    document: Document
    source: Source
    settings: Settings
    ask: Ask | AskToMeasure | Drawing
    key: str
    started: Since
    answered: asyncio.Future[Any]

    @property
    def is_stale(self) -> bool:
        """True if the answer would be about an outdated text."""
        return self.document.source is not self.source

    @property
    def is_drawing(self) -> bool:
        """True for a drawing, which no person waits for."""
        return self.ask.action == "drawing"

    def answer(self, answer: Answer | Plan | NoPlan | Drawn | None) -> None:
        """Notify the waiter, if there is one."""
        if not self.answered.done():
            self.answered.set_result(answer)


class Observer(Protocol):
    """Observer of the progress of analyses."""

    def job_progressed(self, job: Job) -> None:
        """A job began, or came to another function."""
        ...

    def job_ended(self, job: Job) -> None:
        """A job came to its end, whichever."""
        ...

    def part_ready(self, document: Document) -> None:
        """Some functions of a document are finished."""
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


# --------------------------------------------------------------------------------------------------
# Requested edits and drawings that people wait for, in order of arrival.
# --------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Questions:
    """Questions that no worker has yet."""

    _waiting: deque[Question] = field(default_factory=deque["Question"])

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def has_edits(self) -> bool:
        """True if an edit is waited for."""
        return any(not each.is_drawing for each in self._waiting)

    def add(self, question: Question, *, first: bool = False) -> None:
        """Let it wait after, or before, the others."""
        if first:
            self._waiting.appendleft(question)
        else:
            self._waiting.append(question)

    def __iter__(self) -> Iterator[Question]:
        return iter(tuple(self._waiting))

    def take(self, question: Question) -> None:
        """Remove a question from the queue."""
        self._waiting.remove(question)

    def forget_stale(self) -> None:
        """Answer those whose text has changed, and forget those without waiters."""
        self._waiting = deque(self._fresh())

    def answer_all(self, answer: Answer | Plan | NoPlan | None) -> None:
        """Give all waiting requests one answer."""
        while self._waiting:
            self._waiting.popleft().answer(answer)

    def _fresh(self) -> Iterator[Question]:
        for each in self._waiting:
            if each.is_stale:
                each.answer(None)
            elif not each.answered.done():
                yield each


def question(
    number: int, document: Document, settings: Settings, ask: Ask | AskToMeasure | Drawing, now: Since
) -> Question:
    """A question about the present text of a document."""
    report = document.known()
    keys = [each.answer.key for each in report.functions if each.start == ask.starts] if report else []
    key = f"{ask.action} {ask.ordinal} {keys[0] if keys else hash(document.source.text)}"
    answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    return Question(number, document, document.source, settings, ask, key, now, answered)


# --------------------------------------------------------------------------------------------------
# Queue of due work, and its order: requests that people wait for; then quick analyses (without
# schedules) before full ones, the document edited last before the others.
# --------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Queue:
    """Due work: `questions`, and the analyses that the documents need."""

    documents: Callable[[], Iterable[Document]]
    settings_of: Callable[[Document], Settings]
    questions: Questions = field(default_factory=Questions)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _touches: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def is_quiet(self) -> bool:
        """True if only drawings are due."""
        return not self.questions.has_edits and not self._documents()

    def due(self) -> list[Question | Document]:
        """Everything that is due, most urgent first."""
        return [*self.questions, *self._documents()]

    def want(self, document: Document, *, quick: bool, full: bool) -> None:
        """Note that the present text of a document is to be analysed, and running analyses are outdated."""
        document.revision += 1
        document.left = frozenset()
        document.touched = next(self._touches)
        document.needs_quick = document.needs_quick or quick
        document.needs_full = document.needs_full or full

    def want_everything(self) -> None:
        """Note that every document is to be analysed anew."""
        for document in self.documents():
            document.revision += 1
            document.needs_quick = document.needs_full = document.is_ours

    def question(self, document: Document, ask: Ask | AskToMeasure | Drawing) -> Question:
        """A question about the present text of a document; it does not wait yet."""
        return question(next(self._numbers), document, self.settings_of(document), ask, _now())

    def job(self, document: Document) -> Job:
        """The analysis that a document needs."""
        return Job(
            next(self._numbers),
            document,
            document.source,
            document.revision,
            self.settings_of(document),
            full=not document.needs_quick,
            started=_now(),
            since=_now(),
        )

    def _documents(self) -> list[Document]:
        due = [each for each in self.documents() if each.is_due]
        return sorted(due, key=_urgency, reverse=True)


def _urgency(document: Document) -> tuple[bool, bool, int]:
    return document.is_open, document.needs_quick, document.touched


def _now() -> Since:
    return Since(asyncio.get_running_loop().time())


# --------------------------------------------------------------------------------------------------
# Answers that the server has received, by key, and the reports assembled from them.
#
# They are stored here, not by the workers alone: a worker that is new, or did not find them itself,
# receives those of the document that it begins with, and recomputes none of them.
# --------------------------------------------------------------------------------------------------


Layout = tuple[tuple[int, str], ...]
"""Start of each function of a file, and the key of its answer."""

_PATHS = 64


class Answers:
    """The last answers received, least recently used forgotten first.

    A quick analysis (without schedules) and the full one that follows have different keys for the
    same function. Once both have been seen for one text, a later quick answer of an
    unchanged function is replaced by the full one, so that an edit elsewhere loses nothing.
    """

    def __init__(self, capacity: int = 8192) -> None:
        self._capacity = capacity
        self._answers: OrderedDict[str, FunctionAnswer] = OrderedDict()
        self._fuller: OrderedDict[str, str] = OrderedDict()
        self._of_path: OrderedDict[str, OrderedDict[str, None]] = OrderedDict()

    def add(self, answers: Iterable[FunctionAnswer]) -> None:
        """Remember some answers. An equal answer leaves the stored object in place, whose identity shows that
        values derived from it are still good."""
        for answer in answers:
            if self._answers.get(answer.key) != answer:
                self._answers[answer.key] = answer
            self._answers.move_to_end(answer.key)
        while len(self._answers) > self._capacity:
            self._answers.popitem(last=False)

    def note(self, path: str, layout: Layout) -> None:
        """Learn which answers are about the functions of a file."""
        self._capacity = max(self._capacity, 4 * len(layout))
        keys = self._of_path.setdefault(path, OrderedDict())
        self._of_path.move_to_end(path)
        for _, key in layout:
            keys[key] = None
            keys.move_to_end(key)
        while len(keys) > self._capacity:
            keys.popitem(last=False)
        if len(self._of_path) > _PATHS:
            self._of_path.popitem(last=False)

    def unknown_to(self, has: set[str], path: str) -> tuple[FunctionAnswer, ...]:
        """The answers about a file that a worker does not have."""
        missing = (key for key in self._of_path.get(path, ()) if key not in has)
        return tuple(self._answers[key] for key in missing if key in self._answers)

    def forgotten(self, has: set[str]) -> frozenset[str]:
        """Answers that a worker takes as remembered, but that are evicted."""
        return frozenset(has - self._answers.keys())

    def pair(self, quick: Layout, full: Layout) -> None:
        """Learn which full answer goes with which quick one: both layouts are of one text."""
        starts = dict(full)
        for start, key in quick:
            if start in starts and starts[start] != key:
                self._fuller[key] = starts[start]
                self._fuller.move_to_end(key)
        while len(self._fuller) > self._capacity:
            self._fuller.popitem(last=False)

    def deliver(self, job: Job, result: Finished) -> bool:
        """Give the document of a job its report; no, if answers are missing."""
        document = job.document
        if job.full:
            self.pair(document.layout, result.layout)
        report = self.report(document.path, result.language, result.layout, result.problems)
        if report is None:
            return False
        document.needs_quick = False
        if job.full:
            document.needs_full = False
        document.layout = () if job.full else result.layout
        document.set_report(report)
        return True

    def report(
        self, path: str, language: str, layout: Layout, problems: tuple[FileProblem, ...]
    ) -> FileReport | None:
        """The report that a layout stands for; `None` if one of its answers is missing."""
        # Imported here: the model need not be loaded before the editor has its `initialize` answered.
        from polylsp.model.facts import FileReport, PlacedFunction

        placed: list[PlacedFunction] = []
        for start, key in layout:
            answer = self._find(key)
            if answer is None:
                return None
            placed.append(PlacedFunction(start, answer))
        return FileReport(path, language, tuple(placed), problems)

    def partial(self, document: Document, found: Mapping[int, str]) -> FileReport:
        """Report of the finished functions of the present text; of others the earlier findings."""
        from polylsp.model.facts import FileReport, PlacedFunction

        before = document.known() or FileReport(document.path, document.language, ())
        merged = {each.start: each for each in before.functions}
        for start, key in found.items():
            if (answer := self._find(key)) is not None:
                merged[start] = PlacedFunction(start, answer)
        return replace(before, functions=tuple(merged[start] for start in sorted(merged)))

    def _find(self, key: str) -> FunctionAnswer | None:
        if key in self._answers:
            self._answers.move_to_end(key)
        fuller = self._fuller.get(key)
        if fuller is not None and fuller in self._answers:
            self._answers.move_to_end(fuller)
            return self._answers[fuller]
        return self._answers.get(key)
