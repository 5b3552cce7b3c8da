"""A function's expanded tokens to a pycparser tree whose coordinates are token indices.

The parser is fed the tokens themselves, so no text is put together and scanned again: the
line of a node's coordinate is the index of its token in the function; tokens of the
declarations before it have negative lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pycparser.c_lexer import CLexer, Token
from pycparser.c_parser import CParser, ParseError

from polylsp.frontends.c.declarations import Declaration
from polylsp.frontends.c.syntax import syntax_error
from polylsp.model.program import Site
from polylsp.model.rejection import Rejection


@dataclass(frozen=True, slots=True)
class Parsed:
    """The tree of a function (`FuncDef`) and those of its declarations, each with its source."""

    definition: Any
    declarations: tuple[tuple[Declaration | None, Any], ...]


def parse(tokens: tuple[str, ...], declarations: Sequence[Declaration]) -> Parsed | Rejection:
    """The tree of one function; a declaration that does not parse is left out."""
    kept: dict[int, Declaration] = dict(enumerate(declarations))
    while True:
        lexer = _Lexer(tokens, kept)
        try:
            trees = _parser(lexer).parse("").ext
        except RecursionError:
            return too_deep(tokens)
        except (ParseError, ValueError, AssertionError, AttributeError, TypeError) as error:
            broken = lexer.broken_declaration(str(error))
            if broken is None:
                return syntax_error(tokens, lexer.position(str(error)), _known_types(kept.values()))
            _leave_out(kept, broken, lexer.column(str(error)))
            continue
        return _split(trees, kept) or syntax_error(tokens, 0, frozenset())


def too_deep(tokens: tuple[str, ...]) -> Rejection:
    """The rejection of a function that nests too deeply to be read."""
    return Rejection(
        "budget",
        Site(0, max(0, len(tokens) - 1)),
        "this function nests its expressions or statements too deeply to be analysed",
        "split the function",
    )


def _leave_out(kept: dict[int, Declaration], broken: int, column: int) -> None:
    """Drop a declaration that does not parse, and all that use the type which it lacks."""
    tokens = kept[broken].tokens
    declared = {name for declaration in kept.values() for name in declaration.names}
    near = (tokens[k] for k in (column - 1, column) if 0 <= k < len(tokens))
    unknown = next((t for t in near if _classify(t)[0] == "ID" and t not in declared), None)
    del kept[broken]
    for key in [k for k, declaration in kept.items() if unknown in declaration.uses]:
        del kept[key]


def _parser(lexer: _Lexer) -> CParser:
    def given(**_: Any) -> Any:
        return lexer

    return CParser(lexer=given)  # pyright: ignore[reportArgumentType]


class _Lexer:
    """Hands out ready tokens in place of a text (`CParser` takes any such lexer)."""

    def __init__(self, tokens: tuple[str, ...], declarations: dict[int, Declaration]):
        self.filename = ""
        self._stream: list[Token] = []
        for key, declaration in declarations.items():
            self._append(declaration.tokens, -1 - key)
        if _lacks_type(tokens, declarations.values()):
            self._stream.append(Token("INT", "int", 0, 1, ""))
        self._append(tokens, None)
        self._next = 0
        self._length = len(tokens)

    def _append(self, tokens: tuple[str, ...], line: int | None) -> None:
        for index, text in enumerate(tokens):
            kind, value = _classify(text)
            self._stream.append(Token(kind, value, index if line is None else line, index, ""))

    def input(self, text: str, filename: str = "") -> None:
        """Nothing: the tokens are known already."""

    def token(self) -> Token | None:
        """The next token, or `None` at the end."""
        if self._next >= len(self._stream):
            return None
        token = self._stream[self._next]
        self._next += 1
        return token

    def position(self, error: str) -> int:
        """The index of the token that an error message of the parser is about."""
        return max(0, min(self._line(error), self._length - 1))

    def broken_declaration(self, error: str) -> int | None:
        """The declaration that an error message is about, or `None` for the function itself."""
        line = self._line(error)
        return -1 - line if line < 0 else None

    def column(self, error: str) -> int:
        """The index of the token in its declaration that an error message is about, or -1."""
        found = re.match(r":-?\d+:(\d+): ", error)
        return int(found.group(1)) if found else -1

    def _line(self, error: str) -> int:
        found = re.match(r":(-?\d+)(?::\d+)?: ", error)
        if found:
            return int(found.group(1))
        return self._stream[min(self._next, len(self._stream)) - 1].lineno if self._stream else 0


@lru_cache(maxsize=65536)
def _classify(text: str) -> tuple[str, str]:
    """pycparser's name for the kind of a token, and its spelling."""
    if "\n" in text:
        text = re.sub(r"\\[ \t]*\n", "", text)
    lexer = CLexer(error_func=lambda message, line, column: None)
    lexer.input(text)
    token = lexer.token()
    if token is None or token.value != text:
        return "UNKNOWN", text
    return token.type, token.value


def _lacks_type(tokens: tuple[str, ...], declarations: Iterable[Declaration]) -> bool:
    """Whether a definition starts with its name: `main(argc, argv) char **argv; {`."""
    if len(tokens) < 2 or tokens[1] != "(" or _classify(tokens[0])[0] != "ID":
        return False
    return tokens[0] not in _known_types(declarations)


def _known_types(declarations: Iterable[Declaration]) -> frozenset[str]:
    """Names that typedefs among the declarations introduce (roughly: every name in them)."""
    return frozenset(name for d in declarations if d.tokens[:1] == ("typedef",) for name in d.tokens)


def _split(trees: list[Any], declarations: dict[int, Declaration]) -> Parsed | None:
    """The last function of the trees, and what stands before it."""
    for index in range(len(trees) - 1, -1, -1):
        if type(trees[index]).__name__ == "FuncDef":
            before = tuple((_origin(t, declarations), t) for t in trees[:index])
            return Parsed(trees[index], before)
    return None


def _origin(tree: Any, declarations: dict[int, Declaration]) -> Declaration | None:
    coord = getattr(tree, "coord", None)
    return declarations.get(-1 - coord.line) if coord is not None else None
