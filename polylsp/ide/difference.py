"""What a file that stays as it is has to do with what would be made in its place."""

from __future__ import annotations

from difflib import unified_diff

from polylsp.model.action import Kept


def difference(kept: Kept) -> str:
    """A unified diff that leads from what a file says to what would be made."""
    old, new = (each.splitlines(keepends=True) for each in (kept.text, kept.wanted))
    lines = unified_diff(old, new, kept.name, kept.name)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
