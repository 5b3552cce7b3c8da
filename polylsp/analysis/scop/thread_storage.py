"""Thread-local storage: loops that use it cannot be spread over threads, nor can others where values that the
threading runtime leaves in it would be visible (`errno`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
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
                text = f"`{call.function}` may set `{name}`, which this function reads"
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
    """The state of `errno` at a point: it was read while its value may have been anyone's; may have a value
    of the function's caller or of a runtime library; may be the error of a failed call; was assigned."""

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
    scene = _Scene(loop, {each.name: each for each in naming})
    if _run(function.body, _Errno.FOREIGN, False, scene) is not _Errno.SEEN:
        return ""
    return (
        "The runtime library of a directive may set `errno`, which is read later: "
        "set `errno` to 0 before the call that is tested."
    )


@dataclass(frozen=True)
class _Scene:
    """The loop that gets threads, the functions that name `errno`, and those that are being followed."""

    loop: int
    naming: Mapping[str, Function]
    followed: tuple[str, ...] = ()


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
            if not _is_errno(target.variable) or state is _Errno.SEEN:
                return state
            return _seen(state, tested) if operator is not None else _Errno.ASSIGNED
        case Unsupported(_, _, loops, reads):
            for each in loops:
                state = _run(each, state, True, scene)
            if reads is None or any(map(_is_errno, reads)):
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
            return _seen(state, tested) if _is_errno(place.variable) else state
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
            if name == "perror":
                state = _seen(state, tested)
            called = scene.naming.get(name)
            if called is not None and name not in scene.followed:
                inside = replace(scene, followed=(*scene.followed, name))
                state = _run(called.body, state, tested, inside)
            return state if state is _Errno.SEEN else max(state, _Errno.AFTER_CALL)


def _is_errno(variable: Variable) -> bool:
    return variable.per_thread and variable.source_name == "errno"


def _seen(state: _Errno, tested: bool) -> _Errno:
    """The state after a read of `errno`."""
    is_own = state is _Errno.ASSIGNED or (state is _Errno.AFTER_CALL and tested)
    return state if is_own else _Errno.SEEN
