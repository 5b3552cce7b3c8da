"""Diagnoses of text between the functions of a file that is no C."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from polylsp.frontends.c.outline import Item, Outline
from polylsp.frontends.c.tokens import normalise, tokenize
from polylsp.model.report import FileProblem
from polylsp.text import Span

_CONDITION = re.compile(r"#\s*(if|ifdef|ifndef|elif)")


def damage(text: str, items: Outline, broken: frozenset[int]) -> Iterator[FileProblem]:
    """Text that no compiler would read as it is meant. The functions that start at `broken` have a syntax
    error: its consequences are not reported again."""
    at = text.find("\0")
    if at >= 0:
        message = "This file holds NUL bytes: it is not C source, or it is damaged."
        yield FileProblem("syntax-error", Span(at, at + 1), message)
    opened = _unclosed_comment(text)
    if opened >= 0 and not _inside(items, broken, opened):
        yield FileProblem("syntax-error", Span(opened, opened + 2), "This comment is never closed.")
    yield from (p for p in _strays(items, broken) if opened < 0 or p.span.start < opened)


def _unclosed_comment(text: str) -> int:
    """Offset of a comment that is never closed, or -1."""
    if text.rfind("/*") <= text.rfind("*/"):
        return -1
    return tokenize(normalise(text)).unterminated


def _inside(items: Outline, broken: frozenset[int], at: int) -> bool:
    """True if an offset is in one of the broken functions."""
    k = bisect_right(items.starts, at) - 1
    return k >= 0 and items.starts[k] in broken and at < items.starts[k] + len(items.items[k].text)


def _strays(items: Outline, broken: frozenset[int]) -> Iterator[FileProblem]:
    """Text between functions that is no C, reported once for each run of it. Surplus brackets after a broken
    function are its remainder."""
    said = False
    for start, item in zip(items.starts, items.items, strict=True):
        message = _stray(item)
        if message and not said:
            yield FileProblem("syntax-error", Span(start, start + min(len(item.text), 1)), message)
        said = bool(message) or start in broken


def _stray(item: Item) -> str:
    """Fault of text that is no function, or an empty string."""
    bare = _CONDITION.fullmatch(item.text.strip()) if item.kind == "directive" else None
    if bare is not None:
        return f"This `#{bare[1]}` has no condition."
    if item.kind != "stray" or not item.text:
        return ""
    first = item.text[0]
    if first in ")]}":
        return f"This `{first}` closes nothing."
    if first in "([{":
        return f"This `{first}` does not belong to a function or a declaration."
    if item.text.count('"') % 2 or item.text.count("'") % 2:
        return "A string or character in this line is never closed."
    return ""
