"""C tokens with their offsets, matching brackets, and the lexer that feeds tokens to pycparser.

Texts are normalised first: a line feed alone ends lines, and offsets do not change. Also finds
comments, preprocessor lines and words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import lru_cache
from inspect import Parameter, signature
from typing import Any

from pycparser.c_lexer import CLexer, Token

from polylsp.core.text import Span
from polylsp.frontends.c.top_level import Declaration

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
| ({_WORDS}(?:(?=["'])(?:(?<=(?<![\w$])[LuU])|(?<=(?<![\w$])u8))(?:{STRING}|{CHARACTER}))?)
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
_DIGRAPH = re.compile(rf"{STRING}|{CHARACTER}|/\*[\s\S]*?(?:\*/|$)|{LINE_COMMENT}|<[:%]|[:%]>")
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
    """The same text, offset for offset, with `\\n` alone ending lines, brackets for digraphs, and no NUL or
    BOM."""
    if "\r" in text:
        text = text.replace("\r\n", " \n").replace("\r", "\n")
    if "\0" in text:
        text = text.replace("\0", " ")
    if "\ufeff" in text:
        text = text.replace("\ufeff", " ")
    # Formats such as "<%d>" have one of a pair alone.
    if ("<%" in text and "%>" in text) or ("<:" in text and ":>" in text):
        text = _DIGRAPH.sub(lambda match: _plain_bracket(match.group()), text)
    return text


def _plain_bracket(found: str) -> str:
    """The bracket that a digraph stands for, at the digraph's outer end and as long as that; strings and
    comments as they are."""
    bracket = _DIGRAPHS.get(found, "")
    return found if not bracket else f"{bracket} " if bracket in "[{" else f" {bracket}"


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


# --------------------------------------------------------------------------------------------------
# Matching of the brackets in a token list.
# --------------------------------------------------------------------------------------------------


def matching_brackets(tokens: tuple[str, ...]) -> dict[int, int]:
    """The partner of each bracket; brackets without one are left out."""
    pairs = {")": "(", "]": "[", "}": "{"}
    partners: dict[int, int] = {}
    opened: list[int] = []
    waiting = {"(": 0, "[": 0, "{": 0}  # how many of each are open
    for index, token in enumerate(tokens):
        if token in ("(", "[", "{"):
            opened.append(index)
            waiting[token] += 1
        elif token in pairs and waiting[pairs[token]]:
            while True:
                opening = opened.pop()
                waiting[tokens[opening]] -= 1
                if tokens[opening] == pairs[token]:
                    break
            partners[opening], partners[index] = index, opening
    return partners


# --------------------------------------------------------------------------------------------------
# Lexer that hands the parser given tokens, in place of a text.
# --------------------------------------------------------------------------------------------------


UNKNOWN = "UNKNOWN"
DROPPED = ""  # in the place of a token that the parser is not given


class Lexer:
    """The tokens of declarations and then of a function (`CParser` takes any such lexer).

    The line of a token is its index in the function; those of declaration `k` stand in line `-1 - k`.
    """

    def __init__(
        self, tokens: tuple[str, ...], declarations: dict[int, Declaration], *, is_definition: bool = True
    ):
        self.filename = ""
        self._stream: list[Token] = []
        for key, declaration in declarations.items():
            self._append(declaration.tokens, -1 - key)
        if is_definition and _lacks_type(tokens, declarations.values()):
            self._stream.append(Token("INT", "int", 0, 1, *_FILE))
        self._append(tokens, None)
        self._callbacks: dict[str, Callable[..., Any]] = {}
        self._next = 0
        self._length = len(tokens)

    def _append(self, tokens: tuple[str, ...], line: int | None) -> None:
        for index, text in enumerate(tokens):
            if text == DROPPED:
                continue
            place = index if line is None else line
            self._stream.append(Token(*classify(text), place, index, *_FILE))

    def serve(self, **callbacks: Callable[..., Any]) -> Any:
        """Configure this lexer with the callbacks of a parser, and return it."""
        self._callbacks = callbacks if "type_lookup_func" in callbacks else {}
        return self

    def input(self, text: str, filename: str = "") -> None:
        """Ignore the text: the tokens are given."""

    def token(self) -> Token | None:
        """The next token, or `None` at the end."""
        self._next += 1
        if self._next > len(self._stream):
            return None
        token = self._stream[self._next - 1]
        if self._callbacks:
            self._tell_scopes(token, self._callbacks)
        return token

    def _tell_scopes(self, token: Token, tell: dict[str, Callable[..., Any]]) -> None:
        """pycparser before 3.12, the last for Python 3.10, has its lexer tell types from other names."""
        if token.type == "ID" and tell["type_lookup_func"](token.value):
            token.type = "TYPEID"
        elif token.type == "LBRACE":
            tell["on_lbrace_func"]()
        elif token.type == "RBRACE":
            tell["on_rbrace_func"]()

    def position(self, error: str) -> int:
        """The index of the token that the parser declined with this message; the number of tokens if
        it would have read on."""
        return max(0, min(self._line(error), self._length))

    def broken_declaration(self, error: str) -> int | None:
        """The declaration that an error message is about, or `None` for the function itself."""
        line = self._line(error)
        return -1 - line if line < 0 else None

    def column(self, error: str) -> int:
        """The index of the token in its declaration that an error message is about, or -1."""
        found = _PLACE.match(error)
        return int(found.group(2)) if found else -1

    def _line(self, error: str) -> int:
        """Of a declaration the parser names the start, and of an expression no place at all: the declined
        token is the one that it read last."""
        found = _PLACE.match(error)
        if found and (int(found.group(1)) < 0 or not _NAMES_START.search(error)):
            return int(found.group(1))
        if self._next > len(self._stream):
            return self._length
        return self._stream[self._next - 1].lineno if self._stream else 0


_PLACE = re.compile(r":(-?\d+):(\d+): ")
_NAMES_START = re.compile(r": Invalid (declarat|struct/union declaration)")


@lru_cache(maxsize=65536)
def classify(text: str) -> tuple[str, str]:
    """pycparser's name for the kind of a token, `UNKNOWN` for other text, and its spelling."""
    if "\n" in text:
        text = re.sub(r"\\[ \t]*\n", "", text)
    lexer = CLexer(**_NO_CALLBACKS)
    lexer.input(text)
    token = lexer.token()
    if token is None or token.value != text:
        return ("FLOAT_CONST" if IMAGINARY.fullmatch(text) else UNKNOWN), text
    return token.type, token.value


IMAGINARY = re.compile(
    r"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?)(?:[ij]([fl]?)|([fl])[ij])", re.I | re.A
)
"""An imaginary number of gcc (`1.0iF`): its digits, and the letter of its type before or behind."""


def _ignored(*_: Any) -> bool:
    return False


_NO_CALLBACKS: dict[str, Any] = {
    name: _ignored for name, one in signature(CLexer).parameters.items() if one.default is Parameter.empty
}
_FILE: tuple[Any, ...] = ("",) if len(fields(Token)) > 4 else ()  # a token names its file since 3.12


def known_types(declarations: Iterable[Declaration]) -> frozenset[str]:
    """Names that typedefs among the declarations introduce (roughly: every name in them)."""
    return frozenset(name for d in declarations if d.tokens[:1] == ("typedef",) for name in d.tokens)


def _lacks_type(tokens: tuple[str, ...], declarations: Iterable[Declaration]) -> bool:
    """True if a definition starts with its name: `main(argc, argv) char **argv; {`."""
    if len(tokens) < 2 or tokens[1] != "(" or not tokens[0] or classify(tokens[0])[0] != "ID":
        return False
    return tokens[0] not in known_types(declarations)
