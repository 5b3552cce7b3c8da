"""Tokeniser for Python in any state of its text: words with their offsets, in logical lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PREFIX = r"(?:[rRbBuUfFtT]|[bBfFtT][rR]|[rR][bBfFtT])?"
_INNER = r"\"(?:[^\"\\\n{}]|\\.)*\"|'(?:[^'\\\n{}]|\\.)*'"
_FIELD = rf"\{{(?!\{{)(?:[^{{}}\"'\n]|{_INNER}|\{{(?:[^{{}}\"'\n]|{_INNER})*\}})*\}}"
_FORMATTED = "|".join(
    rf"{quote}(?:[^{quote}\\\n{{]|\\[\s\S]|\{{\{{|{_FIELD})*{quote}(?!{quote})" for quote in ('"', "'")
)
"""Formatted strings whose fields hold strings with the same quotes (PEP 701)."""
_STRING = (
    rf"(?:[fFtT][rR]?|[rR][fFtT])(?:{_FORMATTED})|"
    rf"{_PREFIX}(?:\"\"\"(?:[^\"\\]|\\[\s\S]|\"(?!\"\"))*(?:\"\"\"|\Z)|'''(?:[^'\\]|\\[\s\S]|'(?!''))*(?:'''|\Z)"
    r"|\"(?:[^\"\\\n]|\\[\s\S])*\"?|'(?:[^'\\\n]|\\[\s\S])*'?)"
)
_TOKEN = re.compile(
    rf"""
  (?:[ \t\f\v]|\\[ \t]*\n)+ | \#[^\n]*
| (\n)
| ({_STRING})
| ([^\W\d]\w*)
| (\.?\d(?:[eE][+-]\d|[\w.])*)
| (\*\*=|//=|>>=|<<=|\.\.\.|:=|->|\*\*|//|>>|<<|<=|>=|==|!=|[-+*/%&|^@]=|.)
""",
    re.VERBOSE,
)
_STATEMENTS = frozenset(
    [
        "def",
        "class",
        "return",
        "while",
        "with",
        "try",
        "import",
        "del",
        "pass",
        "raise",
        "global",
        "nonlocal",
        "break",
        "continue",
        "assert",
    ]
)
"""Words that begin a statement and stand in no expression: a bracket before one was never closed."""


@dataclass(frozen=True, slots=True)
class Line:
    """A logical line: the tokens `first` up to `last` (excluded), `indent` columns from the left."""

    first: int
    last: int
    indent: int


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens in source order: `texts[k]` stands at `starts[k]` up to `ends[k]`."""

    texts: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    lines: tuple[Line, ...]


def normalise(text: str) -> str:
    """The same text, offset for offset, with `\\n` alone ending lines and no NUL or BOM."""
    if "\r" in text:
        text = text.replace("\r\n", " \n").replace("\r", "\n")
    return text.replace("\0", " ").replace("\ufeff", " ")


def tokenize(text: str) -> Tokens:
    """The tokens of a normalised text. Comments, white space and line ends are none."""
    texts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    lines = tuple(scan_lines(text, 0, texts, starts, ends))
    return Tokens(tuple(texts), tuple(starts), tuple(ends), lines)


def scan_lines(text: str, at: int, texts: list[str], starts: list[int], ends: list[int]) -> Iterator[Line]:
    """The logical lines of a normalised text from one that begins at `at`; when one is given, its tokens have
    been appended to the lists."""
    depth, first = 0, len(texts)
    begins = True  # only white space was seen in the line so far
    for match in _TOKEN.finditer(text, at):
        group = match.lastindex
        if group is None:
            begins = begins and match[0].isspace()
            continue
        if group == 1:
            begins = True
            if depth == 0 and len(texts) > first:
                yield _line(text, starts, first, len(texts))
                first = len(texts)
            continue
        word = match[0]
        if depth and begins and group == 3 and word in _STATEMENTS:
            yield _line(text, starts, first, len(texts))
            first, depth = len(texts), 0
        begins = False
        if group == 5:
            depth = max(0, depth + (word in "([{") - (word in ")]}"))
        texts.append(word)
        starts.append(match.start())
        ends.append(match.end())
    if len(texts) > first:
        yield _line(text, starts, first, len(texts))


def _line(text: str, starts: list[int], first: int, last: int) -> Line:
    begin = text.rfind("\n", 0, starts[first]) + 1
    return Line(first, last, len(text[begin : starts[first]].expandtabs(8)))


def comments(text: str) -> list[tuple[int, int]]:
    """Spans of the comments of a text."""
    found = (match for match in _TOKEN.finditer(text) if match.lastindex is None)
    return [match.span() for match in found if match[0].startswith("#")]
