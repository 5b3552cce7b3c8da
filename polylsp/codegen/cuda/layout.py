"""Lines of at most a hundred characters."""

from __future__ import annotations

from collections.abc import Sequence

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
