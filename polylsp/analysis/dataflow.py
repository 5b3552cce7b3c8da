"""Dependences of a whole nest as isl relations: value-based flow, memory-based anti and output
(Feautrier, Dataflow analysis of array and scalar references, 1991; isl's access analysis)."""

from __future__ import annotations

import islpy as isl

from polylsp.analysis.timetable import dates
from polylsp.model.scop import Scop


def flow(scop: Scop) -> isl.UnionMap:
    """From each write to the reads that get its value, or may get it."""
    reads, sure, maybe = _accesses(scop)
    order = dates(scop)
    if _has_divisions(reads.union(sure).union(maybe)):
        # isl's analysis finds wrong last writes, or none, beside strides: relations say it too.
        return _last_writes(reads, sure, maybe, order)
    information = isl.UnionAccessInfo.from_sink(reads)
    information = information.set_must_source(sure).set_may_source(maybe)
    try:
        return information.set_schedule_map(order).compute_flow().get_may_dependence().coalesce()
    except isl.Error:
        # isl gives up on some sets ("unbounded optimum"); without operations left, this ends at once too.
        return _last_writes(reads, sure, maybe, order)


def _has_divisions(relation: isl.UnionMap) -> bool:
    divisions: list[int] = []
    relation.foreach_map(lambda m: m.foreach_basic_map(lambda b: divisions.append(b.dim(isl.dim_type.div))))
    return any(divisions)


def _last_writes(
    reads: isl.UnionMap, sure: isl.UnionMap, maybe: isl.UnionMap, order: isl.UnionMap
) -> isl.UnionMap:
    """The writes before each read of the same element, without those that another surely overwrites."""
    before = order.lex_lt_union_map(order)
    writes = sure.union(maybe)
    overwritten = _meet(writes, sure, before).apply_range(_meet(sure, reads, before))
    left = _meet(writes, reads, before).subtract(overwritten)
    return left.apply_domain(writes.domain_map()).apply_range(reads.domain_map()).coalesce()


def _meet(sources: isl.UnionMap, sinks: isl.UnionMap, before: isl.UnionMap) -> isl.UnionMap:
    """`{ [source -> element] -> [sink -> element] }` of the accesses of which the first runs before."""
    same = sources.range_map().apply_range(sinks.range_map().reverse())
    ordered = sources.domain_map().apply_range(before).apply_range(sinks.domain_map().reverse())
    return same.intersect(ordered)


def false_dependences(scop: Scop) -> isl.UnionMap:
    """From each access to the later writes of the same element."""
    reads, sure, maybe = _accesses(scop)
    writes = sure.union(maybe)
    everything = reads.union(writes)
    pairs = everything.apply_range(writes.reverse())
    order = dates(scop)
    return pairs.intersect(order.lex_lt_union_map(order)).coalesce()


def all_dependences(scop: Scop) -> isl.UnionMap:
    """Pairs of instances that access one element, at least one writing, in the order they run."""
    reads, sure, maybe = _accesses(scop)
    writes = sure.union(maybe)
    order = dates(scop)
    before = order.lex_lt_union_map(order)
    forward = writes.apply_range(reads.reverse()).union(reads.apply_range(writes.reverse()))
    return forward.union(writes.apply_range(writes.reverse())).intersect(before).coalesce()


def _accesses(scop: Scop) -> tuple[isl.UnionMap, isl.UnionMap, isl.UnionMap]:
    """Reads, sure writes and possible writes."""
    reads, sure, maybe = (isl.UnionMap("{ }") for _ in range(3))
    for access in scop.accesses:
        relation = access.relation.to_union_map()
        if access.kind == "read":
            reads = reads.union(relation)
        elif access.exact and not scop.statements[access.statement].guards:
            sure = sure.union(relation)
        else:
            maybe = maybe.union(relation)
    return reads, sure, maybe
