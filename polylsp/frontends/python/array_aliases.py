"""Alias analysis of arrays: shared, unaliased (owned) and escaping ones.

Results are recorded in the context of lowering. Names whose array cannot be followed, and arrays
that other code or a list may retain, are excluded.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.bindings import (
    Binding,
    Body,
    bindings,
    count_of,
    in_place,
    is_followed,
    is_given,
    makes,
    times_bound,
)
from polylsp.frontends.python.inference import Kinds
from polylsp.frontends.python.kinds import Array, Number, is_whole
from polylsp.frontends.python.lowering_scope import Context
from polylsp.frontends.python.names import Callable as FunctionOf
from polylsp.frontends.python.names import Imported
from polylsp.frontends.python.nodes import children, nodes_in, nodes_in_all, own_nodes
from polylsp.frontends.python.numpy_arguments import gives_argument, overlaps_itself
from polylsp.frontends.python.points_to import PointsTo
from polylsp.frontends.python.reading_loops import scope_of

_HARMLESS = frozenset(("shape", "size", "ndim", "dtype", "nbytes", "itemsize"))
_FRESH = frozenset(
    ("copy", "item", "astype", "tolist", "fill", "argmax", "argmin", "any", "all", "std", "var")
)
_NEW = (
    _FRESH
    | numpy_functions.REDUCTIONS
    | numpy_functions.STATISTICS
    | numpy_functions.SHAPED
    | frozenset(("dot", "flatten", "repeat", "round", "take", "compress", "choose", "nonzero"))
    | frozenset(("searchsorted", "clip", "trace", "tobytes"))
)
"""Methods of arrays that give new values."""
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
    for node in nodes_in_all(body):
        if isinstance(node, ast.Assign) and len(node.targets) > 1:
            names = [one for one in node.targets if not isinstance(one, ast.Subscript)]
            for one in names if len(names) > 1 else ():
                if isinstance(one, ast.Name) and isinstance(kinds.of_name(one.id), Array):
                    yield one.id, node


def captured(body: Sequence[ast.AST]) -> frozenset[str]:
    """The names that functions inside of a function read or bind."""
    inner = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = (node for node in own_nodes(body) if isinstance(node, inner))
    return frozenset(n.id for n in nodes_in_all(found) if isinstance(n, ast.Name))


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
        pending.append(iter(children(node)))


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
                kind, of = kinds.of(parent), kinds.of(value)
                # What a list holds has its kind by use alone: a condition of loops, not of functions.
                is_guess = outlives and isinstance(of, Array) and of.lists and not is_whole(kind)
                if isinstance(kind, Number) and not is_guess:
                    return None
            case ast.Attribute(value=value, attr=name) if value is node:
                if name in _HARMLESS:
                    return None
                if name in _NEW:
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
    if name and gives_argument(name, call):
        # The array that a result is stored to is what the function gives.
        return False
    if name in ("len", "abs", "min", "max", "sum", "float", "int", "print", "range", "zip", "enumerate"):
        return True
    if numpy_functions.is_pure(name) or numpy_functions.numpy_name(name) in _NUMPY:
        return True
    if numpy_functions.computed(name) is not None:
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
    | numpy_functions.MAKERS
    | numpy_functions.LIKE_MAKERS
    | numpy_functions.REDUCTIONS
    | numpy_functions.STATISTICS
    | numpy_functions.SHAPED
)


# --------------------------------------------------------------------------------------------------
# Alias analysis: arrays of a function without aliases, and names whose array cannot be followed.
# --------------------------------------------------------------------------------------------------


def find_owned(context: Context, body: Body, shared: frozenset[str]) -> None:
    """Record in the context the owned arrays, and those that are not followed."""
    overlapping = _overlapping(context, body)
    points_to = PointsTo(scope_of(context), own_nodes(body), trusts=True)
    for binding in bindings(body):
        target, value, depth = binding.target, binding.value, binding.depth
        for name in _array_names(context, target):
            if name in context.viewed:
                continue
            if name in overlapping:
                context.unfollowed[name] = "may have several elements in one place: store into a copy"
            elif name in context.remade:
                context.owned[name] = id(body[0])
            elif isinstance(target, ast.Name) and value is not None and is_followed(context, value, target):
                if name not in shared and name not in context.parameters and makes(context, value):
                    _own(context, name, body, binding)
                elif depth and makes(context, value):
                    context.unfollowed.setdefault(name, "is made anew in each round of a loop")
            elif depth or not is_given(context, target, binding.source):
                context.unfollowed[name] = "is bound to something that is not followed"
            elif other := _also_used(context, body, binding, points_to):
                context.unfollowed[name] = f"may be a view of `{other}`, which is used by its own name too"
    _note_views(context, body, points_to)


def _note_views(context: Context, body: Body, points_to: PointsTo) -> None:
    """Record in the context the names that may lead to the array of another one, other than by assignments of
    names, where statements use that by its own name."""
    here: dict[str, list[ast.stmt]] = {}
    for binding in bindings(body):
        statement = binding.block[binding.position]
        for name in _array_names(context, binding.target) if isinstance(statement, ast.Assign) else ():
            here.setdefault(name, []).append(statement)
    names = {n.id for n in own_nodes(body) if isinstance(n, ast.Name) and n.id not in context.viewed}
    arrays = {name: kind for name in sorted(names) if isinstance(kind := context.kinds.of_name(name), Array)}
    attributes = {name for name in arrays if "." in name}  # that may be those of a class
    for name, kind in arrays.items():
        reached = points_to.reached(name) - points_to.renamed(name)
        for other in sorted(attributes | (reached & arrays.keys())):
            of = arrays[other]
            is_row = kind.lists and of.rank < kind.rank
            if other not in reached and not points_to.is_of_class(name, other):
                continue
            if not is_row and count_of(other, body) > count_of(other, here.get(name, [])):
                text = f"may be a view of `{other}`, which is used by its own name too"
                context.unfollowed.setdefault(name, text)


def _overlapping(context: Context, body: Body) -> frozenset[str]:
    """Names of arrays that may have several elements in one place and to which code may store, and names of
    parts of these."""
    made: set[str] = set()
    roots = list(context.viewed.items())
    for binding in bindings(body):
        name, source = getattr(binding.target, "id", ""), binding.source
        if source is not None and not makes(context, source):
            calls = (n for n in nodes_in(source) if isinstance(n, ast.Call))
            made |= {name} if any(overlaps_itself(context.path(one.func)) for one in calls) else set()
            roots.append((name, _root(source)))
    while more := {part for part, root in roots if root in made} - made:
        made |= more
    return frozenset(made) if made and _are_written(context, body, made) else frozenset()


def _are_written(context: Context, body: Body, names: Collection[str]) -> bool:
    """True if code may store to elements of an array by one of its names."""
    for node, around in _names(body):
        parents = [one for one in reversed(around) if not isinstance(one, ast.keyword)]
        while parents and isinstance(parents[0], ast.Subscript) and isinstance(parents[0].ctx, ast.Load):
            del parents[0]
        if node.id in names and parents:
            match parents[0]:
                case ast.Subscript() | ast.AugAssign() | ast.Delete():
                    return True
                case ast.Attribute(attr=attribute) if attribute in _STORING:
                    return True
                case ast.Call(func=function) if not context.path(function):
                    return True
                case _:
                    pass
    updated = (n.target for n in nodes_in_all(body) if isinstance(n, ast.AugAssign))
    return any(isinstance(one, ast.Name) and one.id in names for one in updated)


def _root(node: ast.expr) -> str:
    """The name of the array of which an expression may be, or be a part."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


_STORING = frozenset(("fill", "sort", "put", "partition", "itemset", "byteswap", "setfield"))
"""Methods that store to elements of their array."""


def _also_used(context: Context, body: Body, binding: Binding, points_to: PointsTo) -> str:
    """The name of an array to which the value of a name may lead, where other statements name it."""
    here = [binding.block[binding.position]]
    target = getattr(binding.target, "id", "")
    names = sorted(one for one in points_to.reached(target) if _is_array(context, one))
    return next((one for one in names if one != target and count_of(one, body) > count_of(one, here)), "")


def _is_array(context: Context, name: str) -> bool:
    return isinstance(context.kinds.of_name(name), Array)


def find_aliased(context: Context, body: Body) -> None:
    """Record in the context the names that share an array with another one."""
    for binding in bindings(body):
        names = [one for one in (binding.target, binding.value) if one is not None]
        if len(names) == 2 and all(_is_name(context, one) for one in names):
            context.aliased.update(getattr(one, "id", "") for one in names)


def _is_name(context: Context, node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and isinstance(context.kind(node), Array)


def _own(context: Context, name: str, body: Body, binding: Binding) -> None:
    """Require that an array created in a loop is used only in the same round."""
    if binding.depth == 0:
        context.owned[name] = id(body[0])
    elif count_of(name, binding.block) == count_of(name, body):
        context.owned[name] = id(binding.block[0])
    else:
        text = "is made anew in each round of a loop and used outside of it"
        context.unfollowed.setdefault(name, text)


def _array_names(context: Context, target: ast.expr) -> list[str]:
    names = [n.id for n in nodes_in(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return [name for name in names if isinstance(context.kinds.of_name(name), Array)]


# --------------------------------------------------------------------------------------------------
# Arrays that other code of a file, or a list, may give other names: these lead to them from then
# on.
# --------------------------------------------------------------------------------------------------


def find_released(context: Context, body: Body, kept: Mapping[str, ast.AST]) -> None:
    """Record in the context the arrays that code of the file retains, and the lists with aliased arrays;
    `kept` maps names to the nodes that retain their arrays."""
    values = _values(body)
    context.released = frozenset(name for name, one in kept.items() if _is_of_file(context, one, values))
    for array, keeper in kept.items():
        kind = context.kinds.of_name(array)
        if isinstance(kind, Array) and not kind.lists:
            text = f"gets `{array}` as a row, which has two names then; copy the elements instead"
            context.unfollowed.update(dict.fromkeys(_lists(context, keeper), text))


def _values(body: Body) -> dict[str, list[ast.expr | None]]:
    """Values bound to each name; `None` for values other than calls."""
    found: dict[str, list[ast.expr | None]] = {}
    for node in nodes_in_all(body):
        if isinstance(node, ast.Assign):
            for name in (n for n in nodes_in_all(node.targets) if isinstance(n, ast.Name)):
                found.setdefault(name.id, []).append(node.value if isinstance(node.value, ast.Call) else None)
    return found


def _is_of_file(context: Context, keeper: ast.AST, values: Mapping[str, list[ast.expr | None]]) -> bool:
    """True if the node that retains an array may call a function or a method of the file."""
    return isinstance(keeper, ast.Call) and not _is_foreign(context, keeper, values, 4)


def _is_foreign(
    context: Context, call: ast.Call, values: Mapping[str, list[ast.expr | None]], depth: int
) -> bool:
    """True if a call is of a function of an imported module, or of a method of a result of one."""
    root = call.func
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        root = root.value
    if isinstance(root, ast.Call):
        return _is_foreign(context, root, values, depth - 1)
    if not isinstance(root, ast.Name) or depth <= 0:
        return False
    if numpy_functions.numpy_name(context.path(call.func)):
        return False
    if root.id not in values:
        return isinstance(context.kinds.declarations.get(root.id), Imported)
    given = values[root.id]
    return all(isinstance(one, ast.Call) and _is_foreign(context, one, values, depth - 1) for one in given)


def _lists(context: Context, keeper: ast.AST) -> Iterator[str]:
    """The lists of lists that keep an array."""
    match keeper:
        case ast.Assign(targets=targets):
            bases = [one.value for one in targets if isinstance(one, ast.Subscript)]
        case ast.Call(func=ast.Attribute(value=base)):
            bases = [base]
        case _:
            bases = []
    for base in bases:
        kind = context.kind(base)
        if isinstance(base, ast.Name) and isinstance(kind, Array) and kind.lists and kind.rank > 1:
            yield base.id
