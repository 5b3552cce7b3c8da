"""Variables with static storage that a call surely reads or writes, read off the shape of that function: all
threads that run such calls at once share the variable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import add, mul, sub
from typing import TYPE_CHECKING, Literal

from polylsp.analysis.directives.thread_order import keeps_no_order, with_locks
from polylsp.analysis.scop.summaries import Calls, StateAccess
from polylsp.ir.directive import Directive, OtherClause
from polylsp.ir.effects import effects, nodes, walk
from polylsp.ir.library import LOCK_CALLS
from polylsp.ir.must_execute import always_run, evaluated_calls, reads_of
from polylsp.ir.program import (
    HOLDS,
    AddressOf,
    Array,
    Assign,
    Binary,
    Block,
    Call,
    Constant,
    Evaluate,
    Expr,
    Floating,
    Function,
    If,
    Index,
    Integer,
    Loop,
    Place,
    Read,
    Simple,
    Site,
    Statement,
    Unsupported,
    Variable,
    stripped,
    subexpressions,
    within,
)
from polylsp.ir.spelling import spell_place
from polylsp.ir.verdict import AccessPoint

if TYPE_CHECKING:
    from polylsp.analysis.directives.constructs import Directed


AccessKind = Literal["read", "write"]


def state_of(function: Function, calls: Calls) -> tuple[StateAccess, ...] | None:
    """Variables with static storage that a call surely reads or writes (or, `by_data`, as its arguments
    determine) without synchronisation. `None` where the function may order threads, or has unmodelled
    code."""
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
            found |= dict.fromkeys(calls.state.get(call.function, ()))
        for read in reads_of(statement):
            found |= dict.fromkeys(_shared(function, read.place, "read"))
        if isinstance(statement, Assign):
            found |= dict.fromkeys(_shared(function, statement.target, "write"))
    found |= dict.fromkeys(_elements(function, always, guarded, {}))
    for choice in (
        s for s in _reached(function.body) if isinstance(s, If) and _is_about(s.condition, function)
    ):
        for each in (s for s in walk(choice.then, choice.otherwise) if isinstance(s, Assign)):
            if each.operator is not None and not any(within(each.site, g) for g in guarded):
                found |= {replace(one, by_data=True): None for one in _shared(function, each.target, "write")}
    return tuple(found)


def _elements(
    function: Function, statements: Iterable[Simple], guarded: Sequence[Site], known: dict[Variable, int]
) -> Iterator[StateAccess]:
    """Elements of arrays with static storage that some statements surely use, those in first iterations of
    loops among them, but not those that are `guarded`. `known` are the variables with constant values, and
    is brought up to date."""
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
    steps: list[Index] = []
    for step in place.steps:
        at = _number(step.subscript, known) if isinstance(step, Index) and step.wraps is None else None
        if at is None or not isinstance(step, Index):
            return
        steps.append(replace(step, subscript=Constant(at, step.subscript.type, step.subscript.site)))
    if steps and isinstance(place.variable.type, Array):
        yield from _shared(function, place, kind, spell_place(replace(place, steps=tuple(steps))))


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
) -> Iterator[tuple[Variable, AccessPoint]]:
    """The variables that the calls in a statement surely read or write: those with static storage, and those
    whose addresses they are given; with `by_data`, those that they update as their arguments say."""
    calls, function = directed.calls, directed.function
    own = {v.source_name for v in (*function.parameters, *(d.variable for d in directed.declared))}
    for call in evaluated_calls(statement):
        for access in calls.state.get(call.function, ()):
            if access.by_data != by_data:
                continue
            name = access.variable.source_name
            owner = f"{access.owner}()" if access.owner else ""
            text = " of ".join(filter(None, (access.element, owner))) or name
            if access.owner or name not in own:
                yield access.variable, AccessPoint(name, text, access.kind, call.site)
        for variable, kind in () if by_data else _given(call, calls):
            yield variable, AccessPoint(variable.source_name, variable.source_name, kind, call.site)


def _given(call: Call, calls: Calls) -> Iterator[tuple[Variable, AccessKind]]:
    """The numbers whose addresses are arguments, and that the call surely reads or writes."""
    summary = calls.of(call)
    for access in summary.accesses if summary is not None and not summary.directed else ():
        argument = call.arguments[access.parameter] if access.parameter >= 0 else None
        if access.exact and isinstance(argument, AddressOf) and not argument.place.steps:
            variable = argument.place.variable
            if isinstance(variable.type, (Integer, Floating)):
                yield variable, access.kind


def _shared(function: Function, place: Place, kind: AccessKind, element: str = "") -> Iterator[StateAccess]:
    """The access of a variable with static storage, or of an `element` of it, that all threads share."""
    variable = place.variable
    stays = variable.storage in ("global", "static") and not variable.const
    is_one = bool(place.steps) == bool(element) and isinstance(place.type, (Integer, Floating))
    if stays and is_one and variable.source_name not in function.per_thread:
        owner = function.name if variable.storage == "static" else ""
        yield StateAccess(variable, kind, owner, element=element)
