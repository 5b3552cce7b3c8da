"""Loops of the source as the names that they bind, before lowering."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from polylsp.frontends.python.objects import is_attribute
from polylsp.frontends.python.usage import own_nodes


def dimensions(node: ast.For) -> int:
    """Number of loops of the model for a loop of the source."""
    if isinstance(node.iter, ast.Call) and isinstance(node.iter.func, (ast.Attribute, ast.Name)):
        function = node.iter.func
        name = function.attr if isinstance(function, ast.Attribute) else function.id
        if name == "ndindex" and isinstance(node.target, ast.Tuple):
            return max(1, len(node.target.elts))
        if name == "product" and isinstance(node.target, ast.Tuple) and ranges_of(node.iter):
            return len(node.target.elts)
    return 1


def ranges_of(call: ast.Call) -> list[ast.Call]:
    """The ranges that `itertools.product` runs over, outermost first; none if it runs over anything else."""
    found = [one for one in call.args if isinstance(one, ast.Call) and _is_range(one)]
    repeat = next((k.value for k in call.keywords if k.arg == "repeat"), None)
    times = repeat.value if isinstance(repeat, ast.Constant) and isinstance(repeat.value, int) else 0
    if len(found) < len(call.args) or (call.keywords and (len(call.keywords) > 1 or not 0 < times < 10)):
        return []
    return found * max(1, times)


def _is_range(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "range"


def own_iterators(body: Sequence[ast.stmt], kept: frozenset[int]) -> frozenset[str]:
    """Names that are only variables of `for` loops, and are read only inside of these. Those with the
    identities `kept` are changed, but not bound."""
    bound: dict[str, int] = {}
    for node in own_nodes(list(body)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in kept:
            bound[node.id] = bound.get(node.id, 0) + 1
    found: set[str] = set()
    spoilt: set[str] = set()
    for node in own_nodes(list(body)):
        if isinstance(node, ast.For):
            names = _targets(node.target)
            inside = {
                n.id
                for one in node.body
                for n in ast.walk(one)
                if isinstance(n, ast.Name) and _stores(n) and id(n) not in kept
            }
            spoilt |= names & inside
            found |= names
            for name in names:
                bound[name] -= 1
    spoilt |= {name for name in found if bound.get(name, 0) > 0}
    attributes = {name for name in found if is_attribute(name)}
    return frozenset(found - spoilt - attributes - _read_outside(body, found))


def _stores(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _targets(target: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name) and _stores(n)}


def _read_outside(body: Sequence[ast.AST], names: set[str]) -> set[str]:
    """Names that are read where no loop around binds them, nested functions included."""
    found: set[str] = set()

    def visit(node: ast.AST, around: frozenset[str]) -> None:
        if isinstance(node, ast.Name) and not _stores(node) and node.id in names - around:
            found.add(node.id)
        if isinstance(node, ast.For):
            visit(node.iter, around)
            for child in node.body:
                visit(child, around | _targets(node.target))
            for child in node.orelse:
                visit(child, around)
            return
        for child in ast.iter_child_nodes(node):
            visit(child, around)

    for node in body:
        visit(node, frozenset())
    return found
