"""Names that are set to values in which they are mentioned: `const int i = i + 1;` reads the variable that it
declares.

isl's loops do not count the iterations of a statement where it moves statements that have steps against each
other, so that these meet in one loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

WORD = re.compile(r"(?<![.\w])[A-Za-z_]\w*")


class ShadowedError(Exception):
    """The loops around have to get other names."""


def in_turn(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Names with the values that they are set to, one after the other; raises `ShadowedError` where a value
    mentions one that is set by then."""
    found = list(pairs)
    hidden: set[str] = set()
    for name, value in found:
        hidden.add(name)
        if not hidden.isdisjoint(WORD.findall(value)):
            raise ShadowedError
    return found
