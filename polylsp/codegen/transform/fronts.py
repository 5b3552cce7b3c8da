"""Tiles of a time loop and a grid whose places are slanted, where each stage needs the values below it in the
same time step (Gauss-Seidel): tiles on one diagonal do not need each other (time skewing: Wonnacott 2000;
Lamport 1974)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.codegen.transform.distances import Edge
from polylsp.codegen.transform.expression import Linear, added, sum_text
from polylsp.codegen.transform.layout import Made, Piece
from polylsp.codegen.transform.steps import Steps

PARALLEL = 1
"""The dimension of the dates that says which tile of a front: different ones do not need each other."""


@dataclass(frozen=True, slots=True)
class Fronts:
    """Slanted tiles: `upper` is how far they move down, `count` their number of time steps, with `ratio`
    times as many places."""

    upper: Edge
    count: int
    ratio: int

    @property
    def width(self) -> int:
        """Number of places of a tile in a time step."""
        return self.count * self.ratio

    def dates(self, places: Sequence[int | None]) -> list[isl.Map]:
        """Schedule of each stage's instances: the front, the block of time steps, the time step, the stage,
        the place. It is valid wherever the first tile begins."""
        return [self._dates(number, place) for number, place in enumerate(places)]

    def _dates(self, stage: int, place: int | None) -> isl.Map:
        at = "i1" if place is None else str(place)
        block = f"floor((i0 - T) / {self.count})"
        slanted = f"({at} + {self.upper.offsets[stage]} + {self.upper.slope} * (i0 - T) - O)"
        front = f"{block} + floor({slanted} / {self.width})"
        names = "i0, i1" if place is None else "i0"
        return isl.Map(f"[T, O] -> {{ [{names}] -> [{front}, {block}, i0, {stage}, {at}] }}")

    def pieces(self, steps: Steps, front: str) -> tuple[Piece, ...]:
        """The loops, in C; `front` is the name of the outermost one's counter."""
        loop = steps.loop
        since: Linear = added({loop.name: self.upper.slope}, loop.first, -self.upper.slope)
        tile: Linear = added({steps.time: self.ratio}, loop.first, -self.ratio)
        first = added(added(added(steps.begin, {front: 1}, 1), tile, -1), since, -1)
        edges = (sum_text(first), f"{steps.first} + {self.width}")
        stages = [steps.clipped(s, -b, -b) for s, b in zip(loop.stages, self.upper.offsets, strict=True)]
        points = steps.points_of_time(self.count, edges, stages)
        tiles = steps.blocks_of_time(
            self.count, (points,), "/* Tiles on one front do not need each other. */"
        )
        header = f"for ({steps.type} {front} = 0; {front} < {self.extent(steps)}; {front} += {self.width})"
        return (Made(header, (tiles,), loop.text.braces),)

    def extent(self, steps: Steps) -> str:
        """Upper end of the fronts, in C."""
        loop, slope = steps.loop, self.upper.slope + self.ratio
        places = added(added(steps.end, {"": max(self.upper.offsets)}, 1), steps.begin, -1)
        duration = added(added(loop.last, loop.first, -1), {"": 1}, -1)
        return sum_text(added(places, duration, slope))
