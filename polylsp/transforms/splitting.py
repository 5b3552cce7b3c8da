"""Splits of loops that isolate products: repeated distribution, index sets, and strips.

Index set splitting divides a loop into the iterations below, at and above the counter of a loop
around it (Griebl, Feautrier and Lengauer 2000). Strips turn a scalar that loops with large strides
use into a small array, so that the loop along memory comes inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.emit.c_text import Made, kept, replaced, style_of
from polylsp.emit.subject import Subject
from polylsp.model.action import Answer, Declined, Edited
from polylsp.schedule.chain import Chain, chain_around, chain_inside, is_directed, opened, unstable
from polylsp.schedule.locality import walks_along
from polylsp.schedule.loop_headers import iterations, spelled
from polylsp.schedule.statement_leaves import counter, leaves_of, varies
from polylsp.transforms import block, distribute, expand, panel
from polylsp.transforms.composing import State, limited

# --------------------------------------------------------------------------------------------------
# Splits of loops one after the other, so that the products among them get separate loops.
# --------------------------------------------------------------------------------------------------


def products_alone(state: State, tile: int) -> bool:
    """Split all loops in a loop over tiles, in which loops over rows and columns are the outer ones; true if
    all deeper loops are then a product, whose tiles were generated."""
    split_all(state, lambda: _inside(state.subject, tile))
    around = {each.parent for each in state.subject.facts.loops}
    depth = state.subject.known(tile).depth + 2
    inside = (state.subject.known(each) for each in _inside(state.subject, tile) if each not in around)
    return panel.all_made(state, [chain_inside(state.subject, o.ordinal) for o in inside if o.depth > depth])


def _inside(subject: Subject, tile: int) -> list[int]:
    loops = (each.ordinal for each in subject.facts.loops)
    return [each for each in loops if any(o.ordinal == tile for o in subject.around(each))]


def split_all(state: State, loops: Callable[[], list[int]]) -> None:
    """As many loops as can be in place of some, inner ones first; `loops` says which there are now."""
    while any(state.make(edit) for edit in _splits(state, loops())):
        pass


def _splits(state: State, loops: list[int]) -> Iterator[Edited]:
    for ordinal in reversed(loops):
        answer = limited(state.settings, lambda o=ordinal: distribute.separated(state.subject, o))
        if isinstance(answer, Edited):
            yield answer


# --------------------------------------------------------------------------------------------------
# Parting: a loop that passes the value of a counter around it falls into the iterations below, that
# one, and those above, in the same order. Each part may then run in parallel (index set splitting:
# Griebl, Feautrier and Lengauer 2000).
# --------------------------------------------------------------------------------------------------


def parted(subject: Subject, ordinal: int, outer: int) -> Answer:
    """Loop `ordinal` in three, at the value of the counter of a loop around it."""
    text, around = opened(subject, ordinal), opened(subject, outer)
    if isinstance(text, Declined):
        return text
    if isinstance(around, Declined):
        return around
    if is_directed(subject, text):
        return Declined("A directive stands before the loop: remove it, cut the loop, then add it anew.")
    found = unstable(subject, (outer, ordinal)) or iterations(subject, Chain((ordinal,), (text,)))
    if isinstance(found, Declined):
        return found
    name, at = found.counters[0], counter(subject, outer).source_name
    if not passes(subject, ordinal, outer):
        return Declined(f"The loop `{name}` does not always come to the value of `{at}`.")
    first, last = spelled(found, found.firsts[0]), spelled(found, found.lasts[0])
    start = f"{found.declared[0]} {name}".lstrip()
    alone = f"{'const ' if found.declared[0] else ''}{start} = {at};"
    pieces = (
        Made(
            f"for ({start} = {first}; {name} < {at}; {name}++)", (kept(text.parts),), text.braces, text.remark
        ),
        Made("", (kept(text.parts, (alone,)),)),
        Made(f"for ({start} = {at} + 1; {name} < {last}; {name}++)", (kept(text.parts),), text.braces),
    )
    made = replaced(subject, text, pieces, style_of(subject, [around, text]))
    return Edited((made,), (), (f"The loop `{name}` is cut where it comes to `{at}`.",))


def passes(subject: Subject, ordinal: int, outer: int) -> bool:
    """True if the counter of a loop takes the value of one around it each time the loop runs."""
    parent, nest = subject.known(ordinal).parent, subject.nest(ordinal)
    scop = nest[1].scop if nest is not None else None
    if scop is None or not {parent, outer, ordinal} <= scop.loops.keys():
        return False
    around = scop.loops[parent].domain
    here = around.add_dims(isl.dim_type.set, 1)
    depth = scop.loops[outer].domain.dim(isl.dim_type.set) - 1
    here = here.equate(isl.dim_type.set, depth, isl.dim_type.set, around.dim(isl.dim_type.set))
    inside = scop.loops[ordinal].domain
    return here.reset_tuple_id().is_subset(inside.reset_tuple_id())


# --------------------------------------------------------------------------------------------------
# Strips of a loop whose body holds a scalar for loops that jump through memory: within a strip the
# scalar becomes a small array, the body is split, and the loop that walks along memory comes
# inside.
# --------------------------------------------------------------------------------------------------


Step = Callable[[Subject], Answer]
"""An edit of the text that the previous step produced."""


def steps(subject: Subject, ordinal: int, settings: Settings) -> tuple[Step, ...] | Declined:
    """The edits that cut a loop into strips, which stand around the loop that it is in; expand the scalars of
    each strip; split it; and reorder each part."""
    chain = chain_around(subject, ordinal)
    if isinstance(chain, Declined):
        return chain
    if len(chain.ordinals) < 2 or chain.ordinals[-1] != ordinal:
        return Declined("The loop does not stand alone in another one.")
    inner = [each.ordinal for each in subject.facts.loops if each.parent == ordinal]
    found = subject.nest(ordinal)
    if found is None or not inner or any(walks_along(found[1].scop, each) for each in inner):
        return Declined("The loops inside walk along memory as they stand.")
    cut = ordinal + 1
    return (
        lambda now: _strips(now, chain.part(len(chain.ordinals) - 2, len(chain.ordinals)), settings),
        lambda now: expand.edit(now, cut, settings),
        lambda now: distribute.separated(now, cut),
        lambda now: _reordered(now, cut, settings),
    )


def _strips(subject: Subject, chain: Chain, settings: Settings) -> Answer:
    # The array is declared in the outer loop, which needs braces for that.
    texts = tuple(
        replace(text, braces="same line") if text.braces == "none" else text for text in chain.texts
    )
    chain = Chain(chain.ordinals, texts)
    found = unstable(subject, chain.ordinals) or leaves_of(subject, [chain.leaf])
    if isinstance(found, Declined):
        return found
    if varies(found, 1) is not None:
        return Declined("Iterations of the loop depend on each other.")
    plan = block.Plan(chain, found, points=(0, 1), tiles=(1,), free=frozenset({1}))
    return block.blocked(subject, plan, settings)


def _reordered(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """The first of the loops that a loop has become with another one inside, in the better order."""
    parent = subject.known(ordinal).parent
    for loop in (each for each in subject.facts.loops if each.parent == parent):
        inner = next((each for each in subject.facts.loops if each.parent == loop.ordinal), None)
        chain = chain_inside(subject, inner.ordinal) if inner is not None else None
        if isinstance(chain, Chain) and loop.ordinal in chain.ordinals:
            plan = block.planned(subject, chain.part(chain.ordinals.index(loop.ordinal), len(chain.ordinals)))
            if isinstance(plan, block.Plan) and plan.reorders:
                return block.blocked(subject, plan, settings, tiled=False)
    return Declined("No loop inside the strips would better stand in another order.")
