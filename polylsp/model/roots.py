"""Loops that an action on a loop applies to."""

from __future__ import annotations

from polylsp.model.facts import FunctionFacts, LoopFacts
from polylsp.model.verdict import Parallel


def parallel_roots(facts: FunctionFacts, ordinal: int) -> tuple[LoopFacts, ...]:
    """The loops that run in parallel when a person asks it of loop `ordinal`: the outermost parallel loop
    among it and those around it; else the outermost parallel loops inside it, but no innermost ones
    where there are others: these seldom do enough for threads to start each time."""
    by_ordinal = {loop.ordinal: loop for loop in facts.loops}
    chosen = by_ordinal[ordinal]
    outer = [one for one in (*_around(chosen, by_ordinal), chosen) if isinstance(one.verdict, Parallel)]
    if outer:
        return (outer[0],)
    inner = [loop for loop in _inside(chosen, facts) if not is_governed(facts, loop.ordinal)]
    parents = {loop.parent for loop in facts.loops}
    return tuple([loop for loop in inner if loop.ordinal in parents] or inner)


def is_governed(facts: FunctionFacts, ordinal: int) -> bool:
    """True if a directive of the source already runs a loop, or the code around it, in parallel."""
    return any(d.parallel and ordinal in (*d.loops, *d.inside) for d in facts.directives)


def _around(loop: LoopFacts, by_ordinal: dict[int, LoopFacts]) -> tuple[LoopFacts, ...]:
    """The loops around a loop, outermost first."""
    parent = by_ordinal.get(loop.parent)
    return (*_around(parent, by_ordinal), parent) if parent is not None else ()


def _inside(loop: LoopFacts, facts: FunctionFacts) -> list[LoopFacts]:
    found: list[LoopFacts] = []
    for inner in facts.loops:
        if inner.parent == loop.ordinal:
            found += [inner] if isinstance(inner.verdict, Parallel) else _inside(inner, facts)
    return found
