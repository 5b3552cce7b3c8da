"""Names of a function that may stand for one array or another object.

`array_aliases.py` knows more of arrays whose dimensions are told; here a name is followed by its bindings
and uses alone, up to one loop.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.kinds import COMPLEX, DOUBLE, ITERATOR, Kind, Number
from polylsp.frontends.python.lowering_scope import Context
from polylsp.frontends.python.names import Callable, ClassOf, Value
from polylsp.frontends.python.nodes import children, nodes_in, nodes_in_all, own_nodes
from polylsp.frontends.python.purity import GROWING, Scope, bound_values, freshness, reads
from polylsp.frontends.python.reading_loops import bindings_in

OF_WHOLE = frozenset(("shape", "size", "ndim", "dtype"))
"""Attributes of an array that no store to its elements changes."""


@dataclass(frozen=True)
class Sharing:
    """Arrays of the names in a function's body, as a loop of it finds them."""

    context: Context
    body: Sequence[ast.stmt]
    loop: ast.For
    scope: Scope

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """The nodes of the function, in source order."""
        return own_nodes(self.body)

    @cached_property
    def _within(self) -> frozenset[int]:
        return frozenset(id(one) for one in nodes_in(self.loop)) - {id(self.loop)}

    def is_inside(self, node: ast.AST) -> bool:
        """True for a node within the loop."""
        return id(node) in self._within

    @cached_property
    def _around(self) -> dict[int, ast.AST]:
        return parents(self.nodes)

    @cached_property
    def _is_nested(self) -> bool:
        node: ast.AST | None = self.loop
        while node is not None:
            node = self._around.get(id(node))
            if isinstance(node, ast.For | ast.While):
                return True
        return False

    @property
    def parameters(self) -> dict[str, ast.arg]:
        """The parameters of the function, by their names."""
        found = self.context.parsed.tree.body
        given = (
            found[0].args if found and isinstance(found[0], ast.FunctionDef | ast.AsyncFunctionDef) else None
        )
        nodes = children(given) if given is not None and not self.context.is_module else ()
        return {one.arg: one for one in nodes if isinstance(one, ast.arg)}

    def is_unshared(self, path: str) -> bool:
        """True if a function makes the arrays of a name itself, and gives them no other name."""
        declared = self.context.kinds.declarations.get(path)
        if self.context.is_module and not (isinstance(declared, Value) and not declared.kept):
            return False
        if "." in path or (path in self.captured and not self.context.is_module):
            return False
        nodes = self.nodes
        values = list(bound_values(nodes, path))
        if path in self.parameters or not values:
            return False
        if any(v is None or freshness(self.scope, v) == 0 for v in values):
            return False
        if any(_names_again(one, path) for one in nodes):
            return False
        if not self._is_nested:
            # A name that it gets behind the loop is none in it.
            start = next(k for k, n in enumerate(nodes) if n is self.loop)
            behind = (k for k, n in enumerate(nodes) if k > start and isinstance(n, ast.stmt))
            nodes = nodes[: next((k for k in behind if not self.is_inside(nodes[k])), len(nodes))]
        nodes = self._since_made(path) or nodes
        uses = (n for n in nodes if isinstance(n, ast.Name) and n.id == path and isinstance(n.ctx, ast.Load))
        return not any(_is_shared(self.scope, one, self._around) for one in uses)

    def _since_made(self, path: str) -> list[ast.AST]:
        """The code from a statement that binds a name to a new value up to the loop behind it in the same
        block; empty where there is none."""
        parent = self._around.get(id(self.loop))
        blocks = [getattr(parent, each, []) for each in ("body", "orelse")] if parent is not None else []
        for block in blocks:
            if self.loop in block:
                before = block[: block.index(self.loop)]
                made = [k for k, one in enumerate(before) if [*bound_values([one], path)]]
                if made and isinstance(before[made[-1]], ast.Assign):
                    return nodes_in_all((*before[made[-1] + 1 :], self.loop))
        return []

    def origins(self, path: str) -> set[str]:
        """The names whose arrays a name may share, by the bindings of the function."""
        found, pending = set[str](), [path]
        nodes = self.nodes
        while pending:
            name = pending.pop()
            if name in found:
                continue
            found.add(name)
            values = (value for node in nodes for value in _values(node, name))
            for value in values:
                depth = freshness(self.scope, value)
                if depth == 0:
                    names = [*_sharing(self.scope, value)]
                    # A function inside of the function may give what it sees there.
                    calls = (n.func for n in nodes_in(value) if isinstance(n, ast.Call))
                    inside = (isinstance(f, ast.Name) and f.id in self.functions_inside for f in calls)
                    pending += self.captured if any(inside) else ()
                else:
                    parts = _elements(value) if depth == 1 else ()
                    names = [name for part in parts for name in _sharing(self.scope, part)]
                pending += [n.id for n in names if not is_whole(self.context.kind(n))]
        return found

    def is_handed(self, name: str, to: str) -> bool:
        """True if the function puts an array of a name into an object that another path begins with, by a
        store (`s.out = a`) or a method (`kept.append(a)`), or gives it to a function of the file that keeps
        it where others find it."""
        root = to.split(".")[0]
        is_outside = root not in self.context.kinds.local
        for node in self.nodes:
            match node:
                case ast.Call(args=given) if is_outside and _keeps(self.scope.callee(node)):
                    is_to = True
                case ast.Assign(targets=targets, value=value):
                    parts = (one for one in targets if isinstance(one, ast.Attribute | ast.Subscript))
                    is_to, given = any(_begins(one) == root for one in parts), [value]
                case ast.Call(func=ast.Attribute(value=of, attr=method), args=given) if method in GROWING:
                    is_to = _begins(of) == root
                case _:
                    continue
            if (
                is_to
                and name.split(".")[0] != root
                and any(isinstance(n, ast.Name) and n.id == name for n in given)
            ):
                return True
        return False

    def is_iterator(self, node: ast.Name | ast.Attribute) -> bool:
        """True for what the function or the file may have bound to an iterator, which reading uses up."""
        name = node.id if isinstance(node, ast.Name) else ""
        values = (v for v in bound_values(self.nodes, name) if v is not None)
        kinds = self.context.kinds
        return self.context.kind(node) == ITERATOR or any(kinds.of(v) == ITERATOR for v in values)

    @cached_property
    def functions_inside(self) -> frozenset[str]:
        """The names of functions that the function defines."""
        return frozenset(n.name for n in self.nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))

    @cached_property
    def captured(self) -> frozenset[str]:
        """The names of the function that functions inside of it use."""
        found = set[str]()
        for one in self.nodes:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
                nodes = nodes_in(one)
                outer = {name for n in nodes if isinstance(n, ast.Nonlocal) for name in n.names}
                own = {n.arg for n in nodes if isinstance(n, ast.arg)}
                own |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
                found |= {n.id for n in nodes if isinstance(n, ast.Name)} - (own - outer)
        return frozenset(found)


def _keeps(declared: Callable | ClassOf | None) -> bool:
    """True for a function of the file that may give an argument another name that outlives the call."""
    return isinstance(declared, Callable) and (bool(declared.keeps) or bool(declared.problem))


def _begins(node: ast.expr) -> str:
    """The name that a path begins with; empty for other expressions."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


_COLLECTIONS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp)


def _values(node: ast.AST, name: str) -> Iterator[ast.expr]:
    """The expressions of which code binds a name to the value, to a part or to an element."""
    match node:
        case ast.Assign(targets=targets, value=value):
            if _names_again(node, name):
                # `a = b = …`: the other targets are names of the same object.
                yield from (one for one in targets if not (isinstance(one, ast.Name) and one.id == name))
        case ast.For(target=target, iter=value) | ast.NamedExpr(target=target, value=value):
            targets = [target]
        case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
            targets = [target]
        case _:
            return
    yield from (value for one in bindings_in(targets) if one.id == name)


def _elements(value: ast.expr) -> Iterator[ast.expr]:
    """The collections in a value that are written out, and what `dict(a=…)` gets by name: a new collection
    has elements that others have too."""
    for node in nodes_in(value):
        if isinstance(node, _COLLECTIONS):
            yield node
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "dict":
            yield from (one.value for one in node.keywords)


def _names_again(node: ast.AST, name: str) -> bool:
    """True for code that binds a name to an object that it gives to others too: `a = b = …`, `f(a := …)`."""
    match node:
        case ast.Assign(targets=targets) if len(targets) > 1:
            return any(isinstance(one, ast.Name) and one.id == name for one in targets)
        case ast.NamedExpr(target=ast.Name(id=own)):
            return own == name
        case _:
            return False


def _sharing(scope: Scope, value: ast.expr) -> Iterator[ast.Name]:
    """The names in a value whose arrays it shares, for all that a reader sees: what code of other files gives
    may be anything."""
    calls = [n for n in nodes_in(value) if isinstance(n, ast.Call)]
    left_out = {id(n.func) for n in calls if isinstance(n.func, ast.Name)}
    left_out |= {id(n) for call in calls if not _gives_arguments(scope, call) for n in nodes_in(call)}
    names = (n for n in nodes_in(value) if isinstance(n, ast.Name) and id(n) not in left_out)
    return (n for n in names if not scope.path(n))


def _gives_arguments(scope: Scope, call: ast.Call) -> bool:
    """True for a call of known code that may give what it is given."""
    declared, function = scope.callee(call), call.func
    if isinstance(declared, ClassOf):
        return True
    if isinstance(declared, Callable):
        return bool(declared.keeps) or bool(declared.problem)
    path = scope.path(function)
    is_builtin = isinstance(function, ast.Name) and path == function.id and hasattr(builtins, path)
    return is_builtin or bool(numpy_functions.numpy_name(path)) or reads(scope, call)


def _is_shared(scope: Scope, node: ast.AST, around: dict[int, ast.AST]) -> bool:
    """True if a use of an array may give it, or a part of it, another name."""
    while (parent := around.get(id(node))) is not None:
        match parent:
            case ast.Subscript(value=of) if of is node and not isinstance(parent.ctx, ast.Load):
                return False
            case ast.Subscript(slice=of) if of is node:
                return False
            case ast.Attribute(attr=name) if name in OF_WHOLE:
                return False
            case ast.Call() if reads(scope, parent) and (new := freshness(scope, parent)):
                if new > 1 or not isinstance(node, (ast.keyword, *_COLLECTIONS)):
                    return False
                node = parent  # an element of a new collection
            case ast.Call() if not reads(scope, parent):
                return True
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.AugAssign() | ast.Return() | ast.If():
                operands = (one for one in children(parent) if isinstance(one, ast.expr))
                return any(map(scope.classes_of, operands))
            case ast.stmt() | ast.Yield() | ast.Lambda() | ast.comprehension() | ast.NamedExpr():
                return not isinstance(parent, ast.Expr | ast.Assert | ast.While)
            case _:
                node = parent
    return False


def parents(nodes: Sequence[ast.AST]) -> dict[int, ast.AST]:
    """The node around each node, by its identity."""
    return {id(child): node for node in nodes for child in children(node)}


def is_whole(kind: Kind | None) -> bool:
    """True for a whole number."""
    return isinstance(kind, Number) and kind.type not in (DOUBLE, COMPLEX)
