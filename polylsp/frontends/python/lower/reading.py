"""What an expression of the model reads."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.model.program import (
    AddressOf,
    Binary,
    Call,
    Cast,
    Constant,
    Expr,
    Index,
    Invariant,
    Place,
    Read,
    Select,
    Unary,
)


def places_in(expression: Expr) -> Iterator[Place]:
    """The places that an expression reads, those in subscripts included."""
    match expression:
        case Read(place) | AddressOf(place):
            yield place
            children = tuple(step.subscript for step in place.steps if isinstance(step, Index))
        case Unary(_, operand) | Cast(operand):
            children = (operand,)
        case Binary(_, left, right):
            children = (left, right)
        case Select(condition, then, otherwise):
            children = (condition, then, otherwise)
        case Call(_, arguments):
            children = arguments
        case Constant() | Invariant():
            children = ()
    for child in children:
        yield from places_in(child)
