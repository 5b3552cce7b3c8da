"""Extents of arrays, read off their types."""

from __future__ import annotations

from polylsp.model.program import Array, Constant, Type, Variable


def constant_extents(of_type: Type) -> tuple[int, ...] | None:
    """The extents of an array, outermost first, if all are constants; none for other types."""
    found: list[int] = []
    while isinstance(of_type, Array):
        extent = of_type.extent
        if not isinstance(extent, Constant) or not isinstance(extent.value, int):
            return None
        found.append(extent.value)
        of_type = of_type.element
    return tuple(found)


def is_whole_array(variable: Variable) -> bool:
    """True if a variable is an array of constant extents and not a parameter, which is a pointer."""
    return variable.storage != "parameter" and bool(constant_extents(variable.type))
