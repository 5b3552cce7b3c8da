"""Evaluation of expressions for given values of the function's parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from polylsp.model.program import Array, Binary, Cast, Constant, Expr, Pointer, Read, Type, Unary


def evaluated(value: Expr, sizes: Mapping[str, int]) -> int | None:
    """The whole number that an expression is, given the parameters by name; `None` if that is not enough."""
    match value:
        case Constant(int() as number):
            return number
        case Read(place) if not place.steps and place.variable.storage == "parameter":
            return sizes.get(place.variable.source_name)
        case Cast(operand):
            return evaluated(operand, sizes)
        case Unary("-", operand):
            inner = evaluated(operand, sizes)
            return None if inner is None else -inner
        case Binary(operator, left, right) if operator in _OPERATORS:
            one, other = evaluated(left, sizes), evaluated(right, sizes)
            return None if one is None or other is None else _OPERATORS[operator](one, other)
        case _:
            return None


def row(of_type: Type, sizes: Mapping[str, int]) -> tuple[int, ...] | None:
    """Strides of each subscript of an array or a pointer, in elements, outermost first; `None` if an inner
    extent is unknown."""
    inner = (
        of_type.to
        if isinstance(of_type, Pointer)
        else of_type.element
        if isinstance(of_type, Array)
        else None
    )
    if not isinstance(inner, Array):
        return (1,)
    extent = evaluated(inner.extent, sizes) if inner.extent is not None else None
    rest = row(inner, sizes)
    return None if extent is None or rest is None else (extent * rest[0], *rest)


def declared(of_type: Type, sizes: Mapping[str, int]) -> int | None:
    """The elements that a declaration speaks of, if it says how many."""
    if not isinstance(of_type, Array) or of_type.extent is None:
        return None
    outermost, steps = evaluated(of_type.extent, sizes), row(of_type, sizes)
    return None if outermost is None or steps is None else max(0, outermost) * steps[0]


def _quotient(one: int, other: int) -> int:
    """C's division, towards zero; of a division by zero, anything."""
    return abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1) if other else 0


_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "/": _quotient,
    "min": min,
    "max": max,
}
