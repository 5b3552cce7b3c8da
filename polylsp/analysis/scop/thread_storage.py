"""Thread-local storage: loops that use it cannot be spread over threads, nor can others where values that the
threading runtime leaves in it would be visible (`errno`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from polylsp.analysis.scop.summaries import Calls
from polylsp.ir.effects import effects, expressions, nodes, walk
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Assume,
    Binary,
    Block,
    Call,
    Cast,
    Constant,
    Declare,
    Evaluate,
    Expr,
    Function,
    If,
    Invariant,
    Jump,
    Loop,
    Read,
    Rejection,
    Select,
    Statement,
    Unary,
    Unsupported,
    Variable,
    subscripts,
)


def thread_bound(loop: Loop, calls: Calls) -> Rejection | None:
    """Reason why the iterations of a loop must stay on one thread: they use a thread-local variable, or set a
    variable of the C library that the function reads. `None` if they need not."""
    for variable in sorted(effects(loop).variables, key=lambda v: v.name):
        if variable.per_thread:
            name = variable.source_name
            text = f"`{name}` is thread-local: other threads would use their own `{name}`"
            return Rejection("thread-local", loop.header, text, "use a local variable in the loop instead")
    for call in _calls(loop):
        summary = calls.of(call)
        if summary is not None and summary.per_thread:
            name = summary.per_thread[0]
            text = f"`{call.function}` uses `{name}`, which is thread-local: other threads have their own"
            return Rejection("thread-local", call.site, text)
        read = () if summary is None else {v.source_name for v in summary.counters}
        for name in call.sets if summary is None else summary.sets:
            if name in read:
                text = f"`{call.function}` may set `{name}`, and reads it: all threads share it"
                return Rejection("thread-local", call.site, text)
            if name in call.watched:
                reader = "a function of this file" if name == "signgam" else "this function"
                text = f"`{call.function}` may set `{name}`, which {reader} reads"
                advice = f"test arguments or results instead of `{name}`"
                return Rejection("thread-local", call.site, text, advice)
    return None


def thread_variables_of(function: Function, calls: Calls) -> tuple[str, ...]:
    """Names of thread-local variables that a call of the function uses."""
    used = effects(function.body)
    named = {v.source_name for v in used.variables if v.per_thread}
    for call in used.calls:
        summary = calls.of(call)
        named.update(() if summary is None else summary.per_thread)
    return tuple(sorted(named))


def library_variables_set(function: Function, calls: Calls) -> tuple[str, ...]:
    """The variables of the C library that a call of the function may set."""
    found: set[str] = set()
    for call in _calls(function.body):
        summary = calls.of(call)
        found.update(call.sets if summary is None else summary.sets)
    return tuple(sorted(found))


def _calls(statement: Statement) -> list[Call]:
    inside = (node for each in walk(statement) for node in nodes(each))
    return [node for node in inside if isinstance(node, Call)]


class _Errno(IntEnum):
    """The state of `errno`, or of another variable of the library, at a point: it was read while its value
    may have been anyone's; may have a value of the function's caller or of a runtime library; may be the
    error of a failed call; was assigned."""

    SEEN = 0
    FOREIGN = 1
    AFTER_CALL = 2
    ASSIGNED = 3


_FLOATING_POINT = re.compile(r"fe(clear|get|raise|set|test|hold|update|enable|disable)\w*")


def floating_point_environment(function: Function) -> str:
    """Reason why no loop of a function can be spread over threads because it uses the floating-point
    environment, of which each thread has its own (C11, 7.6); empty if it does not."""
    used = (c.function for c in effects(function.body).calls if _FLOATING_POINT.fullmatch(c.function))
    name = next(used, None)
    return "" if name is None else f"`{name}` is about one thread: others have modes and flags of their own."


def errno_of_runtime(function: Function, loop: int, naming: Iterable[Function]) -> str:
    """Reason why loop `loop` cannot be spread over threads because of `errno`; empty if it can.

    The runtime library of a directive may set `errno`: LLVM's does as it starts, at the first directive that
    runs, or where clang has called it, as a function with one is entered. No read may see that. A read after
    a test that follows a call is the reason for the failure of that call. `naming` are the functions of the
    file that name `errno`.
    """
    scene = _Scene({each.name: each for each in naming}, loop)
    if _run(function.body, _Errno.FOREIGN, False, scene) is not _Errno.SEEN:
        return ""
    return (
        "The runtime library of a directive may set `errno`, which is read later: "
        "set `errno` to 0 before the call that is tested."
    )


def read_by_callers(function: Function, naming: Iterable[Function], others: Sequence[Function]) -> str:
    """Reason why no loop of a function can be spread over threads because of a function of the file that
    reads `errno` or `signgam` after it calls this one, itself or through `others`; empty if none does. What
    threads leave there is not what the loop leaves there. `naming` as in `errno_of_runtime`."""
    leading = {function.name}
    calls = {each.name: {c.function for c in effects(each.body).calls} for each in others}
    while more := {name for name, called in calls.items() if not called.isdisjoint(leading)} - leading:
        leading |= more
    named = {each.name: each for each in naming}
    for caller in (each for each in named.values() if each.name in leading):
        for variable in ("errno", "signgam"):
            scene = _Scene(named, None, (caller.name,), variable, frozenset(leading))
            if _run(caller.body, _Errno.ASSIGNED, False, scene) is _Errno.SEEN:
                return (
                    f"`{caller.name}` reads `{variable}` after it calls `{function.name}`: what threads "
                    f"leave in it is not what the loop does; test arguments or results instead."
                )
    return ""


@dataclass(frozen=True)
class _Scene:
    """The functions that name a variable of the library, the loop that gets threads, the functions that are
    being followed, and those that leave a foreign value in the variable when called."""

    naming: Mapping[str, Function]
    loop: int | None
    followed: tuple[str, ...] = ()
    variable: str = "errno"
    foreign: frozenset[str] = frozenset()

    def is_meant(self, variable: Variable) -> bool:
        """True for the variable of the library."""
        return variable.storage in ("global", "static") and variable.source_name == self.variable


def _run(statement: Statement, state: _Errno, tested: bool, scene: _Scene) -> _Errno:
    """State after a statement; `tested`: control has passed a test."""
    if state is _Errno.SEEN:
        return state
    match statement:
        case Block(statements):
            for each in statements:
                state = _run(each, state, tested, scene)
            return state
        case If(condition, then, otherwise, _):
            state = _value(condition, state, tested, scene)
            return min(_run(then, state, True, scene), _run(otherwise, state, True, scene))
        case Loop():
            if statement.ordinal == scene.loop and not scene.followed:
                return _Errno.FOREIGN
            for _ in range(2):
                after = _run(statement.prologue, state, tested, scene)
                if statement.condition is not None:
                    after = _value(statement.condition, after, tested, scene)
                after = _run(statement.step, _run(statement.body, after, tested, scene), tested, scene)
                state = min(state, after)
            return state
        case Assign(target, operator, _, _):
            for each in expressions(statement):
                state = _value(each, state, tested, scene)
            if not scene.is_meant(target.variable) or state is _Errno.SEEN:
                return state
            return _seen(state, tested) if operator is not None else _Errno.ASSIGNED
        case Unsupported(_, _, loops, reads):
            for each in loops:
                state = _run(each, state, True, scene)
            if reads is None or any(map(scene.is_meant, reads)):
                state = _seen(state, True)
            return state if state is _Errno.SEEN or loops else _Errno.AFTER_CALL
        case Evaluate() | Assume() | Jump() | Declare():
            for each in expressions(statement):
                state = _value(each, state, tested, scene)
            return state


def _value(value: Expr, state: _Errno, tested: bool, scene: _Scene) -> _Errno:
    """The state after the evaluation of an expression."""
    match value:
        case Constant() | Invariant():
            return state
        case Read(place) | AddressOf(place):
            for each in subscripts(place):
                state = _value(each, state, tested, scene)
            return _seen(state, tested) if scene.is_meant(place.variable) else state
        case Unary(_, operand) | Cast(operand):
            return _value(operand, state, tested, scene)
        case Binary(operator, left, right):
            state = _value(left, state, tested, scene)
            return _value(right, state, tested or operator in ("&&", "||"), scene)
        case Select(condition, then, otherwise):
            state = _value(condition, state, tested, scene)
            return min(_value(then, state, True, scene), _value(otherwise, state, True, scene))
        case Call(name, arguments):
            for each in arguments:
                state = _value(each, state, tested, scene)
            if state is not _Errno.SEEN and name in scene.foreign:
                return _Errno.FOREIGN
            if name == "perror" and scene.variable == "errno":
                state = _seen(state, tested)
            called = scene.naming.get(name)
            if called is not None and name not in scene.followed:
                inside = replace(scene, followed=(*scene.followed, name))
                state = _run(called.body, state, tested, inside)
            return state if state is _Errno.SEEN else max(state, _Errno.AFTER_CALL)


def _seen(state: _Errno, tested: bool) -> _Errno:
    """The state after a read of the variable."""
    is_own = state is _Errno.ASSIGNED or (state is _Errno.AFTER_CALL and tested)
    return state if is_own else _Errno.SEEN
