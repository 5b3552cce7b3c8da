"""Alias analysis: arrays of a function that can be reached by another name too."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from polylsp.frontends.python import library
from polylsp.frontends.python.inference import Kinds
from polylsp.frontends.python.kinds import Array, Number
from polylsp.frontends.python.lower.bindings import in_place, times_bound
from polylsp.frontends.python.names import Callable as FunctionOf
from polylsp.frontends.python.usage import own_nodes

_HARMLESS = frozenset(("shape", "size", "ndim", "dtype", "nbytes", "itemsize"))
_FRESH = frozenset(
    ("copy", "item", "astype", "tolist", "fill", "argmax", "argmin", "any", "all", "std", "var")
)
_PathOf = Callable[[ast.expr], str]


def shared_names(
    body: Sequence[ast.stmt], kinds: Kinds, kept: Collection[str], given: Collection[str]
) -> frozenset[str]:
    """Names of arrays that are bound more than once (parameters, `given`, have been bound), and those in
    `kept`, which other code retains."""
    stores = times_bound(body, in_place(body, kinds))
    return frozenset(kept) | {name for name, count in stores.items() if count > 1 or name in given}


def keepers(
    body: Sequence[ast.stmt], kinds: Kinds, path: _PathOf, viewed: Mapping[str, str]
) -> dict[str, ast.AST]:
    """The names of arrays that, or parts of which, get another name or are given to code that may retain
    them, each with the node that does so. Those `viewed` stand for a part of another name's array."""
    found = dict(_chained(body, kinds))
    for name, keeper in keeping(body, kinds, path, viewed):
        found.setdefault(name, keeper)
    for _ in viewed:
        for name, root in viewed.items():
            if name in found:
                found.setdefault(root, found[name])
    return found


def keeping(
    body: Sequence[ast.stmt],
    kinds: Kinds,
    path: _PathOf,
    viewed: Mapping[str, str],
    every: bool = False,
    outlives: bool = False,
) -> Iterator[tuple[str, ast.AST]]:
    """Nodes that may retain the arrays of names, or of `every` name of any kind. `outlives`: a returned array
    counts as retained."""
    for node, parents in _names(body):
        if every or isinstance(kinds.of_name(node.id), Array):
            keeper = _keeper(node, parents, kinds, path, viewed, outlives)
            if keeper is not None:
                yield node.id, keeper


def _chained(body: Sequence[ast.stmt], kinds: Kinds) -> Iterator[tuple[str, ast.AST]]:
    """The names that one statement gives to one array: `a = b = np.zeros(n)`."""
    for node in (node for one in body for node in ast.walk(one)):
        if isinstance(node, ast.Assign) and len(node.targets) > 1:
            names = [one for one in node.targets if not isinstance(one, ast.Subscript)]
            for one in names if len(names) > 1 else ():
                if isinstance(one, ast.Name) and isinstance(kinds.of_name(one.id), Array):
                    yield one.id, node


def captured(body: Sequence[ast.AST]) -> frozenset[str]:
    """The names that functions inside of a function read or bind."""
    inner = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = (node for node in own_nodes(body) if isinstance(node, inner))
    return frozenset(n.id for one in found for n in ast.walk(one) if isinstance(n, ast.Name))


def _names(body: Sequence[ast.AST]) -> Iterator[tuple[ast.Name, tuple[ast.AST, ...]]]:
    """Every name that is read, with the nodes around it, the nearest last."""
    around: list[ast.AST] = []
    pending = [iter(body)]
    while pending:
        node = next(pending[-1], None)
        if node is None:
            pending.pop()
            if around:
                around.pop()
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node, tuple(around)
        around.append(node)
        pending.append(ast.iter_child_nodes(node))


def _keeper(
    node: ast.expr,
    parents: tuple[ast.AST, ...],
    kinds: Kinds,
    path: _PathOf,
    viewed: Mapping[str, str],
    outlives: bool,
) -> ast.AST | None:
    """Innermost enclosing node that may retain the array of an expression, or a view of it."""
    scopes = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef)
    if inner := [one for one in parents if isinstance(one, scopes)]:
        return inner[0]
    for parent in reversed(parents):
        match parent:
            case ast.Subscript(value=value) if value is node:
                if isinstance(kinds.of(parent), Number):
                    return None
            case ast.Attribute(value=value, attr=name) if value is node:
                if name in _HARMLESS:
                    return None
                if name in _FRESH or name in library.REDUCTIONS or name == "dot":
                    return None
            case ast.Call() if parent.func is not node:
                return None if _takes(parent, node, kinds, path) else parent
            case ast.keyword():
                pass
            case ast.Assign(targets=targets):
                copied = (_is_copied(one, kinds) or _is_viewed(one, viewed) for one in targets)
                return None if all(copied) else parent
            case ast.For(target=target):
                return None if _is_viewed(target, viewed) or _is_number(node, kinds) else parent
            case ast.Tuple() | ast.List() | ast.IfExp() | ast.BoolOp() | ast.Starred():
                pass
            case ast.NamedExpr() | ast.AnnAssign() | ast.Call() | ast.Yield() | ast.withitem():
                return parent
            case ast.Return() if outlives:
                return parent
            case _:
                # Arithmetic makes a new array; what is returned outlives the function, not its loops.
                return None
        assert isinstance(parent, (ast.expr, ast.keyword))
        node = parent  # type: ignore[assignment]
    return None


def _is_copied(target: ast.expr, kinds: Kinds) -> bool:
    """True if elements are copied into a target: into a part of an array, but not of a list."""
    if not isinstance(target, ast.Subscript):
        return False
    of = kinds.of(target.value)
    return isinstance(of, Array) and not of.lists


def _is_viewed(target: ast.expr, viewed: Mapping[str, str]) -> bool:
    return isinstance(target, ast.Name) and target.id in viewed


def _is_number(iterable: ast.expr, kinds: Kinds) -> bool:
    """True if a loop over an array yields numbers, not rows."""
    kind = kinds.of(iterable)
    return isinstance(kind, Array) and kind.rank == 1


def _takes(call: ast.Call, given: ast.AST, kinds: Kinds, path: _PathOf) -> bool:
    """True if a function only reads its array argument while it runs."""
    function = call.func
    name = path(function)
    if name in ("len", "abs", "min", "max", "sum", "float", "int", "print", "range", "zip", "enumerate"):
        return True
    if library.is_pure(name) or library.numpy_name(name) in _NUMPY:
        # The array that a result is stored to is what the function gives.
        named = any(one.arg == "out" for one in call.keywords)
        return not named and not library.has_output(library.numpy_name(name), len(call.args))
    if library.computed(name) is not None:
        return True
    found = kinds.declarations.get(function.id) if isinstance(function, ast.Name) else None
    return isinstance(found, FunctionOf) and not _keeps(found, call, given)


def _keeps(function: FunctionOf, call: ast.Call, given: ast.AST) -> bool:
    """True if a function of the file retains an argument."""
    if isinstance(given, ast.keyword):
        return given.arg is None or given.arg in function.keeps
    position = next((k for k, one in enumerate(call.args) if one is given), len(call.args))
    starred = any(isinstance(one, ast.Starred) for one in call.args)
    known = position < len(function.parameters) and not starred
    return function.parameters[position].name in function.keeps if known else bool(function.keeps)


_NUMPY = (
    frozenset(("dot", "matmul", "outer", "array", "ndindex"))
    | library.MAKERS
    | library.LIKE_MAKERS
    | library.REDUCTIONS
    | library.STATISTICS
    | library.SHAPED
)
