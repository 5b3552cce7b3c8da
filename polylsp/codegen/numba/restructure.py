"""Loops of Python rewritten so that Numba can run some of them in parallel. Each rewriting is held against
the dependences; the text that it makes is read and analysed like any other, and `prange` rests on what is
found there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from polylsp.codegen import numba
from polylsp.codegen.numba.local import created_inside
from polylsp.codegen.numba.reorder import interchanged, skewed
from polylsp.codegen.numba.source import Source, source_of
from polylsp.codegen.numba.split import distributed, parted
from polylsp.codegen.numba.sums import summed_apart
from polylsp.codegen.rewriting import differences
from polylsp.codegen.subject import Again, Subject
from polylsp.model.action import Answer, Declined, Edited, Replacement, applied
from polylsp.model.facts import LoopFacts
from polylsp.model.roots import is_governed, parallel_roots

Step = Callable[[Source, int], Answer]


def edit(subject: Subject, ordinal: int, again: Again) -> Answer:
    """`prange` in each loop that runs in parallel when loop `ordinal` is asked to; where none does, or
    another order of the loops is better, in loops that are rewritten for it."""
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
    return why


def _possible(subject: Subject, ordinal: int) -> Iterator[tuple[Step, int]]:
    """What may help, each with the loop that it is about: what makes the largest pieces of work first. Sums
    are taken apart only where that very loop is asked for: threads for an innermost loop seldom pay."""
    yield created_inside, ordinal
    for each in _inside(subject.facts.loops, ordinal):
        yield parted, each.ordinal
    yield skewed, ordinal
    yield distributed, ordinal
    yield summed_apart, ordinal


def _made(replacements: Sequence[Replacement]) -> tuple[int, int]:
    """Where what was replaced begins and ends in the text that was made."""
    grown = sum(len(each.text) - (each.span.end - each.span.start) for each in replacements)
    return min(each.span.start for each in replacements), max(each.span.end for each in replacements) + grown


def _parallel(subject: Subject, start: int, end: int) -> Iterator[LoopFacts]:
    """The loops that run in parallel when those are asked to which stand in a part of the text."""
    loops = subject.facts.loops
    here = {loop.ordinal for loop in loops if start <= subject.span(loop.header).start < end}
    outermost = (loop for loop in loops if loop.ordinal in here and loop.parent not in here)
    roots = (root for loop in outermost for root in parallel_roots(subject.facts, loop.ordinal))
    free = (root for root in roots if not is_governed(subject.facts, root.ordinal))
    yield from dict.fromkeys(free)


def _inside(loops: tuple[LoopFacts, ...], ordinal: int) -> Iterator[LoopFacts]:
    """A loop, and those in it."""
    found: set[int] = set()
    for loop in loops:
        if loop.ordinal == ordinal or loop.parent in found:
            found.add(loop.ordinal)
            yield loop


def _rewritten(source: Source, step: Step, root: int, again: Again) -> Answer | None:
    """Both as one edit: the rewriting, and `prange` in what comes of it; `None` where there is nothing to be
    rewritten, or no loop of what is made is parallel."""
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
