"""Chains of a nest's loops, the dependences that bind their order, and the band that they form."""

from __future__ import annotations

import islpy as isl

from polylsp.analysis.conflicts import Conflict, Conflicts
from polylsp.analysis.private import is_copied
from polylsp.model.facts import Band
from polylsp.model.scop import Scop
from polylsp.model.verdict import Parallel, Verdict


def source_band(conflicts: Conflicts, verdicts: dict[int, Verdict]) -> Band:
    """The outermost loops that are permutable: no dependence among them goes backwards in any; a
    loop is coincident if none changes it."""
    chain = loop_chain(conflicts.scop) or list(conflicts.scop.loops)[:1]
    relevant = [c for o in chain for c in binding(conflicts, o, verdicts)]
    every = [c for o in chain for c in binding(conflicts, o, verdicts, updates=True)]
    members: list[int] = []
    for number, ordinal in enumerate(chain):
        loop = conflicts.scop.loops[ordinal]
        if loop.obstacles or any(_goes_back(conflicts, c, number, loop.direction) for c in relevant):
            break
        members.append(ordinal)
    members = members or chain[:1]
    coincident = tuple(
        not conflicts.scop.loops[o].obstacles
        and conflicts.scop.loops[o].thread_bound is None
        and not any(changes(c, k) for c in every if spans(conflicts, c, k))
        for k, o in enumerate(members)
    )
    permutable = not conflicts.scop.loops[members[0]].obstacles
    return Band(tuple(members), permutable, coincident)


def loop_chain(scop: Scop) -> list[int]:
    """The loops from the outermost one inwards, as long as each has exactly one loop in it and no
    statement beside it."""
    chain: list[int] = []
    inside = list(scop.statements)
    while True:
        depth = len(chain)
        heads = {s.loops[depth] for s in inside if len(s.loops) > depth}
        if len(heads) != 1 and not chain and heads:
            chain.append(min(heads))
            inside = [s for s in inside if len(s.loops) > depth and s.loops[depth] == chain[0]]
            continue
        if len(heads) != 1 or (chain and any(len(s.loops) <= depth for s in inside)):
            return chain
        chain.append(heads.pop())
        inside = [s for s in inside if len(s.loops) > depth]


def binding(
    conflicts: Conflicts, ordinal: int, verdicts: dict[int, Verdict], updates: bool = False
) -> list[Conflict]:
    """The conflicts carried by a loop that order its iterations: not those on variables of which each
    iteration has a copy, nor (unless `updates`) those among updates that may be reassociated."""
    free = _copied(verdicts.get(ordinal))
    return [
        c
        for memory in conflicts.written_in(ordinal)
        if not is_copied(memory, free)
        for c in conflicts.carried(memory, ordinal)
        if updates or c.source.update is None or c.source.update != c.sink.update
    ]


def _copied(verdict: Verdict | None) -> set[str]:
    return {*verdict.private, *verdict.lastprivate} if isinstance(verdict, Parallel) else set()


def spans(conflicts: Conflicts, conflict: Conflict, depth: int) -> bool:
    """True if both ends of a conflict stand in the loop at that depth."""
    return min(len(conflicts.statement(a).loops) for a in (conflict.source, conflict.sink)) > depth


def _goes_back(conflicts: Conflicts, conflict: Conflict, depth: int, direction: int) -> bool:
    if not spans(conflicts, conflict, depth):
        return False
    pairs = conflict.relation
    order = pairs.order_gt if direction > 0 else pairs.order_lt
    return not order(isl.dim_type.in_, depth, isl.dim_type.out, depth).is_empty()


def changes(conflict: Conflict, depth: int) -> bool:
    """True if the iterator at that depth differs in some pairs of a conflict."""
    pairs = conflict.relation
    return not pairs.is_subset(pairs.equate(isl.dim_type.in_, depth, isl.dim_type.out, depth))
