"""Panel tiling of matrix products, and packing of reused elements (Goto and van de Geijn, TOMS 2008).

Tiles the loop over columns and the one that adds up, so that the data common to all rows fit in the
cache, then in registers. Elements that rows share are copied to a small contiguous array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.emit.c_loops import Scan, scanned
from polylsp.emit.c_text import REAL_WORDS, Made, Piece, Written
from polylsp.emit.subject import Subject
from polylsp.ir.program import Binary, Cast, Expr, Floating, Index, Read
from polylsp.model.action import Answer, Declined, Edited
from polylsp.schedule.chain import Chain, chain_inside, fresh_name, is_directed, rewritten, unstable
from polylsp.schedule.loop_headers import Iterations, counters, iterations
from polylsp.schedule.statement_leaves import Leaves, is_permutable, leaves_of, listed, varies
from polylsp.transforms import block, register_tile
from polylsp.transforms.block import Plan
from polylsp.transforms.composing import State, attempted, joined, limited
from polylsp.transforms.scalar_replacement import Body, Mention, body_of
from polylsp.transforms.tile import Axis, axis_of

# --------------------------------------------------------------------------------------------------
# Packing: elements that the outermost of three loops reads again in each iteration are copied once,
# from a tile of a large array to a small contiguous one, which fits in the cache (Goto and van de
# Geijn, TOMS 2008).
# --------------------------------------------------------------------------------------------------


_MOST_BYTES = 80 << 10
"""Largest size of one array on the stack, in bytes: threads have 128 KB with some C libraries."""


@dataclass(frozen=True, slots=True)
class Tile:
    """Three loops, of which the inner two stay in a tile of a constant size."""

    subject: Subject
    chain: Chain
    body: Body
    found: Leaves
    points: Iterations
    axes: tuple[Axis, Axis]


def pack_elements(subject: Subject, ordinal: int) -> Answer:
    """Local copies of the elements that the inner two of three loops read in a tile, the last of which is
    `ordinal`."""
    tile = _tile(subject, ordinal)
    if isinstance(tile, Declined):
        return tile
    chosen = {m.span: tile.body.copy(m.span, {}, {}) for m in tile.body.mentions if _can_be_copied(tile, m)}
    if not chosen:
        return Declined("Nothing that the outermost of these loops reads again may be copied before.")
    names: dict[str, str] = {}
    pieces: list[Piece] = []
    for mention in tile.body.mentions:
        text = chosen.get(mention.span)
        if text is None or text in names:
            continue
        name = fresh_name(subject, f"{mention.place.variable.source_name}_tile", taken=names.values())
        copies = _copies(tile, mention, name)
        if isinstance(copies, Declined):
            return copies
        names[text] = name
        pieces += copies
    lead = Written("/* What all rows use of the tile, together in the cache. */")
    pieces = [lead, *pieces, _rebuilt(tile, {text: _element(tile, name) for text, name in names.items()})]
    remark = f"Copies tiles to {listed(names.values())}."
    return rewritten(subject, tile.chain.texts, tuple(pieces), tile.found.assumptions, remark)


def _tile(subject: Subject, ordinal: int) -> Tile | Declined:
    chain = chain_inside(subject, ordinal)
    if isinstance(chain, Declined):
        return chain
    if len(chain.ordinals) < 3 or chain.ordinals[-1] != ordinal:
        return Declined("There are no three loops here, of which one could use again what the others read.")
    chain = chain.part(len(chain.ordinals) - 3, len(chain.ordinals))
    if is_directed(subject, chain.texts[0]):
        return Declined("A directive stands before these loops: remove it, copy the tile, then add it anew.")
    body = body_of(subject, chain)
    if isinstance(body, Declined):
        return body
    if len(body.statements) > 1:
        return Declined("The loops do more than one thing: split them first.")
    found = unstable(subject, chain.ordinals) or leaves_of(subject, [chain.leaf])
    if isinstance(found, Declined):
        return found
    points = iterations(subject, chain)
    if isinstance(points, Declined):
        return points
    axes = [axis_of(subject, chain, depth) for depth in (2, 1)]
    if axes[0] is None or axes[1] is None:
        return Declined("The size of a tile is unknown: tile the loops first.")
    return Tile(subject, chain, body, found, points, (axes[0], axes[1]))


# --- What is copied ----------------------------------------------------------------------


def _can_be_copied(tile: Tile, mention: Mention) -> bool:
    """True if an element is the same for all iterations of the outermost loop, is surely read, and is not
    written in a tile before it is read there."""
    kind = mention.place.type
    if mention.writes or mention.sometimes or not isinstance(kind, Floating) or kind.bits not in REAL_WORDS:
        return False
    if mention.counters != frozenset(axis.counter for axis in tile.axes):
        return False
    if kind.bits // 8 * tile.axes[0].size * tile.axes[1].size > _MOST_BYTES:
        return False
    accesses = [a for a in tile.found.scop.accesses if a.site == mention.place.site]
    if not accesses or any(a.indirect or not a.exact for a in accesses):
        return False
    # What comes before a read can only be a write.
    changed = {tile.subject.span(each.second.site) for each in tile.found.dependences}
    return mention.span not in changed


# --- Text --------------------------------------------------------------------------------


def _element(tile: Tile, name: str) -> str:
    return name + "".join(f"[{axis.subscript}]" for axis in tile.axes)


def _copies(tile: Tile, mention: Mention, name: str) -> tuple[Piece, ...] | Declined:
    """The declaration of the array, and the loops that fill it, over exactly the elements that the tile
    reads."""
    kind = mention.place.type
    assert isinstance(kind, Floating)
    extents = "".join(f"[{axis.size}]" for axis in tile.axes)
    read = tile.points.domain.project_out(isl.dim_type.set, 0, 1)
    order = isl.Map("{ [i1, i2] -> [i2, i1] }")
    _, column, term = counters(tile.subject, tile.chain, tile.points)
    loops = tuple(replace(each, remark="", lead="", after="") for each in (term, column))
    text = tile.subject.text[mention.span.start : mention.span.end]
    body = Written(f"{_element(tile, name)} = {text};", True)
    braces = (tile.chain.braces[2], tile.chain.braces[1])
    scan = Scan(order.intersect_domain(read), loops, (column, term), body, tile.points.atoms, braces)
    made = scanned(scan)
    declared = Written(f"{REAL_WORDS[kind.bits]} {name}{extents};")
    return made if isinstance(made, Declined) else (declared, *made)


def _rebuilt(tile: Tile, names: dict[str, str]) -> Piece:
    """The loops as they stand, with the copies in the place of the elements."""
    span, subject = tile.chain.body.span, tile.subject
    inside = [m.span for m in tile.body.mentions if span.start <= m.span.start < span.end]
    text, at = "", span.start
    for own in sorted(inside):
        name = names.get(subject.text[own.start : own.end])
        if name is not None and own.start >= at:
            text += subject.text[at : own.start] + name
            at = own.end
    text += subject.text[at : span.end]
    start = span.start + len(text) - len(text.lstrip())
    body: Piece = Written(subject.indentation(start) + text.strip(), tile.chain.body.single)
    loops = counters(subject, tile.chain, tile.points)
    for loop, braces in reversed(list(zip(loops, tile.chain.braces, strict=True))):
        body = Made(loop.header, (body,), braces, loop.remark, loop.lead, loop.after)
    return body


# --------------------------------------------------------------------------------------------------
# Panels of a product: tiles of the loop over columns and of the one that adds up, in which the data
# common to all rows are small enough for the cache, and then for registers (Goto and van de Geijn,
# TOMS 2008).
# --------------------------------------------------------------------------------------------------


COLUMNS, DEPTH = 64, 160
"""Number of columns, and of terms of each sum, in a tile: 80 KB of doubles, which stay in the second-level
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
    copies = [limited(state.settings, lambda k=k: pack_elements(state.subject, inside[k])) for k in places]
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
    if roles is None or not is_permutable(found) or varies(found, roles[1]) is not None:
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
