"""Dependence distances in a grid between instances of stages, and the motion of a block's edges from one
stage to the next that preserves them (as in split tiling: Krishnamoorthy et al., PLDI 2007)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.codegen.transform.leaves import LeafDependence, Leaves

_STEEPEST = 8
"""Largest motion of an edge from one iteration of the time loop to the next."""

_FAR = 4
"""A longer distance may come from the extent of the grid, which is another one where a macro is changed."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Inward motion of an edge of a block: by `offsets` in each stage, and by `slope` more with each
    iteration of the time loop."""

    offsets: tuple[int, ...]
    slope: int

    def after(self, steps: int) -> int:
        """Largest motion in `steps` iterations of the time loop."""
        return max(self.offsets) + self.slope * (steps - 1)


@dataclass(frozen=True, slots=True)
class Distance:
    """A dependence between stages, within an iteration of the time loop or between different ones
    (`carried`): by how much the place grows at least and at most from its source to its sink, if that is
    little."""

    dependence: LeafDependence
    carried: bool
    least: int | None
    most: int | None


def distances(found: Leaves, places: Sequence[int | None]) -> tuple[Distance, ...]:
    """The distances of all dependences. `places` are the places of the stages that have but one."""
    return tuple(each for d in found.dependences for each in _distances(d, places))


def _distances(dependence: LeafDependence, places: Sequence[int | None]) -> Iterator[Distance]:
    pairs = dependence.pairs.apply_domain(_placed(places[dependence.source]))
    apart = pairs.apply_range(_placed(places[dependence.sink])).deltas()
    apart = apart.project_out(isl.dim_type.param, 0, apart.dim(isl.dim_type.param))
    for carried in (False, True):
        steps = isl.Set(f"{{ [t, x] : t {'>' if carried else '='} 0 }}")
        part = apart.intersect(steps)
        if not part.is_empty():
            yield Distance(dependence, carried, _near(part, up=False), _near(part, up=True))


def _placed(place: int | None) -> isl.Map:
    return isl.Map("{ [t, x] -> [t, x] }" if place is None else f"{{ [t] -> [t, {place}] }}")


def _near(apart: isl.Set, up: bool) -> int | None:
    found = limit(apart, 1, up)
    return found if found is not None and abs(found) <= _FAR else None


def limit(values: isl.Set, dimension: int, up: bool) -> int | None:
    """The largest (`up`) or smallest value of a dimension, if it is a number."""
    bounded = values.dim_has_any_upper_bound if up else values.dim_has_any_lower_bound
    if not bounded(isl.dim_type.set, dimension):
        return None
    value = values.dim_max_val(dimension) if up else values.dim_min_val(dimension)
    return value.to_python() if value.is_int() else None


def lower_edge(found: Sequence[Distance], stages: int) -> Edge | None:
    """Motion of the lower edge of a block, if one exists: the block's instances need no values from below
    it."""
    return _edge([(d.dependence, d.carried, d.most) for d in found], stages)


def upper_edge(found: Sequence[Distance], stages: int) -> Edge | None:
    """Motion of the upper edge, if one exists: the block's instances need no values from above it."""
    return _edge([(d.dependence, d.carried, None if d.least is None else -d.least) for d in found], stages)


def _edge(found: Sequence[tuple[LeafDependence, bool, int | None]], stages: int) -> Edge | None:
    """The least slope, and the least offsets for it, with which the edge moves by as much as each dependence
    asks for from its source to its sink (difference constraints: Bellman 1958)."""
    for slope in range(_STEEPEST + 1):
        offsets = [0] * stages
        for _ in range(stages + 1):
            before = list(offsets)
            for dependence, carried, most in found:
                if most is None:
                    return None
                wanted = offsets[dependence.source] + most - (slope if carried else 0)
                offsets[dependence.sink] = max(offsets[dependence.sink], wanted)
            if offsets == before:
                return Edge(tuple(offsets), slope)
    return None
