"""Panels of a product: tiles of the loop over columns and of the one that adds up, in which the data common
to all rows are small enough for the cache, and then for registers (Goto and van de Geijn, TOMS 2008)."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polylsp.codegen.subject import Subject
from polylsp.codegen.transform import block, pack, register_tile
from polylsp.codegen.transform.axes import axis_of
from polylsp.codegen.transform.block import Plan
from polylsp.codegen.transform.chain import Chain, unstable
from polylsp.codegen.transform.composing import State, attempted, limited
from polylsp.codegen.transform.copies import Body, body_of
from polylsp.codegen.transform.dependences import leaves_of
from polylsp.codegen.transform.leaves import Leaves, backward, varies
from polylsp.codegen.transform.together import joined
from polylsp.model.action import Declined, Edited
from polylsp.model.program import Binary, Cast, Expr, Index, Read

COLUMNS, DEPTH = 32, 256
"""Number of columns, and of terms of each sum, in a tile: 64 KB of doubles, which stay in the second-level
cache while all rows use them."""


def made(state: State, chains: Sequence[Chain]) -> bool:
    """Tile the products among some chains, and copy the elements that rows share in one, if all sums then fit
    in registers; true if the text changed."""
    plans = [limited(state.settings, lambda c=chain: planned(state.subject, c)) for chain in chains]
    found = [plan for plan in plans if isinstance(plan, Plan)]
    if found and attempted(state, lambda tried: _is_made(tried, found)):
        return True
    # The last one first, so that those before it keep their numbers.
    single = [made(state, [plan.chain]) for plan in reversed(found)] if len(found) > 1 else []
    return any(single)


def all_made(state: State, chains: Sequence[Chain | Declined]) -> bool:
    """The same where each chain has to be a product, and there is one."""
    plans = [
        chain
        if isinstance(chain, Declined)
        else limited(state.settings, lambda c=chain: planned(state.subject, c))
        for chain in chains
    ]
    found = [plan for plan in plans if isinstance(plan, Plan)]
    return len(found) == len(plans) > 0 and attempted(state, lambda tried: _is_made(tried, found))


def _is_made(state: State, plans: Sequence[Plan]) -> bool:
    """True if all the tiles were generated, with their sums in registers."""
    before = _innermost(state)
    places = [before.index(plan.chain.ordinals[-1]) for plan in plans]
    tiles = [
        limited(state.settings, lambda p=plan: block.blocked(state.subject, p, state.settings))
        for plan in plans
        if plan.tiles or plan.reorders
    ]
    edits = [each for each in tiles if isinstance(each, Edited)]
    if len(edits) < len(tiles) or (edits and not state.make(joined(edits))):
        return False
    inside = _innermost(state)
    if len(inside) != len(before):
        return False
    copies = [limited(state.settings, lambda k=k: pack.packed(state.subject, inside[k])) for k in places]
    packed = [each for each in copies if isinstance(each, Edited)]
    if packed:
        state.make(joined(packed))
    return sum(_is_held(state, ordinal) for ordinal in _innermost(state)) >= len(plans)


def _is_held(state: State, ordinal: int) -> bool:
    held = limited(state.settings, lambda: register_tile.edit(state.subject, ordinal, state.settings))
    return isinstance(held, Edited)


def _innermost(state: State) -> list[int]:
    """The loops that have none inside."""
    around = {loop.parent for loop in state.subject.facts.loops}
    return [loop.ordinal for loop in state.subject.facts.loops if loop.ordinal not in around]


def planned(subject: Subject, chain: Chain) -> Plan | Declined:
    """Tiles for the three innermost loops of a chain, if they add products up: rows, columns and terms."""
    if len(chain.ordinals) < 3:
        return Declined("A product of matrices takes three loops.")
    part = chain.part(len(chain.ordinals) - 3, len(chain.ordinals))
    body = body_of(subject, part)
    if isinstance(body, Declined):
        return body
    found = unstable(subject, part.ordinals) or leaves_of(subject, [part.leaf])
    if isinstance(found, Declined):
        return found
    roles = _roles(subject, part, body)
    if roles is None or not _is_permutable(found) or varies(found, roles[1]) is not None:
        return Declined("These loops do not add products up, or not in any order.")
    row, column, term = roles
    free = frozenset(k for k in range(3) if varies(found, k) is None)
    wanted = {column: COLUMNS, term: DEPTH}
    known = {depth: axis_of(subject, part, depth) for depth in wanted}
    tiles = tuple(k for k, size in wanted.items() if (axis := known[k]) is None or axis.size > size)
    return Plan(part, found, (row, column, term), tiles, free, tuple(wanted[k] for k in tiles))


def _roles(subject: Subject, part: Chain, body: Body) -> tuple[int, int, int] | None:
    """The numbers of the loops over the rows of the written array, over its columns, and over the terms of
    each sum."""
    names = tuple(subject.known(ordinal).iterator or "" for ordinal in part.ordinals)
    written = [each for each in body.mentions if each.writes]
    if len(written) != 1 or len(written[0].counters) != 2:
        return None
    if len(set(names)) < 3:  # one hides another of the same name
        return None
    (target,) = written
    last = target.place.steps[-1]
    added = _terms(last.subscript) if isinstance(last, Index) else ()
    alone = {each.place.variable.source_name for each in added if isinstance(each, Read)}
    walking = [k for k, name in enumerate(names) if name in alone]
    if len(walking) != 1:
        return None
    (column,) = walking
    term = next(k for k, name in enumerate(names) if name not in target.counters)
    row = ({0, 1, 2} - {column, term}).pop()
    # Without this there is nothing that rows share, or nothing that columns do.
    uses = [each.counters for each in body.mentions]
    if not any(names[column] in use and names[row] not in use for use in uses):
        return None
    return row, column, term


def _terms(value: Expr) -> tuple[Expr, ...]:
    """Summands of a subscript, added or subtracted."""
    if isinstance(value, Cast):
        return _terms(value.operand)
    if isinstance(value, Binary) and value.operator in ("+", "-"):
        return (*_terms(value.left), *_terms(value.right))
    return (value,)


def _is_permutable(found: Leaves) -> bool:
    return all(backward(found, [isl.Map(f"{{ [i0, i1, i2] -> [i{k}] }}")], 0) is None for k in range(3))
