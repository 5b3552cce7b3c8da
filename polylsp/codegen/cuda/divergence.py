"""Warp divergence: conditions and loops that differ between threads of a warp, so that it runs both branches,
or continues until its slowest thread is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polylsp.analysis.effects import walk
from polylsp.codegen.cuda.axes import is_same
from polylsp.codegen.cuda.kernels import Written
from polylsp.codegen.cuda.launch import maps_of, onto
from polylsp.codegen.cuda.leaves import Leaf
from polylsp.codegen.cuda.references import Reference, references
from polylsp.codegen.cuda.setting import Setting
from polylsp.model.expressions import subexpressions
from polylsp.model.program import Expr, If, Loop, Place, Read, Site, within

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


def divergences(setting: Setting, kernel: Written) -> Iterator[str]:
    """A sentence for each line of a kernel in which the threads of a warp go different ways."""
    found = references(kernel.frame.launch, setting.region.scop, setting.shared) if kernel.axes else []
    for order in maps_of(kernel.frame.launch.order) if kernel.axes else ():
        leaf = setting.leaves[order.get_tuple_name(_IN) or ""]
        side = side_of(kernel, leaf)
        line = setting.region.subject.line_number
        for loop in _loops(setting, kernel, leaf, order, side):
            yield f"{_DIVERGE} {line(loop)}: each runs this loop as often as its bounds say."
        own = [each for each in found if each.leaf is leaf]
        for condition in _conditions(leaf, order, side, own):
            yield f"{_DIVERGE} {line(condition)}: what holds for one need not for others."


_DIVERGE = "Threads of a warp diverge in line"


def side_of(kernel: Written, leaf: Leaf) -> int:
    """The dimension along which the threads of a warp differ, in their instances of a leaf."""
    blocking = kernel.frame.blocking
    for part in blocking.parts:
        rows = blocking.lanes is not None and blocking.lanes.letter == "x"
        if part.split is not None and rows and leaf.name in part.segment.leaves:
            return part.split.dimension
    return kernel.axes[0].dimension


# --- Loops -------------------------------------------------------------------------------


def _loops(setting: Setting, kernel: Written, leaf: Leaf, order: isl.Map, side: int) -> Iterator[Site]:
    """The headers of the loops of a thread that do not run as often in its neighbour."""
    axes = [axis.dimension for axis in kernel.axes]
    points = order.range()
    for number, ordinal in enumerate(leaf.loops):
        for k in kernel.frame.blocking.left:
            is_counter = order.is_subset(order.equate(_IN, number, _OUT, k))
            if k != side and is_counter and not _is_regular(points, axes, k, side):
                yield setting.region.subject.known(ordinal).site


def _is_regular(points: isl.Set, axes: Sequence[int], loop: int, side: int) -> bool:
    """True if neighbours run a loop equally often, in an iteration of those around it."""
    length = points.dim(isl.dim_type.set)
    around = sorted({*axes, side, *range(min(axes), loop)} - {loop})
    values = onto(around, length).intersect_domain(points).reverse().apply_range(onto([loop], length))
    counts = isl.Map.from_pw_aff(values.dim_max(0).sub(values.dim_min(0)))
    beside = _neighbour(len(around), around.index(side)).apply_range(counts)
    return beside.intersect_domain(counts.domain()).is_subset(counts)


# --- Conditions --------------------------------------------------------------------------


def _conditions(leaf: Leaf, order: isl.Map, side: int, own: Sequence[Reference]) -> Iterator[Site]:
    """The conditions in the statements of a leaf that differ between neighbours."""
    for statement in walk(*leaf.statements):
        if isinstance(statement, (If, Loop)) and statement.condition is not None:
            inside = [each for each in own if within(each.access.site, statement.site)]
            if _differs(statement.condition, order, side, inside):
                yield statement.header if isinstance(statement, Loop) else statement.site


def _differs(condition: Expr, order: isl.Map, side: int, inside: Sequence[Reference]) -> bool:
    """True if a condition reads elements that differ between neighbours, or is one on counters that is true
    for one of two neighbours."""
    places = [each.place for each in subexpressions(condition) if isinstance(each, Read)]
    if any(place.steps for place in places):
        return any(_is_own(place, side, inside) for place in places if place.steps)
    bounds = [each.seen.domain() for each in inside if each.access.exact]
    return not all(_steady(each, order.range(), side) for each in bounds)


def _is_own(place: Place, side: int, inside: Sequence[Reference]) -> bool:
    return any(each.access.site == place.site and not is_same(each.seen, side) for each in inside)


def _steady(points: isl.Set, among: isl.Set, dimension: int) -> bool:
    """True if two neighbours along a dimension are both in a set, or none, where both are `among` others."""
    neighbour = _neighbour(points.dim(isl.dim_type.set), dimension)
    after = points.apply(neighbour).intersect(among)
    before = points.apply(neighbour.reverse()).intersect(among)
    return after.union(before).is_subset(points)


def _neighbour(length: int, dimension: int) -> isl.Map:
    """Points to those that are one further along a dimension."""
    names = [f"d{k}" for k in range(length)]
    moved = [f"{name} + 1" if k == dimension else name for k, name in enumerate(names)]
    return isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(moved)}] }}")
