"""README.md and the pages of docs/, and generation of their derived parts."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from polylsp.core.settings import Settings

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
SETTINGS = ROOT / "docs/settings.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]


def settings_table() -> str:
    """The rows of the table of settings."""
    rows = [f"| `{f.name}` | {_shown(f.default)} | {f.metadata['doc']} |" for f in fields(Settings)]
    return "\n".join(rows)


def fence(language: str) -> str:
    """The content of the first fence of a language in README.md."""
    found = re.search(rf"^```{language}\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    return found.group(1)


def _shown(value: Any) -> str:
    if value == () or value == "":
        return "none"
    if isinstance(value, tuple):
        return ", ".join(f"`{each}`" for each in value)
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`"
