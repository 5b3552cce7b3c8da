"""Spelling of accesses as in the user's source: slices of it, and concrete elements of arrays."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from polylsp.core.text import Source, Span
from polylsp.ir.verdict import AccessPoint
from polylsp.model.facts import PlacedFunction

LIMIT = 60

# No excerpt ends in a comment; on one line, `//` divides.
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*\n", re.DOTALL)
_WRAPPED = 1 << 31
_SPACE = re.compile(r"\s+")
_ASSIGNMENT = re.compile(r"\s*((?:<<|>>|[-+*/%&|^])?=(?!=)|\+\+|--)")
_NESTED = re.compile(r"\[[^\]]*\[")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")


def excerpt(source: Source, span: Span, limit: int = LIMIT) -> str:
    """The text at `span` on one line, cut with `…` where longer than `limit` characters."""
    text = _SPACE.sub(" ", _COMMENT.sub(" ", source.text[span.start : span.end])).strip()
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def access_excerpt(source: Source, placed: PlacedFunction, access: AccessPoint) -> str:
    """An access as the user spelled it: `a[i - 1]`, or `a[i] = …` where it is assigned."""
    span = placed.span(access.site)
    text = excerpt(source, span)
    if access.kind == "read":
        return text
    follows = _ASSIGNMENT.match(source.text, span.end, min(len(source.text), span.end + 200))
    if follows is None:
        return text
    operator = follows.group(1)
    return text + operator if operator in ("++", "--") else f"{text} {operator} …"


def element(text: str, values: Mapping[str, int]) -> str | None:
    """The element that an access as modelled reaches for concrete values: `a[i - 1]` with i = 2
    is `a[1]`. `None` where a subscript does not evaluate, as in `a[idx[i]]`, or an unsigned one would
    have wrapped around."""
    known = _NESTED.search(text) is None

    def concrete(subscript: re.Match[str]) -> str:
        nonlocal known
        # Python has all subscripts in one pair of brackets.
        found = [evaluate(each, values) for each in subscript.group(1).split(",")]
        known = known and all(each is not None and abs(each) < _WRAPPED for each in found)
        return f"[{', '.join(map(str, found))}]"

    result = _BRACKETS.sub(concrete, text)
    return result if known else None


def evaluate(expression: str, values: Mapping[str, int]) -> int | None:
    """The value of an integer expression in C's notation, or `None` (division truncates)."""
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return _evaluate(tree.body, values)


def _evaluate(node: ast.expr, values: Mapping[str, int]) -> int | None:
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.Name(id=name):
            return values.get(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = _evaluate(operand, values)
            return None if value is None else -value
        case ast.BinOp(left=left, op=operator, right=right):
            return _combine(operator, _evaluate(left, values), _evaluate(right, values))
        case _:
            return None


def _combine(operator: ast.operator, left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return None
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div() | ast.Mod() if right != 0:
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            return quotient if isinstance(operator, ast.Div) else left - right * quotient
        case _:
            return None
