"""Steps of restructuring that make loops which can run at once where there are none, or few: time tiles,
strips, cuts, wavefronts."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.codegen.subject import Subject
from polylsp.codegen.transform import (
    elimination,
    in_place,
    panel,
    parting,
    scratch_rows,
    skew,
    strips,
    sum_tiles,
    time_tile,
)
from polylsp.codegen.transform.chain import Chain, chain_inside
from polylsp.codegen.transform.composing import State, attempted, depth_inside, limited, stands_in_tiles
from polylsp.codegen.transform.splitting import split_all
from polylsp.model.action import Answer, Declined, Edited, applied
from polylsp.model.facts import LoopFacts
from polylsp.model.verdict import Parallel, Sequential


def time_tiles(state: State) -> bool:
    """Blocks for loops that come back to the same grid in each iteration, the last one first, so that those
    before it keep their numbers; whether there were any."""
    made = False
    for ordinal in [loop.ordinal for loop in reversed(state.subject.facts.loops) if loop.depth == 1]:
        plan = limited(state.settings, lambda o=ordinal: time_tile.planned(state.subject, o, state.settings))
        if not isinstance(plan, time_tile.Plan) or not time_tile.comes_back(plan):
            continue
        made |= state.make(time_tile.made(state.subject, plan))
    return made


def sums_in_place(state: State) -> bool:
    """Replace sums by updates of the elements that they end in, which reveals eliminations and products; true
    if there were any."""
    made = False
    for ordinal in [loop.ordinal for loop in reversed(state.subject.facts.loops) if loop.depth == 1]:
        made |= attempted(state, lambda tried, o=ordinal: _helps_in_place(tried, o))
    return made


def _helps_in_place(state: State, root: int) -> bool:
    loops = [each.ordinal for each in state.subject.facts.loops if root in _ancestry(state.subject, each)]
    held = False
    for ordinal in loops if depth_inside(state.subject, state.subject.known(root)) > 1 else ():
        while state.make(limited(state.settings, lambda o=ordinal: in_place.edit(state.subject, o))):
            held = True
    return held and (_is_eliminated(state, root) or attempted(state, lambda s: _is_product(s, loops)))


def _is_product(state: State, loops: list[int]) -> bool:
    """True if there are products in a nest, whose loops follow each other, once it is split."""
    behind = len(state.subject.facts.loops) - loops[-1]

    def inside() -> list[int]:
        return list(range(loops[0], len(state.subject.facts.loops) - behind + 1))

    split_all(state, inside)
    chains = (chain_inside(state.subject, ordinal) for ordinal in inside())
    found = {chain.ordinals: chain for chain in chains if isinstance(chain, Chain)}
    return panel.made(state, list(found.values()))


def eliminations(state: State) -> bool:
    """Blocks of terms where elements need each other one after the other, if most of the work is a product
    then; whether there were any."""
    made = False
    for loop in reversed(state.subject.facts.loops):
        if loop.depth == 1:
            made |= _is_eliminated(state, loop.ordinal)
    return made


def _is_eliminated(state: State, root: int) -> bool:
    loop = state.subject.known(root)
    if depth_inside(state.subject, loop) != 2 or not isinstance(loop.verdict, Sequential):
        return False
    answer = limited(state.settings, lambda: elimination.blocked(state.subject, root, state.settings))
    return attempted(state, lambda tried: tried.make(answer) and _ends_in_product(tried, root))


def _ends_in_product(state: State, root: int) -> bool:
    """True if the last loops in a nest are a product; its tiles are generated then."""
    inside = [each.ordinal for each in state.subject.facts.loops if root in _ancestry(state.subject, each)]
    chain = chain_inside(state.subject, inside[-1])
    return isinstance(chain, Chain) and panel.made(state, [chain])


def _ancestry(subject: Subject, loop: LoopFacts) -> set[int]:
    return {loop.ordinal, *(each.ordinal for each in subject.around(loop.ordinal))}


def tiles_of_sums(state: State) -> bool:
    """Tiles of products that add up in a scalar, or in a scratch array; whether there were any."""
    made = False
    for ordinal in [loop.ordinal for loop in reversed(state.subject.facts.loops)]:
        made |= sum_tiles.made(state, ordinal) or scratch_rows.made(state, ordinal)
    return made


def cut_in_strips(state: State) -> bool:
    """Strips of loops that hold a scalar for loops that jump through memory; whether there were any."""
    made = False
    for ordinal in [loop.ordinal for loop in reversed(state.subject.facts.loops) if loop.depth == 2]:
        steps = limited(state.settings, lambda o=ordinal: strips.steps(state.subject, o, state.settings))
        if not isinstance(steps, Declined):
            made |= attempted(state, lambda s, e=steps: all(s.make(step(s.subject)) for step in e))
    return made


def partings(state: State) -> Iterator[Answer]:
    """Cuts of sequential loops at the value of a counter around them, where all but one iteration of each
    are then free."""
    for loop in state.subject.facts.loops:
        if not isinstance(loop.verdict, Sequential) or stands_in_tiles(state.subject, loop.ordinal):
            continue
        if not depth_inside(state.subject, loop) and not _is_free(state.subject, loop.parent):
            continue
        for outer in state.subject.around(loop.ordinal):
            answer = limited(
                state.settings, lambda i=loop.ordinal, o=outer.ordinal: parting.parted(state.subject, i, o)
            )
            if isinstance(answer, Edited) and _frees(state, loop, answer):
                yield answer


def _frees(state: State, loop: LoopFacts, answer: Edited) -> bool:
    """True if the first and the last part of a loop that was cut in three can run in parallel."""
    after = state.again(applied(state.subject.text, answer.replacements))
    if after is None:
        return False
    parts = [each for each in after.facts.loops if each.ordinal >= loop.ordinal]
    parts = [each for each in parts if (each.parent, each.iterator) == (loop.parent, loop.iterator)]
    return all(isinstance(each.verdict, Parallel) for each in parts[:2])


def _is_free(subject: Subject, ordinal: int | None) -> bool:
    return bool(ordinal) and isinstance(subject.known(ordinal or 0).verdict, Parallel)


def wavefronts(state: State) -> Iterator[Answer]:
    """Wavefronts in place of the two innermost loops in tiles, where each iteration waits for the one before:
    a processor then works at several iterations at once."""
    for loop in state.subject.facts.loops:
        innermost = isinstance(loop.verdict, Sequential) and not depth_inside(state.subject, loop)
        if innermost and stands_in_tiles(state.subject, loop.ordinal):
            yield limited(state.settings, lambda o=loop.ordinal: skew.innermost(state.subject, o))


def deep_wavefronts(state: State) -> Iterator[Answer]:
    """Wavefronts of two loops, none of which can run in parallel, around others: each point is work enough to
    start threads for (dynamic programming over two counters)."""
    for loop in state.subject.facts.loops:
        if loop.depth > 1 or depth_inside(state.subject, loop) < 2:
            continue
        chain = chain_inside(state.subject, loop.ordinal)
        if not isinstance(chain, Chain) or len(chain.ordinals) < 2:
            continue
        pair = chain.part(0, 2)
        if not any(isinstance(state.subject.known(o).verdict, Parallel) for o in pair.ordinals):
            yield limited(state.settings, lambda c=pair: skew.skewed(state.subject, c))
