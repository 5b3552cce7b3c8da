"""Comments that suppress findings: `// polylsp: ignore CODE, CODE -- why`, with `#` in Python; without a
code, all of them.

A comment at the end of a line, or within it, is about that line. One alone on its line is about the next
line; `#pragma` lines and other comments in between do not matter. The text after `--`, or after the `//` of
another comment, is for people.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from polylsp.core.language import C, named
from polylsp.core.text import Source, Span, newline
from polylsp.frontends.c.tokens import comments, normalise
from polylsp.frontends.python.words import comments as python_comments
from polylsp.model.action import Replacement

EVERYTHING = "*"
"""In the place of a code: all of them."""

Suppressed = Mapping[int, frozenset[str]]
"""The codes of the findings that are not shown, for each 0-based line that has any."""

_MARK = "polylsp:"
_CODES = r"[a-z][\w-]*(?:\s*,\s*[a-z][\w-]*)*"
_WORDS = re.compile(rf"(?:/[/*]|#)\s*polylsp:\s*ignore(?:\s+({_CODES}))?\s*(?:(?:--|//|#).*)?")
_PRAGMA = re.compile(r"\s*#\s*pragma\b")


@dataclass(frozen=True, slots=True)
class _Comment:
    """A suppressing comment: the lines it is about, its codes, and the offset at which they end; -1 where
    there are none."""

    lines: tuple[int, ...]
    codes: frozenset[str]
    end: int


@lru_cache(maxsize=8)
def suppressed(source: Source, language: str = C.name) -> Suppressed:
    """Codes that the comments of a text suppress, by line; remembered, since functions of a file are rendered
    one by one."""
    found: dict[int, frozenset[str]] = {}
    for comment in _comments(source, language):
        for line in comment.lines:
            found[line] = found.get(line, frozenset()) | comment.codes
    return found


def is_suppressed(lines: Suppressed, line: int, code: str) -> bool:
    """True if a finding on a line is hidden."""
    codes = lines.get(line, frozenset())
    return code in codes or EVERYTHING in codes


def suppressing(source: Source, offset: int, code: str, language: str = C.name) -> Replacement:
    """The edit that suppresses the findings of a code at an offset: a comment above its line, or one code
    more in the comment that is there; within the line where a line comment cannot stand above it."""
    line = source.line_of(offset)
    for comment in _comments(source, language):
        if line in comment.lines and comment.end >= 0:
            return Replacement(Span(comment.end, comment.end), f", {code}")
    start = source.line_starts[line]
    if language == C.name and not _is_free(source, line):
        return Replacement(Span(offset, offset), f"/* polylsp: ignore {code} */ ")
    text = source.line_text(line)
    indentation = text[: len(text) - len(text.lstrip())]
    return Replacement(
        Span(start, start),
        f"{indentation}{named(language).comment} polylsp: ignore {code}{newline(source.text)}",
    )


def _is_free(source: Source, line: int) -> bool:
    """True if a new line can be inserted above a line: it continues neither a directive nor a comment."""
    start = source.line_starts[line]
    if line and source.line_text(line - 1).rstrip().endswith("\\"):
        return False
    return not any(each.start < start < each.end for each in comments(normalise(source.text)))


# --- Reading ------------------------------------------------------------------------------


def _comments(source: Source, language: str) -> Iterator[_Comment]:
    at = source.text.find(_MARK)
    while at >= 0:
        line = source.line_of(at)
        yield from _on_line(source, line, language)
        at = source.text.find(_MARK, source.line_starts[line] + len(source.line_text(line)))


def _on_line(source: Source, line: int, language: str) -> Iterator[_Comment]:
    text = source.line_text(line)
    for span in _in_line(text, language):
        comment = text[span.start : span.end]
        words = _WORDS.fullmatch(comment.removesuffix("*/"))
        if words is None or (comment.startswith("/*") and not comment.endswith("*/")):
            continue
        alone = not text[: span.start].strip() and text[span.end :].strip() in ("", "\\")
        lines = tuple(_below(source, line, language)) if alone else ()
        codes = frozenset(re.split(r"\s*,\s*", words[1])) if words[1] else frozenset([EVERYTHING])
        end = source.line_starts[line] + span.start + words.end(1) if words[1] else -1
        yield _Comment((line, *lines), codes, end)


def _below(source: Source, line: int, language: str) -> Iterator[int]:
    """Lines that a comment alone on its line is about."""
    in_pragma = False
    for below in range(line + 1, len(source.line_starts)):
        yield below
        text = source.line_text(below)
        in_pragma = in_pragma or (language == C.name and _PRAGMA.match(text) is not None)
        if not in_pragma and not _is_comment(text, language):
            return
        in_pragma = in_pragma and text.rstrip().endswith("\\")


def _in_line(text: str, language: str) -> list[Span]:
    """The comments in a line."""
    if language == C.name:
        return list(comments(text))
    return [Span(start, end) for start, end in python_comments(text)]


def _is_comment(text: str, language: str) -> bool:
    """True if a line consists of a comment alone."""
    rest = text.strip()
    return any((each.start, each.end) == (0, len(rest)) for each in _in_line(rest, language))
