"""Groups of points in a drawing: the tiles that they are in, and those that may run at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from polylsp.model.space import IterationSpace, Point

Place = tuple[float, float]

CSS = """
.tile { fill: #8250df; stroke: #8250df; stroke-linejoin: round; stroke-linecap: round; opacity: 0.13; }
.wave { fill: none; stroke: #bf8700; stroke-linejoin: round; stroke-linecap: round; opacity: 0.45; }
@media (prefers-color-scheme: dark) { .tile { fill: #a371f7; stroke: #a371f7; opacity: 0.22; } }
"""

_TILES = "shaded: tiles, which can run one after the other"
_WAVES = "joined: may run at once, after those before"


def groups(space: IterationSpace, at: Callable[[Point], Place], radius: float) -> Iterator[str]:
    """Shapes drawn under the points, for points of this radius."""
    for tile in space.tiles:
        shape = _path(_hull(list(map(at, tile))))
        yield f'<path class="tile" stroke-width="{4.4 * radius:.1f}" d="{shape} z"/>'
    for step in _waves(space):
        yield f'<path class="wave" stroke-width="{1.2 * radius:.1f}" d="{_path(list(map(at, step)))}"/>'


def group_words(space: IterationSpace) -> Iterator[tuple[str, str]]:
    """Rows of the legend: the class of the shape, and its meaning."""
    if space.tiles:
        yield "tile", _TILES
    if any(True for _ in _waves(space)):
        yield "wave", _WAVES


def _waves(space: IterationSpace) -> Iterator[tuple[Point, ...]]:
    """The points that run at once, where one line can join them all."""
    if space.parallel is None or not space.parallel.is_wavefront:
        return
    for step in space.parallel.steps:
        if len(step) > 1 and _is_line(step):
            yield step


def _is_line(points: Sequence[Point]) -> bool:
    (x, y), (u, v) = points[0], points[-1]
    return all((u - x) * (b - y) == (v - y) * (a - x) for a, b in points)


def _path(places: Sequence[Place]) -> str:
    return "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in places)


def _hull(places: list[Place]) -> list[Place]:
    """The corners of the smallest convex shape around some places (Andrew 1979)."""
    ordered = sorted(set(places))
    return ordered if len(ordered) < 3 else [*_half(ordered)[:-1], *_half(ordered[::-1])[:-1]]


def _half(ordered: list[Place]) -> list[Place]:
    corners: list[Place] = []
    for place in ordered:
        while len(corners) > 1 and _turn(corners[-2], corners[-1], place) <= 0:
            corners.pop()
        corners.append(place)
    return corners


def _turn(a: Place, b: Place, c: Place) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
