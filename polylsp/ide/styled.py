"""Lines of styled pieces for a person at a terminal: shared by the processes that generate them and those
that print them.

No further module is loaded with it: a printing process must not load the analysis.
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


_PICTURES = {
    # Bytes that could not be decoded; what makes text run the other way, or cannot be seen.
    **dict.fromkeys((*range(0x80, 0xA0), *range(0xD800, 0xE000)), 0xFFFD),
    **dict.fromkeys((0x200E, 0x200F, 0x061C, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF), 0xFFFD),
    **{code: 0x2400 + code for code in range(0x20)},
    0x7F: 0x2421,
}


def visible(text: str, keeps: str = "") -> str:
    """The text with a picture, of the same width, for each character that a terminal obeys: a name or a line
    of a source may hold any."""
    return text.translate({code: to for code, to in _PICTURES.items() if chr(code) not in keeps})


def visible_line(line: Line) -> Line:
    """The same of a line."""
    return tuple(
        piece if piece.text.isprintable() else Piece(visible(piece.text), piece.style) for piece in line
    )


def plain_text(line: Sequence[Piece]) -> str:
    """A line without colour: code stands between backticks."""
    return "".join(f"`{piece.text}`" if piece.style == "quote" else piece.text for piece in line)


def counted(words: Counter[str]) -> str:
    """Count of loops by verdict: "3 loops: 2 parallel, 1 sequential"."""
    total = sum(words.values())
    if not total:
        return "no loops"
    shown = [
        f"{words[each]} {each}" for each in ("parallel", "reduction", "sequential", "unknown") if words[each]
    ]
    return f"{total} {'loop' if total == 1 else 'loops'}: {', '.join(shown)}"
