"""Entering a loop: which variable counts its iterations, what the others hold in each of them, and
for which iterations the loop goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.analysis.effects import subexpressions, walk
from polylsp.analysis.evaluate import condition_of, value_of
from polylsp.analysis.exits import exit_condition
from polylsp.analysis.induction import Step, own_jumps, steps
from polylsp.analysis.scope import Frame, Scope
from polylsp.analysis.state import At, Environment, Opaque, PointerValue, Value
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
    is_affine,
    substitute_condition,
)
from polylsp.analysis.written import with_operator
from polylsp.model.program import (
    Assign,
    Binary,
    Block,
    If,
    Integer,
    Jump,
    Loop,
    Pointer,
    Read,
    Site,
    Variable,
)
from polylsp.model.rejection import Rejection, RejectionCode
from polylsp.model.verdict import Assumption


@dataclass(frozen=True)
class Entered:
    """A loop that the walk has entered. `domain`: the iterations of all frames, this one included,
    in which the body runs; `guarded`: at most these. `leave` sets what variables hold after it."""

    frame: Frame
    domain: isl.Set
    guarded: bool
    leave: Callable[[Scope], None]


@dataclass(frozen=True)
class _Counter:
    """The variable that counts: where it starts, its step, and how much of that step happens with
    the loop's test, before the body."""

    variable: Variable | None
    start: Poly
    step: int
    early: int


def enter_loop(loop: Loop, scope: Scope, declared: Mapping[str, int]) -> Entered:
    """Pushes a frame for `loop`, and sets the state at the start of its body."""
    changed = _changed(loop)
    amounts = _amounts(loop, scope, changed)
    counter = _counter(loop, scope, changed, amounts)
    outside = scope.environment
    frame = _push(loop, scope, counter)
    dimension = Poly.atom(Symbol(frame.dimension))
    rounds = floor_div((dimension - counter.start) * (1 if counter.step > 0 else -1), abs(counter.step))
    scope.environment = dict(outside)
    for name, variable in changed.items():
        scope.environment[name] = _at_head(
            variable, outside.get(name), amounts.get(name), rounds, scope, loop.site
        )
    if counter.variable is not None:
        name = counter.variable.name
        scope.environment[name] = _with_index(scope.environment[name], dimension - counter.early)
    head = dict(scope.environment)
    progress = _progress(counter, dimension)
    scope.active = scope.active.add_dims(isl.dim_type.set, 1)
    scope.active = scope.where(progress)
    domain, guarded, rounds_done = _iterations(loop, scope, counter, frame)
    scope.environment = head
    scope.active = domain
    frame.domain = domain

    def leave(after: Scope) -> None:
        after.environment = _after(outside, changed, amounts, rounds_done, after, loop)

    return Entered(frame, domain, guarded, leave)


# --- Which variable counts ---------------------------------------------------------------


def _changed(loop: Loop) -> dict[str, Variable]:
    """The integer and pointer variables that the loop assigns, by unique name."""
    found = {
        s.target.variable.name: s.target.variable
        for s in walk(loop)
        if isinstance(s, Assign) and not s.target.steps
    }
    return {n: v for n, v in found.items() if isinstance(v.type, (Integer, Pointer))}


def _amounts(loop: Loop, scope: Scope, changed: Mapping[str, Variable]) -> dict[str, tuple[Poly, Poly]]:
    """For each variable that changes by the same amount each round: that amount, and the part of
    it that happens with the loop's test."""
    before = scope.environment
    scope.environment = dict(before)
    for name, variable in changed.items():
        scope.environment[name] = _varies(variable, len(scope.frames) + 1, loop.site)
    result: dict[str, tuple[Poly, Poly]] = {}
    for name, parts in steps(loop).items():
        if parts is None or name not in changed:
            continue
        amounts = [(p, _amount(p, scope)) for p in parts]
        if all(a is not None for _, a in amounts):
            total = sum((a for _, a in amounts if a is not None), ZERO)
            early = sum((a for p, a in amounts if a is not None and p.in_prologue), ZERO)
            result[name] = (total, early)
    scope.environment = before
    return result


def _amount(step: Step, scope: Scope) -> Poly | None:
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
    """How often an inner loop `for (j = a; j < b; j++)` runs, where its bounds are known."""
    condition = loop.condition
    if not isinstance(condition, Binary) or not isinstance(condition.left, Read) or start is None:
        return None
    if loop.post_test or loop.prologue.statements or any(own_jumps(loop.body)):
        return None
    variable = condition.left.place.variable
    found = steps(loop).get(variable.name)
    if not found or len(found) != 1:
        return None
    step = _amount(found[0], scope)
    first, last = value_of(start, scope), value_of(condition.right, scope)  # type: ignore[arg-type]
    if step is None or not isinstance(first, Poly) or not isinstance(last, Poly):
        return None
    difference = {"<": last - first, "<=": last - first + 1, ">": first - last, ">=": first - last + 1}
    wanted = 1 if condition.operator in ("<", "<=") else -1
    if condition.operator not in difference or step.as_constant != wanted:
        return None
    count = difference[condition.operator]
    return count if scope.never_negative(count) else extremum("max", ZERO, count)


def _counter(
    loop: Loop, scope: Scope, changed: Mapping[str, Variable], amounts: Mapping[str, tuple[Poly, Poly]]
) -> _Counter:
    named = [v for v in changed.values() if v.source_name == loop.iterator]
    for variable in (*named, *_in_conditions(loop, changed)):
        step, early = amounts.get(variable.name, (ZERO, ZERO))
        start = scope.environment.get(variable.name)
        constant, advance = step.as_constant, early.as_constant
        start = _index(start)
        if start is None or not is_affine(start, frozenset(scope.dimensions)):
            continue
        if constant and advance is not None:
            early_part = 0 if loop.post_test else advance
            return _Counter(variable, start + early_part, constant, early_part)
    return _Counter(None, ZERO, 1, 0)


def _in_conditions(loop: Loop, changed: Mapping[str, Variable]) -> list[Variable]:
    tests = [s.condition for s in walk(loop.body) if isinstance(s, If) and any(own_jumps(Block((s,))))]
    tests = tests if loop.condition is None else [loop.condition, *tests]
    return [
        n.place.variable
        for test in tests
        for n in subexpressions(test)
        if isinstance(n, Read) and not n.place.steps and n.place.variable.name in changed
    ]


def _push(loop: Loop, scope: Scope, counter: _Counter) -> Frame:
    shown = counter.variable.source_name if counter.variable is not None else loop.iterator or "iteration"
    dimension = scope.parameters.dimension_name(shown, scope.dimensions)
    frame = Frame(loop, dimension, shown, counter.step)
    scope.frames.append(frame)
    if counter.variable is not None:
        scope.types[dimension] = counter.variable.type
    return frame


def _at_head(
    variable: Variable,
    start: Value | None,
    amount: tuple[Poly, Poly] | None,
    rounds: Poly,
    scope: Scope,
    site: Site,
) -> Value:
    """What a variable holds at the start of a round."""
    if amount is None or start is None or isinstance(start, Opaque):
        return _varies(variable, len(scope.frames), site)
    index = _index(start)
    if index is None:
        return _varies(variable, len(scope.frames), site)
    return _with_index(start, index + amount[0] * rounds)


def _index(value: Value | None) -> Poly | None:
    """An integer, or how far a pointer points into its array."""
    if isinstance(value, PointerValue):
        last = value.steps[-1]
        return last.index if isinstance(last, At) and isinstance(last.index, Poly) else None
    return value if isinstance(value, Poly) else None


def _with_index(value: Value, index: Poly) -> Value:
    """The integer, or the pointer moved within its array."""
    if isinstance(value, PointerValue):
        return replace(value, steps=(*value.steps[:-1], At(index)))
    return index


def _varies(variable: Variable, depth: int, site: Site) -> Opaque:
    text = f"`{variable.source_name}` changes in this loop in a way that cannot be followed"
    code = "pointer-arithmetic" if isinstance(variable.type, Pointer) else "data-dependent-value"
    return Opaque(depth, Rejection(code, site, text))


# --- For which iterations the loop goes on -----------------------------------------------


def _progress(counter: _Counter, dimension: Poly) -> Condition:
    """The values that the counter takes if the loop never ends."""
    offset = (dimension - counter.start) * (1 if counter.step > 0 else -1)
    parts: list[Condition] = [Compare(">=", offset)]
    size = abs(counter.step)
    if size > 1:
        parts.append(Compare("==", offset - floor_div(offset, size) * size))
    if counter.step < 0 and _unsigned(counter.variable):
        parts.append(Compare(">=", dimension - counter.early))
    return AllOf(tuple(parts))


def _unsigned(variable: Variable | None) -> bool:
    return variable is not None and isinstance(variable.type, Integer) and not variable.type.signed


def _iterations(
    loop: Loop, scope: Scope, counter: _Counter, frame: Frame
) -> tuple[isl.Set, bool, tuple[Poly, Poly] | None]:
    """The domain of the body, whether it is only an upper bound, and how often the body runs."""
    leaves = FALSE if _early_exit(loop) is None else exit_condition(loop, scope)
    known, obstacle = _condition(loop, scope, counter)
    if obstacle is not None:
        frame.obstacles.append(obstacle)
    try:
        directed = _directed(known, scope, counter, frame)
        domain = _closed(scope, directed, counter, frame, loop.post_test)
        domain = _left(domain, leaves, loop, scope, counter, frame)
    except NotAffineError:
        frame.obstacles.append(_non_affine(loop))
        return scope.active, True, None
    _check_wrap(domain, known, loop, scope, counter, frame)
    guarded = bool(frame.obstacles) or counter.variable is None
    if counter.variable is None and not frame.obstacles:
        frame.obstacles.append(_non_affine(loop))
    assumed = any(a.kind == "no-wrap" for a in frame.assumptions)
    exact = not guarded and not assumed and leaves == FALSE
    return domain, guarded, _rounds(directed, loop, counter, frame) if exact else None


def _condition(loop: Loop, scope: Scope, counter: _Counter) -> tuple[Condition, Rejection | None]:
    """The loop's test, as far as it is affine, in terms of the values at the head of the body."""
    if loop.condition is None:
        return TRUE, _endless(loop)
    if any(not isinstance(s, Assign) for s in loop.prologue.statements):
        return TRUE, _non_affine(loop)
    if loop.post_test and counter.variable is not None:
        early = _prologue_step(loop, scope, counter)
        value = scope.environment[counter.variable.name]
        index = _index(value)
        if index is not None:
            scope.environment[counter.variable.name] = _with_index(value, index - early)
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


def _prologue_step(loop: Loop, scope: Scope, counter: _Counter) -> int:
    assert counter.variable is not None
    found = steps(loop).get(counter.variable.name) or ()
    values = [_amount(s, scope) for s in found if s.in_prologue]
    return sum(v.as_constant or 0 for v in values if v is not None)


def _early_exit(loop: Loop) -> Rejection | None:
    jumps = [*(j for j in own_jumps(loop.body) if j.kind == "break"), *_returns(loop)]
    if not jumps:
        return None
    word = jumps[0].kind
    text = f"`{word}` may end this loop early, so later iterations depend on earlier ones"
    advice = f"run all iterations and test the condition of the `{word}` afterwards"
    return Rejection("data-dependent-exit", jumps[0].site, text, advice)


def _returns(loop: Loop) -> Iterator[Jump]:
    return (s for s in walk(loop.body) if isinstance(s, Jump) and s.kind == "return")


def _endless(loop: Loop) -> Rejection | None:
    if _early_exit(loop) is not None:
        return None
    return Rejection("infinite-loop", loop.header, "this loop never ends by its own condition")


def _non_affine(loop: Loop) -> Rejection:
    text = "how often this loop runs is not a linear function of the iterators around it"
    return Rejection(_bound_code(loop), loop.header, text)


def _bound_code(loop: Loop) -> RejectionCode:
    return "non-affine-bound" if loop.kind == "for" else "non-affine-condition"


def _directed(condition: Condition, scope: Scope, counter: _Counter, frame: Frame) -> Condition:
    """`!=` tests of the counter as the `<` or `>` that they amount to: a signed counter that missed
    its bound would overflow, which C rules out; an unsigned one may wrap around before it gets there."""
    if isinstance(condition, AllOf):
        return AllOf(tuple(_directed(p, scope, counter, frame) for p in condition.parts))
    if not isinstance(condition, Compare) or condition.operator != "!=" or counter.variable is None:
        return condition
    coefficient = condition.value.coefficient(frame.dimension)
    rest = condition.value - Poly.atom(Symbol(frame.dimension)) * coefficient
    if abs(coefficient) != 1 or frame.dimension in rest.symbols:
        return condition
    bound = rest * -coefficient
    if _unsigned(counter.variable):
        around = _once_around(bound, scope, counter, frame)
        if around is not None:
            return around
        _assume_reached(bound, scope, counter, frame)
    else:
        _note_overflow(bound, scope, counter, frame)
    dimension = Poly.atom(Symbol(frame.dimension))
    return Compare(">=", bound - dimension - 1 if counter.step > 0 else dimension - bound - 1)


def _once_around(bound: Poly, scope: Scope, counter: _Counter, frame: Frame) -> Condition | None:
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


def _assume_reached(bound: Poly, scope: Scope, counter: _Counter, frame: Frame) -> None:
    """Assume that an unsigned counter gets to its bound without wrapping around, if it can at all."""
    assert counter.variable is not None
    name = counter.variable.source_name
    way, size = _way(bound, counter, frame), abs(counter.step)
    reached = AllOf((Compare(">=", way), Compare("==", way - floor_div(way, size) * size)))
    if scope.always(reached):
        return
    scope.assume(Assumption("no-wrap", (name,), f"`{name}` reaches its bound without wrapping around"))
    if scope.where(reached).is_empty():
        text = f"`{name}` wraps around before it reaches its bound"
        advice = f"test `{name}` with `<` or `>`"
        frame.obstacles.append(Rejection("infinite-loop", frame.loop.header, text, advice))


def _note_overflow(bound: Poly, scope: Scope, counter: _Counter, frame: Frame) -> None:
    """A signed counter that begins beyond its bound overflows, so there are no such executions. Raises
    NotAffineError."""
    of_type = counter.variable.type if counter.variable is not None else None
    wide = isinstance(of_type, Integer) and of_type.bits >= 32
    if wide and abs(counter.step) == 1 and not scope.guards and _early_exit(frame.loop) is None:
        beyond = scope.where(Compare(">=", -_way(bound, counter, frame) - 1))
        frame.undefined = beyond.params()


def _way(bound: Poly, counter: _Counter, frame: Frame) -> Poly:
    """How far the bound is from the value that is tested first."""
    first = counter.start + (counter.step if frame.loop.post_test else 0)
    return bound - first if counter.step > 0 else first - bound


def _closed(scope: Scope, condition: Condition, counter: _Counter, frame: Frame, post_test: bool) -> isl.Set:
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
    domain: isl.Set, leaves: Condition | None, loop: Loop, scope: Scope, counter: _Counter, frame: Frame
) -> isl.Set:
    """The iterations up to the first that leaves the loop by `break` or `return`. Raises NotAffineError."""
    exits = _early_exit(loop)
    if leaves is None or (exits is not None and any(_returns(loop))):
        frame.obstacles += [exits] if exits is not None else []
        return domain
    if leaves == FALSE:
        return domain
    scope.active = domain
    return domain.subtract(_later(scope.where(leaves), counter)).coalesce()


def _later(iterations: isl.Set, counter: _Counter) -> isl.Set:
    """What comes after some of the iterations in the same run of the loop."""
    last = iterations.dim(isl.dim_type.set) - 1
    later = isl.Map.universe(iterations.get_space().map_from_set())
    for k in range(last):
        later = later.equate(isl.dim_type.in_, k, isl.dim_type.out, k)
    order = later.order_lt if counter.step > 0 else later.order_gt
    return iterations.apply(order(isl.dim_type.in_, last, isl.dim_type.out, last))


def _monotone(condition: Condition, dimension: str, step: int) -> bool:
    """Whether, once false, the condition stays false as the counter goes on."""
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


def _check_wrap(
    domain: isl.Set, condition: Condition, loop: Loop, scope: Scope, counter: _Counter, frame: Frame
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


def _check_top(domain: isl.Set, condition: Condition, scope: Scope, counter: _Counter, frame: Frame) -> None:
    """A counter of a narrow type that is stepped beyond it starts again below: if that happens whatever
    the parameters, and the loop then goes on, it does not end."""
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


# --- After the loop ----------------------------------------------------------------------


def _rounds(condition: Condition, loop: Loop, counter: _Counter, frame: Frame) -> tuple[Poly, Poly] | None:
    """How often the body runs at least, and how often by its bound, in terms of what is around the loop:
    the larger of the two counts."""
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


def _bound(part: Condition, counter: _Counter, frame: Frame) -> Poly | None:
    """The last value that a test lets through: `n - 1` for `i < n`."""
    if not isinstance(part, Compare) or part.operator != ">=":
        return None
    sign = 1 if counter.step > 0 else -1
    if part.value.coefficient(frame.dimension) != -sign:
        return None
    rest = part.value + Poly.atom(Symbol(frame.dimension)) * sign
    return None if frame.dimension in rest.symbols else rest * sign


def _after(
    outside: Environment,
    changed: Mapping[str, Variable],
    amounts: Mapping[str, tuple[Poly, Poly]],
    rounds: tuple[Poly, Poly] | None,
    scope: Scope,
    loop: Loop,
) -> Environment:
    """What variables hold after the loop; a test before the body runs once more than the body."""
    result = dict(outside)
    count: Poly | None = None
    if rounds is not None:
        least, most = rounds
        count = most if scope.always(Compare(">=", most - least)) else extremum("max", least, most)
    for name, variable in changed.items():
        start = outside.get(name)
        index = _index(start)
        if count is not None and name in amounts and index is not None:
            total, early = amounts[name]
            result[name] = _with_index(
                start or ZERO, index + total * count + (ZERO if loop.post_test else early)
            )
        elif scope.frames or not isinstance(variable.type, Integer):
            result[name] = _varies(variable, len(scope.frames), loop.site)
        else:
            key = ("after", name, loop.site)
            result[name] = scope.parameters.computed(key, variable.source_name, variable.type, f"{name}_end")
    return result
