"""Updates that may be reassociated, recognised by the shape of one statement."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.analysis.induction import reads_only
from polylsp.analysis.shortcuts import may_trap
from polylsp.analysis.spelling import spell, spell_place
from polylsp.model.expressions import stripped, subexpressions
from polylsp.model.program import (
    Assign,
    Binary,
    Call,
    Constant,
    Expr,
    Floating,
    If,
    Integer,
    Place,
    Read,
    Select,
    Type,
)
from polylsp.model.verdict import ReductionOperator

_COMPOUND: dict[str, ReductionOperator] = {
    "+": "+", "-": "+", "*": "*", "&": "&", "|": "|", "^": "^", "&&": "&&", "||": "||",
    "min": "min", "max": "max",
}  # fmt: skip
_CALLS: dict[str, ReductionOperator] = {
    **dict.fromkeys(("fmin", "fminf", "fminl", "min"), "min"),
    **dict.fromkeys(("fmax", "fmaxf", "fmaxl", "max"), "max"),
}  # fmt: skip


def reduction_of(assign: Assign) -> ReductionOperator | None:
    """The operator, if the assignment is `s = s op e` in some spelling and e does not read s."""
    if not isinstance(assign.target.type, (Integer, Floating)):
        return None
    if assign.operator is not None:
        operator = _COMPOUND.get(assign.operator)
        exact = _same_kind(assign.target.type, assign.value.type)
        return operator if operator and exact and not mentions(assign.value, assign.target) else None
    value = stripped(assign.value)
    match value:
        case Binary(operator, _, _):
            exact = _same_kind(assign.target.type, value.type)
            return _chain(value, assign) if exact and operator in _COMPOUND else None
        case Call(function, arguments) if function in _CALLS:
            return _CALLS[function] if _one_is_target(arguments, assign) else None
        case Select(condition, then, otherwise):
            return _selection(condition, then, otherwise, assign)
        case _:
            return None


def conditional_extremum(statement: If) -> tuple[Assign, ReductionOperator] | None:
    """`if (e > m) m = e;` and its mirror images."""
    if len(statement.then.statements) != 1 or statement.otherwise.statements:
        return None
    assign = statement.then.statements[0]
    if not isinstance(assign, Assign) or assign.operator is not None:
        return None
    if mentions(assign.value, assign.target) or not isinstance(assign.target.type, (Integer, Floating)):
        return None
    operator = _picks(stripped(statement.condition), assign, assign.value)
    return None if operator is None else (assign, operator)


def mentions(expression: Expr, place: Place) -> bool:
    """Whether the expression reads a place of that spelling."""
    return any(
        isinstance(node, Read)
        and node.place.variable == place.variable
        and spell_place(node.place) == spell_place(place)
        for node in subexpressions(expression)
    )


def _chain(value: Binary, assign: Assign) -> ReductionOperator | None:
    """`s op a op b …`: s is one operand of a chain of one operator (for `-`, the leftmost)."""
    operator = _COMPOUND[value.operator]
    operands = list(_operands(value, operator, 1))
    own = [sign for operand, sign in operands if reads_only(operand, assign)]
    rest = [operand for operand, _ in operands if not reads_only(operand, assign)]
    if own != [1] or any(mentions(operand, assign.target) for operand in rest):
        return None
    if may_trap(operator, rest):
        return None
    return operator


def _operands(expression: Expr, operator: str, sign: int) -> Iterator[tuple[Expr, int]]:
    inner = stripped(expression)
    if operator in ("&&", "||"):
        inner = _truth(inner)
    if isinstance(inner, Binary) and _COMPOUND.get(inner.operator) == operator:
        yield from _operands(inner.left, operator, sign)
        yield from _operands(inner.right, operator, -sign if inner.operator == "-" else sign)
    else:
        yield inner, sign


def _truth(expression: Expr) -> Expr:
    """`e` for `e != 0`, where only the truth of e matters."""
    match expression:
        case Binary("!=", left, Constant(value)) if value == 0:
            return stripped(left)
        case _:
            return expression


def _one_is_target(arguments: tuple[Expr, ...], assign: Assign) -> bool:
    if len(arguments) != 2:
        return False
    own = [reads_only(a, assign) for a in arguments]
    return sum(own) == 1 and not mentions(arguments[own.index(False)], assign.target)


def _selection(condition: Expr, then: Expr, otherwise: Expr, assign: Assign) -> ReductionOperator | None:
    """`m = e > m ? e : m` and its mirror images."""
    if reads_only(otherwise, assign) and not mentions(then, assign.target):
        return _picks(stripped(condition), assign, then)
    if reads_only(then, assign) and not mentions(otherwise, assign.target):
        kept = _picks(stripped(condition), assign, otherwise)
        return {"min": "max", "max": "min"}.get(kept or "")  # type: ignore[return-value]
    return None


def _picks(condition: Expr, assign: Assign, candidate: Expr) -> ReductionOperator | None:
    """What replacing the target by `candidate` when `condition` holds computes."""
    if not isinstance(condition, Binary) or condition.operator not in ("<", "<=", ">", ">="):
        return None
    if not _holds(assign.target.type, stripped(candidate).type):
        return None
    wanted = spell(stripped(candidate))
    larger_right = condition.operator in ("<", "<=")
    if reads_only(condition.right, assign) and spell(stripped(condition.left)) == wanted:
        return "min" if larger_right else "max"
    if reads_only(condition.left, assign) and spell(stripped(condition.right)) == wanted:
        return "max" if larger_right else "min"
    return None


def _same_kind(target: Type, value: Type) -> bool:
    """Whether updates of `target` keep every bit that reassociation needs: an integer updated by
    floating-point arithmetic is truncated each time."""
    return isinstance(target, Floating) or isinstance(value, Integer)


def _holds(target: Type, value: Type) -> bool:
    """Whether `target` holds every `value`, so that comparing and assigning agree."""
    if isinstance(target, Integer) and isinstance(value, Integer):
        if target.signed == value.signed:
            return target.bits >= value.bits
        return target.signed and target.bits > value.bits
    return isinstance(target, Floating) and isinstance(value, (Floating, Integer))
