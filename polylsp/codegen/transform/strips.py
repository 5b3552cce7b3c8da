"""Strips of a loop whose body holds a scalar for loops that jump through memory: within a strip the scalar
becomes a small array, the body is split, and the loop that walks along memory comes inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from polylsp.codegen.subject import Subject
from polylsp.codegen.transform import block, distribute, expand
from polylsp.codegen.transform.chain import Chain, chain_around, chain_inside, unstable
from polylsp.codegen.transform.dependences import leaves_of
from polylsp.codegen.transform.leaves import varies
from polylsp.codegen.transform.locality import walks_along
from polylsp.model.action import Answer, Declined
from polylsp.settings import Settings

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
