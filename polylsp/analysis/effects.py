"""Effects of statements, read off their shape: a first, cheap approximation before symbolic values.

All results are conservative and do not distinguish iterations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polylsp.model.expressions import subexpressions, subscripts
from polylsp.model.program import (
    AddressOf,
    Assign,
    Assume,
    Block,
    Call,
    Declare,
    Evaluate,
    Expr,
    If,
    Jump,
    Loop,
    Place,
    Read,
    Statement,
    Unsupported,
    Variable,
)


@dataclass(frozen=True, slots=True)
class Effects:
    """`scalars`: variables assigned as a whole (by unique name); `places`: other places written;
    `calls`: calls that are not pure; `variables`: every variable named."""

    scalars: frozenset[str]
    places: tuple[Place, ...]
    calls: tuple[Call, ...]
    variables: frozenset[Variable]


def effects(*blocks: Statement) -> Effects:
    """Union of the effects of the statements, at any depth. Those of the last statements are remembered: each
    is queried again with all that are around it."""
    key = tuple(map(id, blocks))
    known = _known.get(key)
    if known is not None:
        return known[1]
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    found = _effects(blocks)
    _known[key] = blocks, found
    return found


_MOST_KNOWN = 1024
_known: dict[tuple[int, ...], tuple[tuple[Statement, ...], Effects]] = {}
"""Effects by the identities of the statements, which stay referenced so that no others reuse these."""


def _effects(blocks: tuple[Statement, ...]) -> Effects:
    scalars: set[str] = set()
    places: list[Place] = []
    calls: list[Call] = []
    variables: set[Variable] = set()
    for statement in walk(*blocks):
        if isinstance(statement, Assign):
            if statement.target.steps:
                places.append(statement.target)
            else:
                scalars.add(statement.target.variable.name)
            variables.add(statement.target.variable)
        elif isinstance(statement, Declare):
            scalars.add(statement.variable.name)
        for expression in expressions(statement):
            for node in subexpressions(expression):
                if isinstance(node, Call) and not node.pure:
                    calls.append(node)
                elif isinstance(node, (Read, AddressOf)):
                    variables.add(node.place.variable)
    return Effects(frozenset(scalars), tuple(places), tuple(calls), frozenset(variables))


def walk(*statements: Statement) -> Iterator[Statement]:
    """Every statement, outermost first, in source order."""
    pending = list(reversed(statements))
    while pending:
        statement = pending.pop()
        yield statement
        match statement:
            case Block(inner):
                pending += inner[::-1]
            case If(_, then, otherwise, _):
                pending += (otherwise, then)
            case Loop():
                pending += (statement.step, statement.body, statement.prologue)
            case Unsupported(_, _, loops):
                pending += loops[::-1]
            case Assign() | Assume() | Declare() | Evaluate() | Jump():
                pass


def expressions(statement: Statement) -> Iterator[Expr]:
    """The expressions that a statement evaluates itself (not those of statements inside it)."""
    match statement:
        case Assign(target, _, value, _):
            yield value
            yield from subscripts(target)
        case Evaluate(value, _):
            yield value
        case If(condition, _, _, _) | Assume(condition, _):
            yield condition
        case Loop():
            if statement.condition is not None:
                yield statement.condition
        case Jump(_, _, value):
            if value is not None:
                yield value
        case Declare() | Block() | Unsupported():
            pass


def nodes(statement: Statement) -> Iterator[Expr]:
    """The expressions that a statement itself evaluates, and all their parts."""
    for expression in expressions(statement):
        yield from subexpressions(expression)


def places_in(*statements: Statement) -> Iterator[Place]:
    """The places, at any depth, that are read, written, or whose address is taken."""
    for statement in walk(*statements):
        if isinstance(statement, Assign):
            yield statement.target
        yield from (node.place for node in nodes(statement) if isinstance(node, (Read, AddressOf)))


def loops_in(*statements: Statement) -> list[Loop]:
    """Every loop, in source order."""
    return [s for s in walk(*statements) if isinstance(s, Loop)]
