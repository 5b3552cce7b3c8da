"""Which arrays of a function can be reached by another name too."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from polylsp.frontends.python import library
from polylsp.frontends.python.inference import Kinds
from polylsp.frontends.python.kinds import Array, Number
from polylsp.frontends.python.lower.bindings import in_place, times_bound
from polylsp.frontends.python.names import Callable as FunctionOf

_HARMLESS = frozenset(("shape", "size", "ndim", "dtype", "nbytes", "itemsize"))
_FRESH = frozenset(
    ("copy", "item", "astype", "tolist", "fill", "argmax", "argmin", "any", "all", "std", "var")
)
_PathOf = Callable[[ast.expr], str]


def shared_names(
    body: Sequence[ast.stmt], kinds: Kinds, path: _PathOf, viewed: Mapping[str, str], given: Collection[str]
) -> frozenset[str]:
    """The names of arrays that are bound more than once (parameters, `given`, have been bound), or whose
    array, or a part of it, gets another name or is given to code that may keep it. Those `viewed` stand for a
    part of another name's array."""
    stores = times_bound(body, in_place(body, kinds))
    found = {name for name, count in stores.items() if count > 1}
    found |= stores.keys() & given
    for node, parents in _names(body, ()):
        if isinstance(kinds.of_name(node.id), Array) and _escapes(node, parents, kinds, path, viewed):
            found.add(node.id)
    for _ in viewed:
        found |= {root for name, root in viewed.items() if name in found}
    return frozenset(found)


def captured(body: Sequence[ast.AST]) -> frozenset[str]:
    """The names that functions inside of a function read or bind."""
    inner = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = (node for root in body for node in ast.walk(root) if isinstance(node, inner))
    return frozenset(n.id for one in found for n in ast.walk(one) if isinstance(n, ast.Name))


def _names(
    nodes: Sequence[ast.AST], parents: tuple[ast.AST, ...]
) -> Iterator[tuple[ast.Name, tuple[ast.AST, ...]]]:
    """Every name that is read, with the nodes around it, the nearest last."""
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node, parents
        yield from _names(list(ast.iter_child_nodes(node)), (*parents, node))


def _escapes(
    node: ast.expr, parents: tuple[ast.AST, ...], kinds: Kinds, path: _PathOf, viewed: Mapping[str, str]
) -> bool:
    """Whether the array that an expression gives, or a view of it, may be kept by what is around it."""
    if any(isinstance(one, (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef)) for one in parents):
        return True
    for parent in reversed(parents):
        match parent:
            case ast.Subscript(value=value) if value is node:
                if isinstance(kinds.of(parent), Number):
                    return False
            case ast.Attribute(value=value, attr=name) if value is node:
                if name in _HARMLESS:
                    return False
                if name in _FRESH or name in library.REDUCTIONS or name == "dot":
                    return False
            case ast.Call(func=function) if function is not node:
                return not _takes(function, kinds, path)
            case ast.keyword():
                pass
            case ast.Assign(targets=targets):
                return not all(isinstance(one, ast.Subscript) or _is_viewed(one, viewed) for one in targets)
            case ast.For(target=target):
                return not _is_viewed(target, viewed) and not _is_number(node, kinds)
            case ast.Tuple() | ast.List() | ast.IfExp() | ast.BoolOp() | ast.Starred():
                pass
            case ast.NamedExpr() | ast.AnnAssign() | ast.Call() | ast.Yield() | ast.withitem():
                return True
            case _:
                # Arithmetic makes a new array; what is returned outlives the function, not its loops.
                return False
        assert isinstance(parent, (ast.expr, ast.keyword))
        node = parent  # type: ignore[assignment]
    return False


def _is_viewed(target: ast.expr, viewed: Mapping[str, str]) -> bool:
    return isinstance(target, ast.Name) and target.id in viewed


def _is_number(iterable: ast.expr, kinds: Kinds) -> bool:
    """Whether a loop over an array gives numbers, not rows."""
    kind = kinds.of(iterable)
    return isinstance(kind, Array) and kind.rank == 1


def _takes(function: ast.expr, kinds: Kinds, path: _PathOf) -> bool:
    """Whether a function only looks at the arrays that it is given while it runs."""
    name = path(function)
    if name in ("len", "abs", "min", "max", "sum", "float", "int", "print", "range", "zip", "enumerate"):
        return True
    if library.is_pure(name) or library.numpy_name(name) in _NUMPY:
        return True
    found = kinds.declarations.get(function.id) if isinstance(function, ast.Name) else None
    return isinstance(found, FunctionOf)


_NUMPY = (
    frozenset(("dot", "matmul", "outer", "array", "ndindex"))
    | library.MAKERS
    | library.LIKE_MAKERS
    | library.REDUCTIONS
    | library.STATISTICS
    | library.SHAPED
)
