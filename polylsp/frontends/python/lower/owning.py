"""Which arrays of a function nothing else leads to, and names whose array cannot be followed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from polylsp.frontends.python.kinds import Array
from polylsp.frontends.python.lower.context import Context
from polylsp.frontends.python.lower.rebinding import is_followed, is_given, makes
from polylsp.frontends.python.usage import own_nodes

Body = Sequence[ast.stmt]


def find_owned(context: Context, body: Body, shared: frozenset[str]) -> None:
    """Tell the context which arrays are owned, and which are not followed."""
    for statement, inner, depth in _statements(body, 0):
        for target, value in _bound(statement):
            for name in _array_names(context, target):
                if isinstance(target, ast.Name) and value is not None and is_followed(context, value, target):
                    if name not in shared and name not in context.parameters and makes(context, value):
                        _own(context, name, body, inner, depth)
                    elif depth and makes(context, value):
                        context.unfollowed[name] = "is made anew in each round of a loop"
                elif depth or not is_given(context, target, value):
                    context.unfollowed[name] = "is bound to something that is not followed"


def _own(context: Context, name: str, body: Body, inner: Body, depth: int) -> None:
    """An array that is made in a loop must be used up in the round that made it."""
    if depth == 0:
        context.owned[name] = id(body[0])
    elif _count(name, inner) == _count(name, body):
        context.owned[name] = id(inner[0])
    else:
        context.unfollowed[name] = "is made anew in each round of a loop and used outside of it"


def _count(name: str, body: Body) -> int:
    found = (node for one in body for node in ast.walk(one))
    return sum(isinstance(node, ast.Name) and node.id == name for node in found)


def _statements(body: Body, depth: int) -> Iterator[tuple[ast.stmt, Body, int]]:
    """Every statement, with the body of the innermost loop around it, where it stands in that directly,
    and the number of loops around."""
    for statement in body:
        yield statement, body, depth
        deeper = depth + isinstance(statement, (ast.For, ast.While))
        for inner in _bodies(statement):
            yield from _statements(inner, deeper)


def _bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    for name in ("body", "orelse", "finalbody"):
        found = getattr(statement, name, None)
        if isinstance(found, list) and found:
            yield found
    for handler in getattr(statement, "handlers", []):
        yield handler.body
    for case in getattr(statement, "cases", []):
        yield case.body


def _bound(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """What a statement itself binds: targets and, where there is one, the value of each."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _pairs(target, value)
        case ast.AnnAssign(target=target, value=value) if value is not None:
            yield target, value
        case ast.For(target=target):
            yield target, None
        case ast.With(items=items):
            for item in items:
                if item.optional_vars is not None:
                    yield item.optional_vars, None
        case _:
            pass
    for node in own_nodes([statement]):
        if isinstance(node, ast.NamedExpr) and not isinstance(statement, (ast.For, ast.While, ast.If)):
            yield node.target, None


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    if not isinstance(target, (ast.Tuple, ast.List)):
        yield target, value
        return
    values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [None] * len(target.elts)
    yield from zip(target.elts, values, strict=False)


def _array_names(context: Context, target: ast.expr) -> list[str]:
    names = [n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return [name for name in names if isinstance(context.kinds.of_name(name), Array)]
