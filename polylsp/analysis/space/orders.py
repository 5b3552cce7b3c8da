"""Orders in which the points of a drawing run: that of the source, and one in which as many as possible run
at once. The second is checked against every dependence before it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import islpy as isl

from polylsp.analysis.chains import source_band
from polylsp.analysis.conflicts import Conflicts
from polylsp.analysis.liveness import Live
from polylsp.analysis.regions import Nest
from polylsp.analysis.scalars import scalars_of
from polylsp.analysis.schedules import exposing_transform, ordering
from polylsp.analysis.space.axes import Drawn
from polylsp.analysis.space.points import as_point, at_values, coordinates
from polylsp.analysis.space.sizes import Values
from polylsp.analysis.space.steps import members_of, steps_of
from polylsp.analysis.space.tiles import tiled
from polylsp.analysis.timetable import dates
from polylsp.analysis.verdicts import verdict
from polylsp.model.facts import Transform
from polylsp.model.scop import Scop
from polylsp.model.space import Order, Point
from polylsp.model.verdict import Parallel, Verdict

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
