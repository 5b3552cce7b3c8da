"""The iteration space of a nest in two dimensions, enumerated at small sizes, to be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Union

from polylsp.ir.program import Rejection
from polylsp.ir.verdict import AccessPoint, DependenceKind
from polylsp.model.facts import Transform

Point = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Arrow:
    """A dependence from the iteration `source` to the iteration `sink`; `accesses` are its two ends in the
    text, in that order."""

    kind: DependenceKind
    source: Point
    sink: Point
    accesses: tuple[AccessPoint, AccessPoint] | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """An order in which the points may run: those of one of the `steps` at once, before those of the next.
    A point stands in several where loops that are not drawn come back to it. `free` names the loops whose
    iterations run at once, in the order that the source has; `transform` makes another order."""

    steps: tuple[tuple[Point, ...], ...]
    free: tuple[str, ...] = ()
    transform: Transform | None = None

    @property
    def is_wavefront(self) -> bool:
        """True if each point runs in one step, and some points drawn together run before others."""
        total = sum(map(len, self.steps))
        return 1 < len(self.steps) < total == len({point for step in self.steps for point in step})


@dataclass(frozen=True, slots=True)
class IterationSpace:
    """The iterations of a nest, projected on two of its loops.

    `dimensions` names the two iterators, the first across and the second upwards; the second is
    empty for a nest of one loop (all its points then have 0 there). `sizes` are the values of
    the parameters for which the points and the arrows were enumerated, and of the iterators of
    loops around both. `complete`: no point and no arrow at these sizes is left out. `written` is the order
    of the source, `parallel` one that every dependence allows; `tiles` are groups of points that can run
    one after the other, where the two loops can be tiled.
    """

    dimensions: tuple[str, str]
    points: tuple[Point, ...]
    arrows: tuple[Arrow, ...]
    sizes: tuple[tuple[str, int], ...] = ()
    complete: bool = True
    written: Order | None = None
    parallel: Order | None = None
    tiles: tuple[tuple[Point, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Drawing:
    """The wish for a drawing of loop `ordinal` of the function with that name that starts at that offset of
    the text, with a neighbour, or of the loops around or inside it with the iterators `dimensions`."""

    function: str
    starts: int
    ordinal: int
    dimensions: tuple[str, str] | None = None
    action: Literal["drawing"] = "drawing"


Drawn = Union[IterationSpace, Rejection]
"""A drawing, or the reason why there is none."""
