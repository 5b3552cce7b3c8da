"""The iteration space of a nest in two dimensions, enumerated at small sizes, to be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Union

from polylsp.model.rejection import Rejection
from polylsp.model.verdict import DependenceKind

Point = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Arrow:
    """A dependence from the iteration `source` to the iteration `sink`."""

    kind: DependenceKind
    source: Point
    sink: Point


@dataclass(frozen=True, slots=True)
class IterationSpace:
    """The iterations of a nest, projected on two of its loops.

    `dimensions` names the two iterators, the first across and the second upwards; the second is
    empty for a nest of one loop (all its points then have 0 there). `sizes` are the values of
    the parameters for which the points and the arrows were enumerated, and of the iterators of
    loops around both. `complete`: no point and no arrow at these sizes is left out.
    """

    dimensions: tuple[str, str]
    points: tuple[Point, ...]
    arrows: tuple[Arrow, ...]
    sizes: tuple[tuple[str, int], ...] = ()
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Drawing:
    """The wish for a drawing of loop `ordinal` of the function with that name that starts at that offset of
    the text, with a neighbour."""

    function: str
    starts: int
    ordinal: int
    action: Literal["drawing"] = "drawing"


Drawn = Union[IterationSpace, Rejection]
"""What is to be drawn, or why nothing is."""
