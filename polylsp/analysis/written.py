"""Stored value of an assignment, as one expression."""

from __future__ import annotations

from polylsp.analysis.state import At, Base, PointerValue
from polylsp.analysis.value import ZERO
from polylsp.model.program import Assign, Binary, Call, Cast, Expr, Pointer, Read

_ALLOCATORS = frozenset(("malloc", "calloc", "realloc", "aligned_alloc", "alloca", "__builtin_alloca"))


def with_operator(assign: Assign) -> Expr:
    """The stored value, with the operator of a compound assignment written out."""
    if assign.operator is None:
        return assign.value
    target = Read(assign.target)
    if isinstance(assign.target.type, Pointer):
        return Binary(assign.operator, target, assign.value, assign.target.type, assign.site)
    whole = Binary(assign.operator, target, assign.value, assign.value.type, assign.site)
    return whole if assign.value.type == assign.target.type else Cast(whole, assign.target.type, assign.site)


def allocation(assign: Assign) -> PointerValue | None:
    """Target of a pointer after `p = malloc(…)`: memory that no other path leads to."""
    variable, source = assign.target.variable, assign.value
    while isinstance(source, Cast):
        source = source.operand
    if assign.target.steps or not isinstance(variable.type, Pointer) or not isinstance(source, Call):
        return None
    if source.function not in _ALLOCATORS:
        return None
    return PointerValue(Base(f"{variable.name}:{assign.site.first}", variable, fresh=True), (At(ZERO),))
