"""Iteration space of two loops at small sizes, with the dependences that they carry, for a drawing.

Chooses the loops and small parameter values, and enumerates points and arrows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflict, Conflicts
from polylsp.analysis.dependence.nest_schedules import binding
from polylsp.analysis.dependence.privatisation import may_have_copy
from polylsp.analysis.dependence.scalars import scalars_of
from polylsp.analysis.dependence.verdicts import verdict
from polylsp.analysis.dependence.witness import access_point, value_based
from polylsp.analysis.scop.regions import Nest, cut
from polylsp.analysis.scop.single_loops import again
from polylsp.analysis.scop.summaries import Calls
from polylsp.ir.effects import loops_in
from polylsp.ir.liveness import Live
from polylsp.ir.program import Function, Rejection
from polylsp.ir.verdict import AccessPoint, DependenceKind
from polylsp.model.iteration_points import Arrow, Point
from polylsp.poly.budget import Budget, Exhausted
from polylsp.poly.scop import Scop, ScopStatement

# --------------------------------------------------------------------------------------------------
# Choice of the two loops of a nest that a drawing shows.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class View:
    """Two loops, one inside the other: `outer` (an ordinal, with `depth` loops around it) and all loops
    in it whose iterator is `inner`, if any. `across`: the outer one is the first dimension."""

    outer: int
    depth: int
    inner: str = ""
    across: bool = True

    def positions(self, statement: ScopStatement, scop: Scop) -> tuple[int, ...] | None:
        """At which depths the statement has the drawn dimensions; `None` outside these loops."""
        if self.outer not in statement.loops:
            return None
        if not self.inner:
            return (self.depth,)
        for depth in range(self.depth + 1, len(statement.loops)):
            if scop.loops[statement.loops[depth]].iterator == self.inner:
                return (self.depth, depth) if self.across else (depth, self.depth)
        return None


def nest_of(
    function: Function, calls: Calls, live: Live, ordinal: int, budget: Budget
) -> Nest | Rejection | Exhausted:
    """The nest that holds a loop; where something around the loop obstructs it, the loop alone."""
    loop = next(each for each in loops_in(function.body) if each.ordinal == ordinal)
    found = cut(function, calls, live, budget)
    if ordinal in found.refused:
        return found.refused[ordinal]
    nest = next((n for n in found.nests if ordinal in n.scop.loops), None)
    if nest is not None and nest.scop.loops[ordinal].obstacles and nest.entries[ordinal].frames:
        entry, parameters = nest.entries[ordinal], nest.parameters
        alone = budget.run(lambda: again(entry, parameters, calls, live))
        if isinstance(alone, Exhausted):
            return alone
        nest = alone
    if nest is None:
        text = "this loop stands in code that could not be analysed"
        return Rejection("unsupported-statement", loop.header, text)
    if nest.scop.loops[ordinal].obstacles:
        return nest.scop.loops[ordinal].obstacles[0]
    if not any(ordinal in s.loops for s in nest.scop.statements):
        text = "this loop neither reads nor writes anything that the drawing could show"
        return Rejection("unsupported-statement", loop.header, text)
    return nest


def view_of(nest: Nest, ordinal: int, dimensions: tuple[str, str] | None) -> View | Rejection:
    """The two loops with the iterators `dimensions`, or a loop and its neighbour; why not, if an obstacle
    hides the effects of one of them."""
    scop = nest.scop
    related = [s for s in scop.statements if ordinal in s.loops]
    view = _neighbours(scop, related, ordinal) if dimensions is None else _named(nest, related, dimensions)
    if isinstance(view, Rejection):
        return view
    drawn = {s.loops[p] for s in scop.statements for p in view.positions(s, scop) or ()}
    return next((r for o in sorted(drawn) for r in scop.loops[o].obstacles), view)


def _neighbours(scop: Scop, related: list[ScopStatement], ordinal: int) -> View:
    """The loop with the first one directly inside it, else with the one directly around it."""
    around = related[0].loops[: related[0].loops.index(ordinal)]
    depth = len(around)
    inside = [s.loops[depth + 1] for s in related if len(s.loops) > depth + 1]
    for neighbour in sorted(set(inside)):
        if not scop.loops[neighbour].obstacles:
            return View(ordinal, depth, scop.loops[neighbour].iterator)
    if around and not scop.loops[around[-1]].obstacles:
        return View(around[-1], depth - 1, scop.loops[ordinal].iterator)
    return View(ordinal, depth)


def _named(nest: Nest, related: list[ScopStatement], dimensions: tuple[str, str]) -> View | Rejection:
    """The loops with these iterators that hold a statement of `related`, or else one beside it."""
    scop, (first, second) = nest.scop, dimensions
    beside = [s for s in scop.statements if s.loops[:1] == related[0].loops[:1]]
    for statement in (*related, *beside):
        names = [scop.loops[o].iterator for o in statement.loops]
        if first in names and second in names and first != second:
            depth = min(names.index(first), names.index(second))
            return View(
                statement.loops[depth],
                depth,
                second if names[depth] == first else first,
                names[depth] == first,
            )
    known = list(dict.fromkeys(scop.loops[o].iterator for s in beside for o in s.loops))
    return Rejection("unsupported-statement", scop.site, _not_found(dimensions, known))


def _not_found(dimensions: tuple[str, str], known: list[str]) -> str:
    first, second = dimensions
    if first == second:
        return f"`{first}` is given twice: give the iterators of two loops, one inside the other"
    *most, last = (f"`{name}`" for name in known)
    has = f"the iterators are {', '.join(most)} and {last}" if most else f"the one iterator is {last}"
    for name in dimensions:
        if name not in known:
            return f"`{name}` is not an iterator of this nest: {has}"
    return f"the loops of `{first}` and `{second}` are not one inside the other: give two that are"


# --------------------------------------------------------------------------------------------------
# The dimensions of a drawing, and where in it the instances of each statement stand.
# --------------------------------------------------------------------------------------------------


MARK = "@"
"""Prefix of isl names for iterators around the drawn loops; no name from C has it."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A drawn dimension: its iterator, the size of its step and the step's sign."""

    iterator: str
    step: int
    direction: int


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Content of a drawing: `places` has `{ S[i] -> [x, y] }` for each drawn statement, by name; iterators
    around both loops are parameters."""

    axes: tuple[Axis, ...]
    places: dict[str, isl.Map]
    loops: tuple[int, ...]


def drawn_in(scop: Scop, view: View) -> Drawn:
    """Content that a view of a nest shows."""
    positions = {s.name: p for s in scop.statements if (p := view.positions(s, scop)) is not None}
    statements = [s for s in scop.statements if s.name in positions]
    axes: list[Axis] = []
    drawn: list[int] = []
    for number in range(len(positions[statements[0].name])):
        own = sorted({s.loops[positions[s.name][number]] for s in statements})
        first = scop.loops[own[0]]
        axes.append(Axis(first.iterator, max(abs(scop.loops[o].step) for o in own), first.direction))
        drawn += own
    places = {s.name: _place(s, view.depth, positions[s.name]) for s in statements}
    return Drawn(tuple(axes), places, tuple(sorted(drawn)))


def _place(statement: ScopStatement, depth: int, positions: tuple[int, ...]) -> isl.Map:
    names = [f"i{k}" for k in range(len(statement.loops))]
    image = ", ".join(names[p] for p in positions)
    outer = ", ".join(names[:depth])
    place = isl.Map(f"[{outer}] -> {{ {statement.name}[{', '.join(names)}] -> [{image}] }}")
    for k, name in enumerate(_around(depth)):
        place = place.set_dim_name(isl.dim_type.param, k, name)
    return place


def _around(depth: int) -> list[str]:
    """The isl names of the iterators around the drawn loops."""
    return [f"{MARK}{k}" for k in range(depth)]


def names_around(scop: Scop, view: View) -> dict[str, str]:
    """The source names of the iterators around the drawn loops, by their isl names."""
    loops = next(s.loops for s in scop.statements if view.outer in s.loops)
    return {name: scop.loops[loops[k]].iterator for k, name in enumerate(_around(view.depth))}


# --------------------------------------------------------------------------------------------------
# The dependences that a drawing shows.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """A conflict of two accesses that a drawn loop carries, as pairs of points `{ [x, y] -> [x', y'] }`."""

    kind: DependenceKind
    accesses: tuple[AccessPoint, AccessPoint]
    relation: isl.Map


def carried(nest: Nest, conflicts: Conflicts, drawn: Drawn, after: dict[int, Live]) -> list[Carried]:
    """Dependences that the drawn loops carry between drawn statements."""
    found: list[Carried] = []
    for ordinal in drawn.loops:
        for conflict in _binding(nest, conflicts, ordinal, after):
            source, sink = (
                drawn.places.get(conflicts.statement(a).name) for a in (conflict.source, conflict.sink)
            )
            if source is not None and sink is not None:
                pairs = value_based(conflicts, conflict, ordinal)
                ends = access_point(conflict.source), access_point(conflict.sink)
                found.append(Carried(conflict.kind, ends, pairs.apply_domain(source).apply_range(sink)))
    return found


def _binding(nest: Nest, conflicts: Conflicts, ordinal: int, after: dict[int, Live]) -> list[Conflict]:
    """Dependences that the loop carries, without those that a copy per iteration removes; of reductions the
    flow."""
    scalars = scalars_of(nest.entries[ordinal].loop, nest.scop, after[ordinal])
    verdicts = {ordinal: verdict(conflicts, ordinal, scalars)}
    written = conflicts.written_in(ordinal)
    kept = {
        m.name for m in written if scalars.live(m.variable.name) or not may_have_copy(conflicts, m, ordinal)
    }
    return [
        c
        for c in binding(conflicts, ordinal, verdicts, updates=True)
        if (c.kind == "flow" or not _is_update(c)) and c.source.memory.name in kept
    ]


def _is_update(conflict: Conflict) -> bool:
    return conflict.source.update is not None and conflict.source.update == conflict.sink.update


# --------------------------------------------------------------------------------------------------
# Values of parameters at which a few iterations show the behaviour of a nest.
# --------------------------------------------------------------------------------------------------


Values = dict[str, int]
"""Values of parameters by isl name."""

_WANTED, MOST = (5, 4, 3), 8
"""Preferred numbers of iterations of each loop, and the largest one."""

_HIGHEST = 100_000
"""The highest value of a parameter of the program."""

_IN, _OUT, _SET, _PARAM = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set, isl.dim_type.param


def small(space: isl.Set, axes: tuple[Axis, ...]) -> Values:
    """Small values of the parameters at which each axis has a few iterations, as far as there are
    such values. Parameters of the program start at 3 where they can."""
    parameters = space.params()
    enough = [_spread(space, k, axis.step * (_WANTED[0] - 1)) for k, axis in enumerate(axes)]
    both = parameters
    for wide in enough:
        both = both.intersect(wide)
    tight = (_between(space, axes, few) for few in _WANTED)
    for wish, low in product((*tight, both, *enough, parameters), (3, 1, 0, -_HIGHEST)):
        chosen = _within(wish, low, _HIGHEST)
        if not chosen.is_empty():
            return _lowest(chosen)
    return _lowest(parameters)


def _between(space: isl.Set, axes: tuple[Axis, ...], few: int) -> isl.Set:
    """The parameters at which each axis has from `few` to `MOST` iterations."""
    result = space.params()
    for k, axis in enumerate(axes):
        result = result.intersect(_spread(space, k, axis.step * (few - 1)))
        result = result.subtract(_spread(space, k, axis.step * MOST))
    return result


def _spread(space: isl.Set, dimension: int, width: int) -> isl.Set:
    """The parameters at which two points are at least `width` apart in one dimension."""
    pairs = isl.Map.from_domain_and_range(space, space)
    apart = isl.Constraint.alloc_inequality(isl.LocalSpace.from_space(pairs.get_space()))
    apart = apart.set_coefficient_val(_OUT, dimension, isl.Val(1)).set_coefficient_val(
        _IN, dimension, isl.Val(-1)
    )
    return pairs.add_constraint(apart.set_constant_val(isl.Val(-width))).params()


def _within(parameters: isl.Set, low: int, high: int) -> isl.Set:
    """Parameters of the program itself, not the iterators around the drawn loops, within a range."""
    for k in range(parameters.dim(_PARAM)):
        if not str(parameters.get_dim_name(_PARAM, k)).startswith(MARK):
            parameters = parameters.lower_bound_val(_PARAM, k, isl.Val(low))
            parameters = parameters.upper_bound_val(_PARAM, k, isl.Val(high))
    return parameters


def _lowest(parameters: isl.Set) -> Values:
    names = [str(parameters.get_dim_name(_PARAM, k)) for k in range(parameters.dim(_PARAM))]
    values = parameters.move_dims(_SET, 0, _PARAM, 0, len(names)) if names else parameters
    point = (values.lexmin() if values.is_bounded() else values).sample_point()
    return {name: point.get_coordinate_val(_SET, k).to_python() for k, name in enumerate(names)}


# --------------------------------------------------------------------------------------------------
# Sets and relations at certain sizes, point by point.
# --------------------------------------------------------------------------------------------------


_CLIPPED = 6
"""Number of iterations drawn of a loop with too many."""

_POINTS_SET, _POINTS_PARAM = isl.dim_type.set, isl.dim_type.param


def at_values(space: isl.Set, values: Values) -> isl.Set:
    """The set at these values of its parameters, without parameters."""
    for name, value in values.items():
        at = space.find_dim_by_name(_POINTS_PARAM, name)
        if at >= 0:
            space = space.fix_val(_POINTS_PARAM, at, isl.Val(value))
    return space.project_out(_POINTS_PARAM, 0, space.dim(_POINTS_PARAM))


def clipped(space: isl.Set, axes: tuple[Axis, ...]) -> isl.Set:
    """The first iterations along each axis, where there are more than can be drawn."""
    for k, axis in enumerate(axes):
        line = space.project_out(_POINTS_SET, k + 1, space.dim(_POINTS_SET) - k - 1).project_out(
            _POINTS_SET, 0, k
        )
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
    return space.lower_bound_val(_POINTS_SET, dimension, isl.Val(low)).upper_bound_val(
        _POINTS_SET, dimension, isl.Val(high)
    )


def _start(line: isl.Set, direction: int) -> int:
    """The first point of a line in a direction, or some point where there is no first."""
    first = line.dim_min_val(0) if direction > 0 else line.dim_max_val(0)
    return (
        first.to_python()
        if first.is_int()
        else line.sample_point().get_coordinate_val(_POINTS_SET, 0).to_python()
    )


def arrows_in(dependences: list[Carried], values: Values, window: isl.Set) -> Iterator[Arrow]:
    """The dependences with both ends in a window, at these values of the parameters."""
    inside = isl.Map.from_domain_and_range(window, window).wrap()
    width = window.dim(_POINTS_SET)
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
    width = space.dim(_POINTS_SET)
    space.foreach_point(
        lambda p: found.append(tuple(p.get_coordinate_val(_POINTS_SET, k).to_python() for k in range(width)))
    )
    return found
