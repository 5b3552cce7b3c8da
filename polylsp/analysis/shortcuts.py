"""Short-circuit updates `t = t && e` and `t = t || e`, which skip `e` once `t` is decided. Iterations that
run in parallel cannot see that, and evaluate it all the same."""

from __future__ import annotations

from collections.abc import Iterable

from polylsp.analysis.raw import RawAccess
from polylsp.analysis.scope import Scope
from polylsp.analysis.state import Opaque
from polylsp.analysis.value import Compare
from polylsp.model.expressions import subexpressions
from polylsp.model.program import Assign, Binary, Constant, Expr, Integer
from polylsp.model.verdict import Assumption, ReductionOperator

_DECIDED: dict[ReductionOperator, str] = {"&&": "false", "||": "true"}
"""The operators, and what `t` is once it is decided."""


def may_trap(operator: str, operands: Iterable[Expr]) -> bool:
    """True if short-circuit evaluation may skip a division by a divisor that may be 0."""
    if operator not in _DECIDED:
        return False
    every = (node for operand in operands for node in subexpressions(operand))
    return any(isinstance(node, Binary) and _divides(node) for node in every)


def _divides(node: Binary) -> bool:
    whole = isinstance(node.type, Integer) and node.operator in ("/", "%")
    return whole and not isinstance(node.right, Constant)


def assume_readable(
    assign: Assign, update: ReductionOperator | None, accesses: Iterable[RawAccess], scope: Scope
) -> None:
    """Let loops around an update assume that operands it may skip can be read at any time, unless they are
    within declared bounds."""
    decided = _DECIDED.get(update) if update is not None else None
    if decided is None:
        return
    target = assign.target.variable.source_name
    perhaps = (a for a in accesses if a.kind == "read" and a.update is None and not a.exact)
    for access in perhaps:
        if not _is_inside(access, scope):
            sentence = f"`{access.text}` can be read also where `{target}` is {decided} already"
            scope.assume(Assumption("other", (access.variable.source_name, target), sentence))


def _is_inside(access: RawAccess, scope: Scope) -> bool:
    """True if an element is proven within the declared bounds of an array."""
    subscripts, extents = access.path.subscripts, access.extents
    if access.path.followed or len(subscripts) != len(extents):
        return False
    before = scope.active
    scope.active = before if access.where is None else access.where
    inside = all(
        not isinstance(subscript, Opaque)
        and extent is not None
        and scope.always(Compare(">=", subscript))
        and scope.always(Compare(">=", extent - subscript - 1))
        for subscript, extent in zip(subscripts, extents, strict=True)
    )
    scope.active = before
    return inside
