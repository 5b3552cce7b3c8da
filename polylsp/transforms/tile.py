"""Tiling: permutable loops run block by block, each block small enough for the cache.

Irigoin and Triolet 1988; Wolf and Lam 1991. Loops that become permutable by skewing get slanted
blocks, inside which the iterations run in source order.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.emit.c_expressions import Linear, added, sum_text
from polylsp.emit.c_loops import Counter, Scan, scanned
from polylsp.emit.c_text import Piece
from polylsp.emit.subject import Subject
from polylsp.model.action import Answer, Declined
from polylsp.schedule.chain import (
    Chain,
    chain_around,
    fresh_name,
    rewritten,
    several,
    tile_sizes,
    type_words,
    unstable,
)
from polylsp.schedule.loop_headers import Iterations, bounds_of, counters, formula, iterations
from polylsp.schedule.statement_leaves import LeafDependence, Leaves, backward, leaves_of, listed, refusal
from polylsp.transforms.skew import Slopes, slanted

_STEEPEST = 2
"""Largest factor of a counter in one inside it."""


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """Tiles for the outermost permutable loops among those around `ordinal`."""
    chain = several(subject, ordinal, chain_around(subject, ordinal))
    if isinstance(chain, Declined):
        return chain
    band = _band(subject, chain)
    if isinstance(band, Declined):
        return band
    part, found, slopes = band
    points = iterations(subject, part)
    if isinstance(points, Declined):
        return points
    sizes = tile_sizes(found.scop, part, settings)
    pieces = _tiled(subject, part, points, sizes, slopes)
    tiles = f"Tiles of {' by '.join(map(str, sizes))} iterations of {listed(points.counters)}."
    return rewritten(subject, part.texts, pieces, found.assumptions, tiles)


def _band(subject: Subject, chain: Chain) -> tuple[Chain, Leaves, Slopes] | Declined:
    """The longest run of permutable loops that starts outermost, and how these are skewed for that."""
    refused: Declined | None = None
    for first in range(len(chain.ordinals) - 1):
        for last in range(len(chain.ordinals), first + 1, -1):
            part = chain.part(first, last)
            found = unstable(subject, part.ordinals) or leaves_of(subject, [part.leaf])
            if isinstance(found, Declined):
                refused = refused or found
                continue
            slopes = _slopes(found)
            if not isinstance(slopes, LeafDependence):
                return part, found, slopes
            names = listed(subject.known(o).iterator or "" for o in part.ordinals)
            refused = refusal(found, f"Tiling the loops {names}", slopes)
    assert refused is not None
    return refused


def _slopes(found: Leaves) -> Slopes | LeafDependence:
    """Factors, for each loop, of the counters around it in its skewed counter, so that no dependence makes
    the sum smaller; or a dependence that prevents it."""
    (leaf,) = found.leaves
    chosen: list[tuple[int, ...]] = []
    for depth in range(len(leaf.loops)):
        broken: LeafDependence | None = None
        for slopes in sorted(product(range(_STEEPEST + 1), repeat=depth), key=lambda one: (sum(one), one)):
            broken = backward(found, depth, slopes)
            if broken is None:
                chosen.append(slopes)
                break
        if broken is not None:
            return broken
    return chosen


def _tiled(
    subject: Subject, chain: Chain, points: Iterations, sizes: tuple[int, ...], slopes: Slopes
) -> tuple[Piece, ...] | Declined:
    loops = counters(subject, chain, points)
    tiles = tuple(
        Counter(
            fresh_name(subject, loop.name * 2, f"{loop.name}_tile"),
            loop.declared or type_words(subject, chain),
        )
        for loop in loops
    )
    if any(any(each) for each in slopes):
        return slanted(points, slopes, sizes, tiles, loops, chain.body, chain.braces)
    names = [f"i{k}" for k in range(len(sizes))]
    starts: list[str] = []
    for name, size, first in zip(names, sizes, points.firsts, strict=True):
        origin = "0" if "i" in formula(first) else formula(first)
        starts.append(f"{origin} + {size} * floor(({name} - ({origin})) / {size})")
    parameters, inside = ", ".join(points.atoms), ", ".join(names)
    dates = isl.Map(f"[{parameters}] -> {{ [{inside}] -> [{', '.join((*starts, inside))}] }}")
    schedule = dates.intersect_domain(points.domain)
    braces = (*chain.braces[:1] * len(sizes), *chain.braces)
    return scanned(Scan(schedule, (*tiles, *loops), loops, chain.body, points.atoms, braces))


# --------------------------------------------------------------------------------------------------
# Loops that stay in a tile, and the subscripts that count from where the tile begins.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop that stays in a tile: its counter takes at most `size` values from `origin` on."""

    counter: str
    origin: Linear
    size: int

    @property
    def subscript(self) -> str:
        """The element that belongs to the counter's value."""
        return sum_text(added({self.counter: 1}, self.origin, -1))


def axis_of(subject: Subject, chain: Chain, depth: int) -> Axis | None:
    """Tile axis of a loop of a chain, if its bounds permit."""
    names = tuple(subject.known(o).iterator or "" for o in chain.ordinals)
    bounds = bounds_of(subject, chain.ordinals[depth], chain.texts[depth], names[:depth])
    for first in bounds.firsts if bounds else ():
        for last in bounds.lasts if bounds else ():
            apart = {term: factor for term, factor in added(last, first, -1).items() if factor}
            if set(apart) == {""} and apart[""] > 0 and not any(first.get(name) for name in names):
                return Axis(names[depth], first, apart[""])
    return None
