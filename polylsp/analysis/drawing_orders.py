"""Execution orders of the points of a drawing: source order, maximal parallelism, and tiles.

The parallel order comes from a schedule tree as steps. It is checked against every dependence
before it is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from math import gcd

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflicts
from polylsp.analysis.dependence.nest_schedules import exposing_transform, ordering, source_band
from polylsp.analysis.dependence.scalars import scalars_of
from polylsp.analysis.dependence.verdicts import verdict
from polylsp.analysis.iteration_space import (
    Drawn,
    Values,
    View,
    arrows_in,
    as_point,
    at_values,
    by_kind,
    carried,
    clipped,
    coordinates,
    drawn_in,
    names_around,
    nest_of,
    points_in,
    small,
    view_of,
)
from polylsp.analysis.scop.regions import Nest
from polylsp.analysis.scop.summaries import Calls
from polylsp.ir.effects import effects, loops_in
from polylsp.ir.liveness import Live, results_of_loops
from polylsp.ir.program import Function, Rejection
from polylsp.ir.verdict import Parallel, Verdict
from polylsp.model.facts import Transform
from polylsp.model.iteration_points import Arrow, IterationSpace, Order, Point
from polylsp.poly.budget import Budget, Exhausted, budgeted, coalesced
from polylsp.poly.scop import Scop, dates

# --------------------------------------------------------------------------------------------------
# A schedule tree as steps: which statement instances run at once, and which before others.
# --------------------------------------------------------------------------------------------------


_KIND = isl.schedule_node_type
_CONTAINERS = (_KIND.domain, _KIND.context, _KIND.mark)


def steps_of(schedule: isl.Schedule) -> isl.UnionMap | None:
    """`{ S[i] -> [step] }`: instances of equal steps run at once, steps in lexicographic order. Coincident
    members of a band take no time; of a permutable band with several others, their sum is the wavefront
    (Lamport 1974). `None` for trees that hold more than bands, sequences and sets."""
    domain = schedule.get_domain()
    found = _steps(schedule.get_root(), domain)
    if found is None:
        return None
    parts = (isl.MultiUnionPwAff.from_union_pw_aff(each) for each in [*found, _constant(domain, 0)])
    return isl.UnionMap.from_multi_union_pw_aff(reduce(lambda a, b: a.flat_range_product(b), parts))


def members_of(schedule: isl.Schedule) -> isl.UnionMap | None:
    """`{ S[i] -> [member, …] }` of the outermost band, if it is permutable and has two members or more."""
    node = schedule.get_root().first_child()
    if node.get_type() != _KIND.band or node.band_n_member() < 2 or not node.band_get_permutable():
        return None
    return isl.UnionMap.from_multi_union_pw_aff(node.band_get_partial_schedule())


def _steps(node: isl.ScheduleNode, domain: isl.UnionSet) -> list[isl.UnionPwAff] | None:
    """The parts of the steps that a node and those below it make for the instances of a domain."""
    kind = node.get_type()
    if kind == _KIND.leaf:
        return []
    if kind == _KIND.sequence or kind == _KIND.set:
        return _in_sequence(node, domain)
    if kind == _KIND.filter:
        return _steps(node.first_child(), domain.intersect(node.filter_get_filter()))
    if not any(kind == each for each in (_KIND.band, *_CONTAINERS)):
        return None
    below = _steps(node.first_child(), domain)
    own = _in_band(node, domain) if kind == _KIND.band else []
    return None if below is None else [*own, *below]


def _in_band(node: isl.ScheduleNode, domain: isl.UnionSet) -> list[isl.UnionPwAff]:
    partial = node.band_get_partial_schedule()
    timed = [
        partial.get_union_pw_aff(k).intersect_domain(domain)
        for k in range(node.band_n_member())
        if not node.band_member_get_coincident(k)
    ]
    if node.band_get_permutable() and timed:
        return [reduce(lambda a, b: a.add(b), timed)]
    return timed


def _in_sequence(node: isl.ScheduleNode, domain: isl.UnionSet) -> list[isl.UnionPwAff] | None:
    """The number of the child, then the dates of each child, in parts of equal number."""
    children: list[tuple[isl.UnionSet, list[isl.UnionPwAff]]] = []
    for number in range(node.n_children()):
        child = node.get_child(number)
        own = domain.intersect(child.filter_get_filter())
        below = _steps(child, domain)
        if below is None:
            return None
        children.append((own, [_constant(own, number), *below]))
    longest = max(len(parts) for _, parts in children)
    filled = [[*parts, *(_constant(own, 0) for _ in range(longest - len(parts)))] for own, parts in children]
    return [reduce(lambda a, b: a.union_add(b), column) for column in zip(*filled, strict=True)]


def _constant(domain: isl.UnionSet, value: int) -> isl.UnionPwAff:
    return isl.UnionPwAff.val_on_domain(domain, isl.Val(value))


# --------------------------------------------------------------------------------------------------
# Points in tiles.
# --------------------------------------------------------------------------------------------------


_EDGE = 3
"""Number of points along each side of a tile; of a drawing with few points, one less."""


def tiled(placed: Sequence[tuple[Point, tuple[int, ...]]]) -> tuple[tuple[Point, ...], ...]:
    """The points in tiles along coordinates that each has; nothing where a point stands in several, or all
    of them in one."""
    if not placed:
        return ()
    sides = [_side([at[k] for _, at in placed]) for k in range(len(placed[0][1]))]
    groups: dict[tuple[int, ...], set[Point]] = {}
    for point, at in placed:
        tile = tuple((value - low) // side for value, (low, side) in zip(at, sides, strict=True))
        groups.setdefault(tile, set()).add(point)
    is_single = sum(map(len, groups.values())) == len({point for point, _ in placed})
    return (
        tuple(tuple(sorted(groups[tile])) for tile in sorted(groups)) if is_single and len(groups) > 1 else ()
    )


def in_order(tiles: Sequence[Sequence[Point]], arrows: Sequence[Arrow]) -> bool:
    """True if no arrow leads to an earlier tile, as those of a sum may that is added up in another order."""
    number = {point: k for k, tile in enumerate(tiles) for point in tile}
    return all(number.get(each.source, 0) <= number.get(each.sink, len(tiles)) for each in arrows)


def _side(values: list[int]) -> tuple[int, int]:
    """Origin and side length of the tiles along a coordinate."""
    known = sorted(set(values))
    step = gcd(*(value - known[0] for value in known)) or 1
    return known[0], step * (_EDGE if len(known) >= 2 * _EDGE - 1 else _EDGE - 1)


# --------------------------------------------------------------------------------------------------
# Orders in which the points of a drawing run: that of the source, and one in which as many as
# possible run at once. The second is checked against every dependence before it is shown.
# --------------------------------------------------------------------------------------------------


_MOST_PAIRS = 8000
"""Of a point and a step, in a box around them."""

_MOST_STEPS = 400

_SET, _OUT = isl.dim_type.set, isl.dim_type.out


@dataclass(frozen=True, slots=True)
class Orders:
    """Orders of the points; `tiles` as in `IterationSpace`."""

    written: Order | None = None
    parallel: Order | None = None
    tiles: tuple[tuple[Point, ...], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The points that are drawn, and at which values of the parameters."""

    drawn: Drawn
    points: isl.Set
    values: Values


def orders(nest: Nest, conflicts: Conflicts, window: Window, after: dict[int, Live]) -> Orders:
    """Orders of the points in a window, as far as they are determined."""
    scop = nest.scop
    verdicts = {
        o: verdict(conflicts, o, scalars_of(nest.entries[o].loop, scop, after[o])) for o in scop.loops
    }
    written = _order(scop, _dates(scop, window.drawn, frozenset()), window)
    transform = exposing_transform(conflicts, verdicts)
    if transform.kind == "none":
        free = frozenset(o for o, each in verdicts.items() if _is_free(each))
        names = tuple(dict.fromkeys(scop.loops[o].iterator for o in window.drawn.loops if o in free))
        faster = _order(scop, _dates(scop, window.drawn, free), window, names) if names else None
        return Orders(written, faster, _tiles_of_source(conflicts, verdicts, window))
    schedule = isl.Schedule(transform.schedule) if transform.schedule else None
    if schedule is None:
        return Orders(written, None, _tiles_of_source(conflicts, verdicts, window))
    faster = _scheduled(conflicts, verdicts, schedule, window, transform)
    return Orders(written, faster, _tiles_of_schedule(scop, schedule, window) if faster else ())


def _is_free(found: Verdict) -> bool:
    """True if iterations may run at once, without a reduction among them."""
    return isinstance(found, Parallel) and not found.reductions


# --- Orders ------------------------------------------------------------------------------


def _dates(scop: Scop, drawn: Drawn, free: frozenset[int]) -> isl.UnionMap:
    """The order of the source down to the drawn loops, in which the loops of `free` take no time. What comes
    below stays within a point."""
    deepest = max(s.loops.index(o) for s in scop.statements for o in drawn.loops if o in s.loops)
    found = isl.UnionMap("{ }")
    for each in _maps(dates(scop, free)):
        extra = each.dim(_OUT) - 2 * deepest - 3
        found = found.union(each.project_out(_OUT, 2 * deepest + 3, max(0, extra)).to_union_map())
    return found


def _scheduled(
    conflicts: Conflicts,
    verdicts: dict[int, Verdict],
    schedule: isl.Schedule,
    window: Window,
    transform: Transform,
) -> Order | None:
    """The order that a transform makes, if all dependences go forward in it, those of sums too."""
    steps = steps_of(schedule)
    if steps is None or not _goes_forward(ordering(conflicts, verdicts, updates=True), steps):
        return None
    return _order(conflicts.scop, steps, window, (), transform)


def _goes_forward(pairs: isl.UnionMap, steps: isl.UnionMap) -> bool:
    timed = pairs.apply_domain(steps).apply_range(steps)
    return all(each.is_subset(isl.Map.lex_lt(each.get_space().range())) for each in _maps(timed))


def _order(
    scop: Scop,
    steps: isl.UnionMap,
    window: Window,
    free: tuple[str, ...] = (),
    transform: Transform | None = None,
) -> Order | None:
    """The points by their steps; `None` where there are too many, or a point has none."""
    timed = _by_point(scop, steps, window)
    if timed is None:
        return None
    found: list[tuple[Point, ...]] = []
    for _, group in groupby(sorted(timed, key=lambda each: each[1]), key=lambda each: each[1]):
        step = tuple(sorted({point for point, _ in group}))
        if not found or found[-1] != step:
            found.append(step)
    seen = {point for step in found for point in step}
    whole = seen == {as_point(each) for each in coordinates(window.points)}
    return Order(tuple(found), free, transform) if whole and len(found) <= _MOST_STEPS else None


def _by_point(scop: Scop, steps: isl.UnionMap, window: Window) -> list[tuple[Point, tuple[int, ...]]] | None:
    """Each point with each of its steps."""
    found: list[tuple[Point, tuple[int, ...]]] = []
    width = window.points.dim(_SET)
    for statement in scop.statements:
        place = window.drawn.places.get(statement.name)
        if place is None:
            continue
        own = _maps(steps.intersect_domain(statement.domain.to_union_set()))
        for each in own:
            pairs = place.intersect_domain(statement.domain).reverse().apply_range(each)
            at = at_values(pairs.wrap(), window.values)
            inside = at.intersect(_beside(window.points, at, width))
            if _volume(inside) > _MOST_PAIRS:
                return None
            found += [(as_point(c[:width]), c[width:]) for c in coordinates(inside)]
    return found


def _maps(relation: isl.UnionMap) -> list[isl.Map]:
    found: list[isl.Map] = []
    relation.foreach_map(found.append)
    return found


def _beside(points: isl.Set, pairs: isl.Set, width: int) -> isl.Set:
    """The pairs of a drawn point with anything."""
    anything = isl.Set.universe(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, pairs.dim(_SET) - width))
    return isl.Map.from_domain_and_range(points, anything).wrap()


def _volume(pairs: isl.Set) -> int:
    """Of a box around a set; more than any limit where it is not bounded."""
    if pairs.is_empty():
        return 0
    if not pairs.is_bounded():
        return _MOST_PAIRS + 1
    volume = 1
    for k in range(pairs.dim(_SET)):
        volume *= pairs.dim_max_val(k).sub(pairs.dim_min_val(k)).to_python() + 1
    return volume


# --- Tiles -------------------------------------------------------------------------------


def _tiles_of_source(
    conflicts: Conflicts, verdicts: dict[int, Verdict], window: Window
) -> tuple[tuple[Point, ...], ...]:
    """Tiles along the drawn loops, if these two can be interchanged."""
    if len(window.drawn.axes) < 2:
        return ()
    band = source_band(conflicts, verdicts)
    if not band.permutable or not set(window.drawn.loops) <= set(band.loops):
        return ()
    return tiled([(as_point(each), each) for each in coordinates(window.points)])


def _tiles_of_schedule(scop: Scop, schedule: isl.Schedule, window: Window) -> tuple[tuple[Point, ...], ...]:
    """Tiles along the members of the outermost band of another order."""
    members = members_of(schedule)
    if members is None or len(window.drawn.axes) < 2:
        return ()
    placed = _by_point(scop, members, window)
    return () if placed is None else tiled(placed)


# --------------------------------------------------------------------------------------------------
# The iterations of two loops at small sizes, and the dependences that these loops carry between
# them, enumerated for a drawing.
# --------------------------------------------------------------------------------------------------


_MOST_POINTS = 400
_MOST_ARROWS = 400

_MOST_FOR_ORDERS = 300_000
"""isl operations for the orders and tiles, which a drawing can do without."""

_PARAM = isl.dim_type.param


def iteration_space(
    function: Function, calls: Calls, ordinal: int, dimensions: tuple[str, str] | None, operations: int
) -> IterationSpace | Rejection:
    """The space of two loops around or inside loop `ordinal`: those with the iterators `dimensions`, or
    the loop and its neighbour inwards, else outwards.

    Points are the iterations of the statements inside both; loops around both stand at one value, others are
    projected out. Arrows are the dependences that the two carry: without those that a copy per iteration
    removes, of reductions the flow alone, and no pair with a sure write of the element between its ends
    (these follow from the others). `operations` limits isl's work.
    """
    after = results_of_loops(function, calls.callees(function))
    loops = loops_in(function.body)
    live = frozenset(name for loop in loops for name in effects(loop).scalars & after[loop.ordinal])
    budget = Budget(operations)
    nest = nest_of(function, calls, live, ordinal, budget)
    if isinstance(nest, Rejection):
        return nest
    if isinstance(nest, Exhausted):
        return _gave_up(function, ordinal, operations)
    view = view_of(nest, ordinal, dimensions)
    if isinstance(view, Rejection):
        return view
    conflicts = Conflicts(nest.scop)
    found = budget.run(lambda: _enumerated(nest, conflicts, view, after))
    if isinstance(found, Exhausted):
        return _gave_up(function, ordinal, operations)
    space, window = found
    known = budgeted(min(operations, _MOST_FOR_ORDERS), lambda: orders(nest, conflicts, window, after))
    if isinstance(known, Exhausted):
        return space
    tiles = known.tiles if in_order(known.tiles, space.arrows) else ()
    return replace(space, written=known.written, parallel=known.parallel, tiles=tiles)


def _enumerated(
    nest: Nest, conflicts: Conflicts, view: View, after: dict[int, Live]
) -> tuple[IterationSpace, Window]:
    scop = nest.scop
    drawn = drawn_in(scop, view)
    found = carried(nest, conflicts, drawn, after)
    space = _space(scop, drawn)
    for each in found:
        space = space.align_params(each.relation.get_space().params())
    values = small(space, drawn.axes)
    whole = at_values(space, values)
    window = clipped(whole, drawn.axes)
    points = sorted(points_in(window))
    arrows = sorted(dict.fromkeys(arrows_in(found, values, window)), key=by_kind)
    kept = set(list(dict.fromkeys(map(by_kind, arrows)))[:_MOST_ARROWS])
    names = {**scop.parameters, **names_around(scop, view)}
    used = [n for n in values if any(_matters(n, r) for r in (space, *(each.relation for each in found)))]
    first, second = (*(axis.iterator for axis in drawn.axes), "")[:2]
    made = IterationSpace(
        (first, second),
        tuple(points[:_MOST_POINTS]),
        tuple(each for each in arrows if by_kind(each) in kept),
        tuple((names.get(n, n), values[n]) for n in used),
        bool(whole.is_subset(window)) and len(points) <= _MOST_POINTS and set(map(by_kind, arrows)) == kept,
    )
    return made, Window(drawn, window, values)


def _space(scop: Scop, drawn: Drawn) -> isl.Set:
    """`{ [x, y] }`: all drawn iterations, the iterators around them being parameters."""
    parts = [s.domain.apply(drawn.places[s.name]) for s in scop.statements if s.name in drawn.places]
    result = parts[0]
    for part in parts[1:]:
        result = result.union(part)
    return coalesced(result.intersect_params(scop.context))


def _matters(parameter: str, relation: isl.Set | isl.Map) -> bool:
    at = relation.find_dim_by_name(_PARAM, parameter)
    return at >= 0 and relation.involves_dims(_PARAM, at, 1)


def _gave_up(function: Function, ordinal: int, operations: int) -> Rejection:
    header = next(each.header for each in loops_in(function.body) if each.ordinal == ordinal)
    text = f"the drawing of this loop was given up after {operations:,} isl operations"
    return Rejection("budget", header, text, "raise `polylsp.max_operations`, or split the loop")
