"""Text between the functions of a file that is no C: what is wrong with it, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from polylsp.frontends.c.outline import Item, Outline
from polylsp.frontends.c.tokens import normalise, tokenize
from polylsp.model.report import FileProblem
from polylsp.text import Span

_CONDITION = re.compile(r"#\s*(if|ifdef|ifndef|elif)")


def damage(text: str, items: Outline) -> Iterator[FileProblem]:
    """Text that no compiler would read as it is meant."""
    at = text.find("\0")
    if at >= 0:
        message = "This file holds NUL bytes: it is not C source, or it is damaged."
        yield FileProblem("syntax-error", Span(at, at + 1), message)
    opened = _unclosed_comment(text)
    if opened >= 0:
        yield FileProblem("syntax-error", Span(opened, opened + 2), "This comment is never closed.")
    yield from (p for p in _strays(items) if opened < 0 or p.span.start < opened)


def _unclosed_comment(text: str) -> int:
    """Where a comment starts that is never closed, outside functions; else -1."""
    if text.rfind("/*") <= text.rfind("*/"):
        return -1
    return tokenize(normalise(text)).unterminated


def _strays(items: Outline) -> Iterator[FileProblem]:
    """What stands between functions and is no C, said once for each run of such text."""
    before = False
    for start, item in zip(items.starts, items.items, strict=True):
        message = _stray(item)
        if message and not before:
            yield FileProblem("syntax-error", Span(start, start + min(len(item.text), 1)), message)
        before = bool(message)


def _stray(item: Item) -> str:
    """What is wrong with text that is no function, or an empty string."""
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
