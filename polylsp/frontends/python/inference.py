"""Type inference for the names of a function: from annotations where there are some, else from the values
assigned to them and from their use. Flow-insensitive: one kind for the whole function, in any order of its
statements."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from polylsp.frontends.python import library
from polylsp.frontends.python.annotations import annotated
from polylsp.frontends.python.arithmetic_kinds import arithmetic
from polylsp.frontends.python.expression_kinds import kind_of
from polylsp.frontends.python.kinds import (
    UNKNOWN,
    WHOLE,
    Array,
    Items,
    Kind,
    Number,
    Other,
    joined,
)
from polylsp.frontends.python.names import Declarations, Value, path_of
from polylsp.frontends.python.usage import kinds_by_use, own_nodes


@dataclass(slots=True)
class Kinds:
    """Kinds inferred so far: of the function's names, else of the file's."""

    declarations: Declarations
    own: dict[str, Kind] = field(default_factory=dict[str, "Kind"])
    local: frozenset[str] = frozenset()

    def of(self, node: ast.expr) -> Kind | None:
        """Kind of an expression; `None` where it is undetermined so far."""
        return kind_of(node, self)

    def of_name(self, name: str) -> Kind | None:
        """Kind of a name."""
        if name in self.own or name in self.local:
            return self.own.get(name)
        found = self.declarations.get(name)
        return found.kind if isinstance(found, Value) else UNKNOWN


def inferred(body: list[ast.stmt], given: Mapping[str, Kind], declarations: Declarations) -> Kinds:
    """Kinds of the names assigned in a function; `given` are those of its parameters. An array from an
    unknown source gets the kind of its use."""
    nodes = list(own_nodes(body))
    found = _assigned(nodes, given, {}, declarations)
    used = _used(body, nodes, found)
    return _assigned(nodes, given, used, declarations) if used else found


def _used(body: list[ast.stmt], nodes: list[ast.AST], kinds: Kinds) -> dict[str, Kind]:
    """The names that are bound once, to the result of a call of unknown code, and are then used as arrays."""
    stores = Counter(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    calls = {
        node.targets[0].id
        for node in body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and isinstance(node.targets[0], ast.Name)
    }
    names = {name for name in calls if stores[name] == 1 and kinds.own.get(name) == UNKNOWN}
    told = kinds_by_use(body, names, kinds.declarations) if names else {}
    return {name: kind for name, kind in told.items() if isinstance(kind, Array)}


def _assigned(
    nodes: list[ast.AST], given: Mapping[str, Kind], used: Mapping[str, Kind], declarations: Declarations
) -> Kinds:
    """Kinds of names by the values assigned to them, except for those that are `used` as a certain kind."""
    kinds = Kinds(declarations, {**given, **used}, assigned_names(nodes) | frozenset(given))
    for _ in range(6):
        before = dict(kinds.own)
        for node in nodes:
            for name, kind in _bindings(node, kinds):
                found = joined(kinds.own.get(name), kind) if name not in used else None
                if found is not None:
                    kinds.own[name] = found
        if kinds.own == before:
            break
    return kinds


def assigned_names(nodes: list[ast.AST]) -> frozenset[str]:
    """The names that a function binds itself, without those that it calls global."""
    outer = {name for n in nodes if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}
    found = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del))}
    return frozenset(found - outer)


def _bindings(node: ast.AST, kinds: Kinds) -> Iterator[tuple[str, Kind | None]]:
    """The names that a node binds, and the kinds of the values."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _bound(target, kinds.of(value))
        case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
            told = annotated(annotation, kinds.declarations)
            given = kinds.of(value) if value is not None else None
            unclear = told is None or (isinstance(told, Array) and told.rank < 0)
            yield name, given if unclear and value is not None else told
        case ast.AugAssign(target=ast.Name(id=name), value=value, op=operator):
            own = kinds.of_name(name)
            yield name, own if isinstance(own, Array) else arithmetic(operator, own, kinds.of(value))
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            yield name, kinds.of(value)
        case ast.For(target=target, iter=iterable):
            yield from _bound(target, iterated(iterable, kinds))
        case ast.withitem(optional_vars=ast.Name(id=name)):
            yield name, UNKNOWN
        case _:
            pass


def _bound(target: ast.expr, kind: Kind | None) -> Iterator[tuple[str, Kind | None]]:
    match target:
        case ast.Name(id=name):
            yield name, kind
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            items = kind.items if isinstance(kind, Items) and len(kind.items) == len(parts) else None
            for number, part in enumerate(parts):
                whole = UNKNOWN if kind is not None else None
                yield from _bound(part, items[number] if items is not None else whole)
        case ast.Starred(value=inner):
            yield from _bound(inner, Other("a list"))
        case _:
            pass


def iterated(node: ast.expr, kinds: Kinds) -> Kind | None:
    """Kind of the value that a loop over an expression yields in each round."""
    if isinstance(node, ast.Call):
        path = path_of(node.func, kinds.declarations)
        if path in ("range", "prange", "numba.prange"):
            return WHOLE
        if library.numpy_name(path) == "ndindex":
            count = _ndindex_rank(node, kinds)
            return Items((WHOLE,) * count)
        if path == "enumerate" and node.args:
            inner = iterated(node.args[0], kinds)
            return Items((WHOLE, inner)) if inner is not None else None
        if path == "zip":
            inners = [iterated(one, kinds) for one in node.args]
            return Items(tuple(one or UNKNOWN for one in inners)) if all(inners) else None
        if path == "reversed" and node.args:
            return iterated(node.args[0], kinds)
    kind = kinds.of(node)
    match kind:
        case None:
            return None
        case Array(element, 1):
            return Number(element)
        case Array(element, rank, lists=lists) if rank > 1:
            return Array(element, rank - 1, lists=lists)
        case _:
            return UNKNOWN


def _ndindex_rank(node: ast.Call, kinds: Kinds) -> int:
    """The number of dimensions that `np.ndindex` runs over."""
    only = node.args[0] if len(node.args) == 1 else None
    only = only.value if isinstance(only, ast.Starred) else only
    told = kinds.of(only) if only is not None else None
    return len(told.items) if isinstance(told, Items) else len(node.args)
