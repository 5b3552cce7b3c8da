"""Accesses as the user's source spells them: slices of it, concrete elements of arrays, and what the text
around a dependence says of running sums and generators."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

from polylsp.core.language import PYTHON
from polylsp.core.text import Source, Span
from polylsp.ir.verdict import AccessPoint, Dependence
from polylsp.model.facts import LoopFacts, PlacedFunction

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


_WRITE = r"\b{name}\b(?:\s*\[[^\]]*\])*\s*(?:(?:[-+*/%&|^]|<<|>>|\*\*|//)?=(?!=)|\+\+|--)"
_REST = re.compile(r"[ \t]*(\+?=)(?!=)([^;\n]*)(?:;|\n|$)")
"""Operator and right side of an assignment, after its target."""
_DRAWS = re.compile(r"\b(rand_r)\s*\(\s*\Z")


def generator_words(source: Source, placed: PlacedFunction, dependence: Dependence) -> str:
    """Name of a generator of random numbers that both ends of a dependence give their state, or empty."""
    ends = {placed.span(each.site).start for each in (dependence.source, dependence.sink)}
    draws = {_DRAWS.search(source.text, max(0, at - 40), at) for at in ends}
    return (
        "; `rand_r` goes on from the state that it is given: use one state per thread" if all(draws) else ""
    )


def running_sum_words(source: Source, placed: PlacedFunction, loop: LoopFacts, dependence: Dependence) -> str:
    """Name of a running sum and its parallel form, or empty: `s += …` whose partial sums are used (else it is
    a reduction), or `a[i] = a[i - 1] + …`, where the loop assigns the variable at no other place."""
    write, read = dependence.source, dependence.sink
    if dependence.kind != "flow" or dependence.distance != 1 or write.variable != read.variable:
        return ""
    end = placed.span(write.site).end
    found = _REST.match(source.text, end)
    span, name = placed.span(loop.site), re.escape(write.variable)
    text = source.text[span.start : span.end]
    writes = re.findall(_WRITE.format(name=name), text)
    if found is None or len(writes) != 1:
        return ""
    target = access_excerpt(source, placed, read)
    right = re.sub(r"\[[^\]]*\]", "[]", found[2].replace(target, "\0"))
    terms = [each.strip() for each in right.split("+")] if not re.search(r"[?:-]", right) else []
    others = [each for each in terms if each != "\0"]
    is_added = found[1] == "=" and len(terms) - len(others) == 1 and others
    mentions = re.compile(rf"\b{re.escape(write.variable)}\b")
    used = len(mentions.findall(source.text, span.start, span.end)) - 1 - (found[1] == "=")
    if "[" not in access_excerpt(source, placed, write) and not used:
        # A sum whose parts nobody reads is a reduction, unless its steps are rounded to another type.
        return ""
    if any(mentions.search(each) or "\0" in each for each in others) or not (
        is_added or (found[1] == "+=" and terms)
    ):
        return ""
    in_python = placed.answer.language == PYTHON.name
    if write.variable in _computed_from(others, text, "\n" if in_python else ";"):
        return ""
    advice = "`np.cumsum` or a parallel scan" if in_python else "a parallel scan"
    return f"; `{write.variable}` is a running sum: use {advice}"


def _computed_from(terms: Iterable[str], text: str, ends: str) -> set[str]:
    """The names in some terms, and those that assignments in a text, each up to `ends`, compute them from."""
    sides: dict[str, list[str]] = {}
    for found in _ASSIGNED.finditer(text):
        sides.setdefault(found[1], []).append(text[found.end() :].partition(ends)[0])
    names: set[str] = set()
    waiting = list(terms)
    while waiting:
        new = set(re.findall(r"[A-Za-z_]\w*", waiting.pop())) - names
        names |= new
        waiting += [side for name in new for side in sides.get(name, ())]
    return names


_ASSIGNED = re.compile(r"\b([A-Za-z_]\w*)(?:\[[^\]]*\])*\s*(?:[-+*/%&|^]|<<|>>|\*\*|//)?=(?!=)")
