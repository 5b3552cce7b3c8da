"""Backward liveness on the structured program: variables that may be read after each loop before they are
assigned anew. A write to a part of a variable does not end its life.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass

from polylsp.ir.effects import effects, expressions, walk
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Assume,
    Block,
    Call,
    Declare,
    Evaluate,
    Expr,
    Function,
    If,
    Jump,
    Loop,
    Pointer,
    Read,
    Statement,
    Unsupported,
    Variable,
    stripped,
    subexpressions,
)

Live = frozenset[str]


@dataclass(frozen=True, slots=True)
class _Exits:
    """Live variables at the target of a jump; `anywhere`: for an unknown target."""

    at_return: Live
    at_break: Live
    at_continue: Live
    anywhere: Live = frozenset("*")


def live_after_loops(function: Function, summarised: Container[str]) -> dict[int, Live]:
    """For each loop (ordinal) the unique names of the variables whose value may be needed after it;
    functions in `summarised` do not keep the addresses that they are given."""
    known = effects(function.body).variables | frozenset(function.parameters)
    kept = addresses_held(function, summarised)
    outliving = frozenset(v.name for v in known if _outlives(v, kept))
    result: dict[int, Live] = {}
    every = frozenset(v.name for v in known)
    _before(function.body, outliving, _Exits(outliving, outliving, outliving, every), result)
    flow = address_flow(function.body)
    return {ordinal: live.union(*(flow.get(name, ()) for name in live)) for ordinal, live in result.items()}


def address_flow(part: Statement) -> dict[str, frozenset[str]]:
    """The addresses of variables that each pointer variable may hold by the assignments in a part of a
    function; all by unique names."""
    held: dict[str, frozenset[str]] = {}
    assigns = [s for s in walk(part) if isinstance(s, Assign) and isinstance(s.target.type, Pointer)]
    size = -1
    while size != sum(map(len, held.values())):
        size = sum(map(len, held.values()))
        for assign in assigns:
            name = assign.target.variable.name
            held[name] = held.get(name, frozenset()) | addresses_in(assign.value, held)
    return held


def addresses_in(value: Expr, flow: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The variables whose addresses a value may be, or be computed from."""
    found: set[str] = set()
    for node in subexpressions(value):
        if isinstance(node, (AddressOf, Read)):
            variable = node.place.variable
            found |= flow.get(variable.name, frozenset())
            if isinstance(node, AddressOf) and not (isinstance(variable.type, Pointer) and node.place.steps):
                found.add(variable.name)
    return frozenset(found)


def _outlives(variable: Variable, kept: frozenset[str]) -> bool:
    """True if the value of a variable is visible without naming it."""
    return variable.name in kept or variable.storage in ("global", "static", "cell")


def addresses_held(function: Function, trusted: Container[str]) -> frozenset[str]:
    """The variables (unique names) whose address something else may hold: it got away, and elsewhere than
    into calls of functions that do not keep it."""
    known = effects(function.body).variables | frozenset(function.parameters)
    every = Counter[str]()
    given = Counter[str]()
    for statement in walk(function.body):
        for expression in expressions(statement):
            for node in subexpressions(expression):
                if isinstance(node, AddressOf):
                    every[node.place.variable.name] += 1
                elif isinstance(node, Call) and node.function in trusted:
                    arguments = map(stripped, node.arguments)
                    given.update(a.place.variable.name for a in arguments if isinstance(a, AddressOf))
    # An address that the function does not take itself is in an initialiser.
    return frozenset(
        v.name for v in known if v.escapes and (not every[v.name] or every[v.name] > given[v.name])
    )


def _before(statement: Statement, after: Live, exits: _Exits, result: dict[int, Live]) -> Live:
    match statement:
        case Block(statements):
            # What a block declares ends with it, wherever jumps may lead.
            declared = (s.variable for s in statements if isinstance(s, Declare))
            after = after - {v.name for v in declared if v.storage == "local"}
            for inner in reversed(statements):
                after = _before(inner, after, exits, result)
            return after
        case Assign(target, operator, value, _):
            used = _used(value, *(s for s in expressions(statement)))
            if target.steps or operator is not None:
                return after | used | {target.variable.name}
            return (after - {target.variable.name}) | used
        case Declare(variable, _):
            return after - {variable.name}
        case Evaluate(value, _) | Assume(value, _):
            return after | _used(value)
        case If(condition, then, otherwise, _):
            return (
                _before(then, after, exits, result)
                | _before(otherwise, after, exits, result)
                | _used(condition)
            )
        case Jump(kind, _, value):
            target_live = {"break": exits.at_break, "continue": exits.at_continue, "return": exits.at_return}[
                kind
            ]
            return target_live | (_used(value) if value is not None else frozenset())
        case Unsupported(_, _, loops, reads):
            for loop in loops:
                after = after | _loop(loop, after, exits, result)
            # Where anything may be read, whatever is mentioned elsewhere stays alive.
            return after | (exits.anywhere if reads is None else {variable.name for variable in reads})
        case Loop():
            return _loop(statement, after, exits, result)


def _loop(loop: Loop, after: Live, exits: _Exits, result: dict[int, Live]) -> Live:
    result[loop.ordinal] = result.get(loop.ordinal, frozenset()) | after
    condition = _used(loop.condition) if loop.condition is not None else frozenset[str]()
    head = after | condition
    while True:
        step = _before(loop.step, head, exits, result)
        inner = _Exits(exits.at_return, after, step, exits.anywhere)
        body = _before(loop.body, step, inner, result)
        grown = head | _before(loop.prologue, body | condition | after, exits, result)
        if grown == head:
            return grown
        head = grown


def _used(*values: Expr) -> Live:
    return frozenset(
        node.place.variable.name
        for value in values
        for node in subexpressions(value)
        if isinstance(node, (Read, AddressOf))
    )


def exposed(statements: tuple[Statement, ...]) -> Live:
    """The variables that some statements may read before they assign them."""
    nothing: Live = frozenset()
    return _before(Block(statements), nothing, _Exits(nothing, nothing, nothing), {})


def exposed_in(loop: Loop) -> Live:
    """The variables that a round of the loop may read before it assigns them."""
    nothing: Live = frozenset()
    unused: dict[int, Live] = {}
    step = _before(loop.step, nothing, _Exits(nothing, nothing, nothing), unused)
    body = _before(loop.body, step, _Exits(nothing, nothing, step), unused)
    tested = body | (_used(loop.condition) if loop.condition is not None else nothing)
    return _before(loop.prologue, tested, _Exits(nothing, nothing, nothing), unused)
