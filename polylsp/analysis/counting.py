"""Entry of a loop: values of the variables that it changes in each iteration, and after the last one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import islpy as isl

from polylsp.analysis.counter import (
    Counter,
    amounts_of,
    changed_variables,
    counter_of,
    index_of,
    varying,
    with_index,
)
from polylsp.analysis.rounds import iterations_of, values_taken
from polylsp.analysis.scope import Frame, Scope
from polylsp.analysis.state import Environment, Opaque, Value
from polylsp.analysis.value import (
    ZERO,
    Compare,
    Poly,
    Symbol,
    extremum,
    floor_div,
)
from polylsp.model.program import (
    Integer,
    Loop,
    Pointer,
    Site,
    Variable,
)


@dataclass(frozen=True)
class Entered:
    """A loop that the walk has entered. `domain`: the iterations of all frames, this one included, in which
    the body runs; `guarded`: at most these. `leave` sets the values of variables after it."""

    frame: Frame
    domain: isl.Set
    guarded: bool
    leave: Callable[[Scope], None]


def enter_loop(loop: Loop, scope: Scope, declared: Mapping[str, int]) -> Entered:
    """Pushes a frame for `loop`, and sets the state at the start of its body."""
    changed = changed_variables(loop)
    amounts = amounts_of(loop, scope, changed)
    counter = counter_of(loop, scope, changed, amounts)
    outside = scope.environment
    frame = _push(loop, scope, counter, changed)
    dimension = Poly.atom(Symbol(frame.dimension))
    rounds = floor_div((dimension - counter.start) * (1 if counter.step > 0 else -1), abs(counter.step))
    scope.environment = dict(outside)
    for name, variable in changed.items():
        scope.environment[name] = _at_head(
            variable, outside.get(name), amounts.get(name), rounds, scope, loop.site
        )
    if counter.variable is not None:
        name = counter.variable.name
        scope.environment[name] = with_index(scope.environment[name], dimension - counter.early)
    head = dict(scope.environment)
    progress = values_taken(counter, dimension)
    scope.active = scope.active.add_dims(isl.dim_type.set, 1)
    scope.active = scope.where(progress)
    domain, guarded, rounds_done = iterations_of(loop, scope, counter, frame)
    scope.environment = head
    scope.active = domain
    frame.domain = domain

    def leave(after: Scope) -> None:
        after.environment = _after(outside, changed, amounts, rounds_done, after, loop)

    return Entered(frame, domain, guarded, leave)


def _push(loop: Loop, scope: Scope, counter: Counter, changed: Mapping[str, Variable]) -> Frame:
    pointers = {v.source_name for v in changed.values() if isinstance(v.type, Pointer)}
    iterator = None if loop.iterator in pointers else loop.iterator
    shown = counter.variable.source_name if counter.variable is not None else iterator or "iteration"
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
    """Value of a variable at the start of a round."""
    if amount is None or start is None or isinstance(start, Opaque):
        return varying(variable, len(scope.frames), site)
    index = index_of(start)
    if index is None:
        return varying(variable, len(scope.frames), site)
    return with_index(start, index + amount[0] * rounds)


def _after(
    outside: Environment,
    changed: Mapping[str, Variable],
    amounts: Mapping[str, tuple[Poly, Poly]],
    rounds: tuple[Poly, Poly] | None,
    scope: Scope,
    loop: Loop,
) -> Environment:
    """Values of variables after the loop; a test before the body runs once more than the body."""
    result = dict(outside)
    count: Poly | None = None
    if rounds is not None:
        least, most = rounds
        count = most if scope.always(Compare(">=", most - least)) else extremum("max", least, most)
    for name, variable in changed.items():
        start = outside.get(name)
        index = index_of(start)
        if count is not None and name in amounts and index is not None:
            total, early = amounts[name]
            result[name] = with_index(
                start or ZERO, index + total * count + (ZERO if loop.post_test else early)
            )
        elif scope.frames or not isinstance(variable.type, Integer):
            result[name] = varying(variable, len(scope.frames), loop.site)
        else:
            key = ("after", name, loop.site)
            result[name] = scope.parameters.computed(key, variable.source_name, variable.type, f"{name}_end")
    return result
