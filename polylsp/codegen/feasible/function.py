"""Trial of each action on each loop of a function."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.codegen.feasible.helpful import expands_to_split, fused_pair, fuses_well, reuses, rewritten
from polylsp.codegen.feasible.speed import faster
from polylsp.codegen.feasible.trials import Trials
from polylsp.codegen.rewriting import without_hints
from polylsp.codegen.slices import loops_of
from polylsp.codegen.transform.chain import Chain, chain_around
from polylsp.codegen.work import work_of
from polylsp.language import C
from polylsp.model.action import (
    KERNELS_OF,
    TARGETS_OF,
    WHOLE_FUNCTION,
    Declined,
    Edited,
    TransformName,
)
from polylsp.model.facts import LoopFacts
from polylsp.model.feasibility import Feasibility, Possible, Refused, lines_moved
from polylsp.model.roots import is_governed, parallel_roots
from polylsp.model.verdict import Parallel, Sequential

_CHAINED: tuple[TransformName, ...] = ("interchange", "skew", "tile")
"""Transforms with the same result for all loops of a perfect nest."""

_REWRITING: tuple[TransformName, ...] = ("rewrite-reduction", "substitute-induction")
"""Transforms that rewrite a loop's computation, so that its iterations can run in any order."""


def feasibility(trials: Trials) -> Feasibility:
    """The actions of a function that have an edit and help, and why the directives that do not have one
    are refused; as much of it as the trials have time for."""
    possible: list[Possible] = []
    refused: list[Refused] = []
    transformed = trials.subject.language == C.name
    for loop in trials.subject.facts.loops:
        refused += _refused(trials, loop)
        if not transformed:
            possible += [*_rewritten(trials, loop), *_on_slices(trials, loop), *_from_copies(trials, loop)]
        if transformed:
            possible += [*_assumed(trials, loop), *_chained(trials, loop), *_alone(trials, loop)]
    if transformed:
        refused += _not_together(trials)
        possible += faster(trials)
    refused += _without_kernels(trials)
    return Feasibility(tuple(possible), tuple(refused), tuple(_operations(trials)))


# --- Directives --------------------------------------------------------------------------


def _roots(trials: Trials, loop: LoopFacts) -> tuple[LoopFacts, ...]:
    """Loops that would get a directive when loop `loop` is to run in parallel."""
    facts = trials.subject.facts
    roots = parallel_roots(facts, loop.ordinal)
    return () if any(is_governed(facts, root.ordinal) for root in roots) else roots


def _without_kernels(trials: Trials) -> Iterator[Refused]:
    """Loops without kernels: loops of one nest are tried together."""
    above = trials.subject.text.count("\n", 0, trials.subject.start)
    target = KERNELS_OF[trials.subject.language]
    for loop in trials.subject.facts.loops:
        inside = trials.subject.nest(loop.ordinal)
        if inside is None or not _roots(trials, loop):
            continue
        around = (*trials.subject.around(loop.ordinal), loop)
        outer = next(each.ordinal for each in around if each.ordinal in inside[0].loops)
        found = trials.answer(target, loop.ordinal, outer)
        if isinstance(found, Declined):
            yield Refused(target, loop.ordinal, lines_moved(found.reason, -above))


def _refused(trials: Trials, loop: LoopFacts) -> Iterator[Refused]:
    roots = _roots(trials, loop)
    if not roots:
        return
    ordinals = tuple(root.ordinal for root in roots)
    around = loop.ordinal if roots[0].depth > loop.depth else 0
    above = trials.subject.text.count("\n", 0, trials.subject.start)
    for target in TARGETS_OF[trials.subject.language]:
        found = trials.answer(target, loop.ordinal, (ordinals, around))
        if isinstance(found, Declined):
            yield Refused(target, loop.ordinal, lines_moved(found.reason, -above))


def _rewritten(trials: Trials, loop: LoopFacts) -> Iterator[Possible]:
    """Rewriting of an outermost loop of Python without any parallel one so that there are some."""
    if loop.depth > 1 or _roots(trials, loop) or is_governed(trials.subject.facts, loop.ordinal):
        return
    for target in TARGETS_OF[trials.subject.language]:
        found = trials.answer(target, loop.ordinal, loop.ordinal)
        if isinstance(found, Edited):
            yield Possible(target, loop.ordinal, (loop.ordinal,), assumptions=found.assumptions)


def _on_slices(trials: Trials, loop: LoopFacts) -> Iterator[Possible]:
    """Rewriting of a loop to a statement on slices, where that is impossible together with those around
    it."""
    above = trials.subject.around(loop.ordinal)
    if any(trials.succeeds("slices", each.ordinal, each.ordinal) for each in above):
        return
    found = trials.answer("slices", loop.ordinal, loop.ordinal)
    if isinstance(found, Edited):
        loops = loops_of(trials.subject, loop.ordinal)
        yield Possible("slices", loop.ordinal, loops, assumptions=found.assumptions)


def _from_copies(trials: Trials, loop: LoopFacts) -> Iterator[Possible]:
    """Parallelisation of a loop by reading from copies of arrays."""
    if isinstance(loop.verdict, Sequential) and loop.verdict.former:
        found = trials.answer("copy", loop.ordinal, loop.ordinal)
        if isinstance(found, Edited):
            yield Possible("copy", loop.ordinal, (loop.ordinal,), assumptions=found.assumptions)


def _not_together(trials: Trials) -> Iterator[Refused]:
    """The targets on which the parallel loops of the function cannot run all at once."""
    facts = trials.subject.facts
    outermost = [loop.ordinal for loop in facts.loops if loop.depth == 1]
    if sum(len(parallel_roots(facts, ordinal)) for ordinal in outermost) < 2:
        return
    above = trials.subject.text.count("\n", 0, trials.subject.start)
    for target in WHOLE_FUNCTION:
        found = trials.answer(target, 0, 0)
        if isinstance(found, Declined):
            yield Refused(target, 0, lines_moved(found.reason, -above))


def _operations(trials: Trials) -> Iterator[tuple[int, int]]:
    """Number of operations of each loop that can run in parallel, where it is a constant."""
    subject = trials.subject
    for root in subject.facts.loops:
        if not isinstance(root.verdict, Parallel):
            continue
        work = trials.limited(lambda r=root: work_of(subject, r))
        if work is not None and not work.factors:
            yield root.ordinal, work.known


# --- Assumptions -------------------------------------------------------------------------


def _assumed(trials: Trials, loop: LoopFacts) -> Iterator[Possible]:
    """Edits that make an assumption true, or check it."""
    if _no_overlap(loop) and trials.succeeds("restrict", loop.ordinal, loop.ordinal):
        yield Possible("restrict", loop.ordinal, (loop.ordinal,))
    roots = _roots(trials, loop)
    chosen = tuple(root.ordinal for root in roots)
    if len(roots) == 1 and _no_overlap(roots[0]) and trials.succeeds("overlap-check", loop.ordinal, chosen):
        yield Possible("overlap-check", loop.ordinal, chosen)


def _no_overlap(loop: LoopFacts) -> bool:
    verdict = loop.verdict
    return isinstance(verdict, Parallel) and any(each.kind == "no-overlap" for each in verdict.assumptions)


# --- Orders ------------------------------------------------------------------------------


def _chained(trials: Trials, loop: LoopFacts) -> Iterator[Possible]:
    subject = trials.subject
    bare = trials.limited(lambda: without_hints(subject, loop.ordinal, trials.again)) or subject
    chain = trials.limited(lambda: chain_around(bare, loop.ordinal))
    if not isinstance(chain, Chain) or len(chain.ordinals) < 2:
        return
    for action in _CHAINED:
        if action == "tile" and not reuses(subject, chain):
            continue
        found = trials.answer(action, loop.ordinal, chain.ordinals)
        if isinstance(found, Edited):
            # Lines alone are replaced where hints go too.
            loops = chain.ordinals if bare is not subject else rewritten(subject, chain, found)
            yield Possible(action, loop.ordinal, loops, assumptions=found.assumptions)


def _alone(trials: Trials, loop: LoopFacts) -> Iterator[Possible]:
    """The transforms of one loop, and of two neighbours."""
    ordinal, parallel = loop.ordinal, isinstance(loop.verdict, Parallel)
    own: TransformName = "privatize" if parallel else "distribute"
    if trials.succeeds(own, ordinal, ordinal):
        yield Possible(own, ordinal, (ordinal,))
    for action in _REWRITING:
        if parallel and trials.succeeds(action, ordinal, ordinal):
            yield Possible(action, ordinal, (ordinal,))
    yield from _from_copies(trials, loop)
    helps = not parallel and expands_to_split(trials.subject, loop)
    if helps and trials.succeeds("expand", ordinal, ordinal):
        yield Possible("expand", ordinal, (ordinal,))
    fused = trials.answer("fuse", ordinal, ordinal)
    if isinstance(fused, Edited):
        pair = fused_pair(trials.subject, loop, fused)
        if fuses_well(trials.subject, pair, fused):
            loops = tuple(each.ordinal for each in pair)
            yield Possible("fuse", ordinal, loops, assumptions=fused.assumptions)
