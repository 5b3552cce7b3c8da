"""Differences between an existing file and the one that an edit would create in its place."""

from __future__ import annotations

from difflib import unified_diff

from polylsp.model.action import Kept


def difference(kept: Kept) -> str:
    """A unified diff from the contents of a file to the proposed ones."""
    old, new = (each.splitlines(keepends=True) for each in (kept.text, kept.wanted))
    lines = unified_diff(old, new, kept.name, kept.name)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
