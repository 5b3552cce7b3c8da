"""The iterations of two loops at small sizes, and the dependences that these loops carry between them,
enumerated for a drawing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import islpy as isl

from polylsp.analysis.budget import Exhausted, budgeted
from polylsp.analysis.chains import binding
from polylsp.analysis.conflicts import Conflict, Conflicts
from polylsp.analysis.effects import effects, loops_in
from polylsp.analysis.liveness import Live, live_after_loops
from polylsp.analysis.private import may_have_copy
from polylsp.analysis.regions import Nest, again, cut
from polylsp.analysis.scalars import scalars_of
from polylsp.analysis.summaries import Calls
from polylsp.analysis.verdicts import verdict
from polylsp.analysis.witness import value_based
from polylsp.model.program import Function
from polylsp.model.rejection import Rejection
from polylsp.model.scop import Scop, ScopStatement
from polylsp.model.space import Arrow, IterationSpace, Point
from polylsp.model.verdict import DependenceKind

_MOST_POINTS = 400
_MOST_ARROWS = 400
_WANTED, _MOST, _CLIPPED = (5, 4, 3), 8, 6
"""How many iterations of each loop are best, at least and at most, and drawn where there are more."""

_HIGHEST = 100_000
"""The highest value of a parameter of the program."""

_IN, _OUT, _SET, _PARAM = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set, isl.dim_type.param


def iteration_space(
    function: Function, calls: Calls, ordinal: int, dimensions: tuple[str, str] | None, operations: int
) -> IterationSpace | Rejection:
    """The space of two loops around or inside loop `ordinal`: those with the iterators `dimensions`, or
    the loop and its neighbour inwards, else outwards.

    Points are the iterations of the statements inside both; loops around both stand at one value,
    others are projected out. Arrows are what the two carry: without what a copy per iteration
    removes, of reductions the flow alone, and no pair with a sure write of the element between
    its ends (these follow from the others). `operations` limits isl's work.
    """
    after = live_after_loops(function, calls.summaries)
    loops = loops_in(function.body)
    live = frozenset(name for loop in loops for name in effects(loop).scalars & after[loop.ordinal])
    nest = budgeted(operations, lambda: _nest_of(function, calls, live, ordinal))
    if isinstance(nest, Rejection):
        return nest
    if isinstance(nest, Exhausted):
        return _gave_up(function, ordinal)
    view = _view(nest, ordinal, dimensions)
    if isinstance(view, Rejection):
        return view
    found = budgeted(operations, lambda: _enumerated(nest, view, after))
    return _gave_up(function, ordinal) if isinstance(found, Exhausted) else found


# --- Which loops -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _View:
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


def _nest_of(function: Function, calls: Calls, live: Live, ordinal: int) -> Nest | Rejection:
    """The nest that holds a loop; where something around the loop obstructs it, the loop alone."""
    loop = next(each for each in loops_in(function.body) if each.ordinal == ordinal)
    found = cut(function, calls, live)
    if ordinal in found.refused:
        return found.refused[ordinal]
    nest = next((n for n in found.nests if ordinal in n.scop.loops), None)
    if nest is not None and nest.scop.loops[ordinal].obstacles and nest.entries[ordinal].frames:
        nest = again(nest.entries[ordinal], nest.parameters, calls, live)
    if nest is None:
        text = "this loop stands in code that could not be analysed"
        return Rejection("unsupported-statement", loop.header, text)
    if nest.scop.loops[ordinal].obstacles:
        return nest.scop.loops[ordinal].obstacles[0]
    if not any(ordinal in s.loops for s in nest.scop.statements):
        text = "this loop neither reads nor writes anything that the drawing could show"
        return Rejection("unsupported-statement", loop.header, text)
    return nest


def _view(nest: Nest, ordinal: int, dimensions: tuple[str, str] | None) -> _View | Rejection:
    scop = nest.scop
    related = [s for s in scop.statements if ordinal in s.loops]
    view = _neighbours(scop, related, ordinal) if dimensions is None else _named(nest, related, dimensions)
    if isinstance(view, Rejection):
        return view
    drawn = {s.loops[p] for s in scop.statements for p in view.positions(s, scop) or ()}
    return next((r for o in sorted(drawn) for r in scop.loops[o].obstacles), view)


def _neighbours(scop: Scop, related: list[ScopStatement], ordinal: int) -> _View:
    """The loop with the first one directly inside it, else with the one directly around it."""
    around = related[0].loops[: related[0].loops.index(ordinal)]
    depth = len(around)
    inside = [s.loops[depth + 1] for s in related if len(s.loops) > depth + 1]
    for neighbour in sorted(set(inside)):
        if not scop.loops[neighbour].obstacles:
            return _View(ordinal, depth, scop.loops[neighbour].iterator)
    if around and not scop.loops[around[-1]].obstacles:
        return _View(around[-1], depth - 1, scop.loops[ordinal].iterator)
    return _View(ordinal, depth)


def _named(nest: Nest, related: list[ScopStatement], dimensions: tuple[str, str]) -> _View | Rejection:
    """The loops with these iterators that hold a statement of `related`, or else one beside it."""
    scop, (first, second) = nest.scop, dimensions
    beside = [s for s in scop.statements if s.loops[:1] == related[0].loops[:1]]
    for statement in (*related, *beside):
        names = [scop.loops[o].iterator for o in statement.loops]
        if first in names and second in names and first != second:
            depth = min(names.index(first), names.index(second))
            return _View(
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


# --- At which sizes ----------------------------------------------------------------------

_Values = dict[str, int]
"""Values of parameters by isl name."""

_MARK = "@"
"""How isl names start that stand for iterators around the drawn loops; no name from C does."""


def _small(space: isl.Set, axes: tuple[_Axis, ...]) -> _Values:
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


def _between(space: isl.Set, axes: tuple[_Axis, ...], few: int) -> isl.Set:
    """The parameters at which each axis has from `few` to `_MOST` iterations."""
    result = space.params()
    for k, axis in enumerate(axes):
        result = result.intersect(_spread(space, k, axis.step * (few - 1)))
        result = result.subtract(_spread(space, k, axis.step * _MOST))
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
    """The program's own parameters, not the iterators around the drawn loops, within a range."""
    for k in range(parameters.dim(_PARAM)):
        if not str(parameters.get_dim_name(_PARAM, k)).startswith(_MARK):
            parameters = parameters.lower_bound_val(_PARAM, k, isl.Val(low))
            parameters = parameters.upper_bound_val(_PARAM, k, isl.Val(high))
    return parameters


def _lowest(parameters: isl.Set) -> _Values:
    names = [str(parameters.get_dim_name(_PARAM, k)) for k in range(parameters.dim(_PARAM))]
    values = parameters.move_dims(_SET, 0, _PARAM, 0, len(names)) if names else parameters
    point = (values.lexmin() if values.is_bounded() else values).sample_point()
    return {name: point.get_coordinate_val(_SET, k).to_python() for k, name in enumerate(names)}


# --- Points and arrows -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Axis:
    """A drawn dimension: its iterator, the size of its step and the step's sign."""

    iterator: str
    step: int
    direction: int


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """What is drawn: `places` has `{ S[i] -> [x, y] }` for each statement that is, by name; iterators
    around both loops are parameters."""

    axes: tuple[_Axis, ...]
    places: dict[str, isl.Map]
    loops: tuple[int, ...]


def _drawn(scop: Scop, view: _View) -> _Drawn:
    positions = {s.name: p for s in scop.statements if (p := view.positions(s, scop)) is not None}
    statements = [s for s in scop.statements if s.name in positions]
    axes: list[_Axis] = []
    drawn: list[int] = []
    for number in range(len(positions[statements[0].name])):
        own = sorted({s.loops[positions[s.name][number]] for s in statements})
        first = scop.loops[own[0]]
        axes.append(_Axis(first.iterator, max(abs(scop.loops[o].step) for o in own), first.direction))
        drawn += own
    places = {s.name: _place(s, view.depth, positions[s.name]) for s in statements}
    return _Drawn(tuple(axes), places, tuple(sorted(drawn)))


def _place(statement: ScopStatement, depth: int, positions: tuple[int, ...]) -> isl.Map:
    names = [f"i{k}" for k in range(len(statement.loops))]
    image = ", ".join(names[p] for p in positions)
    outer = ", ".join(names[:depth])
    place = isl.Map(f"[{outer}] -> {{ {statement.name}[{', '.join(names)}] -> [{image}] }}")
    for k, name in enumerate(_around(depth)):
        place = place.set_dim_name(_PARAM, k, name)
    return place


def _around(depth: int) -> list[str]:
    """The isl names of the iterators around the drawn loops."""
    return [f"{_MARK}{k}" for k in range(depth)]


def _enumerated(nest: Nest, view: _View, after: dict[int, Live]) -> IterationSpace:
    scop = nest.scop
    drawn = _drawn(scop, view)
    relations = _relations(nest, drawn, after)
    space = _space(scop, drawn)
    for _, relation in relations:
        space = space.align_params(relation.get_space().params())
    values = _small(space, drawn.axes)
    whole = _at(space, values)
    window = _clipped(whole, drawn.axes)
    points = sorted(_points(window))
    arrows = sorted(dict.fromkeys(_arrows(relations, values, window)), key=_order)
    names = {**scop.parameters, **_names_around(scop, view)}
    used = [n for n in values if any(_matters(n, r) for r in (space, *(r for _, r in relations)))]
    first, second = (*(axis.iterator for axis in drawn.axes), "")[:2]
    return IterationSpace(
        (first, second),
        tuple(points[:_MOST_POINTS]),
        tuple(arrows[:_MOST_ARROWS]),
        tuple((names.get(n, n), values[n]) for n in used),
        bool(whole.is_subset(window)) and len(points) <= _MOST_POINTS and len(arrows) <= _MOST_ARROWS,
    )


def _space(scop: Scop, drawn: _Drawn) -> isl.Set:
    """`{ [x, y] }`: all drawn iterations, the iterators around them being parameters."""
    parts = [s.domain.apply(drawn.places[s.name]) for s in scop.statements if s.name in drawn.places]
    result = parts[0]
    for part in parts[1:]:
        result = result.union(part)
    return result.intersect_params(scop.context).coalesce()


def _names_around(scop: Scop, view: _View) -> dict[str, str]:
    loops = next(s.loops for s in scop.statements if view.outer in s.loops)
    return {name: scop.loops[loops[k]].iterator for k, name in enumerate(_around(view.depth))}


def _matters(parameter: str, relation: isl.Set | isl.Map) -> bool:
    at = relation.find_dim_by_name(_PARAM, parameter)
    return at >= 0 and relation.involves_dims(_PARAM, at, 1)


def _relations(nest: Nest, drawn: _Drawn, after: dict[int, Live]) -> list[tuple[DependenceKind, isl.Map]]:
    """`{ [x, y] -> [x', y'] }` of each conflict that a drawn loop carries between drawn statements."""
    conflicts = Conflicts(nest.scop)
    found: list[tuple[DependenceKind, isl.Map]] = []
    for ordinal in drawn.loops:
        for conflict in _binding(nest, conflicts, ordinal, after):
            source, sink = (
                drawn.places.get(conflicts.statement(a).name) for a in (conflict.source, conflict.sink)
            )
            if source is not None and sink is not None:
                pairs = value_based(conflicts, conflict, ordinal)
                found.append((conflict.kind, pairs.apply_domain(source).apply_range(sink)))
    return found


def _binding(nest: Nest, conflicts: Conflicts, ordinal: int, after: dict[int, Live]) -> list[Conflict]:
    """What the loop carries, without what a copy per iteration removes; of reductions the flow."""
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


def _at(space: isl.Set, values: _Values) -> isl.Set:
    """The set at these values of its parameters, without parameters."""
    for name, value in values.items():
        at = space.find_dim_by_name(_PARAM, name)
        if at >= 0:
            space = space.fix_val(_PARAM, at, isl.Val(value))
    return space.project_out(_PARAM, 0, space.dim(_PARAM))


def _clipped(space: isl.Set, axes: tuple[_Axis, ...]) -> isl.Set:
    """The first iterations along each axis, where there are more than can be drawn."""
    for k, axis in enumerate(axes):
        line = space.project_out(_SET, k + 1, space.dim(_SET) - k - 1).project_out(_SET, 0, k)
        if line.is_empty():
            break
        start = _start(line, axis.direction)
        if not line.is_subset(_window(line, 0, axis, _MOST, start)):
            space = _window(space, k, axis, _CLIPPED, start)
    return space


def _window(space: isl.Set, dimension: int, axis: _Axis, iterations: int, start: int) -> isl.Set:
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


def _arrows(
    relations: list[tuple[DependenceKind, isl.Map]], values: _Values, window: isl.Set
) -> Iterator[Arrow]:
    inside = isl.Map.from_domain_and_range(window, window).wrap()
    width = window.dim(_SET)
    for kind, relation in relations:
        for ends in _coordinates(_at(relation.wrap(), values).intersect(inside)):
            yield Arrow(kind, _point(ends[:width]), _point(ends[width:]))


def _order(arrow: Arrow) -> tuple[int, Point, Point]:
    """Flow first: what is kept where not all arrows are."""
    return ("flow", "anti", "output").index(arrow.kind), arrow.source, arrow.sink


def _points(space: isl.Set) -> Iterator[Point]:
    return map(_point, _coordinates(space))


def _point(coordinates: tuple[int, ...]) -> Point:
    x, y = (*coordinates, 0)[:2]
    return x, y


def _coordinates(space: isl.Set) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    width = space.dim(_SET)
    space.foreach_point(
        lambda p: found.append(tuple(p.get_coordinate_val(_SET, k).to_python() for k in range(width)))
    )
    return found


def _gave_up(function: Function, ordinal: int) -> Rejection:
    header = next(each.header for each in loops_in(function.body) if each.ordinal == ordinal)
    text = "the drawing of this loop was given up because it took too long"
    return Rejection("budget", header, text, "raise `polylsp.max_operations`, or split the loop")
