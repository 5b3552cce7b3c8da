"""Structuring of jumps forward: `break` in a `switch`, and `goto` to a label further on.

A jump to the end of a list of statements becomes a condition of the statements that it passes over
(Erosa and Hendren, Taming control flow, 1994), where no statement has to be written twice for that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Literal

from pycparser import c_ast

from polylsp.frontends.c.lowering_context import Context
from polylsp.ir.effects import walk
from polylsp.ir.program import Assume, Block, Constant, Declare, If, Jump, Loop, Site, Statement, Unsupported

_Statements = tuple[Statement, ...]
_Kind = Literal["break", "continue"]


def without_exits(statements: _Statements, exits: Collection[int]) -> _Statements | None:
    """A list without its `exits`, statements (identities) that jump to its end; `None` if one stands in a
    loop, or if a statement would run after both branches of a condition of which one may jump."""
    for position, statement in enumerate(statements):
        before, rest = statements[:position], statements[position + 1 :]
        if id(statement) in exits:
            return before if not any(isinstance(s, (Loop, Unsupported)) for s in walk(*rest)) else None
        if not _inside(statement, exits):
            continue
        if isinstance(statement, Block):
            inner = without_exits((*statement.statements, *rest), exits)
            return None if inner is None else (*before, Block(inner))
        if not isinstance(statement, If):
            return None
        then, otherwise = statement.then.statements, statement.otherwise.statements
        if rest and _leaves(then, exits):
            otherwise += rest
        elif rest and _leaves(otherwise, exits):
            then += rest
        elif rest:
            return None
        branches = without_exits(then, exits), without_exits(otherwise, exits)
        if branches[0] is None or branches[1] is None:
            return None
        site = Site(statement.site.first, max((statement.site.last, *_ends(rest))))
        return *before, If(statement.condition, Block(branches[0]), Block(branches[1]), site)
    return statements


def _inside(statement: Statement, exits: Collection[int]) -> bool:
    return any(id(s) in exits for s in walk(statement))


def _ends(statements: _Statements) -> Iterator[int]:
    return (s.site.last for s in walk(*statements) if not isinstance(s, Block))


def _leaves(statements: _Statements, exits: Collection[int]) -> bool:
    """True if control never reaches the end of a list."""
    for statement in statements:
        match statement:
            case Jump() | Assume(Constant(value=0)):
                return True
            case If(_, then, otherwise) if _leaves(then.statements, exits):
                if _leaves(otherwise.statements, exits):
                    return True
            case Block(inner) if _leaves(inner, exits):
                return True
            case _ if id(statement) in exits:
                return True
            case _:
                pass
    return False


def declares_after(statements: _Statements, exits: Collection[int]) -> bool:
    """True if a list declares a variable after a statement that may jump to the list's end: the scope of
    the variable goes on there."""
    first = next((k for k, s in enumerate(statements) if _inside(s, exits)), len(statements))
    return any(isinstance(s, Declare) for s in statements[first:])


# --------------------------------------------------------------------------------------------------
# `goto`.
# --------------------------------------------------------------------------------------------------


def before_label(context: Context, lowered: list[Statement], node: c_ast.Label, ends: bool) -> bool:
    """Replace each `goto` to a label by conditions or `break`, in the statements that stand before the label
    in its list, or by `continue` where the label `ends` a loop's body. False, and no change, where some
    `goto` stands elsewhere or has no such form."""
    gotos = [s for s in walk(*lowered) if isinstance(s, Unsupported) and _leads_to(context, s, node.name)]
    every = context.sites.tokens.count("goto") == context.jumped_to.total()
    if not every or len(gotos) != context.jumped_to[node.name]:
        return False
    exits = frozenset(map(id, gotos))
    within = [s for s in lowered if _inside(s, exits)]
    passed: _Statements | None = tuple(lowered)
    if ends:
        passed = _jumping("continue", passed, exits)
    elif len(within) == 1 and within[0] is lowered[-1]:
        passed = _left(passed, exits)
    else:
        passed = None
    if passed is None and not declares_after(tuple(lowered), exits):
        passed = without_exits(tuple(lowered), exits)
    if passed is None:
        return False
    lowered[:] = passed
    return True


def _leads_to(context: Context, statement: Unsupported, label: str) -> bool:
    tokens = context.sites.tokens
    return (
        statement.leaves and tokens[statement.site.first] == "goto" and tokens[statement.site.last] == label
    )


def _left(statements: _Statements, exits: Collection[int]) -> _Statements | None:
    """A list that ends with a loop, with each jump to its end as a `break` of the loop."""
    *before, last = statements
    match last:
        case Block(inner):
            changed = _left(inner, exits)
            return None if changed is None else (*before, Block(changed))
        case Loop():
            body = _jumping("break", last.body.statements, exits)
            return None if body is None else (*before, replace(last, body=Block(body)))
        case _:
            return None


def _jumping(kind: _Kind, statements: _Statements, exits: Collection[int]) -> _Statements | None:
    """A loop's body with jumps of a kind in place of `exits`; `None` if one stands in an inner loop."""
    found: list[Statement] = []
    for statement in statements:
        changed: Statement | None = statement
        if id(statement) in exits and isinstance(statement, Unsupported):
            changed = Jump(kind, statement.site)
        elif _inside(statement, exits):
            changed = _changed(kind, statement, exits)
        if changed is None:
            return None
        found.append(changed)
    return tuple(found)


def _changed(kind: _Kind, statement: Statement, exits: Collection[int]) -> Statement | None:
    match statement:
        case Block(inner):
            found = _jumping(kind, inner, exits)
            return None if found is None else Block(found)
        case If(condition, then, otherwise, site):
            first, second = (_jumping(kind, each.statements, exits) for each in (then, otherwise))
            if first is None or second is None:
                return None
            return If(condition, Block(first), Block(second), site)
        case _:
            return None
