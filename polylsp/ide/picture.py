"""Iteration space as a drawing: SVG that stands alone, on a dark or a light page.

Points, dependence arrows, axes and a legend; groups show tiles and parallel points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import gcd, hypot
from xml.sax.saxutils import escape

from polylsp.model.iteration_points import Arrow, IterationSpace, Point

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
        shape = _groups_path(_hull(list(map(at, tile))))
        yield f'<path class="tile" stroke-width="{4.4 * radius:.1f}" d="{shape} z"/>'
    for step in _waves(space):
        line = _groups_path(list(map(at, step)))
        yield f'<path class="wave" stroke-width="{1.2 * radius:.1f}" d="{line}"/>'


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


def _groups_path(places: Sequence[Place]) -> str:
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


# --------------------------------------------------------------------------------------------------
# The iteration space of a nest as a drawing: SVG that stands alone, on a dark or a light page.
# --------------------------------------------------------------------------------------------------


_KINDS = {"flow": ("#d55e00", ""), "anti": ("#0b84d8", "7 4"), "output": ("#0a9e74", "2 4")}
"""Colour and dashes; the colours are distinguishable with any colour vision, the dashes without."""

_WORDS = {
    "flow": "flow: reads what was written",
    "anti": "anti: overwrites what was read",
    "output": "output: overwrites what was written",
}
_LEGEND_LINE = 20
_RADIUS = 4.5
_ASIDE = 3.5
_LABELS = 16
_LETTER = 7.2

_CSS = """
text { font-family: sans-serif; font-size: 13px; fill: #1f2328; }
.title { font-size: 15px; font-weight: 600; }
.page { fill: #ffffff; } .axis { stroke: #8a929b; } .point { fill: #57606a; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .page { fill: #0d1117; } .point { fill: #9ea7b3; }
}
"""


@dataclass(frozen=True, slots=True)
class Page:
    """Size of a drawing, in pixels: the distance of two iterations, unless an axis then gets longer than
    `longest`; the margins around all of them. `titled`: there is room for a title."""

    spacing: int
    longest: int
    left: int
    top: int
    right: int
    bottom: int
    titled: bool


FULL = Page(spacing=68, longest=640, left=64, top=88, right=56, bottom=60, titled=True)
SMALL = Page(spacing=34, longest=300, left=52, top=62, right=40, bottom=52, titled=False)
"""For the hover of an editor, which has a title and little room."""


@dataclass(frozen=True, slots=True)
class _Scale:
    """Places of iterations on the page, in pixels: neighbours along an axis, whose values differ by `step`,
    are `spacing` apart."""

    page: Page
    low: Point
    high: Point
    step: Point
    spacing: tuple[float, float]

    def at(self, point: Point) -> tuple[float, float]:
        x = self.page.left + (point[0] - self.low[0]) / self.step[0] * self.spacing[0]
        y = self.page.top + (self.high[1] - point[1]) / self.step[1] * self.spacing[1]
        return round(x, 1), round(y, 1)

    @property
    def radius(self) -> float:
        """Radius of the points."""
        return min(_RADIUS, *(each / 4 for each in self.spacing))

    def neighbours(self, arrow: Arrow) -> bool:
        """True if no iteration can lie on the straight line between the two ends."""
        (x1, y1), (x2, y2) = arrow.source, arrow.sink
        return gcd((x2 - x1) // self.step[0], (y2 - y1) // self.step[1]) <= 1

    @property
    def corner(self) -> tuple[float, float]:
        """The lower right corner of the drawing."""
        return self.at((self.high[0], self.low[1]))


def picture(space: IterationSpace, title: str, page: Page = FULL) -> str:
    """The drawing: a point for each iteration, an arrow for each dependence, axes and a legend."""
    scale = _scale(space.points, page)
    legend = list(_legend_rows(space))
    right, floor = scale.corner
    subtitle = ", ".join(f"{name} = {value}" for name, value in space.sizes)
    if not space.complete:
        subtitle = f"{subtitle}; only the first are drawn" if subtitle else "only the first are drawn"
    heading = len(title) * 1.15 if page.titled else 0
    longest = max([heading, len(subtitle), *(len(words) + 6 for _, words in legend)])
    width = max(right + page.right + len(space.dimensions[0]) * _LETTER, page.left + longest * _LETTER)
    height = floor + page.bottom + _LEGEND_LINE * len(legend)
    body = [
        f'<rect class="page" width="{width:.0f}" height="{height:.0f}"/>',
        *_headings(title, subtitle, page),
        *_axes(space, scale),
        *groups(space, scale.at, scale.radius),
        *_points(space, scale),
        *_arrows(space.arrows, scale),
        *_legend(legend, floor + page.bottom),
    ]
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">'
    )
    head = [
        f"<title>{escape(title)}</title>",
        f"<style>{_CSS}{CSS}</style>",
        f"<defs>{''.join(_markers())}</defs>",
    ]
    return "\n".join([opening, *head, *body, "</svg>"]) + "\n"


def _headings(title: str, subtitle: str, page: Page) -> Iterator[str]:
    if page.titled:
        yield f'<text class="title" x="16" y="24">{escape(title)}</text>'
    yield f'<text x="16" y="{42 if page.titled else 20}">{escape(subtitle)}</text>'


def _scale(points: Sequence[Point], page: Page) -> _Scale:
    columns, rows = sorted({x for x, _ in points} or {0}), sorted({y for _, y in points} or {0})
    across, upwards = _step(columns), _step(rows)
    widest = max((columns[-1] - columns[0]) // across, 1)
    highest = max((rows[-1] - rows[0]) // upwards, 1)
    spacing = min(page.spacing, page.longest / widest), min(page.spacing, page.longest / highest)
    return _Scale(page, (columns[0], rows[0]), (columns[-1], rows[-1]), (across, upwards), spacing)


def _step(values: Sequence[int]) -> int:
    """The largest step in which all values of an axis lie."""
    return gcd(*(value - values[0] for value in values)) or 1


def _axes(space: IterationSpace, scale: _Scale) -> Iterator[str]:
    """Axes with the names of the iterators and their values."""
    right, floor = scale.corner
    left, top = scale.at((scale.low[0], scale.high[1]))
    yield f'<line class="axis" x1="{left - 20}" y1="{floor + 20}" x2="{right + 20}" y2="{floor + 20}"/>'
    yield _text(right + 28, floor + 24, space.dimensions[0], "start", 'font-style="italic"')
    for value in _ticks([x for x, _ in space.points]):
        x, _ = scale.at((value, scale.low[1]))
        yield _text(x, floor + 36, str(value), "middle")
    if not space.dimensions[1]:
        return
    yield f'<line class="axis" x1="{left - 20}" y1="{floor + 20}" x2="{left - 20}" y2="{top - 12}"/>'
    yield _text(left - 20, top - 20, space.dimensions[1], "middle", 'font-style="italic"')
    for value in _ticks([y for _, y in space.points]):
        _, y = scale.at((scale.low[0], value))
        yield _text(left - 26, y + 4, str(value), "end")


def _ticks(values: Iterable[int]) -> list[int]:
    """Values to be written along an axis: all that occur, or at most `_LABELS` at equal distances."""
    found = sorted(set(values))
    return found[:: -(-len(found) // _LABELS) or 1]


def _points(space: IterationSpace, scale: _Scale) -> Iterator[str]:
    for point in sorted(set(space.points)):
        x, y = scale.at(point)
        names = zip(space.dimensions, point, strict=True)
        told = ", ".join(f"{name} = {value}" for name, value in names if name)
        place = f'cx="{x}" cy="{y}" r="{scale.radius:.1f}"'
        yield f'<circle class="point" {place}><title>{escape(told)}</title></circle>'


def _arrows(arrows: Sequence[Arrow], scale: _Scale) -> Iterator[str]:
    """Paths of the distinct arrows, one each; kinds between the same points are bent apart."""
    shown = {(each.kind, each.source, each.sink): each for each in arrows if each.source != each.sink}
    for arrow in shown.values():
        yield f'<path d="{_path(arrow, scale)}" {_stroke(arrow.kind)}/>'


def _stroke(kind: str) -> str:
    """Style of the line of a kind of dependence, head included."""
    colour, dashes = _KINDS[kind]
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'fill="none" stroke="{colour}" stroke-width="1.8"{dashed} marker-end="url(#{kind})"'


def _path(arrow: Arrow, scale: _Scale) -> str:
    """A curve from point to point that stops short of both; longer arrows bend around the points
    between, and each kind by another amount."""
    (x1, y1), (x2, y2) = scale.at(arrow.source), scale.at(arrow.sink)
    length = hypot(x2 - x1, y2 - y1)
    ux, uy = (x2 - x1) / length, (y2 - y1) / length
    kind = list(_KINDS).index(arrow.kind)
    bend = kind * 0.14 * min(length, 2 * max(scale.spacing))
    if not scale.neighbours(arrow):
        bend += 0.18 * min(length, 4 * max(scale.spacing))
    gap = min(_RADIUS + 3, length / 4)
    aside = kind * min(_ASIDE, scale.radius)
    x1, y1 = x1 + ux * gap - uy * aside, y1 + uy * gap + ux * aside
    x2, y2 = x2 - ux * gap - uy * aside, y2 - uy * gap + ux * aside
    cx, cy = (x1 + x2) / 2 - uy * bend, (y1 + y2) / 2 + ux * bend
    return f"M{x1:.1f} {y1:.1f} Q{cx:.1f} {cy:.1f} {x2:.1f} {y2:.1f}"


def _markers() -> Iterator[str]:
    for kind, (colour, _) in _KINDS.items():
        yield (
            f'<marker id="{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" '
            f'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{colour}"/></marker>'
        )


def _legend_rows(space: IterationSpace) -> Iterator[tuple[str, str]]:
    kinds = {arrow.kind for arrow in space.arrows}
    for kind, words in _WORDS.items():
        if kind in kinds:
            yield kind, words
    if not kinds:
        yield "", f"{'these loops carry' if space.dimensions[1] else 'this loop carries'} no dependences"
    if any(arrow.source == arrow.sink for arrow in space.arrows):
        yield "", "some dependences stay within one point of this projection"
    yield from group_words(space)


def _legend(rows: Sequence[tuple[str, str]], top: float) -> Iterator[str]:
    for index, (kind, words) in enumerate(rows):
        y = top + index * _LEGEND_LINE + 6
        if kind in _KINDS:
            yield f'<path d="M16 {y - 4} H48" {_stroke(kind)}/>'
        elif kind:
            yield f'<path class="{kind}" stroke-width="{10 if kind == "tile" else 6}" d="M20 {y - 4} H44"/>'
        yield _text(60 if kind else 16, y, words, "start")


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    more = f" {more}" if more else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(text)}</text>'
