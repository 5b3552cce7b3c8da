"""Restructuring for locality and parallelism: other transforms, chosen by a model and applied one by one.

After each the new text is analysed, so that each rests on dependences of the text that it changes. First
come the steps that create parallel loops: time tiles, strips, cuts, wavefronts, sum tiles. Where the sums
of a product stand in a scalar, each element of a tile of rows and columns gets a separate sum. The loops
can then be split, and the accumulation is an ordinary product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from math import prod

from polylsp.core.settings import Settings
from polylsp.emit.subject import Again, Subject
from polylsp.ir.effects import effects, loops_in, nodes, walk
from polylsp.ir.program import Read, subexpressions
from polylsp.ir.verdict import Parallel, Sequential
from polylsp.model.action import ActionName, Answer, Declined, Edited, Replacement, applied
from polylsp.model.facts import LoopFacts, is_governed, parallel_roots
from polylsp.schedule.chain import Chain, chain_around, chain_inside, is_homonym, unstable
from polylsp.schedule.statement_leaves import counter, leaves_of, varies
from polylsp.targets.directives import openmp
from polylsp.transforms import (
    block,
    distribute,
    expand,
    overlap,
    panel,
    register_tile,
    right_looking,
    simd,
    skew,
    splitting,
    time_tile,
    transformed,
)
from polylsp.transforms.composing import (
    State,
    attempted,
    depth_inside,
    joined,
    limited,
    stands_in_tiles,
    until_done,
)
from polylsp.transforms.splitting import products_alone, split_all
from polylsp.transforms.tile import axis_of

_COLUMNS, _ROWS = 32, 256
"""Extents of a tile of sums: many rows, for a panel of the product to be used by all of them."""

_MOST_BYTES = 1 << 16
"""Largest size of an array on the stack, in bytes."""


def tile_sums(state: State, ordinal: int) -> bool:
    """Tiles of the loop `ordinal` over columns and the one over rows around it, and of the products inside,
    if these can keep their sums in registers; whether the text is another one now."""
    pair = _pair(state.subject, ordinal)
    return pair is not None and attempted(state, lambda tried: _is_made(tried, pair))


def _pair(subject: Subject, ordinal: int) -> Chain | None:
    """The loop and the one around it, if there are scalars that it shares with loops inside, and these read
    elements common to all rows."""
    chain = chain_around(subject, ordinal)
    if isinstance(chain, Declined) or len(chain.ordinals) < 2 or chain.ordinals[-1] != ordinal:
        return None
    pair = chain.part(len(chain.ordinals) - 2, len(chain.ordinals))
    if not _shares(subject, pair) or next(expand.shared_scalars(subject, ordinal), None) is None:
        return None
    return pair


def _shares(subject: Subject, pair: Chain) -> bool:
    """True if a loop inside of these reads elements that depend on the column, but not on the row."""
    row, column = (counter(subject, each) for each in pair.ordinals)
    for statement in walk(*loops_in(subject.loop(pair.ordinals[1]).body)):
        for value in (node for node in nodes(statement) if isinstance(node, Read) and node.place.steps):
            named = {n.place.variable for n in subexpressions(value) if isinstance(n, Read)}
            if column in named and row not in named:
                return True
    return False


def _is_made(state: State, pair: Chain) -> bool:
    count = len(state.subject.facts.loops)
    if not state.make(limited(state.settings, lambda: _tiled(state, pair))):
        return False
    # There is no loop over tiles where one holds all rows, or all columns.
    added = len(state.subject.facts.loops) - count
    column = pair.ordinals[1] + added
    if added not in (1, 2):
        return False
    expanded = [
        state.make(limited(state.settings, lambda: _expanded(state.subject, column)))
        for _ in list(expand.shared_scalars(state.subject, column))
    ]
    return all(expanded) and products_alone(state, column - 2)


def _tiled(state: State, pair: Chain) -> Answer:
    """The loops in tiles, which have room for declarations."""
    texts = tuple(replace(text, braces="same line") if text.braces == "none" else text for text in pair.texts)
    chain = Chain(pair.ordinals, texts)
    found = unstable(state.subject, chain.ordinals) or leaves_of(state.subject, [chain.leaf])
    if isinstance(found, Declined):
        return found
    if varies(found, 1) is not None:
        return Declined("Iterations of the loop over columns depend on each other.")
    plan = block.Plan(chain, found, (0, 1), tiles=(1, 0), free=frozenset({1}), sizes=(_COLUMNS, _ROWS))
    return block.blocked(state.subject, plan, state.settings)


def _expanded(subject: Subject, column: int) -> Answer:
    """An array with an element for each point of the tile for the first scalar that each sets anew."""
    chain = chain_around(subject, column)
    if isinstance(chain, Declined):
        return chain
    at = chain.ordinals.index(column)
    chain = chain.part(at - 1, at + 1)
    variable = next(expand.shared_scalars(subject, column), None)
    axes = [axis for depth in range(2) if (axis := axis_of(subject, chain, depth)) is not None]
    if variable is None or len(axes) < 2 or prod(axis.size for axis in axes) * 8 > _MOST_BYTES:
        return Declined("The size of a tile is unknown, or too large for a local array.")
    counters = {counter(subject, each) for each in chain.ordinals}
    if any(is_homonym(each, counters) for each in effects(subject.loop(chain.ordinals[0])).variables):
        return Declined("There are two variables of one name here.")
    element = ("".join(f"[{axis.subscript}]" for axis in axes), "".join(f"[{axis.size}]" for axis in axes))
    return expand.expanded(subject, column, chain.texts[0], variable, element)


# --------------------------------------------------------------------------------------------------
# Steps of restructuring that make loops which can run at once where there are none, or few: time
# tiles, strips, cuts, wavefronts.
# --------------------------------------------------------------------------------------------------


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
    """Replace sums by updates of the elements that they end in, which reveals eliminations, products and
    recurrences; true if there were any."""
    made = False
    for ordinal in [loop.ordinal for loop in reversed(state.subject.facts.loops) if loop.depth == 1]:
        made |= attempted(state, lambda tried, o=ordinal: _helps_in_place(tried, o))
    return made


def _helps_in_place(state: State, root: int) -> bool:
    loops = [each.ordinal for each in state.subject.facts.loops if root in _ancestry(state.subject, each)]
    held = False
    for ordinal in loops if depth_inside(state.subject, state.subject.known(root)) > 1 else ():
        while state.make(
            limited(state.settings, lambda o=ordinal: expand.accumulated_in_place(state.subject, o))
        ):
            held = True
    return held and (
        _is_eliminated(state, root)
        or attempted(state, lambda s: _is_product(s, loops))
        or attempted(state, lambda s: _looks_right(s, root))
    )


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
    answer = limited(state.settings, lambda: block.elimination_blocked(state.subject, root, state.settings))
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
        made |= tile_sums(state, ordinal) or splitting.scratch_rows_made(state, ordinal)
    return made


def cut_in_strips(state: State) -> bool:
    """Strips of loops that hold a scalar for loops that jump through memory; whether there were any."""
    made = False
    for ordinal in [loop.ordinal for loop in reversed(state.subject.facts.loops) if loop.depth == 2]:
        steps = limited(state.settings, lambda o=ordinal: splitting.steps(state.subject, o, state.settings))
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
                state.settings, lambda i=loop.ordinal, o=outer.ordinal: splitting.parted(state.subject, i, o)
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


def right_looking_forms(state: State) -> bool:
    """Right-looking forms in blocks of recurrences over two counters, where the loop over terms jumps through
    memory; whether there were any."""
    made = False
    for loop in reversed(state.subject.facts.loops):
        if loop.depth == 1 and depth_inside(state.subject, loop) == 2:
            made |= attempted(state, lambda tried, o=loop.ordinal: _looks_right(tried, o))
    return made


def _looks_right(state: State, root: int) -> bool:
    answer = limited(state.settings, lambda: right_looking.edit(state.subject, root, state.settings))
    # Blocks on a diagonal are the second loop.
    return state.make(answer) and isinstance(state.subject.known(root + 1).verdict, Parallel)


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


# --------------------------------------------------------------------------------------------------
# Restructuring for locality and parallelism: other transforms, chosen by a model and applied one by
# one. After each the new text is analysed, so that each rests on dependences of the text that it
# changes.
# --------------------------------------------------------------------------------------------------


_SELDOM = 2
"""Largest depth of a loop inside sequential ones for threads to start on it."""

_FEW_TEXTS = 4

_CHECKED = (
    "A check before the loops finds out whether they may run in the new order: if not, the old loops run."
)


def restructured(subject: Subject, settings: Settings, again: Again) -> Answer:
    """All loops of the function around a loop, restructured."""
    if subject.facts.directives:
        return Declined("There are directives in this function already: remove them first.")
    # The trial and the final edit give the same text.
    state = State(subject, settings, lru_cache(_FEW_TEXTS)(again))
    timed = time_tiles(state)
    eliminated = eliminations(state)
    in_place = sums_in_place(state)
    handed = right_looking_forms(state)
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
    exposed = (
        timed or in_place or in_tiles or in_strips or parted or products or eliminated or waved or handed
    )
    if not exposed and not moved and not last.replacements:
        return Declined("No loops here reuse what they load in a way that another order of them would help.")
    after = applied(state.subject.text, last.replacements)
    assumed = tuple(dict.fromkeys((*state.assumptions, *last.assumptions)))
    checks = tuple(
        each for each in assumed if each.kind == "no-overlap" or (each.kind == "no-overflow" and each.guard)
    )
    remarks = dict.fromkeys((*state.remarks, *last.remarks))
    changed = limited(settings, lambda: overlap.checked(subject, after, checks)) if checks else None
    if isinstance(changed, Replacement):
        assumed = tuple(each for each in assumed if each not in checks)
        remarks = {**remarks, _CHECKED: None}
    else:
        changed = overlap.difference(subject.text, after)
    done: tuple[tuple[ActionName, bool], ...] = (
        ("time-tile", timed),
        ("distribute", split or parted or in_tiles),
        ("interchange", moved and not tiled),
        ("tile", tiled or in_place or in_tiles or in_strips or handed),
        ("skew", slanted or waved),
        ("openmp", threaded),
    )
    parts: list[ActionName] = [name for name, is_done in done if is_done]
    return Edited((changed,), assumed, tuple(remarks), (*parts, *last.parts))


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
    answer = transformed("unroll-and-jam", subject, ordinal, settings)
    if isinstance(answer, Edited) and "simd" not in answer.parts:
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
        if isinstance(answer, Declined) and simd.pays(state.subject, loop.ordinal):
            name, answer = "simd", transformed("simd", state.subject, loop.ordinal, state.settings)
        if isinstance(answer, Edited):
            made.append(answer)
            parts[name] = None
    return replace(joined(made), parts=tuple(sorted(parts, reverse=True)))
