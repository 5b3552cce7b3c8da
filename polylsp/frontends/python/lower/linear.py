"""Lengths as sums, so that equal ones are seen to be equal: `(n - 1) - 1` is `n - 2`."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from itertools import count
from typing import cast

from polylsp.frontends.python.kinds import INT
from polylsp.frontends.python.lower.arithmetic import binary, convert, whole
from polylsp.model.program import Binary, Cast, Constant, Expr, Integer, Site

Terms = dict[object, tuple[Expr, int]]


def terms_of(expression: Expr) -> tuple[Terms, int]:
    """A whole number as a sum: each other term with its factor; and the constant."""
    match expression:
        case Constant(int() as number):
            return {}, number
        case Cast(operand, Integer(_, True)) if (
            isinstance(operand.type, Integer) and operand.type.bits < INT.bits
        ):
            return terms_of(operand)
        case Binary("+" | "-" as operator, left, right):
            terms, rest = terms_of(left)
            more, other = terms_of(right)
            sign = 1 if operator == "+" else -1
            result = dict(terms)
            for key, (part, factor) in more.items():
                before = result[key][1] if key in result else 0
                result[key] = (part, before + sign * factor)
            return {k: v for k, v in result.items() if v[1]}, rest + sign * other
        case Binary("*", Constant(int() as factor), other) | Binary("*", other, Constant(int() as factor)):
            terms, rest = terms_of(other)
            return {k: (p, f * factor) for k, (p, f) in terms.items() if factor}, rest * factor
        case _:
            return {without_sites(expression): (expression, 1)}, 0


def simplified(expression: Expr, site: Site) -> Expr:
    """The same sum, written once."""
    terms, rest = terms_of(expression)
    result: Expr | None = None
    for part, factor in terms.values():
        one = convert(part, INT)
        if abs(factor) != 1:
            one = binary("*", whole(abs(factor), site), one, site)
        if result is None:
            result = one if factor > 0 else binary("-", whole(0, site), one, site)
        else:
            result = binary("+" if factor > 0 else "-", result, one, site)
    if result is None:
        return whole(rest, site)
    if rest == 0:
        return result
    return binary("+" if rest > 0 else "-", result, whole(abs(rest), site), site)


def same(left: Expr, right: Expr) -> bool:
    """True if two integers are provably equal."""
    (one, a), (other, b) = terms_of(left), terms_of(right)
    return a == b and {k: f for k, (_, f) in one.items()} == {k: f for k, (_, f) in other.items()}


_MOST = 50_000
_numbers = count()
_of_objects: dict[int, tuple[object, int]] = {}
_of_shapes: dict[object, int] = {}


def without_sites(value: object) -> int:
    """A number for a tree of program values that those have in common which differ at most in the places in
    the source where they stand."""
    known = _of_objects.get(id(value))
    if known is not None and known[0] is value:
        return known[1]
    if isinstance(value, tuple):
        shape: object = tuple(map(without_sites, cast("tuple[object, ...]", value)))
    elif is_dataclass(value):
        names = (each.name for each in fields(value) if each.name != "site")
        shape = (type(value), *(without_sites(getattr(value, name)) for name in names))
    else:
        shape = (type(value), value)
    if len(_of_shapes) + len(_of_objects) > _MOST:
        _of_shapes.clear()
        _of_objects.clear()
    number = _of_shapes.setdefault(shape, next(_numbers))
    _of_objects[id(value)] = (value, number)
    return number
