"""Lexer that hands the parser given tokens, in place of a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import lru_cache
from inspect import Parameter, signature
from typing import Any

from pycparser.c_lexer import CLexer, Token

from polylsp.frontends.c.declarations import Declaration

UNKNOWN = "UNKNOWN"
DROPPED = ""  # in the place of a token that the parser is not given


class Lexer:
    """The tokens of declarations and then of a function (`CParser` takes any such lexer).

    The line of a token is its index in the function; those of declaration `k` stand in line `-1 - k`.
    """

    def __init__(self, tokens: tuple[str, ...], declarations: dict[int, Declaration]):
        self.filename = ""
        self._stream: list[Token] = []
        for key, declaration in declarations.items():
            self._append(declaration.tokens, -1 - key)
        if _lacks_type(tokens, declarations.values()):
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
        return UNKNOWN, text
    return token.type, token.value


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
