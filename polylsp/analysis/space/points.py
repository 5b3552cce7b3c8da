"""Sets and relations at certain sizes, point by point."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polylsp.analysis.space.axes import Axis
from polylsp.analysis.space.carried import Carried
from polylsp.analysis.space.sizes import MOST, Values
from polylsp.model.space import Arrow, Point

_CLIPPED = 6
"""Number of iterations drawn of a loop with too many."""

_SET, _PARAM = isl.dim_type.set, isl.dim_type.param


def at_values(space: isl.Set, values: Values) -> isl.Set:
    """The set at these values of its parameters, without parameters."""
    for name, value in values.items():
        at = space.find_dim_by_name(_PARAM, name)
        if at >= 0:
            space = space.fix_val(_PARAM, at, isl.Val(value))
    return space.project_out(_PARAM, 0, space.dim(_PARAM))


def clipped(space: isl.Set, axes: tuple[Axis, ...]) -> isl.Set:
    """The first iterations along each axis, where there are more than can be drawn."""
    for k, axis in enumerate(axes):
        line = space.project_out(_SET, k + 1, space.dim(_SET) - k - 1).project_out(_SET, 0, k)
        if line.is_empty():
            break
        start = _start(line, axis.direction)
        if not line.is_subset(_window(line, 0, axis, MOST, start)):
            space = _window(space, k, axis, _CLIPPED, start)
    return space


def _window(space: isl.Set, dimension: int, axis: Axis, iterations: int, start: int) -> isl.Set:
    """The part of the set in so many iterations from `start` on."""
    end = start + axis.direction * (axis.step * iterations - 1)
    low, high = min(start, end), max(start, end)
    return space.lower_bound_val(_SET, dimension, isl.Val(low)).upper_bound_val(
        _SET, dimension, isl.Val(high)
    )


def _start(line: isl.Set, direction: int) -> int:
    """The first point of a line in a direction, or some point where there is no first."""
    first = line.dim_min_val(0) if direction > 0 else line.dim_max_val(0)
    return (
        first.to_python() if first.is_int() else line.sample_point().get_coordinate_val(_SET, 0).to_python()
    )


def arrows_in(dependences: list[Carried], values: Values, window: isl.Set) -> Iterator[Arrow]:
    """The dependences with both ends in a window, at these values of the parameters."""
    inside = isl.Map.from_domain_and_range(window, window).wrap()
    width = window.dim(_SET)
    for each in dependences:
        for ends in coordinates(at_values(each.relation.wrap(), values).intersect(inside)):
            yield Arrow(each.kind, as_point(ends[:width]), as_point(ends[width:]), each.accesses)


def by_kind(arrow: Arrow) -> tuple[int, Point, Point]:
    """Sort key with flow first: the arrows shown where the drawing omits some."""
    return ("flow", "anti", "output").index(arrow.kind), arrow.source, arrow.sink


def points_in(space: isl.Set) -> Iterator[Point]:
    """The points of a bounded set, in any order."""
    return map(as_point, coordinates(space))


def as_point(values: tuple[int, ...]) -> Point:
    """A point of a drawing with one dimension or two."""
    x, y = (*values, 0)[:2]
    return x, y


def coordinates(space: isl.Set) -> list[tuple[int, ...]]:
    """The points of a bounded set of any number of dimensions."""
    found: list[tuple[int, ...]] = []
    width = space.dim(_SET)
    space.foreach_point(
        lambda p: found.append(tuple(p.get_coordinate_val(_SET, k).to_python() for k in range(width)))
    )
    return found
