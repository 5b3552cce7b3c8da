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
    yield expression
    match expression:
        case Read(place):
            children: tuple[Expr, ...] = tuple(subscripts(place))
        case AddressOf(place):
            children = tuple(subscripts(place))
        case Unary(_, operand) | Cast(operand):
            children = (operand,)
        case Binary(_, left, right):
            children = (left, right)
        case Select(condition, then, otherwise):
            children = (condition, then, otherwise)
        case Call(_, arguments):
            children = arguments
        case _:
            children = ()
    for child in children:
        yield from subexpressions(child)


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
