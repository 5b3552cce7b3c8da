"""Packing: elements that the outermost of three loops reads again in each iteration are copied once, from a
tile of a large array to a small contiguous one, which fits in the cache (Goto and van de Geijn, TOMS
2008)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.axes import Axis, axis_of
from polylsp.codegen.transform.chain import Chain, chain_inside, is_directed, unstable
from polylsp.codegen.transform.copies import Body, Mention, body_of
from polylsp.codegen.transform.dependences import leaves_of
from polylsp.codegen.transform.domain import Iterations, counters, iterations
from polylsp.codegen.transform.fresh import fresh_name
from polylsp.codegen.transform.layout import Made, Piece, Written, replaced, style_of
from polylsp.codegen.transform.leaves import Leaves, listed
from polylsp.codegen.transform.scan import Scan, scanned
from polylsp.model.action import Answer, Declined, Edited
from polylsp.model.program import Floating

_MOST_BYTES = 1 << 16
"""Largest size of one array on the stack, in bytes."""

_TYPES = {32: "float", 64: "double"}


@dataclass(frozen=True, slots=True)
class Tile:
    """Three loops, of which the inner two stay in a tile of a constant size."""

    subject: Subject
    chain: Chain
    body: Body
    found: Leaves
    points: Iterations
    axes: tuple[Axis, Axis]


def packed(subject: Subject, ordinal: int) -> Answer:
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
    made = replaced(subject, tile.chain.texts[0], tuple(pieces), style_of(subject, tile.chain.texts))
    return Edited((made,), tile.found.assumptions, (f"Copies tiles to {listed(names.values())}.",))


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
        return Declined("How large a tile is is not known: tile the loops first.")
    return Tile(subject, chain, body, found, points, (axes[0], axes[1]))


# --- What is copied ----------------------------------------------------------------------


def _can_be_copied(tile: Tile, mention: Mention) -> bool:
    """True if an element is the same for all iterations of the outermost loop, is surely read, and is not
    written in a tile before it is read there."""
    kind = mention.place.type
    if mention.writes or mention.sometimes or not isinstance(kind, Floating) or kind.bits not in _TYPES:
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
    return made if isinstance(made, Declined) else (Written(f"{_TYPES[kind.bits]} {name}{extents};"), *made)


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
