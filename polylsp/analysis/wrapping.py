"""Counters that may not get to their bound: `!=` tests, and unsigned or narrow types that start again at the
other end of their range."""

from __future__ import annotations

import islpy as isl

from polylsp.analysis.counter import Counter, is_unsigned
from polylsp.analysis.exits import early_exit
from polylsp.analysis.scope import Frame, Scope
from polylsp.analysis.value import (
    AllOf,
    Compare,
    Condition,
    Poly,
    Symbol,
    condition_symbols,
    floor_div,
    substitute_condition,
)
from polylsp.model.program import (
    Integer,
    Loop,
)
from polylsp.model.rejection import Rejection
from polylsp.model.verdict import Assumption


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
    reached = AllOf((Compare(">=", way), Compare("==", way - floor_div(way, size) * size)))
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
    wide = isinstance(of_type, Integer) and of_type.bits >= 32
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
