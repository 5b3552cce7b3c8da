"""A new order of the leaves' instances, with as much parallelism outermost as isl's scheduler finds."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import islpy as isl

from polylsp.analysis.schedules import computed
from polylsp.codegen.cuda.leaves import Leaf, Leaves
from polylsp.codegen.cuda.region import Region
from polylsp.model.action import Declined


def dependences(region: Region, found: Leaves) -> isl.UnionMap:
    """Pairs of instances that use one element, at least one writing it, in the order they run."""
    reads, writes = isl.UnionMap("{ }"), isl.UnionMap("{ }")
    for leaf, access in found.shared:
        relation = of_leaf(leaf, access.relation).to_union_map()
        if access.kind == "read":
            reads = reads.union(relation)
        else:
            writes = writes.union(relation)
    order = dates(region, found)
    before = order.lex_lt_union_map(order)
    pairs = writes.apply_range(reads.union(writes).reverse()).union(reads.apply_range(writes.reverse()))
    return pairs.intersect(before).coalesce()


def of_leaf(leaf: Leaf, relation: isl.Map) -> isl.Map:
    """What an instance of a leaf accesses with all runs of one of its statements."""
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
    """When each instance runs in the source: `{ L[i] -> [position, i, position, …] }`."""
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


def scheduled(region: Region, found: Leaves, order: isl.UnionMap) -> isl.Schedule | Declined:
    """isl's Pluto-like schedule (Verdoolaege and Janssens, Scheduling for PPCG, 2017)."""
    domain = domain_of(found)
    # Without what the domain says anyway, isl's problems are small; most orders are found from these.
    for wanted in (order.gist_domain(domain).gist_range(domain), order):
        made = _computed(region, domain, wanted)
        if made is not None:
            return made
    return Declined("isl's scheduler finds no order of these loops for a GPU.")


def _computed(region: Region, domain: isl.UnionSet, order: isl.UnionMap) -> isl.Schedule | None:
    constraints = isl.ScheduleConstraints.on_domain(domain).set_context(region.context)
    constraints = constraints.set_validity(order).set_coincidence(order).set_proximity(order)
    with _options():
        return computed(constraints)


@contextmanager
def _options() -> Generator[None]:
    """PPCG's choices: parallelism outermost, long bands."""
    context = isl.DEFAULT_CONTEXT
    before = context.get_schedule_outer_coincidence(), context.get_schedule_maximize_band_depth()
    context.set_schedule_outer_coincidence(1)
    context.set_schedule_maximize_band_depth(1)
    try:
        yield
    finally:
        context.set_schedule_outer_coincidence(before[0])
        context.set_schedule_maximize_band_depth(before[1])
