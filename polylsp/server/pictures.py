"""The drawings of loops, for clients that show images; kept, since hovers come again and again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polylsp.ide.hover import Hover, illustrated
from polylsp.ide.picture import SMALL, picture
from polylsp.model.space import IterationSpace

if TYPE_CHECKING:
    from polylsp.server.documents import Document
    from polylsp.server.jobs import Jobs

_PATIENCE_SECONDS = 0.5
_KEPT = 200


@dataclass(slots=True)
class Pictures:
    """What was drawn; `None` where nothing can be."""

    _known: dict[tuple[str, int], IterationSpace | None] = field(
        default_factory=dict[tuple[str, int], IterationSpace | None]
    )

    async def add(self, found: Hover, document: Document, jobs: Jobs) -> Hover:
        """The hover with its picture, if there is one soon."""
        name = found.key, found.drawing.ordinal
        if name not in self._known and not await self._ask(name, found, document, jobs):
            return found
        space = self._known[name]
        return illustrated(found, picture(space, "", SMALL), _words(space)) if space else found

    async def _ask(self, name: tuple[str, int], found: Hover, document: Document, jobs: Jobs) -> bool:
        """Ask for the drawing; answers whether it came."""
        try:
            answer = await asyncio.wait_for(jobs.ask(document, found.drawing), _PATIENCE_SECONDS)
        except asyncio.TimeoutError:
            return False
        if answer is None:
            return False
        self._known[name] = answer if isinstance(answer, IterationSpace) and answer.points else None
        if len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]
        return True


def _words(space: IterationSpace) -> str:
    names = " and ".join(each for each in space.dimensions if each)
    return f"Iterations of {names}, with an arrow for each dependence"
