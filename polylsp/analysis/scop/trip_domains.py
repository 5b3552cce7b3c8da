"""Iteration domain and trip count of a loop, with wrap-around of its counter and early exits.

Covers `!=` tests, and unsigned or narrow counters that wrap around. A `break` is supported where
it depends on iterators and fixed values only.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polylsp.analysis.scop.accesses import is_int_or_wider, with_operator
from polylsp.analysis.scop.call_effects import changed_by_calls
from polylsp.analysis.scop.counters import (
    Counter,
    amount_of,
    changed_variables,
    index_of,
    is_unsigned,
    steps_of,
    with_index,
)
from polylsp.analysis.scop.evaluation import condition_of, value_of
from polylsp.analysis.scop.symbolic_value import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    AllOf,
    AnyOf,
    Compare,
    Condition,
    NotAffineError,
    Poly,
    Symbol,
    condition_symbols,
    extremum,
    floor_div,
    negate,
    remainder,
    substitute_condition,
)
from polylsp.analysis.scop.walk_scope import Frame, Scope
from polylsp.analysis.scop.walk_state import Opaque, pretty
from polylsp.ir.effects import effects, walk
from polylsp.ir.induction import own_jumps
from polylsp.ir.program import (
    Assign,
    Binary,
    Block,
    Expr,
    If,
    Integer,
    Jump,
    Loop,
    Read,
    Rejection,
    RejectionCode,
    Statement,
)
from polylsp.ir.verdict import Assumption
from polylsp.poly.budget import coalesced

Ways = tuple[Condition, Condition]
"""Conditions under which a statement leaves the loop, and under which the statement after it is reached."""


def early_exit(loop: Loop) -> Rejection | None:
    """First jump that leaves a loop, as the reason why the loop is undecided, unless the iteration of the
    jump is determined."""
    jumps = [*(j for j in own_jumps(loop.body) if j.kind == "break"), *returns_in(loop)]
    if not jumps:
        return None
    word = jumps[0].kind
    text = f"`{word}` may end this loop early, so later iterations depend on earlier ones"
    advice = f"run all iterations and test the condition of the `{word}` afterwards"
    return Rejection("data-dependent-exit", jumps[0].site, text, advice)


def returns_in(loop: Loop) -> Iterator[Jump]:
    """Every `return` in the loop, also in loops inside it."""
    return (s for s in walk(loop.body) if isinstance(s, Jump) and s.kind == "return")


def exit_condition(loop: Loop, scope: Scope) -> Condition | None:
    """Condition under which a started iteration leaves the loop by `break`, in terms of the values that
    `scope` has at the start of the body; `None` where that depends on data."""
    before = scope.environment
    scope.environment = dict(before)
    if not loop.post_test:
        _block(loop.prologue, scope)
    ways = _block(loop.body, scope)
    scope.environment = before
    return None if ways is None else ways[0]


def _block(block: Block, scope: Scope) -> Ways | None:
    leaves, goes_on = FALSE, TRUE
    for statement in block.statements:
        ways = _statement(statement, scope)
        if ways is None:
            return None
        leaves = _either(leaves, _both(goes_on, ways[0]))
        goes_on = _both(goes_on, ways[1])
    return leaves, goes_on


def _statement(statement: Statement, scope: Scope) -> Ways | None:
    match statement:
        case Jump(kind):
            return (TRUE, FALSE) if kind == "break" else (FALSE, FALSE)
        case Block():
            return _block(statement, scope)
        case If(condition, then, otherwise, _) if any(own_jumps(Block((statement,)))):
            return _branches(statement, condition, then, otherwise, scope)
        case Assign(target, _, _, _) if not target.steps and isinstance(target.variable.type, Integer):
            _forget_called(statement, scope)
            scope.environment[target.variable.name] = value_of(with_operator(statement), scope)
        case _:
            _forget(statement, scope)
    return FALSE, TRUE


def _branches(statement: If, condition: Expr, then: Block, otherwise: Block, scope: Scope) -> Ways | None:
    known, opaque = condition_of(condition, scope)
    if opaque is not None:
        return None
    before = scope.environment
    found: list[Ways | None] = []
    for branch in (then, otherwise):
        scope.environment = dict(before)
        found.append(_block(branch, scope))
    scope.environment = before
    _forget(statement, scope)
    first, second = found
    if first is None or second is None:
        return None
    refused = negate(known)
    leaves = _either(_both(known, first[0]), _both(refused, second[0]))
    return leaves, _either(_both(known, first[1]), _both(refused, second[1]))


def _forget(statement: Statement, scope: Scope) -> None:
    """Mark the variables that a statement, or a function called in it, assigns as unknown."""
    for name in effects(statement).scalars:
        scope.environment[name] = _unknown(scope)
    _forget_called(statement, scope)


def _forget_called(statement: Statement, scope: Scope) -> None:
    """Mark the variables that functions called in a statement assign as unknown."""
    for name in changed_by_calls(statement, scope.calls):
        scope.environment[name] = _unknown(scope)


def _unknown(scope: Scope) -> Opaque:
    text = "this value is only known when the program runs"
    site = scope.frames[-1].loop.header
    return Opaque(len(scope.frames), Rejection("data-dependent-value", site, text))


def _both(left: Condition, right: Condition) -> Condition:
    if FALSE in (left, right):
        return FALSE
    return right if left == TRUE else left if right == TRUE else AllOf((left, right))


def _either(left: Condition, right: Condition) -> Condition:
    if TRUE in (left, right):
        return TRUE
    return right if left == FALSE else left if right == FALSE else AnyOf((left, right))


# --------------------------------------------------------------------------------------------------
# Counters that may not get to their bound: `!=` tests, and unsigned or narrow types that start
# again at the other end of their range.
# --------------------------------------------------------------------------------------------------


def directed_test(condition: Condition, scope: Scope, counter: Counter, frame: Frame) -> Condition:
    """A `!=` test of the counter as the `<` or `>` that it amounts to: a signed counter that missed its
    bound would overflow, which C rules out; an unsigned one may wrap around before it gets there. Where
    there is another way out of the loop, it may end beyond the bound, and the test stays as it is."""
    if isinstance(condition, AllOf) and len(condition.parts) == 1:
        return directed_test(condition.parts[0], scope, counter, frame)
    if (
        early_exit(frame.loop) is not None
        or not isinstance(condition, Compare)
        or condition.operator != "!="
        or counter.variable is None
    ):
        return condition
    coefficient = condition.value.coefficient(frame.dimension)
    rest = condition.value - Poly.atom(Symbol(frame.dimension)) * coefficient
    if abs(coefficient) != 1 or frame.dimension in rest.symbols:
        return condition
    bound = rest * -coefficient
    if is_unsigned(counter.variable):
        around = _once_around(bound, scope, counter, frame)
        if around is not None:
            return around
        _assume_reached(bound, scope, counter, frame)
    else:
        _note_overflow(bound, scope, counter, frame)
    dimension = Poly.atom(Symbol(frame.dimension))
    return Compare(">=", bound - dimension - 1 if counter.step > 0 else dimension - bound - 1)


def _once_around(bound: Poly, scope: Scope, counter: Counter, frame: Frame) -> Condition | None:
    """The test of an unsigned counter that ends by wrapping onto the bound: `i != -1` counting down from
    any value, `i != 0` counting up. The values that it takes until then are those of its type."""
    assert counter.variable is not None and isinstance(counter.variable.type, Integer)
    size = 1 << counter.variable.type.bits
    if bound.as_constant != (0 if counter.step > 0 else size - 1) or abs(counter.step) != 1 or counter.early:
        return None
    scope.parameters.wrapping = True
    dimension = Poly.atom(Symbol(frame.dimension))
    within = Compare(">=", -dimension + (size - 1) if counter.step > 0 else dimension)
    if frame.loop.post_test:
        return within
    return AllOf((within, Compare("!=", counter.start - bound)))


def _assume_reached(bound: Poly, scope: Scope, counter: Counter, frame: Frame) -> None:
    """Assume that an unsigned counter gets to its bound without wrapping around, if it can at all."""
    assert counter.variable is not None
    name = counter.variable.source_name
    way, size = _way(bound, counter, frame), abs(counter.step)
    reached = AllOf((Compare(">=", way), Compare("==", remainder(way, size))))
    if scope.always(reached):
        return
    scope.assume(Assumption("no-wrap", (name,), f"`{name}` reaches its bound without wrapping around"))
    if scope.where(reached).is_empty():
        text = f"`{name}` wraps around before it reaches its bound"
        advice = f"test `{name}` with `<` or `>`"
        frame.obstacles.append(Rejection("infinite-loop", frame.loop.header, text, advice))


def _note_overflow(bound: Poly, scope: Scope, counter: Counter, frame: Frame) -> None:
    """A signed counter that begins beyond its bound overflows, so there are no such executions. Raises
    NotAffineError."""
    of_type = counter.variable.type if counter.variable is not None else None
    wide = of_type is not None and is_int_or_wider(of_type)
    if wide and abs(counter.step) == 1 and not scope.guards and early_exit(frame.loop) is None:
        beyond = scope.where(Compare(">=", -_way(bound, counter, frame) - 1))
        frame.undefined = beyond.params()


def _way(bound: Poly, counter: Counter, frame: Frame) -> Poly:
    """Distance from the value that is tested first to the bound."""
    first = counter.start + (counter.step if frame.loop.post_test else 0)
    return bound - first if counter.step > 0 else first - bound


def check_wrap(
    domain: isl.Set, condition: Condition, loop: Loop, scope: Scope, counter: Counter, frame: Frame
) -> None:
    """An unsigned counter that is stepped below zero goes on at the top of its range: find out
    whether the loop then stops, as in `for (i = n - 1; i < n; i--)`."""
    variable = counter.variable
    if variable is None or not isinstance(variable.type, Integer):
        return
    if counter.step > 0:
        _check_top(domain, condition, scope, counter, frame)
        return
    if variable.type.signed:
        return
    dimension = Poly.atom(Symbol(frame.dimension))
    size = 1 << variable.type.bits
    wrapped_on = substitute_condition(condition, {frame.dimension: dimension + size + counter.step})
    below = Compare(">=", -(dimension - counter.early + counter.step) - 1)
    limits = _type_limits(wrapped_on, scope)
    goes_on = domain.intersect(scope.set_of(AllOf((below, wrapped_on, *limits))))
    if goes_on.is_empty():
        return
    name = variable.source_name
    if domain.params().is_subset(goes_on.params()):
        text = f"`{name}` is unsigned and never gets below 0, so this loop does not end"
        advice = f"make `{name}` signed, or write `for ({name} = n; {name}-- > 0; )`"
        frame.obstacles.append(Rejection("infinite-loop", loop.header, text, advice))
    elif not any(a.kind == "no-wrap" and a.subjects == (name,) for a in frame.assumptions):
        scope.assume(Assumption("no-wrap", (name,), f"`{name}` does not wrap around below 0"))


def _check_top(domain: isl.Set, condition: Condition, scope: Scope, counter: Counter, frame: Frame) -> None:
    """A counter of a narrow type that is stepped beyond it starts again below: if that happens at all
    parameter values, and the loop then continues, it does not end."""
    assert counter.variable is not None and isinstance(counter.variable.type, Integer)
    of_type = counter.variable.type
    if of_type.signed and of_type.bits >= 32:
        return
    top = (1 << (of_type.bits - of_type.signed)) - 1
    following = Poly.atom(Symbol(frame.dimension)) + counter.step
    beyond = Compare(">=", following - (top + 1))
    wrapped_on = substitute_condition(condition, {frame.dimension: following - (1 << of_type.bits)})
    goes_on = AllOf((beyond, wrapped_on))
    over = domain.intersect(scope.set_of(AllOf((goes_on, *_type_limits(goes_on, scope)))))
    if not over.is_empty() and domain.params().is_subset(over.params()):
        name = counter.variable.source_name
        text = f"`{name}` cannot hold more than {top}, so this loop does not end"
        advice = f"give `{name}` a wider type"
        frame.obstacles.append(Rejection("infinite-loop", frame.loop.header, text, advice))


def _type_limits(condition: Condition, scope: Scope) -> list[Condition]:
    limits: list[Condition] = []
    for name in sorted(condition_symbols(condition)):
        of_type = scope.parameters.types.get(name)
        if isinstance(of_type, Integer) and not of_type.signed:
            limits.append(Compare(">=", Poly.atom(Symbol(name)) * -1 + ((1 << of_type.bits) - 1)))
    return limits


# --------------------------------------------------------------------------------------------------
# For which iterations a loop goes on, and how often it runs.
# --------------------------------------------------------------------------------------------------


def values_taken(counter: Counter, dimension: Poly) -> Condition:
    """The values that the counter takes if the loop never ends."""
    offset = (dimension - counter.start) * (1 if counter.step > 0 else -1)
    parts: list[Condition] = [Compare(">=", offset)]
    size = abs(counter.step)
    if size > 1:
        parts.append(Compare("==", remainder(offset, size)))
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
    condition, changed = loop.condition, changed_variables(loop, scope.calls)
    if loop.kind != "for" or not isinstance(condition, Binary) or early_exit(loop) is not None:
        return False
    variable = next((v for v in changed.values() if v.source_name == loop.iterator), None)
    found = steps_of(loop, scope.calls).get(variable.name) if variable is not None else None
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
    size = amount * found[0].sign
    if not scope.never_negative(size - 1):
        text = pretty(size, scope.parameters)
        positive = Assumption("in-bounds", (text,), f"`{text}` is at least 1")
        frame.assume(positive)
        frame.progress = (size, positive)
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
        _forget_called(assign, scope)
    known, opaque = condition_of(loop.condition, scope)
    if opaque is not None:
        text = f"when this loop ends depends on data: {opaque.rejection.message}"
        return known, Rejection(_bound_code(loop), loop.header, text)
    if known == TRUE:
        return known, _endless(loop)
    return known, None


def _prologue_step(loop: Loop, scope: Scope, counter: Counter) -> int:
    assert counter.variable is not None
    found = steps_of(loop, scope.calls).get(counter.variable.name) or ()
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
    return coalesced(scope.active.subtract(stop.union(_later(stop, counter))))


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
    return coalesced(domain.subtract(_later(scope.where(leaves), counter)))


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
