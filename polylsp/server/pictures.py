"""Drawings of loops, for clients that show images; stored, since hovers repeat."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polylsp.ide.hover import Hover, illustrated
from polylsp.ide.picture import SMALL, picture
from polylsp.model.action import Declined
from polylsp.model.iteration_points import Drawing, Drawn, IterationSpace

if TYPE_CHECKING:
    from polylsp.server.documents import Document
    from polylsp.server.jobs import Jobs


_PATIENCE_SECONDS = 0.5
_KEPT = 200

_NOTHING_RUNS = "There is nothing to draw: the loop never runs."
_GAVE_UP = "Not drawn: the analysis process took too long or died over this; its log says more."
_CHANGED = "The text changed."

_Name = tuple[str, int, tuple[str, str] | None]


@dataclass(slots=True)
class Pictures:
    """Drawings so far; a sentence with the reason where there is none."""

    _known: dict[_Name, IterationSpace | str] = field(default_factory=dict[_Name, IterationSpace | str])
    _asked: dict[tuple[_Name, int], asyncio.Task[IterationSpace | str]] = field(
        default_factory=dict[tuple[_Name, int], "asyncio.Task[IterationSpace | str]"]
    )

    async def add(self, found: Hover, document: Document, jobs: Jobs) -> Hover:
        """The hover with its picture, if there is one soon."""
        asked = self.space(found.key, found.drawing, document, jobs)
        try:
            space = await asyncio.wait_for(asked, _PATIENCE_SECONDS)
        except asyncio.TimeoutError:
            return found
        if isinstance(space, str):
            return found
        return illustrated(found, picture(space, "", SMALL), _words(space))

    async def space(self, key: str, drawing: Drawing, document: Document, jobs: Jobs) -> IterationSpace | str:
        """Iterations of a loop whose function's answer has that key, or the reason why there are none. A
        requested drawing is completed even after its last waiter left: a later request finds it."""
        name = key, drawing.ordinal, drawing.dimensions
        if name in self._known:
            return self._known[name]
        asked = name, id(document.source)
        if asked not in self._asked:
            task = asyncio.ensure_future(self._ask(name, drawing, document, jobs))
            self._asked[asked] = task
            task.add_done_callback(lambda _: self._asked.pop(asked, None))
        return await asyncio.shield(self._asked[asked])

    async def _ask(
        self, name: _Name, drawing: Drawing, document: Document, jobs: Jobs
    ) -> IterationSpace | str:
        answer = await jobs.ask(document, drawing)
        if answer is None:
            return _CHANGED
        self._known[name] = found = _drawn(answer)
        if len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]
        return found


def _drawn(answer: Drawn | Declined) -> IterationSpace | str:
    if isinstance(answer, Declined):
        return _GAVE_UP
    if isinstance(answer, IterationSpace):
        return answer if answer.points else _NOTHING_RUNS
    return f"Not drawn: {answer.message}."


def _words(space: IterationSpace) -> str:
    names = " and ".join(each for each in space.dimensions if each)
    return f"Iterations of {names}, with an arrow for each dependence"
