"""Tiling: permutable loops run block by block, each block small enough for the cache (Irigoin and Triolet
1988; Wolf and Lam 1991)."""

from __future__ import annotations

import islpy as isl

from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.chain import Chain, chain_around, unstable
from polylsp.codegen.transform.dependences import leaves_of
from polylsp.codegen.transform.domain import Iterations, counters, formula, iterations
from polylsp.codegen.transform.fresh import fresh_name, type_words
from polylsp.codegen.transform.layout import replaced, style_of
from polylsp.codegen.transform.leaves import Leaves, backward, identity, listed, refusal
from polylsp.codegen.transform.locality import tile_sizes
from polylsp.codegen.transform.scan import Counter, Scan, scanned
from polylsp.model.action import Answer, Declined, Edited
from polylsp.settings import Settings


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """Tiles for the outermost permutable loops among those around `ordinal`."""
    chain = chain_around(subject, ordinal)
    if isinstance(chain, Declined):
        return chain
    if len(chain.ordinals) < 2:
        name = subject.known(ordinal).iterator
        return Declined(f"No other loop stands directly inside or around `{name}`, with nothing beside it.")
    band = _band(subject, chain)
    if isinstance(band, Declined):
        return band
    part, found = band
    points = iterations(subject, part)
    if isinstance(points, Declined):
        return points
    sizes = tile_sizes(found.scop, part, settings)
    scan = _scan(subject, part, points, sizes)
    pieces = scanned(scan)
    if isinstance(pieces, Declined):
        return pieces
    made = replaced(subject, part.texts[0], pieces, style_of(subject, part.texts))
    shown = " by ".join(str(size) for size in sizes)
    return Edited((made,), found.assumptions, (f"Tiles of {shown} iterations of {listed(points.counters)}.",))


def _band(subject: Subject, chain: Chain) -> tuple[Chain, Leaves] | Declined:
    """The longest run of permutable loops that starts outermost."""
    refused: Declined | None = None
    for first in range(len(chain.ordinals) - 1):
        for last in range(len(chain.ordinals), first + 1, -1):
            part = chain.part(first, last)
            found = unstable(subject, part.ordinals) or leaves_of(subject, [part.leaf])
            if isinstance(found, Declined):
                refused = refused or found
                continue
            dates = [identity(part.leaf)]
            broken = next((b for k in range(last - first) if (b := backward(found, dates, k))), None)
            if broken is None:
                return part, found
            names = listed(subject.known(o).iterator or "" for o in part.ordinals)
            refused = refusal(found, f"Tiling the loops {names}", broken)
    assert refused is not None
    return refused


def _scan(subject: Subject, chain: Chain, points: Iterations, sizes: tuple[int, ...]) -> Scan:
    count = len(sizes)
    names = [f"i{k}" for k in range(count)]
    starts: list[str] = []
    for name, size, first in zip(names, sizes, points.firsts, strict=True):
        moves = any(str(term).startswith("i") for term in first)
        origin = "0" if moves else formula(first)
        starts.append(f"{origin} + {size} * floor(({name} - ({origin})) / {size})")
    parameters, inside = ", ".join(points.atoms), ", ".join(names)
    dates = isl.Map(f"[{parameters}] -> {{ [{inside}] -> [{', '.join((*starts, inside))}] }}")
    loops = counters(subject, chain, points)
    tiles = [
        Counter(
            fresh_name(subject, loop.name * 2, f"{loop.name}_tile"),
            loop.declared or type_words(subject, chain),
        )
        for loop in loops
    ]
    schedule = dates.intersect_domain(points.domain)
    braces = (*chain.braces[:1] * count, *chain.braces)
    return Scan(schedule, (*tiles, *loops), loops, chain.body, points.atoms, braces)
