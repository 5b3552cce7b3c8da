"""Symbolic values as a person would write them."""

from __future__ import annotations

from polylsp.analysis.state import Parameters
from polylsp.analysis.value import (
    AllOf,
    AnyOf,
    Atom,
    Choice,
    Compare,
    Condition,
    Extremum,
    FloorDiv,
    Poly,
    Symbol,
    floor_div,
)

_MOST = 100
"""Longest value printed, in characters; longer ones are cut."""


def pretty(value: Poly, parameters: Parameters) -> str:
    """A polynomial."""
    parts: list[str] = []
    for monomial, coefficient in sorted(value.terms, key=lambda t: (not t[0], len(t[0]))):
        factors = [_atom(atom, parameters) for atom in monomial]
        size = abs(coefficient)
        body = " * ".join(([str(size)] if size != 1 or not factors else []) + factors)
        sign = "-" if coefficient < 0 else "+"
        parts.append(f"{sign} {body}")
    text = " ".join(parts).removeprefix("+ ")
    text = text.replace("- ", "-", 1) if text.startswith("- ") else text or "0"
    return text if len(text) <= _MOST else text[:_MOST] + " …"


def _atom(atom: Atom, parameters: Parameters) -> str:
    match atom:
        case Symbol(name):
            return parameters.texts.get(name) or parameters.iterators.get(name, name)
        case FloorDiv(dividend, divisor):
            text = pretty(dividend, parameters)
            simple = len(dividend.terms) == 1 and not text.startswith("-")
            return f"{text} / {divisor}" if simple else f"({text}) / {divisor}"
        case Extremum(kind, left, right):
            return f"{kind}({pretty(left, parameters)}, {pretty(right, parameters)})"
        case Choice(Compare(">=", tested), then, otherwise) if _is_spelled_alike(tested, then, otherwise):
            plain = min(then, otherwise, key=lambda value: abs(dict(value.terms).get((), 0)))
            return f"({pretty(plain, parameters)})" if len(plain.terms) > 1 else pretty(plain, parameters)
        case Choice(condition, then, otherwise):
            either = f"{pretty(then, parameters)} : {pretty(otherwise, parameters)}"
            return f"({_condition(condition, parameters)} ? {either})"


def _is_spelled_alike(tested: Poly, then: Poly, otherwise: Poly) -> bool:
    """True if C writes both ways of a choice alike: a value that becomes unsigned or signed goes around at
    the end of its type, and a quotient of a negative value is rounded up."""
    around = (otherwise - then).as_constant
    if around is not None:
        return abs(around) in (1 << 32, 1 << 64)
    match then.terms:
        case (((FloorDiv(dividend, divisor),), 1),):
            return dividend == tested and otherwise == -floor_div(-dividend, divisor)
        case _:
            return False


def _condition(condition: Condition, parameters: Parameters) -> str:
    match condition:
        case Compare(operator, value):
            return f"{pretty(value, parameters)} {operator} 0"
        case AllOf(parts):
            return " && ".join(_condition(part, parameters) for part in parts)
        case AnyOf(parts):
            return " || ".join(f"({_condition(part, parameters)})" for part in parts)
