"""Queue of due work, and its order: requests that people wait for; then quick analyses (without schedules)
before full ones, the document edited last before the others."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polylsp.server.job import Job, Question, Since
from polylsp.server.questions import Questions, question

if TYPE_CHECKING:
    from polylsp.model.action import Ask
    from polylsp.model.measurement import AskToMeasure
    from polylsp.model.space import Drawing
    from polylsp.server.documents import Document
    from polylsp.settings import Settings


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
        due = [each for each in self.documents() if each.needs_quick or each.needs_full]
        return sorted(due, key=lambda each: (each.needs_quick, each.touched), reverse=True)


def _now() -> Since:
    return Since(asyncio.get_running_loop().time())
