"""Subscripts that are tuples: `for at in np.ndindex(a.shape)` gives `at[0]` and `at[1]`, which get names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from polylsp.frontends.python import library
from polylsp.frontends.python.inference import Kinds, iterated
from polylsp.frontends.python.kinds import Items
from polylsp.frontends.python.names import path_of
from polylsp.frontends.python.usage import own_nodes


def name_subscripts(body: list[ast.stmt], kinds: Kinds) -> bool:
    """Put names in the place of tuples that loops over `np.ndindex` give, where they are used as subscripts
    alone; whether there are any."""
    found = list(_loops(body, kinds))
    for loop, name, count in found:
        names = [f"{name}[{k}]" for k in range(count)]
        parts: list[ast.expr] = [
            ast.copy_location(ast.Name(each, ast.Store()), loop.target) for each in names
        ]
        loop.target = ast.copy_location(ast.Tuple(parts, ast.Store()), loop.target)
        _Renamer(name, names).visit(ast.Module(loop.body, []))
    return bool(found)


def _loops(body: Sequence[ast.stmt], kinds: Kinds) -> Iterator[tuple[ast.For, str, int]]:
    """The loops whose tuple can be named, with its name and how many numbers it has."""
    for loop in own_nodes(list(body)):
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
            continue
        name, call = loop.target.id, loop.iter
        path = path_of(call.func, kinds.declarations) if isinstance(call, ast.Call) else ""
        given = iterated(call, kinds) if library.numpy_name(path) == "ndindex" else None
        if (
            isinstance(given, Items)
            and given.items
            and _is_for_subscripts(body, loop, name, len(given.items))
        ):
            yield loop, name, len(given.items)


def _is_for_subscripts(body: Sequence[ast.stmt], loop: ast.For, name: str, count: int) -> bool:
    """True if a name is only a loop's tuple of subscripts."""
    nodes = [node for one in body for node in ast.walk(one)]
    named = {id(n) for n in nodes if isinstance(n, ast.Name) and n.id == name and n is not loop.target}
    used = {id(found) for one in loop.body for node in ast.walk(one) for found in _uses(node, name, count)}
    return named == used


def _uses(node: ast.AST, name: str, count: int) -> Iterator[ast.expr]:
    """Uses of a tuple as subscripts, and of numbers taken out of it."""
    match node:
        case ast.Subscript(ast.Name(id=of) as base, ast.Constant(value=int(k))) if of == name:
            yield from [base] if -count <= k < count else ()
        case ast.Subscript(slice=subscript):
            parts = subscript.elts if isinstance(subscript, ast.Tuple) else [subscript]
            yield from (one for one in parts if isinstance(one, ast.Name) and one.id == name)
        case _:
            pass


class _Renamer(ast.NodeTransformer):
    """Puts names in the place of a tuple's numbers."""

    def __init__(self, name: str, names: Sequence[str]):
        self.name = name
        self.names = names

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`a[at]`, `a[at, 0]` or `at[0]`."""
        if isinstance(node.value, ast.Name) and node.value.id == self.name:
            assert isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int)
            return ast.copy_location(ast.Name(self.names[node.slice.value], node.ctx), node)
        self.generic_visit(node)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if any(self._is_tuple(one) for one in parts):
            spread = [each for one in parts for each in self._spread(one)]
            whole = ast.copy_location(ast.Tuple(spread, ast.Load()), node.slice)
            node.slice = spread[0] if len(spread) == 1 else whole
        return node

    def _is_tuple(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.name

    def _spread(self, node: ast.expr) -> list[ast.expr]:
        if not self._is_tuple(node):
            return [node]
        return [ast.copy_location(ast.Name(name, ast.Load()), node) for name in self.names]
