"""Integers whose spelling proves that they are not negative."""

from __future__ import annotations

from collections.abc import Mapping

from polylsp.model.program import Binary, Cast, Constant, Expr, Integer, Read, Select


def is_natural(expression: Expr, counted: Mapping[str, int]) -> bool:
    """True if a value is proven not to be negative; `counted` are variables (unique names) that never are,
    with their least values."""
    match expression:
        case Constant(value):
            return value >= 0
        case Read(place):
            return not place.steps and place.variable.name in counted
        case Binary("-", Read(place), Constant(value)):
            return not place.steps and counted.get(place.variable.name, -1) >= value
        case Cast(operand, Integer(_, True)):
            return is_natural(operand, counted)
        case Binary("+" | "*" | "max" | "min" | "/" as operator, left, right):
            if operator == "max" and (is_natural(left, counted) or is_natural(right, counted)):
                return True
            return is_natural(left, counted) and is_natural(right, counted)
        case Binary("%", _, Constant(value), floors=True):
            return value > 0
        case Select(_, then, otherwise):
            return is_natural(then, counted) and is_natural(otherwise, counted)
        case _:
            return isinstance(expression.type, Integer) and not expression.type.signed
