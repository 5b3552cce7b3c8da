"""Reads in an expression of the model."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.model.expressions import subexpressions
from polylsp.model.program import AddressOf, Expr, Place, Read


def places_in(expression: Expr) -> Iterator[Place]:
    """The places that an expression reads, those in subscripts included."""
    parts = subexpressions(expression)
    return (part.place for part in parts if isinstance(part, (Read, AddressOf)))
