"""The results of operators."""

from __future__ import annotations

import ast

from polylsp.frontends.python.kinds import (
    DOUBLE,
    INT,
    REAL,
    UNKNOWN,
    WHOLE,
    Array,
    Kind,
    Number,
    combined,
    joined,
)
from polylsp.model.program import Floating


def either(found: list[Kind | None]) -> Kind | None:
    """Kind of a value that is one of several."""
    result = found[0]
    for one in found[1:]:
        result = joined(result, one)
    return result


def arithmetic(operator: ast.operator, left: Kind | None, right: Kind | None) -> Kind | None:
    """The result of an operator."""
    if isinstance(operator, ast.MatMult):
        return product(left, right)
    result = combined(left, right)
    if isinstance(operator, ast.Div):
        match result:
            case Number(of_type) if not isinstance(of_type, Floating):
                return REAL
            case Array(element, rank) if not isinstance(element, Floating):
                return Array(DOUBLE, rank)
            case _:
                pass
    if isinstance(operator, ast.Pow) and result == WHOLE:
        return Number(INT)
    return result


def product(left: Kind | None, right: Kind | None) -> Kind | None:
    """The result of `left @ right`."""
    match combined(left, right):
        case Array(element):
            ranks = (getattr(left, "rank", 0), getattr(right, "rank", 0))
            result = {(1, 1): 0, (2, 1): 1, (1, 2): 1, (2, 2): 2}.get(ranks)
            if result is None:
                return UNKNOWN
            return Array(element, result) if result else Number(element)
        case None:
            return None
        case _:
            return UNKNOWN
