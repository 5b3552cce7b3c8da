"""Products whose sums stand in a scalar: in a tile of rows and columns each element gets a separate sum. The
loops can then be split, and the accumulation is a product like any other."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from polylsp.analysis.effects import effects, loops_in, nodes, walk
from polylsp.codegen.subject import Subject
from polylsp.codegen.transform import block, expand, panel
from polylsp.codegen.transform.axes import axis_of
from polylsp.codegen.transform.chain import Chain, chain_around, is_homonym, unstable
from polylsp.codegen.transform.composing import State, attempted, limited
from polylsp.codegen.transform.dependences import leaves_of
from polylsp.codegen.transform.leaves import counter, varies
from polylsp.codegen.transform.splitting import products_alone
from polylsp.model.action import Answer, Declined
from polylsp.model.expressions import subexpressions
from polylsp.model.program import Read

_ROWS = 256
"""Number of rows of a tile: many, for a panel of the product to be used by all of them."""

_MOST_BYTES = 1 << 16
"""Largest size of an array on the stack, in bytes."""


def made(state: State, ordinal: int) -> bool:
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
    plan = block.Plan(chain, found, (0, 1), tiles=(1, 0), free=frozenset({1}), sizes=(panel.COLUMNS, _ROWS))
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
        return Declined("How large a tile is is not known, or is too much for a local array.")
    counters = {counter(subject, each) for each in chain.ordinals}
    if any(is_homonym(each, counters) for each in effects(subject.loop(chain.ordinals[0])).variables):
        return Declined("There are two variables of one name here.")
    element = ("".join(f"[{axis.subscript}]" for axis in axes), "".join(f"[{axis.size}]" for axis in axes))
    return expand.expanded(subject, column, chain.texts[0], variable, element)
