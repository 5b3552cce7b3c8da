"""Tuples of lengths under names of their own, rewritten to the lengths themselves: `s = a.shape` makes `s[0]`
read `a.shape[0]`, and `s = n, m` makes it read a variable that holds `n`. `np.shape(a)` becomes `a.shape`."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from polylsp.frontends.python.nodes import nodes_in_all, own_nodes

_ATTRIBUTES = ("shape", "size", "ndim")
_NUMPY = ("np", "numpy")
_RESHAPING = frozenset(("resize", "append", "extend", "insert", "pop", "remove", "clear"))
_MOST_LENGTHS = 8
"""Lengths that are taken from a shape as a tuple of their own."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def name_lengths(tree: ast.Module) -> None:
    """Rewrite the tuples of lengths of one function, or of the code outside of functions."""
    only = tree.body[0] if len(tree.body) == 1 else None
    if isinstance(only, (ast.FunctionDef, ast.AsyncFunctionDef)):
        body, scope = only.body, _Scope(only.body, only)
    else:
        body, scope = tree.body, _Scope(tree.body, None)
    if not scope.bound.keys() & {*_NUMPY, "range", "reversed"}:
        _rewritten(body, _as_usual)
    shapes = dict(scope.shapes())
    if shapes:
        _rewritten(body, lambda node: _shape(node, shapes))
    sizes = scope.tuples()
    if sizes:
        _rewritten(body, lambda node: _numbered(node, sizes))


class _Scope:
    """Bindings of one function: how often it binds each name, and names that other scopes see."""

    def __init__(self, body: list[ast.stmt], definition: ast.FunctionDef | ast.AsyncFunctionDef | None):
        self.body = body
        self.nodes = own_nodes(body)
        names = [node for node in self.nodes if isinstance(node, ast.Name)]
        self.bound = Counter(one.id for one in names if not isinstance(one.ctx, ast.Load))
        arguments = definition.args if definition is not None else None
        self.given = _given(arguments) if arguments is not None else frozenset[str]()
        self.local = definition is not None
        inner = [node for node in self.nodes if isinstance(node, _SCOPES)]
        self.captured = {n.id for n in nodes_in_all(inner) if isinstance(n, ast.Name)}
        for node in self.nodes:
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                self.captured |= set(node.names)

    def shapes(self) -> dict[str, str]:
        """Names bound once to the shape of an array that is not rebound, with the name of that array."""
        found: dict[str, str] = {}
        made = set(self.given - self.bound.keys()) if self.local else set[str]()
        unsteady = self.captured | set(self._reshaped())
        made -= unsteady
        for statement in self.body:
            match statement:
                case ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.Attribute(value=ast.Name(id=array), attr="shape"),
                ) if array in made and self._is_once(name):
                    found[name] = array
                case ast.Assign(targets=[ast.Name(id=name)]) if self._is_once(name):
                    made |= {name} - unsteady if self.local else set()
                case _:
                    pass
        return found

    def tuples(self) -> dict[str, int]:
        """Names of tuples of one length whose elements are used, with that length."""
        values: dict[str, list[ast.expr]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                values.setdefault(node.targets[0].id, []).append(node.value)
        several = {
            target.id
            for node in self.nodes
            if isinstance(node, ast.Assign) and len(node.targets) > 1
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        found = {name: _length(given) for name, given in values.items()}
        sizes = {name: size for name, size in found.items() if size and len(values[name]) == self.bound[name]}
        taken = self._subscripts()
        kept = several | self.captured | self.given | (set() if self.local else sizes.keys())
        return {
            name: size
            for name, size in sizes.items()
            if name not in kept and _is_taken(taken.get(name, []), size)
        }

    def _is_once(self, name: str) -> bool:
        return self.bound[name] == 1 and name not in self.given | self.captured

    def _reshaped(self) -> list[str]:
        """The arrays or lists whose shape changes in place."""
        return [
            node.value.id
            for node in self.nodes
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and (node.attr in _RESHAPING or not isinstance(node.ctx, ast.Load))
        ]

    def _subscripts(self) -> dict[str, list[ast.expr]]:
        """The subscripts of each name."""
        found: dict[str, list[ast.expr]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
                found.setdefault(node.value.id, []).append(node.slice)
        return found


def _is_taken(subscripts: Sequence[ast.expr], size: int) -> bool:
    """True if a tuple is subscripted, by constants within its length only."""
    numbers = [one.value if isinstance(one, ast.Constant) else None for one in subscripts]
    return bool(numbers) and all(isinstance(one, int) and 0 <= one < size for one in numbers)


def _given(arguments: ast.arguments) -> frozenset[str]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return frozenset(one.arg for one in every)


def _length(values: Sequence[ast.expr]) -> int:
    """The length of tuples that all have the same; 0 for anything else."""
    sizes = {
        len(one.elts) if isinstance(one, ast.Tuple) and not any(map(_is_starred, one.elts)) else 0
        for one in values
    }
    return sizes.pop() if len(sizes) == 1 else 0


def _is_starred(node: ast.expr) -> bool:
    return isinstance(node, ast.Starred)


_Rewrite = Callable[[ast.AST], ast.AST | None]


def _rewritten(body: list[ast.stmt], rewrite: _Rewrite) -> None:
    """Put what `rewrite` gives in the place of nodes, but in functions and classes inside."""
    rewriter = _Rewriter(rewrite)
    for statement in body:
        rewriter.visit(statement)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, rewrite: _Rewrite):
        self.rewrite = rewrite

    def visit(self, node: ast.AST) -> ast.AST:
        """Rewrite a node, or else those inside it."""
        if isinstance(node, _SCOPES):
            return node
        found = self.rewrite(node)
        if found is not None:
            return found
        return self.generic_visit(node)


def _as_usual(node: ast.AST) -> ast.AST | None:
    """`a.shape` for `np.shape(a)`, `(a.shape[0], a.shape[1])` for `a.shape[:2]`, and `reversed(range(n))` for
    `range(n)[::-1]`."""
    match node:
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(), attr="shape") as shape,
            slice=ast.Slice(lower=None | ast.Constant(value=0), upper=ast.Constant(value=int(k)), step=None),
            ctx=ast.Load(),
        ) if 0 < k <= _MOST_LENGTHS:
            numbers = [ast.copy_location(ast.Constant(one), node) for one in range(k)]
            lengths = [ast.Subscript(copy.deepcopy(shape), number, ast.Load()) for number in numbers]
            parts: list[ast.expr] = [ast.copy_location(one, node) for one in lengths]
            return ast.copy_location(ast.Tuple(parts, ast.Load()), node)
        case ast.Subscript(
            value=ast.Call(func=ast.Name(id="range")) as values,
            slice=ast.Slice(lower=None, upper=None, step=ast.UnaryOp(ast.USub(), ast.Constant(value=1))),
        ):
            reverse = ast.copy_location(ast.Name("reversed", ast.Load()), node)
            return ast.copy_location(ast.Call(reverse, [values], []), node)
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=module), attr=name),
            args=[ast.Name() as array],
            keywords=[],
        ) if module in _NUMPY and name in _ATTRIBUTES:
            return ast.copy_location(ast.Attribute(array, name, ast.Load()), node)
        case _:
            return None


def _shape(node: ast.AST, shapes: Mapping[str, str]) -> ast.AST | None:
    """`a.shape` for a name that holds it."""
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or node.id not in shapes:
        return None
    array = ast.copy_location(ast.Name(shapes[node.id], ast.Load()), node)
    return ast.copy_location(ast.Attribute(array, "shape", ast.Load()), node)


def _numbered(node: ast.AST, sizes: Mapping[str, int]) -> ast.AST | None:
    """A name for each element of a tuple: where the tuple is bound, and where an element is taken."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(k))) if name in sizes:
            return ast.copy_location(ast.Name(f"{name}[{k}]", node.ctx), node)
        case ast.Name(id=name, ctx=context) if name in sizes:
            names = (ast.Name(f"{name}[{k}]", context) for k in range(sizes[name]))
            parts: list[ast.expr] = [ast.copy_location(one, node) for one in names]
            return ast.copy_location(ast.Tuple(parts, context), node)
        case _:
            return None
