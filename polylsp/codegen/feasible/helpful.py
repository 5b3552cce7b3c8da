"""Profitability of possible transforms: useless ones are not offered."""

from __future__ import annotations

import islpy as isl

from polylsp.analysis.effects import effects
from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.chain import Chain
from polylsp.codegen.transform.syntax import LoopText, loop_text
from polylsp.model.action import Edited
from polylsp.model.facts import LoopFacts
from polylsp.model.program import Array, Pointer, Variable
from polylsp.model.scop import Access, Scop
from polylsp.model.verdict import Parallel
from polylsp.text import Span

_IN = isl.dim_type.in_
_OUT = isl.dim_type.out


# --- Tiling ------------------------------------------------------------------------------


def reuses(subject: Subject, chain: Chain) -> bool:
    """True if a loop that is not the innermost one reuses memory, a cache line at least, that the loops
    inside it leave (Wolf and Lam 1991): only tiles preserve it in the cache."""
    found = subject.nest(chain.ordinals[0])
    if found is None:
        return False
    scop = found[1].scop
    inside = [a for a in scop.accesses if chain.ordinals[-1] in scop.statements[a.statement].loops]
    return any(_comes_back(scop, each, chain) for each in inside)


def _comes_back(scop: Scop, access: Access, chain: Chain) -> bool:
    statement, dimensions = scop.statements[access.statement], access.memory.dimensions
    if not dimensions:
        return False
    relation = access.relation.gist_domain(statement.domain)
    last = relation.project_out(_OUT, 0, relation.dim(_OUT) - 1)
    first = relation.project_out(_OUT, relation.dim(_OUT) - 1, 1)
    at = [statement.loops.index(ordinal) for ordinal in chain.ordinals]
    for depth, k in enumerate(at[:-1]):
        moves_on = any(relation.involves_dims(_IN, inner, 1) for inner in at[depth + 1 :])
        same = not relation.involves_dims(_IN, k, 1)
        beside = last.involves_dims(_IN, k, 1) and not first.involves_dims(_IN, k, 1) and dimensions > 1
        if moves_on and (same or beside):
            return True
    return False


# --- Which loops, and fusion -------------------------------------------------------------


def fused_pair(subject: Subject, loop: LoopFacts, fused: Edited) -> tuple[LoopFacts, ...]:
    """The two loops that an edit has fused."""
    whole = replaced(fused)
    beside = (each for each in subject.facts.loops if each.parent == loop.parent)
    return tuple(each for each in beside if _holds(whole, subject.span(each.site)))


def fuses_well(subject: Subject, pair: tuple[LoopFacts, ...], fused: Edited) -> bool:
    """True if both loops use an array, which one loop would bring into the cache once, and two loops that can
    run in parallel still can. (`fuse` says in a remark where the new loop can.)"""
    used = [effects(subject.loop(each.ordinal)).variables for each in pair]
    shared = [v for v in frozenset[Variable].intersection(*used) if isinstance(v.type, (Array, Pointer))]
    parallel = [isinstance(each.verdict, Parallel) for each in pair]
    return bool(shared) and (bool(fused.remarks) or not all(parallel))


def rewritten(subject: Subject, chain: Chain, made: Edited) -> tuple[int, ...]:
    """The loops of a chain that an edit has to do with."""
    whole = replaced(made)
    return tuple(o for o in chain.ordinals if _holds(whole, subject.span(subject.known(o).site)))


def replaced(made: Edited) -> Span:
    """Span of all that an edit replaces, with the text between."""
    return made.replacements[0].span.cover(made.replacements[-1].span)


def _holds(whole: Span, part: Span) -> bool:
    return whole.start <= part.start and part.end <= whole.end


# --- Expansion ---------------------------------------------------------------------------


def expands_to_split(subject: Subject, loop: LoopFacts) -> bool:
    """True if some statement of a body takes part in no dependence that the loop carries, other than by
    scalars: split off, it runs in parallel."""
    found, text = subject.nest(loop.ordinal), loop_text(subject, loop.ordinal)
    if found is None or not isinstance(text, LoopText) or len(text.parts) < 2:
        return False
    carried = [
        d
        for d in found[0].dependences
        if d.carrier == loop.ordinal and not (d.source.text == d.source.variable == d.sink.text)
    ]
    places = [subject.span(end.site).start for d in carried for end in (d.source, d.sink)]
    return any(not any(p.whole.start <= at < p.whole.end for at in places) for p in text.parts)
