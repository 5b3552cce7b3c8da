"""Lines of at most a hundred characters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_WIDTH = 100


def wrapped(head: str, items: Sequence[str], tail: str) -> list[str]:
    """`head`, the items with commas between, `tail`: on one line, or continued below the first item."""
    lines, margin = [head], " " * len(head)
    for number, item in enumerate(items):
        end = tail if number + 1 == len(items) else ","
        text = f"{item}{end}"
        if len(lines[-1]) + 1 + len(text) > _WIDTH and lines[-1] != head:
            lines.append(f"{margin}{text}")
        else:
            gap = " " if number and lines[-1] != head else ""
            lines[-1] += f"{gap}{text}"
    if not items:
        lines[-1] += tail
    return lines


# --- Statements --------------------------------------------------------------------------

_GAP = re.compile(r"(?<=[,;]) | (?=(?:[-+*/%?:<>]|&&|\|\||<=|>=|==|!=) )")
_WEIGHTS = {"?": 1.0, ":": 1.0, "||": 1.5, "&&": 2.0, "+": 3.0, "-": 3.0, "*": 5.0, "/": 5.0, "%": 5.0}
"""Binding strength of operators for line breaks."""

_LEAST = 40
"""Largest indentation of a continued line."""


def folded(line: str) -> Iterator[str]:
    """A statement as lines: a long one continues below the expression that it belongs to."""
    margin = _margin(line)
    while len(line) > _WIDTH and not line.lstrip().startswith(("//", "#")):
        places = [m.end() - 1 for m in _GAP.finditer(line) if margin + 20 < m.end() <= _WIDTH]
        if not places:
            break
        at = min(places, key=lambda place: (_weight(line, place), -place))
        yield line[:at]
        line = " " * margin + line[at + 1 :]
    yield line


def _margin(line: str) -> int:
    begin = re.match(r"\s*(?:(?:if|for|while) \(|\w[^=<>!]*? [-+*/]?= )", line)
    return begin.end() if begin is not None and begin.end() < _LEAST else len(line) - len(line.lstrip()) + 4


def _weight(line: str, place: int) -> float:
    """Nesting depth of a place between two words in a statement."""
    before = line[:place]
    depth = 1.5 * (before.count("(") - before.count(")")) + 4 * (before.count("[") - before.count("]"))
    operator = line[place + 1 :].partition(" ")[0]
    return depth + (0.0 if before.endswith((",", ";")) else _WEIGHTS.get(operator, 2.5))
