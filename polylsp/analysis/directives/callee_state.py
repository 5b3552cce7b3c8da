"""Places that a call surely reads or writes, read off the syntax of the called function.

Variables with static storage, their elements, and elements behind parameters, in terms of the arguments:
threads that run such calls at once share them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import add, mul, sub
from typing import TYPE_CHECKING, Literal

from polylsp.analysis.directives.thread_order import keeps_no_order, with_locks
from polylsp.analysis.scop.inlining import with_arguments
from polylsp.analysis.scop.obstacles import passes_on
from polylsp.analysis.scop.reductions import Update, no_quiet_call, reduction_of
from polylsp.analysis.scop.summaries import Calls, StateAccess
from polylsp.ir.directive import Directive, OtherClause
from polylsp.ir.effects import effects, nodes, places_in, walk
from polylsp.ir.library import LOCK_CALLS
from polylsp.ir.must_execute import always_run, evaluated_calls, first_read, reads_of
from polylsp.ir.program import (
    HOLDS,
    AddressOf,
    Array,
    Assign,
    Binary,
    Block,
    Call,
    Cast,
    Constant,
    Evaluate,
    Expr,
    Field,
    Floating,
    Function,
    If,
    Index,
    Integer,
    Loop,
    Place,
    Pointer,
    Read,
    Simple,
    Site,
    Statement,
    Struct,
    Unsupported,
    Variable,
    stripped,
    subexpressions,
    within,
)
from polylsp.ir.spelling import spell_place
from polylsp.ir.verdict import AccessPoint, ReductionOperator

if TYPE_CHECKING:
    from polylsp.analysis.directives.constructs import Directed


AccessKind = Literal["read", "write"]


def state_of(function: Function, calls: Calls) -> tuple[StateAccess, ...] | None:
    """Variables with static storage, and elements of these or behind parameters, that a call surely reads or
    writes (or, `by_data`, as its arguments determine) without synchronisation, or `held` in a critical
    section that only adds to them. `None` where the function may order threads, or has unmodelled code."""
    locked = with_locks(function)
    if locked is not None:
        function, calls = locked[0], replace(calls, passed_over=calls.passed_over | LOCK_CALLS)
    unknown = function.problems or any(isinstance(s, Unsupported) for s in walk(function.body))
    ordering = any(not keeps_no_order(call, calls) for call in effects(function.body).calls)
    guards = [d for d in function.directives if isinstance(d, Directive) and d.words != ("threadprivate",)]
    if unknown or ordering or not all(_only_adds_up(function, each) for each in guards):
        return None
    if any(not isinstance(each, Directive) for each in function.directives):
        return None
    found: dict[StateAccess, None] = {}
    guarded = [each.site for each in guards if each.site is not None]
    always = [s for s in always_run(function.body) if not any(within(s.site, g) for g in guarded)]
    for statement in always:
        for call in evaluated_calls(statement):
            for access in calls.state.get(call.function, ()):
                found |= dict.fromkeys(_passed_on(function, access, call))
        for read in reads_of(statement):
            found |= dict.fromkeys(_variable(function, read.place, "read"))
        if isinstance(statement, Assign):
            found |= dict.fromkeys(_variable(function, statement.target, "write"))
    for guard in guards:
        found |= dict.fromkeys(_held(function, guard))
    found |= dict.fromkeys(_elements(function, always, guarded, {}))
    for choice in (
        s for s in _reached(function.body) if isinstance(s, If) and _is_about(s.condition, function)
    ):
        for each in (s for s in walk(choice.then, choice.otherwise) if isinstance(s, Assign)):
            if each.operator is not None and not any(within(each.site, g) for g in guarded):
                found |= {
                    replace(one, by_data=True): None for one in _variable(function, each.target, "write")
                }
    return tuple(found)


def integers_set(function: Function) -> set[Variable]:
    """The integers and pointers with static storage that a function changes: callers rely on their values."""
    return {
        s.target.variable
        for s in walk(function.body)
        if isinstance(s, Assign)
        and not s.target.steps
        and s.target.variable.storage in ("global", "static", "cell")
        and isinstance(s.target.type, (Integer, Pointer))
    }


def as_callers_see(variable: Variable, function: Function) -> Variable:
    """A variable with static storage under a name that no other function gives to one of its own."""
    if variable.storage == "static" and "@static" not in variable.name:
        return replace(variable, name=f"{variable.name}@static@{function.name}")
    return variable


def integers_updated(function: Function) -> dict[Variable, ReductionOperator]:
    """The integers with static storage with which a function does nothing but one kind of reduction, whatever
    their values."""
    found = {each: _reduction(function, each) for each in integers_set(function) if not each.per_thread}
    return {each: u.operator for each, u in found.items() if u is not None and not (u.started or u.sets)}


def _reduction(function: Function, variable: Variable) -> Update | None:
    """The reduction that is all that a function does with a variable."""
    assigns = [s for s in walk(function.body) if isinstance(s, Assign) and s.target.variable == variable]
    updates = {reduction_of(each, no_quiet_call) for each in assigns}
    everywhere, in_updates = places_in(function.body), places_in(*assigns)
    uses, own = (sum(p.variable == variable for p in places) for places in (everywhere, in_updates))
    return next(iter(updates)) if len(updates) == 1 and uses == own else None


def carried_integer(function: Function, calls: Calls) -> Variable | None:
    """The integer with static storage from whose value each call surely goes on: it, or a function that it
    calls, reads the value that is there before, and stores another one."""
    always = list(always_run(function.body))
    for variable in sorted(integers_set(function), key=lambda v: v.name):
        sets = any(
            isinstance(s, Assign) and s.target.variable == variable and not s.target.steps for s in always
        )
        is_passed_on = sets and first_read((function.body,), variable) is not None
        if is_passed_on and not variable.per_thread and _reduction(function, variable) is None:
            return as_callers_see(variable, function)
    for call in (call for statement in always for call in evaluated_calls(statement)):
        if passes_on(call, calls, effects(function.body)):
            return calls.carried[call.function]
    return None


def _passed_on(function: Function, access: StateAccess, call: Call) -> Iterator[StateAccess]:
    """The access of a called function, in terms of the parameters of the caller."""
    place = _seen_by_caller(access, call)
    if place is None:
        return
    if access.owner or access.held is not None:
        yield replace(access, place=place, parameters=())
    elif access.by_data:
        yield from (replace(one, by_data=True) for one in _variable(function, place, access.kind))
    elif place.steps:
        yield from _element(function, place, access.kind, {})
    else:
        yield from _variable(function, place, access.kind)


def _held(function: Function, guard: Directive) -> Iterator[StateAccess]:
    """The updates of variables with static storage in a critical section, or atomic ones, that the function
    surely makes."""
    for statement in always_run(function.body):
        inside = guard.site is not None and within(statement.site, guard.site)
        if inside and isinstance(statement, Assign):
            for access in _variable(function, statement.target, "write"):
                yield replace(access, held=(guard.words[0], guard.argument))


def _variable(function: Function, place: Place, kind: AccessKind) -> Iterator[StateAccess]:
    """The access of a whole variable with static storage."""
    return _shared(function, place, kind) if not place.steps else iter(())


def _elements(
    function: Function, statements: Iterable[Simple], guarded: Sequence[Site], known: dict[Variable, int]
) -> Iterator[StateAccess]:
    """Elements of arrays with static storage, or behind parameters, that some statements surely use, those in
    first iterations of loops among them, but not those that are `guarded`. `known` are the variables with
    constant values, and is brought up to date."""
    for statement in statements:
        used: list[tuple[Place, AccessKind]] = [(read.place, "read") for read in reads_of(statement)]
        if isinstance(statement, Assign):
            used.append((statement.target, "write"))
        if not any(within(statement.site, each) for each in guarded):
            for place, kind in used:
                yield from _element(function, place, kind, known)
        if isinstance(statement, Loop):
            is_plain = not statement.post_test and not statement.prologue.statements
            if is_plain and statement.condition is not None and _number(statement.condition, known) == 1:
                yield from _elements(function, always_run(statement.body), guarded, dict(known))
        value = _number(statement.value, known) if isinstance(statement, Assign) else None
        changed = effects(statement).scalars
        for variable in [each for each in known if each.name in changed]:
            del known[variable]
        if isinstance(statement, Assign) and statement.operator is None and not statement.target.steps:
            variable = statement.target.variable
            if value is not None and variable.storage == "local" and not variable.escapes:
                known[variable] = value


def _element(
    function: Function, place: Place, kind: AccessKind, known: Mapping[Variable, int]
) -> Iterator[StateAccess]:
    steps: list[Index | Field] = []
    for step in place.steps:
        if isinstance(step, Field):
            if step.bit_field:
                return
            steps.append(step)
            continue
        at = _in_parameters(step.subscript, known, function) if step.wraps is None else None
        if at is None:
            return
        steps.append(Index(at))
    fixed = Place(place.variable, tuple(steps), place.type, _NOWHERE)
    if not steps or not isinstance(place.type, (Integer, Floating)):
        return
    if isinstance(place.variable.type, (Array, Struct)):
        for access in _shared(function, fixed, kind):
            yield replace(access, parameters=function.parameters)
    elif _is_given(place.variable, function):
        yield StateAccess(fixed, kind, parameters=function.parameters)


_NOWHERE = Site(0, 0)


def _is_given(variable: Variable, function: Function) -> bool:
    """True for a parameter that the function leaves as it is."""
    return (
        variable in function.parameters
        and not variable.escapes
        and variable.name not in effects(function.body).scalars
    )


def _in_parameters(value: Expr, known: Mapping[Variable, int], function: Function) -> Expr | None:
    """An integer in terms of constants and parameters that the function does not change, without sites."""
    number = _number(value, known)
    if number is not None:
        return Constant(number, _INT, _NOWHERE)
    if not isinstance(value.type, Integer) or value.type.bits < _INT.bits:
        return None
    match value:
        case Read(Place(variable, ())) if _is_given(variable, function):
            return Read(Place(variable, (), variable.type, _NOWHERE))
        case Cast(operand, of_type):
            inner = _in_parameters(operand, known, function)
            return None if inner is None else Cast(inner, of_type, _NOWHERE)
        case Binary("+" | "-" | "*" as symbol, left, right, of_type):
            one, other = (_in_parameters(each, known, function) for each in (left, right))
            if one is None or other is None:
                return None
            return Binary(symbol, one, other, of_type, _NOWHERE)
        case _:
            return None


_INT = Integer(32, True)


def _seen_by_caller(access: StateAccess, call: Call) -> Place | None:
    """The place that a called function uses, in terms of the arguments of a call; `None` where these do not
    tell."""
    place, values = access.place, dict(zip(access.parameters, call.arguments, strict=False))
    if len(access.parameters) > len(call.arguments):
        return None
    named = {parameter.name: argument for parameter, argument in values.items()}
    steps: list[Index | Field] = []
    for step in place.steps:
        if isinstance(step, Index):
            at = with_arguments(step.subscript, named)
            if at is None:
                return None
            step = Index(_folded(at))
        steps.append(step)
    if place.variable not in values:
        return Place(place.variable, tuple(steps), place.type, call.site)
    base, first = stripped(values[place.variable]), steps[0]
    if not isinstance(first, Index) or base.type != values[place.variable].type:
        return None
    match base:
        case Read(Place(variable, ())) if isinstance(variable.type, Pointer):
            return Place(variable, tuple(steps), place.type, call.site)
        case AddressOf(Place(variable, (*outer, Index(subscript, None)))):
            at = _folded(Binary("+", subscript, first.subscript, _INT, call.site))
            return Place(variable, (*outer, Index(at), *steps[1:]), place.type, call.site)
        case AddressOf(Place(variable, outer)) if _number(first.subscript, {}) == 0:
            return Place(variable, (*outer, *steps[1:]), place.type, call.site)
        case _:
            return None


def _folded(value: Expr) -> Expr:
    """A constant for an expression of constants."""
    number = _number(value, {})
    return value if number is None else Constant(number, value.type, value.site)


def _number(value: Expr, known: Mapping[Variable, int]) -> int | None:
    """Value of an expression, in which variables have constant values; comparisons are 0 or 1. None is
    negative: a conversion could make it large."""
    match stripped(value):
        case Constant(value=int() as number) if number >= 0:
            return number
        case Read(place=Place(variable=variable, steps=())):
            return known.get(variable)
        case Binary(operator=symbol, left=left, right=right) if symbol in _OPERATORS:
            one, other = _number(left, known), _number(right, known)
            found = -1 if one is None or other is None else int(_OPERATORS[symbol](one, other))
            return found if found >= 0 else None
        case _:
            return None


_OPERATORS: dict[str, Callable[[int, int], int]] = {"+": add, "-": sub, "*": mul, **HOLDS}


def _reached(block: Block) -> Iterator[Simple]:
    """The statements of a block, and of those in it, up to the first one that may leave it."""
    always = list(always_run(block))
    yield from always
    following = (s for s in walk(block) if not isinstance(s, Block))
    last = always[-1].site.last if always else -1
    yield from (s for s in (next((s for s in following if s.site.first > last), None),) if s is not None)


def _only_adds_up(function: Function, guard: Directive) -> bool:
    """True if a critical section only adds to variables that the function does not read elsewhere: no thread
    observes the progress of others through it."""
    if guard.words not in (("critical",), ("atomic",)) or guard.site is None:
        return False
    if any(
        isinstance(c, OtherClause) and c.name in ("capture", "read", "write", "compare")
        for c in guard.clauses
    ):
        return False
    site, added = guard.site, set[Variable]()
    for statement in walk(function.body):
        if not isinstance(statement, (Evaluate, Block)) and within(statement.site, site):
            if not isinstance(statement, Assign) or statement.operator is None or statement.target.steps:
                return False
            added.add(statement.target.variable)
    read = (n for s in walk(function.body) for n in nodes(s) if isinstance(n, (Read, AddressOf)))
    return added.isdisjoint(n.place.variable for n in read)


def _is_about(condition: Expr, function: Function) -> bool:
    """True if a condition reads a number that the function is given, or elements of an array."""
    read = [n.place for n in subexpressions(condition) if isinstance(n, Read)]
    return any(place.steps or place.variable in function.parameters for place in read)


def called_accesses(
    statement: Statement, directed: Directed, by_data: bool = False
) -> Iterator[tuple[Place, AccessPoint]]:
    """The places that the calls in a statement surely read or write: those with static storage, and those
    to which addresses lead that are arguments; with `by_data`, those that they update as their arguments
    say."""
    calls, function = directed.calls, directed.function
    own = {v.source_name for v in (*function.parameters, *(d.variable for d in directed.declared))}
    for call in evaluated_calls(statement):
        for access in calls.state.get(call.function, ()):
            place = _seen_by_caller(access, call) if access.by_data == by_data else None
            if place is None or access.held is not None:
                continue
            name = place.variable.source_name
            text = spell_place(place) + (f" of {access.owner}()" if access.owner else "")
            if not place.steps and access.owner:
                text = f"{access.owner}()"
            if access.owner or access.place.variable in access.parameters or name not in own:
                yield place, AccessPoint(name, text, access.kind, call.site)
        for place, kind in () if by_data else _given(call, calls):
            yield place, AccessPoint(place.variable.source_name, spell_place(place), kind, call.site)


def held_updates(
    statement: Statement, directed: Directed
) -> Iterator[tuple[Place, AccessPoint, tuple[str, str]]]:
    """The variables of the file that the calls in a statement surely update in critical sections, or
    atomically, with the mutual exclusion of each."""
    for call in evaluated_calls(statement):
        for access in directed.calls.state.get(call.function, ()):
            if access.held is not None and access.place.variable.storage == "global":
                name = access.place.variable.source_name
                place = replace(access.place, site=call.site)
                yield place, AccessPoint(name, name, "write", call.site), access.held


def _given(call: Call, calls: Calls) -> Iterator[tuple[Place, AccessKind]]:
    """The numbers whose addresses are arguments, and that the call surely reads or writes."""
    summary = calls.of(call)
    for access in summary.accesses if summary is not None and not summary.directed else ():
        argument = call.arguments[access.parameter] if access.parameter >= 0 else None
        if access.exact and isinstance(argument, AddressOf) and not argument.place.steps:
            place = argument.place
            if isinstance(place.variable.type, (Integer, Floating)):
                yield replace(place, site=call.site), access.kind


def _shared(function: Function, place: Place, kind: AccessKind) -> Iterator[StateAccess]:
    """The access of a variable with static storage, or of an element of it, that all threads share."""
    variable = place.variable
    stays = variable.storage in ("global", "static") and not variable.const
    is_one = isinstance(place.type, (Integer, Floating)) and not isinstance(variable.type, Pointer)
    by_thread = variable.per_thread or variable.source_name in function.per_thread
    if stays and is_one and not by_thread:
        owner = function.name if variable.storage == "static" else ""
        yield StateAccess(replace(place, site=_NOWHERE), kind, owner)
