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


def parents(nodes: Iterable[ast.AST]) -> dict[int, ast.AST]:
    """The node around each node directly below some nodes, by its identity."""
    return {id(child): node for node in nodes for child in children(node)}


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


def first_of_subscripts(node: ast.expr) -> ast.expr:
    """The expression that a chain of subscripts begins with: `a` of `a[i][j]`, any other one itself."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def default_values(node: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, ast.expr]:
    """The parameters that may be left out, with what stands for them then."""
    positional = [*node.args.posonlyargs, *node.args.args]
    last = positional[len(positional) - len(node.args.defaults) :]
    pairs = (
        *zip(last, node.args.defaults, strict=True),
        *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
    )
    return {one.arg: default for one, default in pairs if default is not None}


def free_names(node: ast.AST) -> Iterator[ast.Name]:
    """The names in code in source order, without those that comprehensions have for themselves."""
    pending: list[tuple[ast.AST, frozenset[str]]] = [(node, frozenset())]
    while pending:
        one, own = pending.pop()
        if isinstance(one, ast.Name):
            if one.id not in own:
                yield one
            continue
        below = children(one)
        if isinstance(one, _COMPREHENSIONS):
            first = one.generators[0].iter
            targets = nodes_in_all(each.target for each in one.generators)
            inner = own | {n.id for n in targets if isinstance(n, ast.Name)}
            parts = [p for b in below for p in (children(b) if isinstance(b, ast.comprehension) else [b])]
            pending += [(part, own if part is first else inner) for part in reversed(parts)]
        else:
            pending += [(part, own) for part in reversed(below)]


def bindings_in(nodes: Iterable[ast.AST]) -> Iterator[ast.Name]:
    """The names that code binds, without those of comprehensions."""
    return (name for node in nodes for name in free_names(node) if isinstance(name.ctx, ast.Store))


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


def target_parts(target: ast.expr) -> list[ast.expr]:
    """The targets in a tuple of them, else the one."""
    return target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
