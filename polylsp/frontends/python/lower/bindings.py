"""Bindings of names in a function, and the values bound."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polylsp.frontends.python.inference import Kinds
from polylsp.frontends.python.kinds import Array
from polylsp.frontends.python.usage import own_nodes

Body = Sequence[ast.stmt]


@dataclass(frozen=True, slots=True)
class Binding:
    """A target and, where one expression gives it, its value. The statement is the one number `position`
    of `block`, the statements it stands among, with `depth` loops around."""

    target: ast.expr
    value: ast.expr | None
    block: Body
    position: int
    depth: int

    @property
    def source(self) -> ast.expr | None:
        """The expression that gives the target its value, or of which the target gets a part."""
        statement = self.block[self.position]
        taken = self.value is None and isinstance(statement, ast.Assign)
        return statement.value if taken and isinstance(statement, ast.Assign) else self.value


def bindings(body: Body, depth: int = 0) -> Iterator[Binding]:
    """All bindings of a function's statements, without those of inner functions, in source order."""
    for position, statement in enumerate(body):
        for target, value in _bound(statement):
            yield Binding(target, value, body, position, depth)
        deeper = depth + isinstance(statement, (ast.For, ast.While))
        for inner in _bodies(statement):
            yield from bindings(inner, deeper)


def count_of(name: str, body: Body) -> int:
    """Number of times that statements mention a name."""
    found = (node for one in body for node in ast.walk(one))
    return sum(isinstance(node, ast.Name) and node.id == name for node in found)


def in_place(body: Body, kinds: Kinds) -> frozenset[int]:
    """The identities of names that statements like `a += b` do not bind to anything else: arrays."""
    nodes = (node for one in body for node in ast.walk(one) if isinstance(node, ast.AugAssign))
    return frozenset(
        id(node.target)
        for node in nodes
        if isinstance(node.target, ast.Name) and isinstance(kinds.of_name(node.target.id), Array)
    )


def times_bound(body: Sequence[ast.AST], kept: frozenset[int]) -> Counter[str]:
    """Number of times that names are bound, in nested functions too, except by the nodes with the identities
    `kept`."""
    nodes = (node for root in body for node in ast.walk(root) if isinstance(node, ast.Name))
    return Counter(
        node.id for node in nodes if isinstance(node.ctx, (ast.Store, ast.Del)) and id(node) not in kept
    )


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
    """Bindings of a statement itself: targets and, where there is one, the value of each."""
    match statement:
        case ast.Assign(targets=[first, *others], value=value):
            yield from _pairs(first, value)
            for target in others:
                # All targets hold the same.
                yield from _pairs(target, first if isinstance(first, ast.Name) else value)
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
    if not isinstance(statement, (ast.For, ast.While, ast.If)):
        named = (node for node in own_nodes([statement]) if isinstance(node, ast.NamedExpr))
        yield from ((node.target, None) for node in named)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    if not isinstance(target, (ast.Tuple, ast.List)):
        yield target, value
        return
    values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [None] * len(target.elts)
    yield from zip(target.elts, values, strict=False)
