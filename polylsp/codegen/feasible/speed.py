"""Transforms that only make loops faster, and where they help."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.analysis.effects import walk
from polylsp.codegen.feasible.helpful import replaced, rewritten
from polylsp.codegen.feasible.trials import Trials
from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.chain import Chain, chain_inside
from polylsp.model.action import ActionName, Edited
from polylsp.model.facts import LoopFacts
from polylsp.model.feasibility import Possible
from polylsp.model.program import Assign, Floating
from polylsp.text import Span

_MOVING: frozenset[ActionName] = frozenset(
    ("distribute", "interchange", "skew", "tile", "time-tile", "unroll-and-jam")
)
"""Parts of restructuring that directives alone do not do."""


def faster(trials: Trials) -> Iterator[Possible]:
    """The transforms of a function's loops that make them faster."""
    for loop in trials.subject.facts.loops:
        yield from _sums(trials, loop)
        yield from _jams(trials, loop)
    yield from _restructured(trials)


def _sums(trials: Trials, loop: LoopFacts) -> Iterator[Possible]:
    """Sums of floating-point numbers: others a compiler adds up in any order by itself."""
    if not _adds_floats(trials.subject, loop):
        return
    made = trials.answer("simd", loop.ordinal, loop.ordinal)
    if isinstance(made, Edited):
        yield Possible("simd", loop.ordinal, (loop.ordinal,), assumptions=made.assumptions)


def _adds_floats(subject: Subject, loop: LoopFacts) -> bool:
    inside = walk(subject.loop(loop.ordinal).body)
    return any(isinstance(s, Assign) and isinstance(s.target.type, Floating) for s in inside)


def _jams(trials: Trials, loop: LoopFacts) -> Iterator[Possible]:
    """Iterations that share loaded elements, if the vector unit runs them."""
    subject = trials.subject
    chain = trials.limited(lambda: chain_inside(subject, loop.ordinal))
    if not isinstance(chain, Chain) or len(chain.ordinals) < 2:
        return
    made = trials.answer("unroll-and-jam", loop.ordinal, chain.ordinals)
    if isinstance(made, Edited) and any("omp simd" in each.text for each in made.replacements):
        loops = rewritten(subject, chain, made)
        if loop.ordinal in loops:
            yield Possible("unroll-and-jam", loop.ordinal, loops, assumptions=made.assumptions)


def _restructured(trials: Trials) -> Iterator[Possible]:
    """All loops of the function at once: offered on each that is rewritten."""
    subject = trials.subject
    made = trials.answer("restructure", subject.facts.loops[0].ordinal, subject.function.name)
    if not isinstance(made, Edited) or _MOVING.isdisjoint(made.parts):
        return
    whole = replaced(made)
    outermost = [each for each in subject.facts.loops if each.depth == 1]
    chosen = [o for o in outermost if _meet(whole, subject.span(o.site))]
    loops = tuple(o.ordinal for o in chosen)
    for loop in subject.facts.loops:
        if any(o.site.first <= loop.site.first <= o.site.last for o in chosen):
            yield Possible("restructure", loop.ordinal, loops, made.parts, made.assumptions)


def _meet(first: Span, second: Span) -> bool:
    return first.start < second.end and second.start < first.end
