"""Explanations of syntax errors in a function's tokens, in words.

A parser reports where it stopped, not what is missing there. That is found by trying: candidates for the
missing tokens are inserted, and the first that lets the parser read on is named (the simple repairs of Burke
and Fisher, "A Practical Method for LR and LL Syntactic Error Diagnosis and Recovery", 1987).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from polylsp.frontends.c.brackets import matching_brackets
from polylsp.frontends.c.lexer import UNKNOWN, classify
from polylsp.frontends.c.unknown_type import unknown_type
from polylsp.model.program import Site
from polylsp.model.rejection import Rejection

Stop = Callable[[tuple[str, ...]], int]
"""The index of the token that the parser declines in these; their number if it declines none."""

_AHEAD = 4  # tokens: so far the parser looks ahead, and not further
_HEADED = ("if", "for", "while", "switch")  # what parentheses follow


def syntax_error(
    tokens: tuple[str, ...], stop: int, reason: str, types: frozenset[str], parser: Stop
) -> Rejection:
    """Rejection for tokens of which the parser declined the one at `stop`, with the parser's reason."""
    if not tokens:
        return Rejection("syntax-error", Site(0, 0), "there is nothing here")
    unknown = unknown_type(tokens, stop, types)
    if unknown is not None:
        return undeclared_type(tokens, unknown)
    alone = _unmatched(tokens)
    if stop >= len(tokens) and alone:
        return _at(alone[-1], f"this `{tokens[alone[-1]]}` is never closed")
    stop = min(stop, len(tokens) - 1)
    return _explained(
        _Error(tokens, stop, _innermost(tokens[:stop]), "Invalid expression" in reason, parser), alone
    )


def undeclared_type(tokens: tuple[str, ...], index: int) -> Rejection:
    """The rejection of a name that stands where a type must, and that nothing declares as one."""
    text = f"`{tokens[index]}` is used as a type but is not declared"
    advice = "include the header that declares it, or tell polylsp where it is with `-I`"
    return Rejection("syntax-error", Site(index, index), text, advice)


@dataclass(frozen=True, slots=True)
class _Error:
    """The token that was declined, the innermost bracket that is open there (or -1), and whether the
    parser looked for an expression."""

    tokens: tuple[str, ...]
    stop: int
    opened: int
    expression: bool
    parser: Stop

    @property
    def found(self) -> str:
        return self.tokens[self.stop]

    @property
    def before(self) -> str:
        return self.tokens[self.stop - 1] if self.stop else ""

    @property
    def bracket(self) -> str:
        return self.tokens[self.opened] if self.opened >= 0 else ""

    @property
    def headed(self) -> str:
        """The keyword before the bracket, if parentheses always follow it."""
        before = self.tokens[self.opened - 1] if self.opened > 0 else ""
        return before if before in _HEADED else ""

    def helps(self, *missing: str) -> bool:
        """True if the parser takes the declined token once the `missing` ones stand before it."""
        ahead = self.tokens[self.stop : self.stop + _AHEAD]
        return self.parser((*self.tokens[: self.stop], *missing, *ahead)) > self.stop + len(missing)


def _explained(error: _Error, alone: list[int]) -> Rejection:
    """The first explanation that fits; the surest come first."""
    call = error.before == "(" and error.found in (";", "}")  # of nothing: not closed
    return (
        _no_token(error)
        or (_at(error.stop, f"this `{error.found}` closes nothing") if error.stop in alone else None)
        or (None if call else _missing_operand(error))
        or _missing_mark(error)
        or _missing_operand(error)
        or _missing_name(error)
        or _never_closed(error, alone)
        or _fallback(error)
    )


def _no_token(error: _Error) -> Rejection | None:
    """The declined token is none of C's: a literal that is not closed, a stray character."""
    token = error.found
    if classify(token)[0] != UNKNOWN:
        return None
    if any(quote in token for quote in "\"'"):
        return _at(error.stop, "this string or character is never closed")
    if token[0].isdigit() or token[0] == ".":
        return _at(error.stop, f"{_shown(token)} is not a valid number")
    return _at(error.stop, f"{_shown(token)} has no meaning in C")


def _missing_mark(error: _Error) -> Rejection | None:
    """Punctuation is missing. It belongs after the token before, which is where a person looks."""
    if error.before in _HEADED:
        return _after(error, "`(`")
    if error.before == "do":
        return _after(error, "a statement")
    for what, *missing in _marks(error):
        if error.helps(*missing):
            closes = f" to close {_opener(error)}" if what in _CLOSING.values() else ""
            return _after(error, what, closes)
    if (
        error.headed == "for"
        and error.found == ")"
        and error.tokens[error.opened : error.stop].count(";") < 2
    ):
        return _at(error.stop, "a `for` has two `;` between its parentheses")
    return None


_CLOSING = {"(": "`)`", "[": "`]`", "{": "`}`"}


def _marks(error: _Error) -> Iterator[tuple[str, ...]]:
    """Candidates for the missing text, and the tokens to try it with."""
    match error.bracket:
        case "(":
            yield "`)`", ")"
            yield "`)`", ")", ";"
            if error.headed == "for":
                yield "`;`", ";"
                yield "`;`", ";", ")"
                yield "`;`", ";", ";", ")"
            yield "`,` or `)`", ","
        case "[":
            yield "`]`", "]"
        case "{":
            if error.before in (")", "else") and error.helps("{", "}"):
                yield "a statement", ";"
            yield "`;`", ";"
            yield "`while (...)`", "while", "(", "_", ")", ";"
            yield "`}`", "}"
            yield "`,` or `}`", ","
        case _:
            yield "`{`", "{", "}"
    yield "`:`", ":"
    yield "`:`", ":", "_"


def _missing_operand(error: _Error) -> Rejection | None:
    """The parser looked for an expression after something that is no operand and opens no block."""
    before = error.before
    operand = before[:1].isalnum() or before[:1] in ("_", "'", '"') or before in (")", "]", "}", "++", "--")
    return (
        None if operand or not error.expression or error.found == "{" else _expected(error, "an expression")
    )


def _missing_name(error: _Error) -> Rejection | None:
    """An expression or a name is missing, and perhaps its end."""
    if error.before in (".", "->"):
        return _expected(error, "the name of a member")
    for what, *missing in (("an expression", "_", "++"), ("a name", "_")):
        if error.helps(*missing) or error.helps(*missing, ";"):
            return _expected(error, what)
    return None


def _never_closed(error: _Error, alone: list[int]) -> Rejection | None:
    """A bracket that was opened before the declined token has no partner anywhere."""
    before = [k for k in alone if k < error.stop and error.tokens[k] in "([{"]
    return _at(before[-1], f"this `{error.tokens[before[-1]]}` is never closed") if before else None


def _fallback(error: _Error) -> Rejection:
    if error.expression:
        return _expected(error, "an expression")
    if error.found == "else":
        return _at(error.stop, "this `else` has no `if`")
    if error.found == "}":
        return _at(max(0, error.stop - 1), f"something is missing after {_shown(error.before)}")
    return _at(error.stop, f"{_shown(error.found)} cannot stand here")


def _after(error: _Error, what: str, closes: str = "") -> Rejection:
    return _at(max(0, error.stop - 1), f"expected {what} after {_shown(error.before)}{closes}")


def _expected(error: _Error, what: str) -> Rejection:
    """Place the message at the declined token if that continues the statement, else after the one before."""
    if error.found == "}" or error.found[0].isalpha():
        return _after(error, what)
    return _at(error.stop, f"expected {what} before {_shown(error.found)}")


def _at(index: int, message: str) -> Rejection:
    return Rejection("syntax-error", Site(index, index), message)


def _shown(token: str) -> str:
    return f"`{token}`" if len(token) <= 40 else f"`{token[:37]}...`"


def _opener(error: _Error) -> str:
    """The bracket that is open, with the name before it: "`for (`"."""
    before = error.tokens[error.opened - 1] if error.opened else ""
    named = before[:1].isalpha() or before[:1] == "_"
    space = " " if before in _HEADED or error.bracket == "{" else ""
    return f"`{before}{space}{error.bracket}`" if named else f"`{error.bracket}`"


def _innermost(tokens: tuple[str, ...]) -> int:
    """The last bracket that is open at the end of the tokens, or -1."""
    match = matching_brackets(tokens)
    return next((k for k in range(len(tokens) - 1, -1, -1) if tokens[k] in "([{" and k not in match), -1)


def _unmatched(tokens: tuple[str, ...]) -> list[int]:
    """The brackets without a partner."""
    match = matching_brackets(tokens)
    return [k for k, token in enumerate(tokens) if token in ("(", "[", "{", ")", "]", "}") and k not in match]
