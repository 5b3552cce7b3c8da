"""Lines of styled pieces for a person at a terminal: what those who make them and who print them share.

Nothing else is loaded with it: who prints what other processes have made must not load what makes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Style = Literal[
    "plain",
    "path",
    "good",
    "blocked",
    "advice",
    "warning",
    "error",
    "gutter",
    "primary",
    "secondary",
    "quote",
]


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text of one style. The text of a `quote` is between backticks where there is no colour."""

    text: str
    style: Style = "plain"


Line = tuple[Piece, ...]


def plain_text(line: Sequence[Piece]) -> str:
    """A line without colour: code stands between backticks."""
    return "".join(f"`{piece.text}`" if piece.style == "quote" else piece.text for piece in line)


def counted(words: Counter[str]) -> str:
    """How many loops have which verdict: "3 loops: 2 parallel, 1 sequential"."""
    total = sum(words.values())
    if not total:
        return "no loops"
    shown = [
        f"{words[each]} {each}" for each in ("parallel", "reduction", "sequential", "unknown") if words[each]
    ]
    return f"{total} {'loop' if total == 1 else 'loops'}: {', '.join(shown)}"
