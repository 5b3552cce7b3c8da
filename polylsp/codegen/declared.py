"""Declared number of elements of an array."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polylsp.codegen.affine import Names
from polylsp.model.program import (
    Array,
    Binary,
    Cast,
    Constant,
    Expr,
    Integer,
    Place,
    Read,
    Type,
)


def declared_rows(of_type: Type, names: Names) -> isl.Set | None:
    """The subscripts that an array is declared to have, if its size is a sum of parameters and numbers."""
    extent = of_type.extent if isinstance(of_type, Array) else None
    own = {text: name for name, text in names.parameters.items()}
    size = _sum(extent, own) if extent is not None else None
    if size is None:
        return None
    return isl.Set(f"[{', '.join(names.parameters)}] -> {{ [x] : 0 <= x < {size} }}")


def _sum(value: Expr, own: Mapping[str, str]) -> str | None:
    """A sum in isl's notation; `own` are its parameters by their texts."""
    match value:
        case Constant(int() as number):
            return str(number)
        case Read(Place(variable, ())):
            return own.get(variable.source_name)
        case Cast(operand, Integer()):
            return _sum(operand, own)
        case Binary("+" | "-" as operator, left, right):
            parts = _sum(left, own), _sum(right, own)
            return None if None in parts else f"({parts[0]} {operator} {parts[1]})"
        case _:
            return None
