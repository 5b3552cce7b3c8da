"""Rewriting of Python loops so that Numba can run some of them in parallel. Each rewriting is checked against
the dependences; the new text is read and analysed like any other, and `prange` rests on that analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from polylsp.codegen import numba
from polylsp.codegen.numba.local import created_inside
from polylsp.codegen.numba.reorder import interchanged, skewed
from polylsp.codegen.numba.source import Source, source_of
from polylsp.codegen.numba.spell_out import spelled_out
from polylsp.codegen.numba.split import distributed, parted
from polylsp.codegen.numba.sums import summed_apart
from polylsp.codegen.rewriting import differences
from polylsp.codegen.subject import Again, Subject
from polylsp.model.action import Answer, Declined, Edited, Replacement, applied
from polylsp.model.facts import LoopFacts
from polylsp.model.roots import is_governed, parallel_roots

Step = Callable[[Source, int], Answer]


def edit(subject: Subject, ordinal: int, again: Again) -> Answer:
    """`prange` in each loop that runs in parallel for loop `ordinal`; where none does, or another order of
    the loops is better, in loops that are rewritten for it."""
    source = source_of(subject)
    if isinstance(source, Declined):
        return source
    if all(root.depth > subject.known(ordinal).depth for root in parallel_roots(subject.facts, ordinal)):
        # Threads that start once do better than those that start in each iteration of a loop around theirs.
        made = _rewritten(source, interchanged, ordinal, again)
        if isinstance(made, Edited):
            return made
    direct = why = numba.edit(subject, ordinal)
    if isinstance(direct, Edited):
        return direct
    for step, root in _possible(subject, ordinal):
        made = _rewritten(source, step, root, again)
        if isinstance(made, Edited):
            return made
        # What stands in the way of a form with parallel loops says more than why there are none as it is.
        why = why if made is None else made
    inner = numba.narrower(subject, ordinal)
    made = numba.edit_loops(subject, inner) if inner else why
    return made if isinstance(made, Edited) else why


def _possible(subject: Subject, ordinal: int) -> Iterator[tuple[Step, int]]:
    """Candidate rewritings, each with the loop that it is about: those with the largest pieces of work first.
    Sums are split only where that very loop was requested: threads for an innermost loop seldom pay."""
    yield created_inside, ordinal
    yield spelled_out, ordinal
    for each in _inside(subject.facts.loops, ordinal):
        yield parted, each.ordinal
    yield skewed, ordinal
    yield distributed, ordinal
    yield summed_apart, ordinal


def _made(replacements: Sequence[Replacement]) -> tuple[int, int]:
    """Start and end of the replaced part in the new text."""
    grown = sum(len(each.text) - (each.span.end - each.span.start) for each in replacements)
    return min(each.span.start for each in replacements), max(each.span.end for each in replacements) + grown


def _parallel(subject: Subject, start: int, end: int) -> Iterator[LoopFacts]:
    """Loops that run in parallel on behalf of those in a part of the text."""
    loops = subject.facts.loops
    here = {loop.ordinal for loop in loops if start <= subject.span(loop.header).start < end}
    outermost = (loop for loop in loops if loop.ordinal in here and loop.parent not in here)
    roots = (root for loop in outermost for root in _chosen(subject, loop.ordinal))
    free = (root for root in roots if not is_governed(subject.facts, root.ordinal))
    yield from dict.fromkeys(free)


def _chosen(subject: Subject, ordinal: int) -> tuple[LoopFacts, ...]:
    """The parallel loops in and around a loop that one would choose, or where none can be, those inside."""
    first = parallel_roots(subject.facts, ordinal)
    return first if isinstance(numba.edit_loops(subject, first), Edited) else numba.narrower(subject, ordinal)


def _inside(loops: tuple[LoopFacts, ...], ordinal: int) -> Iterator[LoopFacts]:
    """A loop, and those in it."""
    found: set[int] = set()
    for loop in loops:
        if loop.ordinal == ordinal or loop.parent in found:
            found.add(loop.ordinal)
            yield loop


def _rewritten(source: Source, step: Step, root: int, again: Again) -> Answer | None:
    """Rewriting and `prange` as one edit; `None` where no rewriting applies, or no loop of the result is
    parallel."""
    first = step(source, root)
    if isinstance(first, Declined):
        return None
    before = source.subject.text
    now = again(applied(before, first.replacements))
    roots = tuple(_parallel(now, *_made(first.replacements))) if now is not None else ()
    if now is None or not roots:
        return None
    answer = numba.edit_loops(now, roots)
    if isinstance(answer, Declined):
        return answer
    whole = tuple(differences(before, applied(now.text, answer.replacements)))
    assumed = tuple(dict.fromkeys((*first.assumptions, *answer.assumptions)))
    return Edited(whole, assumed, (*first.remarks, *answer.remarks))
