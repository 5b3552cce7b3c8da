"""Nodes of Python syntax trees.

`ast.walk` finds the same, and a context (`ast.Load`) beside each name, through two generators for each node;
reading a function asks for its nodes some forty times.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

_WORDS = {
    (ast.Name, "id"),
    (ast.Attribute, "attr"),
    (ast.Constant, "value"),
    (ast.Constant, "kind"),
    (ast.keyword, "arg"),
    (ast.arg, "arg"),
    (ast.arg, "type_comment"),
}
"""Fields of the most frequent kinds that hold no node."""


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below a node, in the order of its fields; no contexts."""
    return _below(node, _fields(type(node)))


def nodes_in(node: ast.AST) -> list[ast.AST]:
    """A node and all below it, level by level."""
    found = [node]
    for one in found:
        if names := _fields(type(one)):
            found += _below(one, names)
    return found


def nodes_in_all(body: Iterable[ast.AST]) -> list[ast.AST]:
    """The same of several nodes, one after the other."""
    return [one for root in body for one in nodes_in(root)]


def own_nodes(body: Sequence[ast.AST]) -> list[ast.AST]:
    """All nodes of a function's body in source order, but those of functions and classes inside it."""
    found: list[ast.AST] = []
    pending = list(reversed(body))
    while pending:
        node = pending.pop()
        found.append(node)
        if (names := _fields(type(node))) and not isinstance(node, _SCOPES):
            pending += reversed(_below(node, names))
    return found


def free_names(node: ast.AST) -> Iterator[ast.Name]:
    """The names in code, without those that comprehensions have for themselves."""
    if isinstance(node, ast.Name):
        yield node
    elif isinstance(node, _COMPREHENSIONS):
        first, below = node.generators[0].iter, children(node)
        own = {n.id for each in node.generators for n in nodes_in(each.target) if isinstance(n, ast.Name)}
        parts = [p for one in below for p in (children(one) if isinstance(one, ast.comprehension) else [one])]
        yield from free_names(first)
        inner = (name for one in parts if one is not first for name in free_names(one))
        yield from (name for name in inner if name.id not in own)
    else:
        for one in children(node):
            yield from free_names(one)


def _below(node: ast.AST, names: tuple[str, ...]) -> list[ast.AST]:
    found: list[ast.AST] = []
    for name in names:
        part = getattr(node, name, None)
        if type(part) is list:
            found += [one for one in part if isinstance(one, ast.AST)]
        elif isinstance(part, ast.AST):
            found.append(part)
    return found


@cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """Fields that may hold nodes."""
    return tuple(name for name in kind._fields if name != "ctx" and (kind, name) not in _WORDS)
