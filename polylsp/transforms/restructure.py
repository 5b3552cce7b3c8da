"""Restructuring for locality and parallelism: other transforms, chosen by a model and applied one by one.
After each the new text is analysed, so that each rests on dependences of the text that it changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.subject import Again, Subject
from polylsp.ir.verdict import Parallel
from polylsp.model.action import ActionName, Answer, Declined, Edited, Replacement, applied
from polylsp.model.facts import LoopFacts, is_governed, parallel_roots
from polylsp.schedule.chain import Chain, chain_inside
from polylsp.targets.directives import openmp
from polylsp.transforms import TRANSFORMS, block, distribute, panel, register_tile
from polylsp.transforms.composing import State, depth_inside, joined, limited, stands_in_tiles, until_done
from polylsp.transforms.exposing import (
    cut_in_strips,
    deep_wavefronts,
    eliminations,
    partings,
    sums_in_place,
    tiles_of_sums,
    time_tiles,
    wavefronts,
)

_SELDOM = 2
"""Largest depth of a loop inside sequential ones for threads to start on it."""

_FEW_TEXTS = 4


def restructured(subject: Subject, settings: Settings, again: Again) -> Answer:
    """All loops of the function around a loop, restructured."""
    if subject.facts.directives:
        return Declined("There are directives in this function already: remove them first.")
    # The trial and the final edit give the same text.
    state = State(subject, settings, lru_cache(_FEW_TEXTS)(again))
    timed = time_tiles(state)
    eliminated = eliminations(state)
    in_place = sums_in_place(state)
    in_tiles = tiles_of_sums(state)
    in_strips = cut_in_strips(state)
    parted = until_done(state, partings)
    split = until_done(state, _separations)
    count = len(state.subject.facts.loops)
    products = _products(state)
    moved = until_done(state, _blocks)
    tiled = len(state.subject.facts.loops) > count
    waved = until_done(state, deep_wavefronts)
    threaded = until_done(state, _directives)
    slanted = until_done(state, wavefronts)
    last = _last(state)
    exposed = timed or in_place or in_tiles or in_strips or parted or products or eliminated or waved
    if not exposed and not moved and not last.replacements:
        return Declined("No loops here reuse what they load in a way that another order of them would help.")
    changed = _difference(subject.text, applied(state.subject.text, last.replacements))
    assumed = tuple(dict.fromkeys((*state.assumptions, *last.assumptions)))
    done: tuple[tuple[ActionName, bool], ...] = (
        ("time-tile", timed),
        ("distribute", split or parted or in_tiles),
        ("interchange", moved and not tiled),
        ("tile", tiled or in_place or in_tiles or in_strips),
        ("skew", slanted or waved),
        ("openmp", threaded),
    )
    parts: list[ActionName] = [name for name, is_done in done if is_done]
    return Edited(
        (changed,), assumed, tuple(dict.fromkeys((*state.remarks, *last.remarks))), (*parts, *last.parts)
    )


def _difference(before: str, after: str) -> Replacement:
    """The one stretch in which two texts differ."""
    first = next((k for k, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    limit = min(len(before), len(after)) - first
    same = (k for k in range(limit) if before[-1 - k] != after[-1 - k])
    last = next(same, limit)
    return Replacement(Span(first, len(before) - last), after[first : len(after) - last])


# --- Steps -------------------------------------------------------------------------------


def _separations(state: State) -> Iterator[Answer]:
    """Splits of loops, inner ones before those around them, that leave nests which can be blocked."""
    for loop in reversed(state.subject.facts.loops):
        inside = depth_inside(state.subject, loop)
        if inside and loop.depth + inside > 2 and not stands_in_tiles(state.subject, loop.ordinal):
            answer = limited(state.settings, lambda o=loop.ordinal: distribute.separated(state.subject, o))
            if isinstance(answer, Edited) and _helps(state, loop, answer):
                yield answer


def _helps(state: State, loop: LoopFacts, answer: Edited) -> bool:
    """True if a split of a loop yields a nest that can be blocked."""
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


def _products(state: State) -> bool:
    """Tiles of products of matrices."""
    return panel.made(state, [chain for chain in _chains(state.subject) if not _is_tiled(state, chain)])


def _is_worth_it(subject: Subject, plan: block.Plan) -> bool:
    """True if blocking is more than strip-mining of one loop, or iterations then share loaded data."""
    if plan.reorders or len(plan.points) > 2:
        return True
    return isinstance(_jammed(subject, plan.chain.ordinals[-1], Settings()), Edited)


def _blocks(state: State) -> Iterator[Answer]:
    """Tiles of nests in another order."""
    for chain in _chains(state.subject):
        if _is_tiled(state, chain):
            continue
        plan = limited(state.settings, lambda c=chain: block.planned(state.subject, c))
        if isinstance(plan, block.Plan) and _is_worth_it(state.subject, plan):
            inside_parallel = any(
                isinstance(each.verdict, Parallel) for each in state.subject.around(plan.chain.ordinals[0])
            )
            outermost = state.subject.known(plan.chain.ordinals[0])
            tiled = len(plan.chain.ordinals) > 2 or (not inside_parallel and outermost.depth <= _SELDOM)
            yield limited(
                state.settings,
                lambda p=plan, t=tiled: block.blocked(state.subject, p, state.settings, t),
            )


def _is_tiled(state: State, chain: Chain) -> bool:
    """True if a loop of the chain, or around it, steps from tile to tile."""
    found = state.subject.nest(chain.ordinals[0])
    return found is None or stands_in_tiles(state.subject, chain.ordinals[-1])


def _chains(subject: Subject) -> Iterator[Chain]:
    """The chains that end in an innermost loop."""
    for loop in subject.facts.loops:
        if not depth_inside(subject, loop):
            chain = chain_inside(subject, loop.ordinal)
            if isinstance(chain, Chain) and len(chain.ordinals) > 1:
                yield chain


def _directives(state: State) -> Iterator[Answer]:
    """Directives on the outermost parallel loops."""
    for loop in state.subject.facts.loops:
        roots = parallel_roots(state.subject.facts, loop.ordinal)
        if loop.depth > 1 or any(is_governed(state.subject.facts, root.ordinal) for root in roots):
            continue
        # Sums in the innermost loops of sequential ones are work for the vector unit; in two sequential loops
        # threads would start too often.
        if all(root.depth <= _SELDOM for root in roots) and not any(
            root.depth > 1 and _adds(root) and not depth_inside(state.subject, root) for root in roots
        ):
            yield limited(
                state.settings, lambda o=loop.ordinal: openmp.edit(state.subject, o, state.settings)
            )


def _adds(loop: LoopFacts) -> bool:
    return isinstance(loop.verdict, Parallel) and bool(loop.verdict.reductions)


def _jammed(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """Iterations that run together, where the vector unit takes part in it."""
    answer = TRANSFORMS["unroll-and-jam"](subject, ordinal, settings)
    if isinstance(answer, Edited) and not any("omp simd" in each.text for each in answer.replacements):
        return Declined("The vector unit could not run these iterations together.")
    return answer


def _last(state: State) -> Edited:
    """Several iterations at once where they share loaded elements, and sums for the vector unit: the loops
    are not analysed again after that."""
    made: list[Edited] = []
    parts: dict[ActionName, None] = {}
    for loop in state.subject.facts.loops:
        if depth_inside(state.subject, loop):
            continue
        name: ActionName = "unroll-and-jam"
        answer = limited(
            state.settings,
            lambda o=loop.ordinal: register_tile.edit(state.subject, o, state.settings),
        )
        if isinstance(answer, Declined):
            answer = _jammed(state.subject, loop.ordinal, state.settings)
        if isinstance(answer, Declined):
            name, answer = "simd", TRANSFORMS["simd"](state.subject, loop.ordinal, state.settings)
        if isinstance(answer, Edited):
            made.append(answer)
            parts[name] = None
    return replace(joined(made), parts=tuple(sorted(parts, reverse=True)))
