"""Requested edits and drawings that people wait for, in order of arrival."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from polylsp.server.job import Question, Since

if TYPE_CHECKING:
    from polylsp.model.action import Answer, Ask
    from polylsp.model.measurement import AskToMeasure, NoPlan, Plan
    from polylsp.model.space import Drawing
    from polylsp.server.documents import Document
    from polylsp.settings import Settings


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
        """The same answer to all."""
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
