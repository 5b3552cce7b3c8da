"""The iterations of two loops at small sizes, and the dependences that these loops carry between them,
enumerated for a drawing."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polylsp.analysis.budget import Budget, Exhausted, budgeted
from polylsp.analysis.conflicts import Conflicts
from polylsp.analysis.effects import effects, loops_in
from polylsp.analysis.liveness import Live, live_after_loops
from polylsp.analysis.regions import Nest
from polylsp.analysis.space.axes import Drawn, drawn_in, names_around
from polylsp.analysis.space.carried import carried
from polylsp.analysis.space.orders import Window, orders
from polylsp.analysis.space.points import arrows_in, at_values, by_kind, clipped, points_in
from polylsp.analysis.space.sizes import small
from polylsp.analysis.space.tiles import in_order
from polylsp.analysis.space.view import View, nest_of, view_of
from polylsp.analysis.summaries import Calls
from polylsp.model.program import Function
from polylsp.model.rejection import Rejection
from polylsp.model.scop import Scop
from polylsp.model.space import IterationSpace

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
    after = live_after_loops(function, calls.summaries)
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
    return result.intersect_params(scop.context).coalesce()


def _matters(parameter: str, relation: isl.Set | isl.Map) -> bool:
    at = relation.find_dim_by_name(_PARAM, parameter)
    return at >= 0 and relation.involves_dims(_PARAM, at, 1)


def _gave_up(function: Function, ordinal: int, operations: int) -> Rejection:
    header = next(each.header for each in loops_in(function.body) if each.ordinal == ordinal)
    text = f"the drawing of this loop was given up after {operations:,} isl operations"
    return Rejection("budget", header, text, "raise `polylsp.max_operations`, or split the loop")
