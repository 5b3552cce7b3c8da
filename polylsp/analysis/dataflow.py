"""Dependences of a whole nest as isl relations: value-based flow, memory-based anti and output
(Feautrier, Dataflow analysis of array and scalar references, 1991; isl's access analysis)."""

from __future__ import annotations

import islpy as isl

from polylsp.analysis.timetable import dates
from polylsp.model.scop import Scop


def flow(scop: Scop) -> isl.UnionMap:
    """From each write to the reads that get its value, or may get it."""
    reads, sure, maybe = _accesses(scop)
    information = isl.UnionAccessInfo.from_sink(reads)
    information = information.set_must_source(sure).set_may_source(maybe)
    found = information.set_schedule_map(dates(scop)).compute_flow()
    return found.get_may_dependence().coalesce()


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
