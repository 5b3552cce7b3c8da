"""For which iterations a loop goes on, and how often it runs."""

from __future__ import annotations

import islpy as isl

from polylsp.analysis.counter import (
    Counter,
    amount_of,
    changed_variables,
    index_of,
    is_unsigned,
    with_index,
)
from polylsp.analysis.evaluate import condition_of, value_of
from polylsp.analysis.exits import early_exit, exit_condition, returns_in
from polylsp.analysis.induction import steps
from polylsp.analysis.scope import Frame, Scope
from polylsp.analysis.spelling import spell
from polylsp.analysis.value import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    AllOf,
    Compare,
    Condition,
    NotAffineError,
    Poly,
    Symbol,
    condition_symbols,
    extremum,
    floor_div,
)
from polylsp.analysis.wrapping import check_wrap, directed_test
from polylsp.analysis.written import with_operator
from polylsp.model.program import (
    Assign,
    Binary,
    Integer,
    Loop,
    Read,
)
from polylsp.model.rejection import Rejection, RejectionCode
from polylsp.model.verdict import Assumption


def values_taken(counter: Counter, dimension: Poly) -> Condition:
    """The values that the counter takes if the loop never ends."""
    offset = (dimension - counter.start) * (1 if counter.step > 0 else -1)
    parts: list[Condition] = [Compare(">=", offset)]
    size = abs(counter.step)
    if size > 1:
        parts.append(Compare("==", offset - floor_div(offset, size) * size))
    if counter.step < 0 and is_unsigned(counter.variable):
        parts.append(Compare(">=", dimension - counter.early))
    return AllOf(tuple(parts))


def iterations_of(
    loop: Loop, scope: Scope, counter: Counter, frame: Frame
) -> tuple[isl.Set, bool, tuple[Poly, Poly] | None]:
    """The domain of the body, whether it is only an upper bound, and how often the body runs."""
    leaves = FALSE if early_exit(loop) is None else exit_condition(loop, scope)
    known, obstacle = _condition(loop, scope, counter)
    if obstacle is not None:
        frame.obstacles.append(obstacle)
    if obstacle is None and counter.variable is None and _by_symbolic_step(loop, scope, frame):
        return scope.active, True, None
    try:
        directed = directed_test(known, scope, counter, frame)
        domain = _closed(scope, directed, counter, frame, loop.post_test)
        domain = _left(domain, leaves, loop, scope, counter, frame)
    except NotAffineError:
        frame.obstacles.append(_non_affine(loop))
        return scope.active, True, None
    check_wrap(domain, known, loop, scope, counter, frame)
    guarded = bool(frame.obstacles) or counter.variable is None
    if counter.variable is None and not frame.obstacles:
        frame.obstacles.append(_non_affine(loop))
    assumed = any(a.kind == "no-wrap" for a in frame.assumptions)
    exact = not guarded and not assumed and leaves == FALSE
    return domain, guarded, _rounds(directed, loop, counter, frame) if exact else None


def _by_symbolic_step(loop: Loop, scope: Scope, frame: Frame) -> bool:
    """True if a `for` loop goes up to a bound, or down to one, by a step that is fixed while it runs. The
    step is assumed to be positive. The model then counts the rounds, but has no bound of them."""
    condition, changed = loop.condition, changed_variables(loop)
    if loop.kind != "for" or not isinstance(condition, Binary) or early_exit(loop) is not None:
        return False
    variable = next((v for v in changed.values() if v.source_name == loop.iterator), None)
    found = steps(loop).get(variable.name) if variable is not None else None
    if variable is None or found is None or len(found) != 1 or found[0].inner or found[0].in_prologue:
        return False
    up = found[0].sign > 0
    left, right = (condition.left, condition.right) if up else (condition.right, condition.left)
    if condition.operator not in (("<", "<=") if up else (">", ">=")):
        return False
    counted, bound = (left, right) if up else (right, left)
    if not isinstance(counted, Read) or counted.place.steps or counted.place.variable != variable:
        return False
    amount, limit = amount_of(found[0], scope), value_of(bound, scope)
    fixed = isinstance(limit, Poly) and frame.dimension not in limit.symbols
    if (
        amount is None
        or not fixed
        or amount.as_constant is not None
        or not isinstance(variable.type, Integer)
    ):
        return False
    if not variable.type.signed or not amount.symbols.isdisjoint(scope.dimensions):
        return False
    text = spell(found[0].amount)
    frame.assume(Assumption("in-bounds", (text,), f"`{text}` is at least 1"))
    return True


def _condition(loop: Loop, scope: Scope, counter: Counter) -> tuple[Condition, Rejection | None]:
    """The loop's test, as far as it is affine, in terms of the values at the head of the body."""
    if loop.condition is None:
        return TRUE, _endless(loop)
    if any(not isinstance(s, Assign) for s in loop.prologue.statements):
        return TRUE, _non_affine(loop)
    if loop.post_test and counter.variable is not None:
        early = _prologue_step(loop, scope, counter)
        value = scope.environment[counter.variable.name]
        index = index_of(value)
        if index is not None:
            scope.environment[counter.variable.name] = with_index(value, index - early)
    for assign in loop.prologue.statements:
        if isinstance(assign, Assign) and not assign.target.steps:
            scope.environment[assign.target.variable.name] = value_of(with_operator(assign), scope)
    known, opaque = condition_of(loop.condition, scope)
    if opaque is not None:
        text = f"when this loop ends depends on data: {opaque.rejection.message}"
        return known, Rejection(_bound_code(loop), loop.header, text)
    if known == TRUE:
        return known, _endless(loop)
    return known, None


def _prologue_step(loop: Loop, scope: Scope, counter: Counter) -> int:
    assert counter.variable is not None
    found = steps(loop).get(counter.variable.name) or ()
    values = [amount_of(s, scope) for s in found if s.in_prologue]
    return sum(v.as_constant or 0 for v in values if v is not None)


def _endless(loop: Loop) -> Rejection | None:
    if early_exit(loop) is not None:
        return None
    return Rejection("infinite-loop", loop.header, "this loop never ends by its own condition")


def _non_affine(loop: Loop) -> Rejection:
    text = "how often this loop runs is not a linear function of the iterators around it"
    return Rejection(_bound_code(loop), loop.header, text)


def _bound_code(loop: Loop) -> RejectionCode:
    return "non-affine-bound" if loop.kind == "for" else "non-affine-condition"


def _closed(scope: Scope, condition: Condition, counter: Counter, frame: Frame, post_test: bool) -> isl.Set:
    """The iterations before the first at which `condition` fails. Raises NotAffineError."""
    holds = scope.where(condition)
    if not post_test and _monotone(condition, frame.dimension, counter.step):
        return holds
    stop = scope.active.subtract(holds)
    if post_test:
        first = Compare("==", Poly.atom(Symbol(frame.dimension)) - counter.start)
        stop = stop.subtract(scope.where(first))
    return scope.active.subtract(stop.union(_later(stop, counter))).coalesce()


def _left(
    domain: isl.Set, leaves: Condition | None, loop: Loop, scope: Scope, counter: Counter, frame: Frame
) -> isl.Set:
    """The iterations up to the first that leaves the loop by `break` or `return`. Raises NotAffineError."""
    exits = early_exit(loop)
    if leaves is None or (exits is not None and any(returns_in(loop))):
        frame.obstacles += [exits] if exits is not None else []
        return domain
    if leaves == FALSE:
        return domain
    scope.active = domain
    return domain.subtract(_later(scope.where(leaves), counter)).coalesce()


def _later(iterations: isl.Set, counter: Counter) -> isl.Set:
    """Later iterations in the same run of the loop."""
    last = iterations.dim(isl.dim_type.set) - 1
    later = isl.Map.universe(iterations.get_space().map_from_set())
    for k in range(last):
        later = later.equate(isl.dim_type.in_, k, isl.dim_type.out, k)
    order = later.order_lt if counter.step > 0 else later.order_gt
    return iterations.apply(order(isl.dim_type.in_, last, isl.dim_type.out, last))


def _monotone(condition: Condition, dimension: str, step: int) -> bool:
    """True if the condition, once false, stays false as the counter advances."""
    match condition:
        case AllOf(parts):
            return all(_monotone(p, dimension, step) for p in parts)
        case Compare(operator, value):
            if dimension not in value.symbols:
                return True
            coefficient = value.coefficient(dimension)
            rest = value - Poly.atom(Symbol(dimension)) * coefficient
            return operator == ">=" and dimension not in rest.symbols and coefficient * step < 0
        case _:
            return dimension not in condition_symbols(condition)


def _rounds(condition: Condition, loop: Loop, counter: Counter, frame: Frame) -> tuple[Poly, Poly] | None:
    """Trip count of the body, at least and by its bound, in terms of the values around the loop: the larger
    of the two."""
    parts = condition.parts if isinstance(condition, AllOf) else (condition,)
    last: Poly | None = None
    for part in parts:
        bound = _bound(part, counter, frame)
        if bound is None:
            return None
        last = bound if last is None else extremum("min" if counter.step > 0 else "max", last, bound)
    if last is None:
        return None
    way = last - counter.start if counter.step > 0 else counter.start - last
    return ONE if loop.post_test else ZERO, floor_div(way, abs(counter.step)) + 1


def _bound(part: Condition, counter: Counter, frame: Frame) -> Poly | None:
    """The last value that a test lets through: `n - 1` for `i < n`."""
    if not isinstance(part, Compare) or part.operator != ">=":
        return None
    sign = 1 if counter.step > 0 else -1
    if part.value.coefficient(frame.dimension) != -sign:
        return None
    rest = part.value + Poly.atom(Symbol(frame.dimension)) * sign
    return None if frame.dimension in rest.symbols else rest * sign
