"""Slanted tiles: blocks of skewed coordinates, in which the iterations run in the order of the source (time
skewing: Wonnacott 2000)."""

from __future__ import annotations

from collections.abc import Sequence

from polylsp.codegen.transform.domain import Iterations
from polylsp.codegen.transform.expression import Linear, added, extremum, sum_text
from polylsp.codegen.transform.headers import formula
from polylsp.codegen.transform.layout import Made, Piece
from polylsp.codegen.transform.scan import Counter
from polylsp.codegen.transform.syntax import Braces
from polylsp.model.action import Declined

Slopes = Sequence[Sequence[int]]
"""Factors, for each loop, by which the counters of those around it are added to its counter."""


def slanted(
    points: Iterations,
    slopes: Slopes,
    sizes: Sequence[int],
    tiles: Sequence[Counter],
    loops: Sequence[Counter],
    body: Piece,
    braces: Sequence[Braces],
) -> tuple[Piece, ...] | Declined:
    """Loops over the tiles, and in each over its points. Where the tiles of a loop begin is counted from
    the tile around it, so that each point is in exactly one; some tiles have no points."""
    if any("i" in formula(bound) for bound in (*points.firsts, *points.lasts)):
        return Declined(
            "The bounds of these loops depend on each other: slanted tiles would be hard to read."
        )
    firsts, lasts = ([_in_c(points, each) for each in bounds] for bounds in (points.firsts, points.lasts))
    made = body
    for k in reversed(range(len(loops))):
        made = Made(_points(k, slopes, sizes, tiles, loops, firsts[k], lasts[k]), (made,), braces[k])
    for k in reversed(range(len(loops))):
        low, high = (_beyond(k, slopes, sizes, tiles, up) for up in (False, True))
        first, last = sum_text(added(firsts[k], low, 1)), sum_text(added(lasts[k], high, 1))
        name = tiles[k].name
        header = f"for ({tiles[k].declared} {name} = {first}; {name} < {last}; {name} += {sizes[k]})"
        made = Made(header, (made,), braces[0])
    return (made,)


def _in_c(points: Iterations, value: Linear) -> Linear:
    return {points.atoms.get(t, t) if isinstance(t, str) else t: factor for t, factor in value.items()}


def _points(
    k: int,
    slopes: Slopes,
    sizes: Sequence[int],
    tiles: Sequence[Counter],
    loops: Sequence[Counter],
    first: Linear,
    last: Linear,
) -> str:
    """The header of the loop over the points of a tile."""
    around: Linear = {loops[m].name: slope for m, slope in enumerate(slopes[k]) if slope}
    start = added({tiles[k].name: 1}, around, -1)
    end = extremum([added(start, {"": sizes[k]}, 1), last], "<")
    begin = extremum([start, first], ">") if around else sum_text(start)
    declared = f"{loops[k].declared} " if loops[k].declared else ""
    name = loops[k].name
    advance = f"++{name}" if f"++{name}" in loops[k].header else f"{name}++"
    return f"for ({declared}{name} = {begin}; {name} < {end}; {advance})"


def _beyond(k: int, slopes: Slopes, sizes: Sequence[int], tiles: Sequence[Counter], up: bool) -> Linear:
    """The least, or largest (`up`), of the slopes' contribution to a counter in the tiles around."""
    result: Linear = {}
    for m, factor in enumerate(_skewed(k, slopes)):
        edge: Linear = {tiles[m].name: factor}
        if (factor > 0) == up:
            edge[""] = factor * (sizes[m] - 1)
        result = added(result, edge, 1)
    return result


def _skewed(k: int, slopes: Slopes) -> list[int]:
    """Contribution of the slopes of a loop, in skewed coordinates: the counter of a loop is its coordinate
    minus this."""
    factors = [0] * k
    for m, slope in enumerate(slopes[k]):
        factors[m] += slope
        for n, inner in enumerate(_skewed(m, slopes)):
            factors[n] -= slope * inner
    return factors
