"""Text to C tokens with their offsets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from polylsp.text import Span

CONTINUATION = r"\\[ \t]*\n"
LINE_COMMENT = r"//[^\\\n]*(?:\\(?:[ \t]*\n)?[^\\\n]*)*"
DIRECTIVE_REST = r"(?:[^\\\n/]|\\(?:[ \t]*\n)?|/(?![/*])|/\*(?:[^*]|\*(?!/))*(?:\*/|$)|//.*)*"
STRING = r'"(?:[^"\\\n]|\\(?:[ \t]*\n|.)?)*"?'
CHARACTER = r"'(?:[^'\\\n]|\\(?:[ \t]*\n|.)?)*'?"

# It begins with a letter, `_`, `$` or anything beyond ASCII; `re` takes 50 times as long over what it is
# as over what it is not, and programs that only start pay that.
_WORDS = r"[^\x00-\x23\x25-\x40\x5b-\x5e\x60\x7b-\x7f][\w$]*"

_TOKEN = rf"""
  (?:[ \t\f\v]|\n)+ | {CONTINUATION} | {LINE_COMMENT.replace("#", "[#]")}
| ({_WORDS}(?:(?<=L)(?:{STRING}|{CHARACTER})|(?<=[uU8])(?:{STRING}|{CHARACTER}))?)
| (\.?\d(?:[eEpP][+-]|[\w.])*)
| ({STRING}|{CHARACTER})
| (/\*|<<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^=]=|\#\#|<:|:>|<%|%>|%:|.)
"""
_LEXER = re.compile(rf"/\*[\s\S]*?\*/ | {_TOKEN}", re.VERBOSE)
_LEXER_IN_COMMENT = re.compile(_TOKEN, re.VERBOSE)
"""For what follows a comment that is never closed: no other one after it is."""
_DIRECTIVE = re.compile(rf"^[ \t\f\v]*(?:\#|%:)({DIRECTIVE_REST})", re.MULTILINE)
_DIGRAPHS = {"<:": "[", ":>": "]", "<%": "{", "%>": "}", "%:": "#"}
_WORD = re.compile(_WORDS)
_SPLICE = re.compile(CONTINUATION)
_COMMENT = re.compile(rf"{STRING}|{CHARACTER}|(/\*[\s\S]*?(?:\*/|$)|{LINE_COMMENT})")


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens in source order: `texts[k]` stands at `starts[k]` up to `ends[k]`.

    A directive line is one token whose text starts with `#` and continues on one line;
    `unterminated` is the offset of a comment that is never closed, or -1.
    """

    texts: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    unterminated: int = -1


def normalise(text: str) -> str:
    """The same text, offset for offset, with `\\n` alone ending lines and no NUL or BOM."""
    if "\r" in text:
        text = text.replace("\r\n", " \n").replace("\r", "\n")
    if "\0" in text:
        text = text.replace("\0", " ")
    if "\ufeff" in text:
        text = text.replace("\ufeff", " ")
    return text


def tokenize(text: str, directives: bool = True) -> Tokens:
    """The tokens of a normalised text, without comments and white space."""
    texts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    if not directives or ("#" not in text and "%:" not in text):
        unterminated = _lex(text, 0, len(text), texts, starts, ends)
        return Tokens(tuple(texts), tuple(starts), tuple(ends), unterminated)
    at = 0
    unterminated = -1
    for start, end in directive_lines(text):
        bad = _lex(text, at, start, texts, starts, ends)
        unterminated = unterminated if unterminated >= 0 else bad
        begin = start + len(text[start:end]) - len(text[start:end].lstrip())
        texts.append(directive_text(text[begin:end]))
        starts.append(begin)
        ends.append(end)
        at = end
    bad = _lex(text, at, len(text), texts, starts, ends)
    return Tokens(tuple(texts), tuple(starts), tuple(ends), unterminated if unterminated >= 0 else bad)


def comments(text: str) -> list[Span]:
    """The extents of the comments of a normalised text, those at the end of directives included."""
    return [Span(*match.span(1)) for match in _COMMENT.finditer(text) if match.group(1)]


def directive_lines(text: str) -> list[tuple[int, int]]:
    """The extents of the preprocessor lines of a normalised text, not those inside comments."""
    if "#" not in text and "%:" not in text:
        return []
    inside = comments(text) if "/*" in text else []
    found: list[tuple[int, int]] = []
    index = at = 0
    while match := _DIRECTIVE.search(text, at):
        start, end = match.span()
        while index < len(inside) and inside[index].end <= start:
            index += 1
        if index < len(inside) and inside[index].start < start:
            at = inside[index].end
            continue
        found.append((start, end))
        at = max(end, start + 1)
    return found


def directive_text(line: str) -> str:
    """A directive on one line, without comments: `#if x > 1`."""
    if "\n" in line:
        line = _SPLICE.sub(" ", line)
    if "/" in line:
        line = _COMMENT.sub(lambda match: " " if match.group(1) else match.group(0), line)
    line = line.strip()
    line = "#" + line[2:] if line.startswith("%:") else line
    return "#" + line[1:].strip()


def words(text: str) -> frozenset[str]:
    """Every word in a text, those in comments and strings included."""
    return _identifiers(text)


@lru_cache(maxsize=4096)
def _identifiers(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text))


def _lex(text: str, start: int, end: int, texts: list[str], starts: list[int], ends: list[int]) -> int:
    """Append the tokens of a part of a text; where a comment starts that is never closed, or -1."""
    for match in _LEXER.finditer(text, start, end):
        kind = match.lastindex
        if kind is None:
            continue
        token = match.group()
        if kind == 4 and len(token) == 2:
            token = _DIGRAPHS.get(token, token)
        texts.append(token)
        starts.append(match.start())
        ends.append(match.end())
        if token == "/*":
            break
    else:
        return -1
    opened = starts[-1]
    for match in _LEXER_IN_COMMENT.finditer(text, opened + 2, end):
        if match.lastindex is not None:
            token = match.group()
            texts.append(_DIGRAPHS.get(token, token))
            starts.append(match.start())
            ends.append(match.end())
    return opened
