"""Restructuring for locality and parallelism: other transforms, chosen by a model and made one by one. After
each the new text is analysed, so that each rests on dependences of the text that it changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from polylsp.codegen import openmp
from polylsp.codegen.subject import Again, Subject
from polylsp.codegen.transform import block, distribute, jam, parting, simd, skew, strips, time_tile
from polylsp.codegen.transform.chain import Chain, chain_inside
from polylsp.model.action import Answer, Declined, Edited, Replacement, applied
from polylsp.model.facts import LoopFacts
from polylsp.model.roots import is_governed, parallel_roots
from polylsp.model.verdict import Assumption, Parallel, Sequential
from polylsp.settings import Settings
from polylsp.text import Span

_SELDOM = 2
"""How deep a loop may stand in sequential ones for threads to start on it."""

_FEW_TEXTS = 4


@dataclass
class _State:
    """The text so far, and what was said on the way."""

    subject: Subject
    settings: Settings
    again: Again
    assumptions: dict[Assumption, None] = field(default_factory=dict[Assumption, None])
    remarks: dict[str, None] = field(default_factory=dict[str, None])

    def make(self, answer: Answer) -> bool:
        """Make an edit, if there is one; whether the text is another one now."""
        if isinstance(answer, Declined):
            return False
        after = self.again(applied(self.subject.text, answer.replacements))
        if after is None or after.facts.problems != self.subject.facts.problems:
            return False
        self.subject = after
        self.assumptions.update(dict.fromkeys(answer.assumptions))
        self.remarks.update(dict.fromkeys(answer.remarks))
        return True


def restructured(subject: Subject, settings: Settings, again: Again) -> Answer:
    """All loops of the function around a loop, restructured."""
    if subject.facts.directives:
        return Declined("There are directives in this function already: remove them first.")
    # What is tried and then made is the same text.
    state = _State(subject, settings, lru_cache(_FEW_TEXTS)(again))
    moved = _time_tiles(state) | _strips(state) | _until_done(state, _partings)
    _until_done(state, _separations)
    moved |= _until_done(state, _blocks)
    _until_done(state, _directives)
    _until_done(state, _wavefronts)
    last = _last(state)
    if not moved and not last.replacements:
        return Declined("No loops here reuse what they load in a way that another order of them would help.")
    changed = _difference(subject.text, applied(state.subject.text, last.replacements))
    assumed = tuple(dict.fromkeys((*state.assumptions, *last.assumptions)))
    return Edited((changed,), assumed, tuple(dict.fromkeys((*state.remarks, *last.remarks))))


def _until_done(state: _State, steps: Callable[[_State], Iterator[Answer]]) -> bool:
    """Make the edits that a step offers, the first that there is each time; whether there was any."""
    made = False
    tried: set[str] = set()
    while state.subject.text not in tried:
        tried.add(state.subject.text)
        made |= any(state.make(answer) for answer in steps(state))
    return made


def _difference(before: str, after: str) -> Replacement:
    """The one stretch in which two texts differ."""
    first = next((k for k, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    limit = min(len(before), len(after)) - first
    same = (k for k in range(limit) if before[-1 - k] != after[-1 - k])
    last = next(same, limit)
    return Replacement(Span(first, len(before) - last), after[first : len(after) - last])


# --- Steps -------------------------------------------------------------------------------


def _time_tiles(state: _State) -> bool:
    """Blocks for loops that come back to the same grid in each iteration, the last one first, so that those
    before it keep their numbers; whether there were any."""
    made = False
    for ordinal in [loop.ordinal for loop in reversed(state.subject.facts.loops) if loop.depth == 1]:
        plan = time_tile.planned(state.subject, ordinal, state.settings)
        if not isinstance(plan, time_tile.Plan) or not time_tile.comes_back(plan):
            continue
        made |= state.make(time_tile.made(state.subject, plan))
    return made


def _strips(state: _State) -> bool:
    """Strips of loops that hold a scalar for loops that jump through memory; whether there were any."""
    made = False
    for ordinal in [loop.ordinal for loop in reversed(state.subject.facts.loops) if loop.depth == 2]:
        steps = strips.steps(state.subject, ordinal, state.settings)
        tried = replace(state, assumptions=dict(state.assumptions), remarks=dict(state.remarks))
        if not isinstance(steps, Declined) and all(tried.make(step(tried.subject)) for step in steps):
            made = True
            state.subject, state.assumptions, state.remarks = tried.subject, tried.assumptions, tried.remarks
    return made


def _partings(state: _State) -> Iterator[Answer]:
    """Cuts of sequential loops at the value of a counter around them, where all but one iteration of each
    are then free."""
    for loop in state.subject.facts.loops:
        if not isinstance(loop.verdict, Sequential) or _stands_in_tiles(state.subject, loop.ordinal):
            continue
        if not _depth_inside(state.subject, loop) and not _is_free(state.subject, loop.parent):
            continue
        for outer in state.subject.around(loop.ordinal):
            answer = parting.parted(state.subject, loop.ordinal, outer.ordinal)
            if isinstance(answer, Edited) and _frees(state, loop, answer):
                yield answer


def _frees(state: _State, loop: LoopFacts, answer: Edited) -> bool:
    """Whether the first and the last part of a loop that was cut in three can run in parallel."""
    after = state.again(applied(state.subject.text, answer.replacements))
    if after is None:
        return False
    parts = [each for each in after.facts.loops if each.ordinal >= loop.ordinal]
    parts = [each for each in parts if (each.parent, each.iterator) == (loop.parent, loop.iterator)]
    return all(isinstance(each.verdict, Parallel) for each in parts[:2])


def _is_free(subject: Subject, ordinal: int | None) -> bool:
    return bool(ordinal) and isinstance(subject.known(ordinal or 0).verdict, Parallel)


def _separations(state: _State) -> Iterator[Answer]:
    """Splits of loops, inner ones before those around them, that leave nests which can be blocked."""
    for loop in reversed(state.subject.facts.loops):
        inside = _depth_inside(state.subject, loop)
        if inside and loop.depth + inside > 2 and not _stands_in_tiles(state.subject, loop.ordinal):
            answer = distribute.separated(state.subject, loop.ordinal)
            if isinstance(answer, Edited) and _helps(state, loop, answer):
                yield answer


def _helps(state: _State, loop: LoopFacts, answer: Edited) -> bool:
    """Whether a split of a loop makes a nest that can be blocked."""
    after = state.again(applied(state.subject.text, answer.replacements))
    if after is None:
        return False
    start = state.subject.span(loop.site).start
    end = len(after.text) - (len(state.subject.text) - state.subject.span(loop.site).end)
    return any(
        _is_worth_it(after, plan)
        for chain in _chains(after)
        if start <= after.span(after.known(chain.ordinals[-1]).site).start < end
        and isinstance(plan := block.planned(after, chain), block.Plan)
    )


def _is_worth_it(subject: Subject, plan: block.Plan) -> bool:
    """Whether blocking does more than cut a loop into strips, or iterations then share what they load."""
    if plan.reorders or len(plan.points) > 2:
        return True
    return isinstance(_jammed(subject, plan.chain.ordinals[-1], Settings()), Edited)


def _depth_inside(subject: Subject, loop: LoopFacts) -> int:
    inner = [each for each in subject.facts.loops if each.parent == loop.ordinal]
    return max((1 + _depth_inside(subject, each) for each in inner), default=0)


def _blocks(state: _State) -> Iterator[Answer]:
    """Tiles of nests in another order."""
    for chain in _chains(state.subject):
        plan = None if _is_tiled(state, chain) else block.planned(state.subject, chain)
        if isinstance(plan, block.Plan) and _is_worth_it(state.subject, plan):
            inside_parallel = any(
                isinstance(each.verdict, Parallel) for each in state.subject.around(plan.chain.ordinals[0])
            )
            outermost = state.subject.known(plan.chain.ordinals[0])
            tiled = len(plan.chain.ordinals) > 2 or (not inside_parallel and outermost.depth <= _SELDOM)
            yield block.blocked(state.subject, plan, state.settings, tiled)


def _is_tiled(state: _State, chain: Chain) -> bool:
    """Whether a loop of the chain, or around it, steps from tile to tile."""
    found = state.subject.nest(chain.ordinals[0])
    return found is None or _stands_in_tiles(state.subject, chain.ordinals[-1])


def _stands_in_tiles(subject: Subject, ordinal: int) -> bool:
    found = subject.nest(ordinal)
    around = [*(each.ordinal for each in subject.around(ordinal)), ordinal]
    loops = found[1].scop.loops if found is not None else {}
    return any(abs(loops[o].step) > 1 for o in around if o in loops)


def _chains(subject: Subject) -> Iterator[Chain]:
    """The chains that end in an innermost loop."""
    for loop in subject.facts.loops:
        if not _depth_inside(subject, loop):
            chain = chain_inside(subject, loop.ordinal)
            if isinstance(chain, Chain) and len(chain.ordinals) > 1:
                yield chain


def _directives(state: _State) -> Iterator[Answer]:
    """Directives on the outermost parallel loops."""
    for loop in state.subject.facts.loops:
        roots = parallel_roots(state.subject.facts, loop.ordinal)
        if loop.depth > 1 or any(is_governed(state.subject.facts, root.ordinal) for root in roots):
            continue
        # Sums in the innermost loops of sequential ones are work for the vector unit; in two sequential loops
        # threads would start too often.
        if all(root.depth <= _SELDOM for root in roots) and not any(
            root.depth > 1 and _adds(root) and not _depth_inside(state.subject, root) for root in roots
        ):
            yield openmp.edit(state.subject, loop.ordinal, state.settings)


def _wavefronts(state: _State) -> Iterator[Answer]:
    """Wavefronts in place of the two innermost loops in tiles, where each iteration waits for the one before:
    a processor then works at several iterations at once."""
    for loop in state.subject.facts.loops:
        innermost = isinstance(loop.verdict, Sequential) and not _depth_inside(state.subject, loop)
        if innermost and _stands_in_tiles(state.subject, loop.ordinal):
            yield skew.innermost(state.subject, loop.ordinal)


def _adds(loop: LoopFacts) -> bool:
    return isinstance(loop.verdict, Parallel) and bool(loop.verdict.reductions)


def _jammed(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """Iterations that run together, where the vector unit takes part in it."""
    answer = jam.edit(subject, ordinal, settings)
    if isinstance(answer, Edited) and not any("omp simd" in each.text for each in answer.replacements):
        return Declined("The vector unit could not run these iterations together.")
    return answer


def _last(state: _State) -> Edited:
    """Several iterations at once where they share what they load, and sums for the vector unit: the loops are
    not analysed again after that."""
    made: list[Edited] = []
    for loop in state.subject.facts.loops:
        if _depth_inside(state.subject, loop):
            continue
        answer = _jammed(state.subject, loop.ordinal, state.settings)
        if isinstance(answer, Declined):
            answer = simd.edit(state.subject, loop.ordinal, state.settings)
        made += [answer] if isinstance(answer, Edited) else []
    return Edited(
        tuple(sorted((r for one in made for r in one.replacements), key=lambda r: r.span)),
        tuple(a for one in made for a in one.assumptions),
        tuple(r for one in made for r in one.remarks),
    )
