"""Induction variables: the counter of a loop's iterations, and the increments of others in each round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from polylsp.analysis.scop.accesses import is_int_or_wider, with_operator
from polylsp.analysis.scop.call_effects import changed_by_calls
from polylsp.analysis.scop.evaluation import value_of
from polylsp.analysis.scop.summaries import Calls
from polylsp.analysis.scop.symbolic_value import ONE, ZERO, Poly, extremum, is_affine
from polylsp.analysis.scop.walk_scope import Scope
from polylsp.analysis.scop.walk_state import At, Environment, Opaque, PointerValue, Value
from polylsp.ir.effects import walk
from polylsp.ir.induction import Step, own_jumps, steps
from polylsp.ir.program import (
    Assign,
    Binary,
    Block,
    Cast,
    Constant,
    Expr,
    If,
    Integer,
    Loop,
    Place,
    Pointer,
    Read,
    Rejection,
    Site,
    Unsupported,
    Variable,
    stripped,
    subexpressions,
)


@dataclass(frozen=True)
class Counter:
    """The variable that counts: where it starts, its step, and how much of that step happens with
    the loop's test, before the body."""

    variable: Variable | None
    start: Poly
    step: int
    early: int


def changed_variables(loop: Loop, calls: Calls) -> dict[str, Variable]:
    """The integer and pointer variables that the loop or functions called in it assign, by unique name."""
    found = {
        s.target.variable.name: s.target.variable
        for s in walk(loop)
        if isinstance(s, Assign) and not s.target.steps
    }
    found |= changed_by_calls(loop, calls)
    return {n: v for n, v in found.items() if isinstance(v.type, (Integer, Pointer))}


def steps_of(loop: Loop, calls: Calls) -> dict[str, tuple[Step, ...] | None]:
    """The steps of the variables of a loop; none of those that functions called in it change."""
    return steps(loop, frozenset(changed_by_calls(loop, calls)))


def amounts_of(loop: Loop, scope: Scope, changed: Mapping[str, Variable]) -> dict[str, tuple[Poly, Poly]]:
    """For each variable that changes by the same amount each round: that amount, and the part of
    it that happens with the loop's test."""
    before = scope.environment
    scope.environment = dict(before)
    for name, variable in changed.items():
        scope.environment[name] = varying(variable, len(scope.frames) + 1, loop.site)
    result: dict[str, tuple[Poly, Poly]] = {}
    for name, parts in steps_of(loop, scope.calls).items():
        if parts is None or name not in changed:
            continue
        amounts = [(p, amount_of(p, scope)) for p in parts]
        if all(a is not None for _, a in amounts):
            total = sum((a for _, a in amounts if a is not None), ZERO)
            early = sum((a for p, a in amounts if a is not None and p.in_prologue), ZERO)
            result[name] = (total, early)
    scope.environment = before
    return result


def amount_of(step: Step, scope: Scope) -> Poly | None:
    """Sum that a step adds in one round; `None` where it is undetermined."""
    value = value_of(step.amount, scope)
    if not isinstance(value, Poly):
        return None
    total = value * step.sign
    for inner, start in step.inner:
        trips = _trips(inner, start, scope)
        if trips is None:
            return None
        total = total * trips
    return total


def _trips(loop: Loop, start: object, scope: Scope) -> Poly | None:
    """Trip count of an inner loop `for (j = a; j < b; j++)`; `None` where its bounds are undetermined."""
    condition = loop.condition
    if not isinstance(condition, Binary) or not isinstance(condition.left, Read) or start is None:
        return None
    if loop.post_test or loop.prologue.statements or any(own_jumps(loop.body)):
        return None
    variable = condition.left.place.variable
    found = steps_of(loop, scope.calls).get(variable.name)
    if not found or len(found) != 1:
        return None
    step = amount_of(found[0], scope)
    first, last = value_of(start, scope), value_of(condition.right, scope)  # type: ignore[arg-type]
    if step is None or not isinstance(first, Poly) or not isinstance(last, Poly):
        return None
    difference = {"<": last - first, "<=": last - first + 1, ">": first - last, ">=": first - last + 1}
    wanted = 1 if condition.operator in ("<", "<=") else -1
    if condition.operator not in difference or step.as_constant != wanted:
        return None
    count = difference[condition.operator]
    return count if scope.never_negative(count) else extremum("max", ZERO, count)


def counter_of(
    loop: Loop, scope: Scope, changed: Mapping[str, Variable], amounts: Mapping[str, tuple[Poly, Poly]]
) -> Counter:
    """The counter of a loop: the variable of its header, or one that its tests read."""
    named = [v for v in changed.values() if v.source_name == loop.iterator]
    for variable in (*named, *_in_conditions(loop, changed)):
        step, early = amounts.get(variable.name, (ZERO, ZERO))
        start = scope.environment.get(variable.name)
        constant, advance = step.as_constant, early.as_constant
        start = index_of(start)
        if start is None or not is_affine(start, frozenset(scope.dimensions)):
            continue
        if constant and advance is not None:
            early_part = 0 if loop.post_test else advance
            return Counter(variable, start + early_part, constant, early_part)
    return Counter(None, ZERO, 1, 0)


def _in_conditions(loop: Loop, changed: Mapping[str, Variable]) -> list[Variable]:
    tests = [s.condition for s in walk(loop.body) if isinstance(s, If) and any(own_jumps(Block((s,))))]
    tests = tests if loop.condition is None else [loop.condition, *tests]
    return [
        n.place.variable
        for test in tests
        for n in subexpressions(test)
        if isinstance(n, Read) and not n.place.steps and n.place.variable.name in changed
    ]


def index_of(value: Value | None) -> Poly | None:
    """An integer, or how far a pointer points into its array."""
    if isinstance(value, PointerValue):
        last = value.steps[-1]
        return last.index if isinstance(last, At) and isinstance(last.index, Poly) else None
    return value if isinstance(value, Poly) else None


def with_index(value: Value, index: Poly) -> Value:
    """The integer, or the pointer moved within its array."""
    if isinstance(value, PointerValue):
        last = value.steps[-1]
        moved = replace(last, index=index) if isinstance(last, At) else At(index)
        return replace(value, steps=(*value.steps[:-1], moved))
    return index


def varying(variable: Variable, depth: int, site: Site) -> Opaque:
    """Unknown value of a variable that a loop changes."""
    text = f"`{variable.source_name}` changes in this loop in a way that cannot be followed"
    code = "pointer-arithmetic" if isinstance(variable.type, Pointer) else "data-dependent-value"
    return Opaque(depth, Rejection(code, site, text))


def row_counter(
    loop: Loop, scope: Scope, outside: Environment, amounts: Mapping[str, tuple[Poly, Poly]]
) -> tuple[Variable, Opaque] | None:
    """The counter of `for (p = start[i]; p < start[i + 1]; p++)` and its value in the body, at the head of
    which the walk is; `None` for other loops."""
    condition = loop.condition
    if not isinstance(condition, Binary) or condition.operator not in ("<", "<=") or loop.post_test:
        return None
    counted, end = stripped(condition.left), value_of(condition.right, scope)
    if not isinstance(counted, Read) or counted.place.steps or not isinstance(end, Opaque):
        return None
    variable = counted.place.variable
    start, value = outside.get(variable.name), scope.environment.get(variable.name)
    if not isinstance(start, Opaque) or not isinstance(value, Opaque) or start.entry is None:
        return None
    first, following = start.entry, end.entry
    if amounts.get(variable.name) != (ONE, ZERO) or not first.subscripts:
        return None
    at = (*first.subscripts[:-1], first.subscripts[-1] + 1)
    last = first.offset - 1 if condition.operator == "<=" else first.offset
    if (
        following != replace(first, subscripts=at, offset=last)
        or first.factor != ONE
        or any(each != ZERO for each in at[:-1])
    ):
        return None
    return variable, replace(value, row=first)


def is_unsigned(variable: Variable | None) -> bool:
    """True if the variable exists, and its arithmetic wraps around."""
    return variable is not None and isinstance(variable.type, Integer) and not variable.type.signed


# --------------------------------------------------------------------------------------------------
# Bounds of a counter in the body of its loop, whether or not the loop has a model.
# --------------------------------------------------------------------------------------------------


_INT = 32
"""Bits of a type on which overflow is undefined where it is signed: narrower ones are converted."""


def condition_inside(loop: Loop) -> Expr | None:
    """A loop's condition, if it holds wherever the body begins, and compares the counter with other
    variables. What other conditions tell is left: sizes would be spelled by it, and not by their names."""
    condition = loop.condition
    if loop.post_test or condition is None or loop.prologue.statements:
        return None
    counters = {s.target.variable for s in loop.step.statements if isinstance(s, Assign)}
    compared = list(_compared(condition))
    counted = any(isinstance(one, Read) and one.place.variable in counters for one in compared)
    is_plain = counted and all(isinstance(one, Constant) or _is_whole(one) for one in compared)
    return condition if is_plain else None


def least_values(loop: Loop, scope: Scope) -> dict[str, Poly]:
    """The values before a loop of the function's own integers that it only makes larger, which they have at
    least in it; the walk is before the loop. Unsigned ones may wrap around, and are no less than 0 alone."""
    found: dict[str, Poly] = {}
    for variable, by_sums in _growing(loop).items():
        first = scope.environment.get(variable.name)
        if not isinstance(first, Poly) or (is_unsigned(variable) and first.as_constant != 0):
            continue
        if by_sums or scope.never_negative(first):
            found[variable.name] = first
    return found


def _growing(loop: Loop) -> dict[Variable, bool]:
    """The integers of the function's own that each assignment in a loop makes larger or leaves: all of them
    where it adds to them (true), those that are not negative where it multiplies or shifts them too and the
    loop ends beyond a bound."""
    found: dict[Variable, bool] = {}
    refused: set[Variable] = set()
    for statement in walk(loop):
        if isinstance(statement, Unsupported) and statement.reads is None and not statement.leaves:
            return {}
        if not isinstance(statement, Assign) or statement.target.steps:
            continue
        variable = statement.target.variable
        by_sums = _growth(with_operator(statement), variable)
        own = not variable.escapes and variable.storage in ("local", "parameter")
        if not own or by_sums is None or not (by_sums or _has_upper_bound(loop, variable)):
            refused.add(variable)
        else:
            found[variable] = by_sums and found.get(variable, True)
    return {variable: by_sums for variable, by_sums in found.items() if variable not in refused}


def _growth(value: Expr, variable: Variable) -> bool | None:
    """True if a value that is computed of a variable, no narrower than `int`, is no less than it; false if it
    is so where the variable is not negative; `None` if it may be less."""
    match value:
        case Read(Place(named, ())):
            return True if named == variable and is_int_or_wider(named.type) else None
        case Binary("+", of, Constant(by)) | Binary("+", Constant(by), of) if by >= 0:
            return _growth(of, variable)
        case Binary("*", of, Constant(by)) | Binary("*", Constant(by), of) | Binary("<<", of, Constant(by)):
            is_larger = by >= 1 or value.operator == "<<"
            return None if not is_larger or _growth(of, variable) is None else False
        case _:
            return None


def _has_upper_bound(loop: Loop, variable: Variable) -> bool:
    """True if the test of a loop is that a variable is below a number."""
    match loop.condition:
        case Binary("<" | "<=", left, _):
            tested = stripped(left)
            return isinstance(tested, Read) and not tested.place.steps and tested.place.variable == variable
        case _:
            return False


def _compared(condition: Expr) -> Iterator[Expr]:
    """The numbers that a condition compares, computes with and joins."""
    match condition:
        case Binary(_, left, right):
            yield from _compared(left)
            yield from _compared(right)
        case Cast(operand):
            yield from _compared(operand)
        case _:
            yield condition


def _is_whole(value: Expr) -> bool:
    """True for a variable that is a whole number."""
    return isinstance(value, Read) and not value.place.steps and isinstance(value.type, Integer)
