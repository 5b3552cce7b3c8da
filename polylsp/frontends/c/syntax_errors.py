"""Explanations of C syntax errors: missing tokens, undeclared types, and damaged text.

A parser reports where it stopped, not the missing token. Candidates are inserted there, and the
first that lets the parser read on is named (the simple repairs of Burke and Fisher, "A Practical
Method for LR and LL Syntactic Error Diagnosis and Recovery", 1987). Results are `Rejection`s.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from polylsp.core.text import Span
from polylsp.frontends.c.outline import Item, Outline
from polylsp.frontends.c.tokens import UNKNOWN, classify, matching_brackets, normalise, tokenize
from polylsp.ir.program import Rejection, Site
from polylsp.model.facts import FileProblem

# --------------------------------------------------------------------------------------------------
# Names that stand where only a type or an attribute can, near the place where a function does not
# parse.
# --------------------------------------------------------------------------------------------------


def unknown_type(tokens: tuple[str, ...], position: int, types: frozenset[str]) -> int | None:
    """The index near `position` of a name that is used as a type and is none of `types`."""
    for index in (position - 1, position, position - 2):
        if not 0 <= index < len(tokens) - 1 or not _is_name(tokens[index]) or tokens[index] in types:
            continue
        if (_declares(tokens, index) or _casts(tokens, index)) and not _is_variable(tokens, index):
            return index
    return None


def unknown_attribute(tokens: tuple[str, ...], position: int, types: frozenset[str]) -> range | None:
    """The tokens near `position`, or at the start, of a name in a function's header that only an attribute
    can be, or a macro that stands for declarations: `X void f()`, `double *X a`, `int X f()`, `X(y) int f()`.
    """
    body = tokens.index("{") if "{" in tokens else len(tokens)
    # After `static X`, the rest of a header may be read as declarations of old-style parameters.
    first = next((k for k, token in enumerate(tokens) if token and token not in _STORAGE), body)
    if first < body - 1 and _is_name(tokens[first]) and tokens[first] not in types:
        end = _before_header(tokens[:body], first)
        if end is not None and (tokens[first + 1] == "(" or tokens.count(tokens[first]) == 1):
            return range(first, end)
    for index in (position - 1, position, position - 2, first):
        if not 0 <= index < body - 1 or not tokens[index] or not _is_name(tokens[index]):
            continue
        if tokens[index] in types or tokens.count(tokens[index]) > tokens[:body].count(tokens[index]):
            continue
        before, after = tokens[index - 1] if index else "(", tokens[index + 1]
        specifies = before in ("(", ",", "static", "extern", "inline", "const") and after in _SPECIFIERS
        specifies = specifies or (index == first and _begins_declarator(tokens, index + 1, types))
        qualifies = (before == "*" or before in _TYPES) and _is_name(after)
        if specifies or qualifies:
            return range(index, index + 1)
    return None


def _before_header(header: tuple[str, ...], first: int) -> int | None:
    """End of an unknown word, or of the first macro with arguments, before a complete header: a type, a name
    and parameters. `None` where it may be the type, or the name."""
    partners = matching_brackets(header)
    opening = partners.get(len(header) - 1, 0) if header[-1] == ")" else 0
    ends: list[int] = []
    end, is_call = first, True
    while is_call and end < opening and _is_name(header[end]) and (end == first or header[end + 1] == "("):
        is_call = header[end + 1] == "("
        end = partners.get(end + 1, len(header)) + 1 if is_call else end + 1
        ends.append(end)
    rest = header[end:opening]
    if not rest:
        return None
    specifies = rest[0] in _SPECIFIERS and is_call
    plain = all(token in ("*", "const") or _is_name(token) for token in rest)
    declares = plain and _is_name(rest[0]) and sum(map(_is_name, rest)) > 1
    return ends[0] if ends and (specifies or declares) else None


_STORAGE = ("static", "extern", "inline")


def _begins_declarator(tokens: tuple[str, ...], index: int, types: frozenset[str]) -> bool:
    """True for the name of a known type before what it declares: another name before it is no type."""
    if index + 1 >= len(tokens) or tokens[index] not in types:
        return False
    return _is_name(_tokens_after(tokens, index))


def without_attribute(
    declaration: tuple[str, ...], name: str, types: frozenset[str]
) -> tuple[str, ...] | None:
    """A declaration without a name that only an attribute can be; `None` if it may be a type."""
    index = declaration.index(name)
    before = declaration[index - 1] if index else ";"
    specifies = declaration[index + 1] in _SPECIFIERS or _begins_declarator(declaration, index + 1, types)
    if specifies and before in (";", "static", "extern", "inline"):
        return (*declaration[:index], *declaration[index + 1 :])
    return None


def _declares(tokens: tuple[str, ...], index: int) -> bool:
    """True if another name follows, and the token before lets a declaration begin."""
    before = next(filter(None, reversed(tokens[:index])), ";")
    if before in ("(", ",") and "{" in tokens[:index]:
        return (
            before == "("
            and index > 1
            and tokens[index - 2] == "for"
            and _is_name(_tokens_after(tokens, index))
        )
    return before in _BEFORE_DECLARATION and _is_name(_tokens_after(tokens, index))


def _casts(tokens: tuple[str, ...], index: int) -> bool:
    if index == 0 or tokens[index - 1] != "(":
        return False
    if tokens[index + 1] == "*":
        return _tokens_after(tokens, index) == ")"
    before, after = tokens[index - 2] if index > 1 else ";", tokens[index + 2 : index + 3]
    operand = bool(after) and (_is_name(after[0]) or after[0][0].isdigit())
    return tokens[index + 1] == ")" and operand and before in _BEFORE_CAST


def _is_variable(tokens: tuple[str, ...], index: int) -> bool:
    """True if the name was declared before: then it is no type, and another token is missing."""
    return any(
        tokens[k] == tokens[index]
        and (tokens[k - 1] == "*" or tokens[k - 1] in _KEYWORDS or _is_name(tokens[k - 1]))
        and tokens[k + 1] in (",", ")", ";", "=", "[")
        for k in range(1, index)
    )


def _tokens_after(tokens: tuple[str, ...], index: int) -> str:
    """The token after the stars that follow."""
    after = index + 1
    while after < len(tokens) - 1 and tokens[after] == "*":
        after += 1
    return tokens[after]


_BEFORE_DECLARATION = frozenset((";", "{", "}", "(", ",", "const", "static", "extern", "inline", "register"))


_BEFORE_CAST = frozenset("( , = + - * / % < > <= >= == != && || & | ^ ? : return [ += -= *= /=".split())  # noqa: SIM905
_TYPES = frozenset("char double float int long short signed unsigned void _Bool".split())  # noqa: SIM905
_SPECIFIERS = _TYPES | frozenset(("struct", "union", "enum", "const", "static", "extern", "inline"))


def _is_name(token: str) -> bool:
    word = token != "" and (token[0].isalpha() or token[0] == "_")
    return word and token not in _KEYWORDS and token[-1] not in "\"'"


_KEYWORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int "  # noqa: SIM905
    "long register restrict return short signed sizeof static struct switch typedef union unsigned void "
    "volatile while _Bool _Complex".split()
)


# --------------------------------------------------------------------------------------------------
# Explanations of syntax errors in a function's tokens, in words.
#
# A parser reports where it stopped, not what is missing there. That is found by trying: candidates
# for the missing tokens are inserted, and the first that lets the parser read on is named (the
# simple repairs of Burke and Fisher, "A Practical Method for LR and LL Syntactic Error Diagnosis
# and Recovery", 1987).
# --------------------------------------------------------------------------------------------------


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


# --------------------------------------------------------------------------------------------------
# Diagnoses of text between the functions of a file that is no C.
# --------------------------------------------------------------------------------------------------


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
