"""Jobs of a worker: the analysis of a document, or an edit or a drawing that a person waits for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from polylsp.model.action import Answer, Ask
    from polylsp.model.measurement import AskToMeasure, NoPlan, Plan
    from polylsp.model.space import Drawing, Drawn
    from polylsp.server.documents import Document
    from polylsp.settings import Settings
    from polylsp.text import Source


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
