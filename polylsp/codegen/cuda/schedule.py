"""A new order of the leaves' instances, with as much parallelism outermost as isl's scheduler finds."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

import islpy as isl

from polylsp.analysis.schedules import computed
from polylsp.codegen.cuda.leaves import Leaf, Leaves
from polylsp.codegen.cuda.region import Region


def dependences(region: Region, found: Leaves) -> isl.UnionMap:
    """Pairs of instances that use one element, at least one writing it, in the order they run; but for those
    that update it one at a time."""
    reads, writes, updates = isl.UnionMap("{ }"), isl.UnionMap("{ }"), isl.UnionMap("{ }")
    for leaf, access in found.shared:
        relation = of_leaf(leaf, access.relation).to_union_map()
        if access.memory.name in found.atomic and access.update is not None:
            updates = updates.union(relation)
        elif access.kind == "read":
            reads = reads.union(relation)
        else:
            writes = writes.union(relation)
    order = dates(region, found)
    before = order.lex_lt_union_map(order)
    others = reads.union(writes)
    pairs = writes.apply_range(others.reverse()).union(reads.apply_range(writes.reverse()))
    pairs = pairs.union(updates.apply_range(others.reverse())).union(others.apply_range(updates.reverse()))
    return pairs.intersect(before).coalesce()


def of_leaf(leaf: Leaf, relation: isl.Map) -> isl.Map:
    """Footprint of an instance of a leaf, with all runs of one of its statements."""
    depth, dimensions = len(leaf.loops), relation.dim(isl.dim_type.in_)
    relation = relation.project_out(isl.dim_type.in_, depth, dimensions - depth)
    return relation.set_tuple_name(isl.dim_type.in_, leaf.name).intersect_domain(leaf.domain)


def domain_of(found: Leaves) -> isl.UnionSet:
    """All instances."""
    result = isl.UnionSet("{ }")
    for leaf in found.leaves:
        result = result.union(leaf.domain.to_union_set())
    return result


def dates(region: Region, found: Leaves) -> isl.UnionMap:
    """Original schedule of the instances: `{ L[i] -> [position, i, position, …] }`."""
    length = max(2 * len(leaf.loops) + 1 for leaf in found.leaves)
    result = isl.UnionMap("{ }")
    for leaf in found.leaves:
        names = [f"i{k}" for k in range(len(leaf.loops))]
        signs = ["" if region.scop.loops[o].direction > 0 else "-" for o in leaf.loops]
        counted = [f"{sign}{name}" for sign, name in zip(signs, names, strict=True)]
        date = [str(leaf.position[0])]
        for number, name in enumerate(counted):
            date += [name, str(leaf.position[number + 1])]
        date += ["0"] * (length - len(date))
        text = f"{{ {leaf.name}[{', '.join(names)}] -> [{', '.join(date)}] }}"
        result = result.union(isl.Map(text).to_union_map())
    return result


def scheduled(region: Region, found: Leaves, order: isl.UnionMap, strategy: Strategy) -> isl.Schedule | None:
    """isl's Pluto-like schedule, or Feautrier's, with parallelism outermost (Verdoolaege and Janssens,
    Scheduling for PPCG, 2017); `None` where isl finds none."""
    domain = domain_of(found)
    # Without what the domain says anyway, isl's problems are small; most orders are found from these.
    for wanted in (order.gist_domain(domain).gist_range(domain), order):
        constraints = isl.ScheduleConstraints.on_domain(domain).set_context(region.context)
        constraints = constraints.set_validity(wanted).set_coincidence(wanted).set_proximity(wanted)
        with _options(strategy):
            made = _made(constraints)
        if made is not None:
            return made
    return None


def _made(constraints: isl.ScheduleConstraints) -> isl.Schedule | None:
    """A schedule of isl's; `None` also where it finds no end of dimensions."""
    try:
        return computed(constraints)
    except isl.Error as error:
        if "too many schedule rows" in str(error):
            return None
        raise


Strategy = Literal["min", "max", "maximal-band", "feautrier"]
_OPTIONS: dict[Strategy, dict[str, int]] = {
    "maximal-band": {"maximize_band_depth": 1},
    "min": {"maximize_band_depth": 1, "serialize_sccs": 1},
    "max": {"whole_component": 1},
    "feautrier": {"algorithm": 1},
}
"""Options of isl for statements that share loops: those with the longest bands, as few as possible, as many
as possible; and for the schedule in which as few loops as possible carry all dependences."""


@contextmanager
def _options(strategy: Strategy) -> Generator[None]:
    context = isl.DEFAULT_CONTEXT
    wanted = {"outer_coincidence": 1, **_OPTIONS[strategy]}
    before = {name: getattr(context, f"get_schedule_{name}")() for name in wanted}
    for name, value in wanted.items():
        getattr(context, f"set_schedule_{name}")(value)
    try:
        yield
    finally:
        for name, value in before.items():
            getattr(context, f"set_schedule_{name}")(value)
