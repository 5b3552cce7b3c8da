"""Speeds as a bar chart: SVG that stands alone, on a dark or a light page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from xml.sax.saxutils import escape

_CSS = """
text { font-family: sans-serif; font-size: 13px; fill: #1f2328; }
.page { fill: #ffffff; } .line { stroke: #57606a; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .page { fill: #0d1117; } .line { stroke: #c9d1d9; }
}
"""
_COLOURS = {"original": "#8a929b", "measured": "#0b84d8"}
_LETTER, _ROW, _BAR, _MARGIN, _LONGEST = 7.2, 26, 14, 12, 220


@dataclass(frozen=True, slots=True)
class Bar:
    """Speedup over the original, and its interval; `words` follow the bar."""

    name: str
    value: float
    low: float
    high: float
    words: str
    kind: Literal["original", "measured"] = "measured"


def chart(bars: Sequence[Bar], title: str) -> str:
    """The drawing: a bar for each, all to one scale, with a line from the low to the high value."""
    left = _MARGIN + max(len(bar.name) for bar in bars) * _LETTER + 8
    scale = _LONGEST / max(max(bar.value, bar.high) for bar in bars)
    right = left + _LONGEST + 8 + max(len(bar.words) for bar in bars) * _LETTER + _MARGIN
    height = 2 * _MARGIN + _ROW * len(bars)
    body = [line for k, bar in enumerate(bars) for line in _row(bar, left, _MARGIN + k * _ROW, scale)]
    size = f'width="{right:.0f}" height="{height}" viewBox="0 0 {right:.0f} {height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{_CSS}</style>",
            f'<rect class="page" width="{right:.0f}" height="{height}"/>',
            *body,
            "</svg>\n",
        ]
    )


def _row(bar: Bar, left: float, top: float, scale: float) -> Iterator[str]:
    middle = top + _ROW / 2
    yield f'<text x="{left - 8:.1f}" y="{middle + 4.5:.1f}" text-anchor="end">{escape(bar.name)}</text>'
    place = f'x="{left:.1f}" y="{middle - _BAR / 2:.1f}" width="{bar.value * scale:.1f}" height="{_BAR}"'
    yield f'<rect {place} fill="{_COLOURS[bar.kind]}"/>'
    ends = [left + value * scale for value in (bar.low, bar.high)]
    yield f'<path class="line" d="M{ends[0]:.1f} {middle} H{ends[1]:.1f}" stroke-width="2"/>'
    at = max(left + bar.value * scale, *ends) + 8
    yield f'<text x="{at:.1f}" y="{middle + 4.5:.1f}">{escape(bar.words)}</text>'
