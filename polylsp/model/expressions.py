"""The parts of an expression."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.model.program import (
    AddressOf,
    Binary,
    Call,
    Cast,
    Expr,
    Index,
    Integer,
    Place,
    Read,
    Select,
    Unary,
)


def subexpressions(expression: Expr) -> Iterator[Expr]:
    """An expression and everything inside it, subscripts included."""
    pending = [expression]
    while pending:
        expression = pending.pop()
        yield expression
        match expression:
            case Read(place) | AddressOf(place):
                if place.steps:
                    pending += [*subscripts(place)][::-1]
            case Unary(_, operand) | Cast(operand):
                pending.append(operand)
            case Binary(_, left, right):
                pending += (right, left)
            case Select(condition, then, otherwise):
                pending += (otherwise, then, condition)
            case Call(_, arguments):
                pending += arguments[::-1]
            case _:
                pass


def subscripts(place: Place) -> Iterator[Expr]:
    """The subscripts of a place."""
    for step in place.steps:
        if isinstance(step, Index):
            yield step.subscript


def bare(value: Expr) -> Expr:
    """A whole number without conversions to other types of whole numbers."""
    while (
        isinstance(value, Cast)
        and isinstance(value.type, Integer)
        and isinstance(value.operand.type, Integer)
    ):
        value = value.operand
    return value


def stripped(expression: Expr) -> Expr:
    """The expression without conversions around it."""
    while isinstance(expression, Cast):
        expression = expression.operand
    return expression


def around(expression: Expr, inner: Expr) -> Expr:
    """Another expression with the conversions that are around one."""
    if not isinstance(expression, Cast):
        return inner
    return Cast(around(expression.operand, inner), expression.type, expression.site)
