"""Obstacles to static control, the variables that they may change, and the reachability of the code after
them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polylsp.analysis.dependence.data_endings import ending, repeated_calls, repeated_orders
from polylsp.analysis.dependence.scalars import recurrences
from polylsp.analysis.scop.call_effects import is_known
from polylsp.analysis.scop.paths import sets_pointers
from polylsp.analysis.scop.summaries import Calls
from polylsp.ir.effects import Effects, effects, expressions, walk
from polylsp.ir.library import Ordered, call_obstacle, effect_of, order_of
from polylsp.ir.must_execute import always_run, evaluated_calls, may_complete, ordered_statements
from polylsp.ir.program import (
    AddressOf,
    Array,
    Assign,
    Block,
    Call,
    Cast,
    Constant,
    Evaluate,
    Expr,
    Field,
    Function,
    Jump,
    Loop,
    Order,
    OtherType,
    Place,
    Pointer,
    Read,
    Rejection,
    Simple,
    Site,
    Statement,
    Unsupported,
    Variable,
    stripped,
    subexpressions,
)
from polylsp.ir.spelling import spell
from polylsp.ir.verdict import AccessPoint, Dependence, DependenceKind, Sequential, Witness


def obstacle(statement: Statement, calls: Calls) -> Rejection | None:
    """First construct in a statement that cannot be under static control."""
    for inner in walk(statement):
        if isinstance(inner, Unsupported):
            return inner.rejection
        for expression in expressions(inner):
            for node in subexpressions(expression):
                if isinstance(node, Call) and not is_known(node, calls):
                    return unknown_call(node, calls)
    return None


def unknown_call(call: Call, calls: Calls) -> Rejection:
    """Rejection of a call whose effects keep iterations in order, or are unknown."""
    if call.function in calls.refused:
        blamed = calls.blamed.get(call.function, "")
        where = f"in `{blamed}`, " if blamed else ""
        text = f"the effects of `{call.function}` are unknown: {where}{calls.refused[call.function]}"
        return Rejection("unknown-call", call.site, text)
    known = call_obstacle(call.function)
    if known is not None:
        return Rejection("unknown-call", call.site, known.reason, known.advice)
    if call.function.startswith("*"):
        advice = "call a function by its name, or keep this call out of the loop"
        return Rejection("unknown-call", call.site, f"the effects of `{call.function}` are unknown", advice)
    if call.function.startswith("__polylsp_"):
        name = call.function.removeprefix("__polylsp_")
        return Rejection("unknown-call", call.site, f"the effects of `{name}` are unknown")
    advice = f"define `{call.function}` in this file"
    if call.type != OtherType("void"):
        pointed = any(isinstance(each.type, (Pointer, Array)) for each in call.arguments)
        promise = "pure" if pointed else "const"
        when = "it writes nothing" if pointed else "it only computes from its arguments"
        advice += f", or declare it `__attribute__(({promise}))` if {when}"
    return Rejection("unknown-call", call.site, f"the effects of `{call.function}` are unknown", advice)


def is_exposed(variable: Variable) -> bool:
    """True if code that is not analysed can assign a variable."""
    return not variable.const and (variable.escapes or variable.storage in ("global", "static", "cell"))


def led_elsewhere(statement: Statement) -> frozenset[str]:
    """The variables that a statement sets to values that may alias others; not those that get the result of a
    call."""
    found: set[str] = set()
    for inner in walk(statement):
        if isinstance(inner, Assign) and not inner.target.steps:
            value = inner.value
            while isinstance(value, Cast):
                value = value.operand
            names = any(isinstance(node, (Read, AddressOf)) for node in subexpressions(value))
            if names and not isinstance(value, Call):
                found.add(inner.target.variable.name)
    return frozenset(found)


def leaves(block: Block) -> bool:
    """True if control never reaches the statements after a block in the source."""
    match list(flat(block.statements))[-1:]:
        case [Jump() | Unsupported(leaves=True)]:
            return True
        case [Evaluate(Call(name, ends=ends), _)]:
            return ends or effect_of(name) == "termination"
        case _:
            return False


def flat(statements: tuple[Statement, ...]) -> Iterator[Simple]:
    """The statements of blocks inside of each other, in order."""
    for statement in statements:
        if isinstance(statement, Block):
            yield from flat(statement.statements)
        else:
            yield statement


# --- Order -------------------------------------------------------------------------------


def ordered_call(iteration: Block, calls: Calls, within: Effects | None = None) -> Call | None:
    """A call that each run of a block makes, and of which two have to run in the order of the program. For an
    iteration of a loop with the effects `within`, which is not the last and whose inner loops run, these do
    not change the stream that the call uses, but something that it prints; for a function, it uses a variable
    of the file, and prints more than constants."""
    in_loop = within is not None
    for statement in always_run(iteration, inner_loops=in_loop, completed=in_loop):
        for call in evaluated_calls(statement):
            if _keeps_order(call, calls, within):
                return call
    return None


def _keeps_order(call: Call, calls: Calls, within: Effects | None) -> bool:
    """True if two runs of a call have to keep the order of the program."""
    if call.function in calls.summaries or call.function in calls.passed_over:
        return False
    if call.function in calls.refused:
        if within is not None and passes_on(call, calls, within):
            return True
        return call.function in calls.ordered and _by_own_stream(call, calls, within)
    order = order_of(call.function)
    return order is not None and _in_order(call, order, within)


def passes_on(call: Call, calls: Calls, within: Effects) -> bool:
    """True if a call goes on from the value of an integer with static storage that another run of it left,
    and nothing else in a piece of a program with these effects may set that integer."""
    variable = calls.carried.get(call.function)
    # Another class may have another method of that name.
    if variable is None or "." in call.function:
        return False
    if variable.storage != "static" and calls.as_named_here(variable).name in within.scalars:
        return False
    return all(
        each.function in calls.summaries
        or calls.carried.get(each.function) == variable
        or (each.function not in calls.refused and effect_of(each.function) is not None)
        for each in within.calls
    )


def _by_own_stream(call: Call, calls: Calls, within: Effects | None) -> bool:
    """True unless two runs of a call, whose callee uses the stream that it is given, may use two, or print
    the same text."""
    number = calls.streams.get(call.function, -1)
    if not 0 <= number < len(call.arguments):
        return number < 0
    own = order_of(calls.ordered[call.function]) or Ordered()
    return _in_order(call, replace(own, stream=number), within)


def ordered_by_parameter(function: Function, calls: Calls) -> tuple[str, int] | None:
    """The function of the library that each call of a function surely calls, and the number of the parameter
    that is the stream of it, if two such calls with one stream have to keep their order."""
    changed = effects(function.body).scalars
    for statement in always_run(function.body):
        for call in evaluated_calls(statement):
            found = _stream_of(call, calls)
            value = stripped(found[1]) if found is not None else None
            if found is None or not isinstance(value, Read) or value.place.steps:
                continue
            variable = value.place.variable
            if variable in function.parameters and variable.name not in changed and not variable.escapes:
                return found[0], function.parameters.index(variable)
    return None


def _stream_of(call: Call, calls: Calls) -> tuple[str, Expr] | None:
    """The function of the library that a call surely calls, and the stream that it is given."""
    if call.function in calls.summaries or call.function in calls.passed_over:
        return None
    name = calls.ordered.get(call.function, "") if call.function in calls.refused else call.function
    order = order_of(name)
    number = calls.streams.get(call.function) if name != call.function else order and order.stream
    if order is None or number is None or not -len(call.arguments) <= number < len(call.arguments):
        return None
    return name, call.arguments[number]


def _in_order(call: Call, order: Ordered, within: Effects | None) -> bool:
    """True if two calls use one stream, and do not print the same text."""
    if order.stream is not None:
        stream = call.arguments[order.stream] if call.arguments else None
        if stream is None or (within is not None and sets_pointers(within)):
            return False
        if not all(_stays(place, within, outer=True) for place in _named(stream)):
            return False
    return not order.prints or not all(
        _stays(place, within) for argument in call.arguments for place in _named(argument)
    )


def _named(value: Expr) -> Iterator[Place | None]:
    """The places that an expression reads, or whose addresses it takes; `None` for the results of calls."""
    for node in subexpressions(value):
        if isinstance(node, (Read, AddressOf)):
            yield node.place
        elif isinstance(node, Call):
            yield None


def _stays(place: Place | None, within: Effects | None, outer: bool = False) -> bool:
    """True if a variable, or a member of one, has one value in all iterations; `outer`: in all calls of a
    function, for which nothing else is known."""
    if place is None or not all(isinstance(step, Field) for step in place.steps):
        return False
    if within is None:
        return outer and place.variable.storage in ("global", "static")
    return place.variable.name not in within.scalars


def sequential_as_written(loop: Loop, calls: Calls, only_reports: bool = False) -> Sequential | None:
    """The verdict of a loop outside of the model whose iterations surely depend on each other: each makes a
    call that has to run after that of the one before, goes on from a value that it left, or runs only if data
    let the loop go on. `only_reports`: the loop does nothing but print, or end the program, where data say
    so."""
    if _runs_once(loop):
        return None
    iteration = Block((loop.prologue, loop.body, loop.step))
    for statement in ordered_statements(iteration):
        if statement.order is not None and _keeps(statement.order, loop):
            end = AccessPoint("", statement.order.reason, "write", statement.site)
            return _carried_by(loop, end, end, statement.order.reason, statement.order.kind)
    call = ordered_call(iteration, calls, effects(loop))
    if call is not None:
        return _in_sequence(loop, call, calls)
    found = next(recurrences(loop, calls), None)
    if found is None:
        return ending(loop, only_reports) or _by_branches(loop, calls, only_reports)
    name = found.variable.source_name
    ends = AccessPoint(name, name, "write", found.write), AccessPoint(name, name, "read", found.read)
    return _carried_by(loop, *ends)


def _by_branches(loop: Loop, calls: Calls, only_reports: bool) -> Sequential | None:
    """The verdict of a loop with calls that keep their order, under conditions that inputs satisfy in any two
    iterations; not with output, whose branches may be presumed not to be taken, unless all of the loop is in
    these."""
    for statement, order, when in repeated_orders(loop):
        if order.chosen and _keeps(order, loop):
            reason = f"where {when}, {order.chosen}"
            end = AccessPoint("", reason, "write", statement.site)
            return _carried_by(loop, end, end, reason, order.kind)
    within = effects(loop)
    for call, when in repeated_calls(loop):
        presumable = effect_of(call.function) == "output" and not only_reports
        if not presumable and _keeps_order(call, calls, within):
            return _in_sequence(loop, call, calls, f"where {when}, ")
    return None


def _in_sequence(loop: Loop, call: Call, calls: Calls, when: str = "") -> Sequential:
    """The verdict of a loop with a call that has to run after that of the iteration before."""
    passed = calls.carried.get(call.function)
    end = AccessPoint(call.function, spell(call), "write", call.site)
    return _carried_by(
        loop, end, end, f"{when}{_reason(call, calls)}", "output" if passed is None else "flow"
    )


def _keeps(order: Order, loop: Loop) -> bool:
    """True if the iterations of a loop share the object that an order is about, and differ for it."""
    if _has_any(loop, order.renewed):
        return False
    changed = effects(loop).scalars
    differs = order.values is None or any(
        each.name in changed and not _is_reset(each, loop) for each in order.values
    )
    return differs or _has_any(loop, order.varying)


def _is_reset(variable: Variable, loop: Loop) -> bool:
    """True if all that a loop does with a variable is to set it to one constant."""
    values = [
        None if s.operator is not None or s.target.steps else stripped(s.value)
        for s in walk(loop)
        if isinstance(s, Assign) and s.target.variable == variable
    ]
    return len(values) == 1 and isinstance(values[0], Constant)


def _has_any(loop: Loop, sites: tuple[Site, ...]) -> bool:
    """True if one of some sites is a part of a loop."""
    return any(loop.site.first <= site.first <= loop.site.last for site in sites)


def _reason(call: Call, calls: Calls) -> str:
    """Reason why two calls have to run in order, with advice."""
    if call.function in calls.ordered:
        return (
            f"`{call.function}` calls `{calls.ordered[call.function]}`, whose calls have to keep their order"
        )
    if call.function in calls.carried:
        name = calls.carried[call.function].source_name
        return f"`{call.function}` goes on from the value of `{name}` that the call before it left"
    why = unknown_call(call, calls)
    return f"{why.message}; {why.advice}" if why.advice else why.message


def _carried_by(
    loop: Loop, source: AccessPoint, sink: AccessPoint, order: str = "", kind: DependenceKind = "flow"
) -> Sequential:
    passed = Dependence(kind, source, sink, loop.ordinal, 1, ("<",), True, order)
    return Sequential(Witness(passed, (), (), ()), (passed,))


def _runs_once(loop: Loop) -> bool:
    """True if a loop may never have a second iteration, whatever the data."""
    condition = None if loop.condition is None else stripped(loop.condition)
    never = isinstance(condition, Constant) and not condition.value
    return never or not may_complete(loop.body)
