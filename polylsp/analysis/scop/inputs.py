"""Conditions on inputs: on elements that a nest does not change, beside values in closed form.

Nothing in the nest decides such a condition, and some inputs satisfy it in all iterations, so that a value
passed on under it is a dependence (`Guard.on_input`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from polylsp.analysis.scop.evaluation import value_of, value_read
from polylsp.analysis.scop.paths import is_written, resolve
from polylsp.analysis.scop.reductions import of_magnitude, sides
from polylsp.analysis.scop.symbolic_value import Poly
from polylsp.analysis.scop.walk_scope import Scope
from polylsp.analysis.scop.walk_state import Opaque
from polylsp.ir.effects import conjuncts
from polylsp.ir.induction import same_value
from polylsp.ir.program import (
    NEGATED,
    AddressOf,
    Assign,
    Binary,
    BinaryOperator,
    Call,
    Cast,
    Constant,
    Expr,
    If,
    Index,
    Integer,
    Pointer,
    Read,
    Unary,
    Variable,
    shape_of,
    stripped,
    subexpressions,
    subscripts,
)
from polylsp.poly.scop import Input, satisfiable


def inputs_of(condition: Expr, holds: bool, scope: Scope) -> tuple[Input, ...]:
    """The inputs that decide a condition, where it `holds` or does not: elements of arrays that the nest does
    not change by their names, beside values in closed form, so that nothing in the nest decides it, and some
    inputs satisfy it in all iterations. Empty for any other condition."""
    if not _is_open(condition, scope):
        return ()
    every: list[Input] = []
    elements = 0
    for part in conjuncts(condition) if holds else (condition,):
        read = [n for n in subexpressions(part) if isinstance(n, Read)]
        found = [each for n in read if (each := _element_input(n, scope)) is not None]
        elements += len(found)
        values = found or [_scalar_input(n) for n in read if not isinstance(value_of(n, scope), Poly)]
        tested = _tested(part, holds)
        every += [
            replace(v, test=tested[0], limits=tested[1]) if tested and len(values) == 1 else v for v in values
        ]
    if elements and satisfiable(every):
        return tuple(every)
    free = [_free(part, every, scope) for part in conjuncts(condition)] if holds else []
    chosen = tuple(each for each in free if each is not None)
    return chosen if len(chosen) == len(free) and satisfiable(chosen) else ()


def _is_open(condition: Expr, scope: Scope) -> bool:
    """True if a condition is on elements that the nest does not change, and on values in closed form."""
    for node in subexpressions(condition):
        match node:
            case Call(_, _, pure) if not pure:
                return False
            case Call("is True" | "is False" | "is None" | "in ()"):
                return False  # no number of NumPy is `True`: what an object is may be the same for all inputs
            case AddressOf():
                return False
            case Read(place) if any(isinstance(step, Index) for step in place.steps):
                if _element_input(node, scope) is None:
                    return False
            case Read(place) if place.steps:
                if is_written(place, scope):
                    return False
            case Read(place) if isinstance(place.type, Integer):
                if not isinstance(value_of(node, scope), Poly) and _element_input(node, scope) is None:
                    return False
            case Read(place) if place.variable.name in scope.effects.scalars:
                return False
            case Binary("==" | "!=") if not _holds_in_all(node, scope):
                return False
            case _:
                pass
    return True


def _element_input(expression: Read, scope: Scope) -> Input | None:
    """The element that an expression reads, or that an integer variable holds; without subscripts where
    values in memory choose it."""
    place = expression.place
    subscripted = any(isinstance(step, Index) for step in place.steps)
    if not subscripted and (place.steps or not isinstance(place.type, Integer)):
        return None
    known = value_read(expression, scope) if subscripted else value_of(expression, scope)
    if isinstance(known, Opaque) and known.entry is not None:
        entry = known.entry
        return Input((entry.base, entry.shape), entry.subscripts)
    whole = place.variable.name in scope.effects.scalars and not isinstance(place.variable.type, Pointer)
    if not (subscripted and isinstance(known, Opaque) and scope.frames) or whole or is_written(place, scope):
        return None
    path = resolve(place, scope, value_of)
    if isinstance(path, Opaque) or path.loose:
        return None
    return Input((path.base.name, path.shape), None)


def _scalar_input(expression: Read) -> Input:
    place = expression.place
    return Input((place.variable.name, shape_of(place.steps)), ())


def _tested(part: Expr, holds: bool) -> tuple[tuple[str, float], tuple[int, int] | None] | None:
    """The comparison of one value with a constant that a condition is, and the limits of that value."""
    match stripped(part):
        case Unary("!", operand):
            return _tested(operand, not holds)
        case Read() as read:
            return ("!=" if holds else "==", 0), _limits(part, read)
        case Binary(operator, left, right) if operator in NEGATED:
            ways: tuple[tuple[Expr, Expr, BinaryOperator], ...]
            ways = (left, right, operator), (right, left, _MIRRORED[operator])
            for value, other, oriented in ways:
                read, constant = stripped(value), stripped(other)
                if isinstance(read, Read) and isinstance(constant, Constant):
                    test = oriented if holds else NEGATED[oriented]
                    return (test, constant.value), _limits(value, read)
        case _:
            pass
    return None


_MIRRORED: dict[BinaryOperator, BinaryOperator] = {
    "<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!=",
}  # fmt: skip


def _limits(value: Expr, read: Read) -> tuple[int, int] | None:
    """The values that an integer may have after the conversions around it; `None` if it is no integer."""
    of_types = [read.type]
    while isinstance(value, Cast):
        of_types.append(value.type)
        value = value.operand
    integers = [each for each in of_types if isinstance(each, Integer)]
    if len(integers) < len(of_types) or not integers:
        return None
    lows = [-(1 << (each.bits - 1)) if each.signed else 0 for each in integers]
    highs = [(1 << (each.bits - each.signed)) - 1 for each in integers]
    return max(lows), min(highs)


def _holds_in_all(comparison: Binary, scope: Scope) -> bool:
    """True if elements can equal what they are compared with in all iterations: they differ where it does."""
    varying = set[str]()
    chosen = set[str]()
    for node in (each for each in subexpressions(comparison) if isinstance(each, Read)):
        known = value_of(node, scope) if isinstance(node.type, Integer) else value_read(node, scope)
        if isinstance(known, Poly):
            varying |= known.symbols
        elif isinstance(known, Opaque) and known.entry is not None:
            chosen = chosen.union(*(subscript.symbols for subscript in known.entry.subscripts))
            varying |= known.entry.offset.symbols
    return varying & {*scope.dimensions} <= chosen


def _free(part: Expr, every: list[Input], scope: Scope) -> Input | None:
    """The element that is used nowhere else in a condition and decides an inequality, as a term of a side."""
    if not isinstance(part, Binary) or part.operator not in ("<", "<=", ">", ">="):
        return None
    for term in (each for side in (part.left, part.right) for each in _terms(side)):
        found = _element_input(term, scope)
        if found is not None and sum(map(found.may_be, every)) == 1:
            return next(each for each in every if found.may_be(each))
    return None


def _terms(value: Expr) -> Iterator[Read]:
    """The elements of arrays that are added up, or subtracted, to a value."""
    match value:
        case Read(place) if place.steps:
            yield value
        case Binary("+" | "-", left, right):
            yield from _terms(left)
            yield from _terms(right)
        case Cast(operand, Integer(bits=bits)) if bits >= 32:
            yield from _terms(operand)
        case _:
            pass


# --------------------------------------------------------------------------------------------------
# Comparisons with the extremum so far, which inputs decide as long as they have more extreme ones.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TrackedExtremum:
    """A choice that remembers the largest or smallest `candidate` so far, and what belongs to it, in some
    scalars."""

    variables: tuple[Variable, ...]
    kind: Literal["largest", "smallest"]
    candidate: Expr


def tracked_extremum(statement: If) -> TrackedExtremum | None:
    """`if (a[i] > m) { m = a[i]; k = i; }`, `if (a[i] > a[k]) k = i;` and their mirror images."""
    condition = stripped(statement.condition)
    stored = [s for s in statement.then.statements if isinstance(s, Assign) and not s.target.steps]
    plain = len(stored) == len(statement.then.statements) > 0 and not statement.otherwise.statements
    if not plain or not isinstance(condition, Binary) or condition.operator not in ("<", "<=", ">", ">="):
        return None
    assigned = {s.target.variable: s.value for s in stored}
    for side, another, is_larger in sides(condition):
        own, other = of_magnitude(side), stripped(another)
        if not isinstance(own, Read):
            continue
        value = assigned.get(own.place.variable) if stripped(side) is own and not own.place.steps else None
        inside = (n for e in subscripts(own.place) for n in subexpressions(e) if isinstance(n, Read))
        follows = own.place.steps and any(n.place.variable in assigned for n in inside)
        if follows or (value is not None and len(stored) > 1 and same_value(stripped(value), other)):
            variables = tuple(s.target.variable for s in stored)
            return TrackedExtremum(variables, "largest" if is_larger else "smallest", other)
    return None
