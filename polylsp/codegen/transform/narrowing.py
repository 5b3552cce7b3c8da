"""Blocks of a grid that get narrower with each time step, so that none needs another one, and then the gaps
between them, which get wider (split tiling: Krishnamoorthy et al., PLDI 2007)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.codegen.transform.distances import Edge
from polylsp.codegen.transform.expression import Linear, added, sum_text
from polylsp.codegen.transform.layout import Made, Piece
from polylsp.codegen.transform.steps import Steps, moved

PARALLEL = 2
"""The dimension of the dates that says which block: different ones do not need each other."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Inward motion of a block's edges, its number of time steps, and its initial width."""

    lower: Edge
    upper: Edge
    count: int
    width: int

    def dates(self, places: Sequence[int | None]) -> list[isl.Map]:
        """Schedule of each stage's instances: the block of time steps, blocks before the gaps between them,
        the number of the block or gap, the time step, the stage, the place. It is valid wherever the first
        block begins."""
        return [self._dates(number, place) for number, place in enumerate(places)]

    def _dates(self, stage: int, place: int | None) -> isl.Map:
        at = "i1" if place is None else str(place)
        first = f"(T + {self.count} * floor((i0 - T) / {self.count}))"
        block = f"floor(({at} - O) / {self.width})"
        inside = f"({at} - O - {self.width} * {block})"
        low = f"{self.lower.offsets[stage]} + {self.lower.slope} * (i0 - {first})"
        high = f"{self.width} - {self.upper.offsets[stage]} - {self.upper.slope} * (i0 - {first})"
        names = "i0, i1" if place is None else "i0"
        pieces = [
            f"[{names}] -> [{first}, {phase}, {number}, i0, {stage}, {at}] : {where}"
            for phase, number, where in (
                (0, block, f"{low} <= {inside} < {high}"),
                (1, block, f"{inside} < {low}"),
                (1, f"{block} + 1", f"{inside} >= {high}"),
            )
        ]
        return isl.Map(f"[T, O] -> {{ {'; '.join(pieces)} }}")

    def pieces(self, steps: Steps) -> tuple[Piece, ...]:
        """The loops, in C."""
        stages, name = steps.loop.stages, steps.loop.name
        passed = (name, steps.time)
        lower, upper = self.lower, self.upper
        narrow = self._blocks(
            steps,
            steps.end,
            (
                moved(steps.block, lower.slope, passed),
                moved(f"{steps.block} + {self.width}", -upper.slope, passed),
            ),
            [
                steps.clipped(s, a, -b, steps.begin)
                for s, a, b in zip(stages, lower.offsets, upper.offsets, strict=True)
            ],
            f"/* Blocks that get narrower with each {name}: none needs another one. */",
        )
        between = self._blocks(
            steps,
            added(steps.end, {"": self.width}, 1),
            (moved(steps.block, -upper.slope, passed), moved(steps.block, lower.slope, passed)),
            [steps.clipped(s, -b, a) for s, a, b in zip(stages, lower.offsets, upper.offsets, strict=True)],
            "/* What is left between them. */",
        )
        return (steps.blocks_of_time(self.count, (narrow, between)),)

    def _blocks(
        self, steps: Steps, end: Linear, edges: tuple[str, str], stages: Iterable[Piece], lead: str
    ) -> Made:
        name, first = steps.block, sum_text(steps.begin)
        header = f"for ({steps.type} {name} = {first}; {name} < {sum_text(end)}; {name} += {self.width})"
        points = steps.points_of_time(self.count, edges, stages)
        return Made(header, (points,), steps.loop.text.braces, lead=lead)


def narrowed(lower: Edge, upper: Edge, count: int | None, width: int) -> Narrowing:
    """Blocks of a width that run as many time steps as leave half of it, or `count` if that is possible. The
    width grows where it is too small for one."""
    edges = max(a + b for a, b in zip(lower.offsets, upper.offsets, strict=True))
    width = max(width, edges + 1)
    slope = max(lower.slope + upper.slope, 1)
    possible = 1 + (width - 1 - edges) // slope
    halving = 1 + max(width // 2 - edges, 0) // slope
    return Narrowing(lower, upper, min(possible, count or halving), width)
