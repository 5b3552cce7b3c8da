"""Directions for measuring in comments: `// polylsp: n=2000 A=positive-definite` (or `spd A`); in Python also
the length of an array, `# polylsp: x.shape[0]=500`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_WORD = r"spd\s+[A-Za-z_]\w*|[A-Za-z_](?:[\w.\[\]]|->)*=[\w-]+"
_COMMENT = re.compile(rf"(?:/[/*]|#)\s*polylsp:((?:\s+(?:{_WORD}))+)")
_WITHOUT_COLON = re.compile(rf"(?:/[/*]|#)\s*(polylsp\s+(?:{_WORD}))")
_ABOVE = re.compile(r"(?:^[ \t]*(?://[^\n]*|#[^\n]*|/\*.*?\*/[ \t]*)\n)+[ \t]*\Z", re.MULTILINE)
_DEFINITE = "positive-definite"


@dataclass(frozen=True, slots=True)
class Wishes:
    """Sizes by name, and the names of matrices that have to be symmetric and positive definite; `wrong` is
    the first word that is neither."""

    sizes: dict[str, int] = field(default_factory=dict[str, int])
    definite: frozenset[str] = frozenset()
    wrong: str = ""


def wishes(text: str, start: int, end: int) -> Wishes:
    """The wishes in the comments of a function, and in those directly above it."""
    above = _ABOVE.search(text, 0, start)
    first = above.start() if above else start
    if (found := _WITHOUT_COLON.search(text, first, end)) is not None:
        return Wishes(wrong=found[1])
    words = [
        word for comment in _COMMENT.finditer(text, first, end) for word in re.findall(_WORD, comment[1])
    ]
    sizes: dict[str, int] = {}
    definite: set[str] = set()
    for word in words:
        name, _, value = word.partition("=")
        if word.startswith("spd") and not value:
            definite.add(word.split()[1])
        elif value.isdecimal():
            sizes[name] = int(value)
        elif value == _DEFINITE:
            definite.add(name)
        else:
            return Wishes(wrong=word)
    return Wishes(sizes, frozenset(definite))
