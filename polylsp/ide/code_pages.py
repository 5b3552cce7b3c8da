"""The page about each code, shipped with the package: its text, and its first sentence."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

FOLDER = Path(__file__).parent / "docs"


_ABOUT_NO_CODE = ("cuda", "running-code")


def known_codes() -> frozenset[str]:
    """Every code that a diagnostic or a rejection can have: each has a page."""
    return frozenset(each.stem for each in FOLDER.glob("*.md") if each.stem not in _ABOUT_NO_CODE)


@lru_cache(maxsize=256)
def page_uri(code: str) -> str:
    """The `file:` URI of the page about a code of a diagnostic or a rejection."""
    return page_path(code).as_uri()


def page_path(code: str) -> Path:
    """The page about a code of a diagnostic or a rejection."""
    return FOLDER / f"{code}.md"


def page_text(code: str) -> str:
    """The page as Markdown, or nothing if there is none."""
    path = page_path(code)
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def page_summary(code: str) -> str:
    """The first paragraph of the page on one line; the code itself if there is no page."""
    paragraphs = [part.strip() for part in page_text(code).split("\n\n")]
    first = next((part for part in paragraphs if part and not part.startswith("#")), code)
    return " ".join(first.split())
