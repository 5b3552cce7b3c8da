"""Points in tiles."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from polylsp.model.space import Arrow, Point

_EDGE = 3
"""Number of points along each side of a tile; of a drawing with few points, one less."""


def tiled(placed: Sequence[tuple[Point, tuple[int, ...]]]) -> tuple[tuple[Point, ...], ...]:
    """The points in tiles along coordinates that each has; nothing where a point stands in several, or all
    of them in one."""
    if not placed:
        return ()
    sides = [_side([at[k] for _, at in placed]) for k in range(len(placed[0][1]))]
    groups: dict[tuple[int, ...], set[Point]] = {}
    for point, at in placed:
        tile = tuple((value - low) // side for value, (low, side) in zip(at, sides, strict=True))
        groups.setdefault(tile, set()).add(point)
    is_single = sum(map(len, groups.values())) == len({point for point, _ in placed})
    return (
        tuple(tuple(sorted(groups[tile])) for tile in sorted(groups)) if is_single and len(groups) > 1 else ()
    )


def in_order(tiles: Sequence[Sequence[Point]], arrows: Sequence[Arrow]) -> bool:
    """True if no arrow leads to an earlier tile, as those of a sum may that is added up in another order."""
    number = {point: k for k, tile in enumerate(tiles) for point in tile}
    return all(number.get(each.source, 0) <= number.get(each.sink, len(tiles)) for each in arrows)


def _side(values: list[int]) -> tuple[int, int]:
    """Origin and side length of the tiles along a coordinate."""
    known = sorted(set(values))
    step = gcd(*(value - known[0] for value in known)) or 1
    return known[0], step * (_EDGE if len(known) >= 2 * _EDGE - 1 else _EDGE - 1)
