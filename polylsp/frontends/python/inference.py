"""Type inference for the names of a function, from annotations, assigned values and uses.

Flow-insensitive: one kind per name for the whole function, in any order of its statements.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.annotations import annotated
from polylsp.frontends.python.kinds import (
    BOOL,
    COMPLEX,
    DOUBLE,
    ITERATOR,
    OF_SUBCLASS,
    REAL,
    UNKNOWN,
    WHOLE,
    Array,
    Instance,
    Items,
    Kind,
    Nothing,
    Number,
    Other,
    arithmetic,
    either,
    joined,
)
from polylsp.frontends.python.lists import kind_of_list, kind_stored, plain_lists, stored_to
from polylsp.frontends.python.names import (
    ClassOf,
    Declarations,
    Imported,
    Value,
    name_of,
    path_of,
    variable_of_module,
)
from polylsp.frontends.python.nodes import own_nodes
from polylsp.frontends.python.numpy_functions import called
from polylsp.frontends.python.usage import RANGES, kinds_by_use, range_bounds
from polylsp.ir.program import Floating

# --------------------------------------------------------------------------------------------------
# Kinds of expressions, by the kinds of their names.
# --------------------------------------------------------------------------------------------------


def kind_of(node: ast.expr, kinds: Kinds) -> Kind | None:
    """Kind of an expression; `None` where it is undetermined so far."""
    match node:
        case ast.Constant(value=value):
            return _constant(value)
        case ast.Name(id=name):
            return kinds.of_name(name)
        case ast.NamedExpr(value=value):
            return kinds.of(value)
        case (
            ast.BinOp(left=ast.List(), op=ast.Mult(), right=other)
            | ast.BinOp(left=other, op=ast.Mult(), right=ast.List())
        ) if isinstance(kinds.of(other), Number):
            return Other("a list")
        case ast.BinOp(left=left, op=operator, right=right):
            operands = kinds.of(left), kinds.of(right)
            is_own = any(_is_of_open_class(one, kinds) for one in operands)
            return OF_SUBCLASS if is_own else arithmetic(operator, *operands)
        case ast.UnaryOp(op=ast.Not()):
            return WHOLE
        case ast.UnaryOp(operand=operand):
            return kinds.of(operand)
        case ast.Compare(left=left, comparators=others):
            return _compared([left, *others], kinds)
        case ast.BoolOp(values=values):
            return either([kinds.of(value) for value in values])
        case ast.IfExp(body=then, orelse=otherwise):
            return either([kinds.of(then), kinds.of(otherwise)])
        case ast.Tuple(elts=parts):
            return Items(tuple(kinds.of(part) or UNKNOWN for part in parts))
        case ast.Attribute():
            return _attribute(node, kinds)
        case ast.Subscript(value=base, slice=subscript):
            return _element(kinds.of(base), subscript, kinds)
        case ast.Call():
            return OF_SUBCLASS if _gives_subclass(node, kinds) else called(node, kinds)
        case ast.List() | ast.ListComp():
            return Other("a list")
        case ast.Dict() | ast.DictComp():
            return Other("a dictionary")
        case ast.JoinedStr():
            return Other("a string")
        case ast.GeneratorExp():
            return ITERATOR
        case _:
            return UNKNOWN


def _constant(value: object) -> Kind:
    if isinstance(value, (bool, int)):
        return WHOLE
    if isinstance(value, float):
        return REAL
    if isinstance(value, complex):
        return Number(COMPLEX)
    return Nothing() if value is None else Other("a string")


def _gives_subclass(call: ast.Call, kinds: Kinds) -> bool:
    """True for a call that makes an array of a class of the file, or of one that it imports, and for one of
    NumPy's functions and methods of arrays whose result has the class of what they are given."""
    path, name = path_of(call.func, kinds.declarations), name_of(call)
    given = [*call.args, *(one.value for one in call.keywords)]
    is_method = isinstance(call.func, ast.Attribute) and (not path or path.split(".")[0] in kinds.local)
    if name in ("view", "__new__") and any(_is_class(one, kinds) for one in given):
        return is_method or bool(numpy_functions.numpy_name(path))
    if is_method and isinstance(call.func, ast.Attribute) and name in _OF_SAME_CLASS:
        return _is_of_open_class(kinds.of(call.func.value), kinds)
    keeps = numpy_functions.numpy_name(path) and name not in _OF_PLAIN_CLASS
    return bool(keeps) and any(_is_of_open_class(kinds.of(one), kinds) for one in given)


_OF_SAME_CLASS = numpy_functions.VIEWS | numpy_functions.SHAPED | {"copy", "astype", "view", "flatten"}
_OF_PLAIN_CLASS = frozenset(("array", "asarray", "ascontiguousarray", "asfortranarray"))


def _is_class(node: ast.expr, kinds: Kinds) -> bool:
    """True for a class of the file, and for what may be one of another file."""
    if not isinstance(node, ast.Name) or node.id in kinds.local:
        return False
    found = kinds.declarations.get(node.id)
    is_imported = isinstance(found, Imported) and bool(variable_of_module(found.path))
    return isinstance(found, ClassOf) or is_imported


def _is_of_open_class(kind: Kind | None, kinds: Kinds) -> bool:
    """True for an object of a class of the file that may be derived from `ndarray`."""
    found = kinds.declarations.get(kind.name) if isinstance(kind, Instance) else None
    return kind == OF_SUBCLASS or (isinstance(found, ClassOf) and found.is_open)


def _compared(parts: list[ast.expr], kinds: Kinds) -> Kind | None:
    found = [kinds.of(part) for part in parts]
    if any(isinstance(one, Array) and one.lists for one in found):
        return UNKNOWN
    ranks = [one.rank for one in found if isinstance(one, Array)]
    return Array(BOOL, max(ranks)) if ranks else WHOLE


def _attribute(node: ast.Attribute, kinds: Kinds) -> Kind | None:
    path = path_of(node, kinds.declarations)
    if path and (number := numpy_functions.kind_of_constant(path)) is not None:
        return number
    base = kinds.of(node.value)
    match base, node.attr:
        case None, _:
            return None
        case Array(lists=True), _:
            return UNKNOWN
        case Array(_, rank), "shape":
            return Items((WHOLE,) * max(rank, 0)) if rank >= 0 else UNKNOWN
        case Array(), "size" | "ndim" | "nbytes" | "itemsize":
            return WHOLE
        case ((Array() | Other()), "T") if isinstance(base, Array) or base == OF_SUBCLASS:
            return base
        case ((Array() | Number()), "real" | "imag"):
            return _part(base)
        case Instance(name), attribute:
            found = kinds.declarations.get(name)
            fields = dict(found.fields) if isinstance(found, ClassOf) else {}
            return fields.get(attribute, UNKNOWN)
        case _:
            return UNKNOWN


def _part(of: Kind) -> Kind:
    """The real or the imaginary part of numbers."""
    match of:
        case Array(element, rank):
            return Array(DOUBLE if element == COMPLEX else element, rank)
        case Number(of_type):
            return Number(DOUBLE if of_type == COMPLEX else of_type)
        case _:
            return of


def _element(base: Kind | None, subscript: ast.expr, kinds: Kinds) -> Kind | None:
    """An element or a part of a value."""
    match base, subscript:
        case None, _:
            return None
        case Other(), _ if base == OF_SUBCLASS:
            return base
        case Items(items), ast.Constant(value=int(k)) if -len(items) <= k < len(items):
            return items[k]
        case Items(), ast.Slice():
            return UNKNOWN
        case Items(items), _ if items and all(item == items[0] for item in items):
            return items[0]
        case Array(element, rank, lists=True), _:
            is_one = isinstance(kinds.of(subscript), Number) or kinds.of(subscript) == UNKNOWN
            is_one = is_one and not isinstance(subscript, (ast.Slice, ast.Tuple))
            rest = Array(element, rank - 1, lists=True) if rank > 1 else Number(element)
            return rest if is_one else UNKNOWN
        case Array(element, rank), _:
            parts = subscript.elts if isinstance(subscript, ast.Tuple) else [subscript]
            left = _rank_gathered(parts, rank, kinds)
            left = _rank_left(parts, rank, kinds) if left is None else left
            if left is None:
                return UNKNOWN
            return Array(element, left) if left else Number(element)
        case _:
            return UNKNOWN


def _rank_gathered(parts: list[ast.expr], rank: int, kinds: Kinds) -> int | None:
    """The rank of the elements that one array of truth values, or of subscripts, takes; `None` where it is
    not one that takes them."""
    by = kinds.of(parts[0]) if len(parts) == 1 else None
    if not isinstance(by, Array) or isinstance(by.element, Floating):
        return None
    if by.element == BOOL:
        return rank - by.rank + 1 if by.rank <= rank else None
    return rank - 1 + by.rank


def _rank_left(parts: list[ast.expr], rank: int, kinds: Kinds) -> int | None:
    """Rank of an array after some subscripts; `None` where it is undetermined."""
    left = rank
    for part in parts:
        match part:
            case ast.Slice():
                pass
            case ast.Constant(value=None):
                left += 1
            case ast.Constant(value=value) if value is ...:
                pass
            case _:
                if path_of(part, kinds.declarations) == "numpy.newaxis":
                    left += 1
                elif isinstance(kinds.of(part), (Array, Other)):
                    return None
                else:
                    left -= 1
    return left if left >= 0 else None


# --------------------------------------------------------------------------------------------------
# Type inference for the names of a function: from annotations where there are some, else from the
# values assigned to them and from their use. Flow-insensitive: one kind for the whole function, in
# any order of its statements.
# --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Kinds:
    """Kinds inferred so far: of the function's names, else of the file's. `lists`: names of lists that are
    used element by element, with their numbers of dimensions. `settled`: kinds of expressions asked for
    since those of names no longer change; `None` while they do."""

    declarations: Declarations
    own: dict[str, Kind] = field(default_factory=dict[str, "Kind"])
    local: frozenset[str] = frozenset()
    lists: Mapping[str, int] = field(default_factory=dict[str, int])
    settled: dict[ast.expr, Kind | None] | None = field(default=None, init=False, compare=False)

    def of(self, node: ast.expr) -> Kind | None:
        """Kind of an expression; `None` where it is undetermined so far."""
        if self.settled is None:
            return kind_of(node, self)
        if node not in self.settled:
            self.settled[node] = kind_of(node, self)
        return self.settled[node]

    def of_name(self, name: str) -> Kind | None:
        """Kind of a name."""
        if name in self.own or name in self.local:
            return self.own.get(name)
        found = self.declarations.get(name)
        if isinstance(found, Imported):
            return numpy_functions.kind_of_constant(found.path) or UNKNOWN
        return found.kind if isinstance(found, Value) else UNKNOWN


def inferred(
    body: list[ast.stmt], given: Mapping[str, Kind], declarations: Declarations, is_module: bool = False
) -> Kinds:
    """Kinds of the names assigned in a function; `given` are those of its parameters. A name bound to the
    result of unknown code gets the kind of its use. Lists of a module are left out: functions see them."""
    nodes = own_nodes(body)
    lists = plain_lists(body, given) if not is_module else {}
    found = _assigned(nodes, Kinds(declarations, dict(given), lists=lists), {})
    used = _used(body, nodes, found)
    if used:
        found = _assigned(nodes, Kinds(declarations, dict(given), lists=lists), used)
    found.settled = {}
    return found


def _used(body: list[ast.stmt], nodes: list[ast.AST], kinds: Kinds) -> dict[str, Kind]:
    """Kinds by use alone: of arrays that are bound once, to the result of unknown code, and of bounds of
    ranges."""
    stores = Counter(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    attributes = Counter(node.attr for node in nodes if isinstance(node, ast.Attribute))
    given = {name for node in nodes for name in _given_names(node, kinds, attributes)}
    unclear = (UNKNOWN, Other("a list"))
    names = {name for name in given if stores[name] == 1 and kinds.own.get(name) in unclear}
    told = kinds_by_use(body, names, kinds.declarations) if names else {}
    arrays: dict[str, Kind] = {
        name: replace(kind, lists=kinds.own.get(name) != UNKNOWN)
        for name, kind in told.items()
        if isinstance(kind, Array)
    }
    return arrays | dict.fromkeys(_counting(nodes, kinds), WHOLE)


def _given_names(node: ast.AST, kinds: Kinds, attributes: Counter[str]) -> Iterator[str]:
    """Names that a statement binds to the result of unknown code. An attribute that is named again may
    give the same array again, and is left out."""
    match node:
        case ast.Assign(targets=[target], value=ast.Call() | ast.Attribute() | ast.BinOp() as value):
            once = not isinstance(value, ast.Attribute) or attributes[value.attr] == 1
            parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
            is_list = isinstance(value, ast.Call) and kinds.of(value) == Other("a list")
            if once and (is_list or kinds.of(value) == UNKNOWN):
                yield from (part.id for part in parts if isinstance(part, ast.Name))
        case _:
            pass


def _counting(nodes: list[ast.AST], kinds: Kinds) -> frozenset[str]:
    """Bounds of ranges all of whose bindings may be whole numbers."""
    found = {
        name
        for name in range_bounds(nodes, kinds.declarations)
        if name in kinds.own and isinstance(kinds.own[name], Other)
    }
    given: dict[str, list[Kind | None]] = {name: [] for name in found}
    for node in nodes if found else ():
        for name, kind in _bindings(node, kinds):
            if name in found:
                given[name].append(kind)
    may_count = (None, UNKNOWN, WHOLE, Nothing())
    return frozenset(name for name in found if given[name] and all(one in may_count for one in given[name]))


def _assigned(nodes: list[ast.AST], kinds: Kinds, used: Mapping[str, Kind]) -> Kinds:
    """Kinds of names by the values assigned to them, except for those that are `used` as a certain kind;
    `kinds` has those of the parameters."""
    kinds.local = assigned_names(nodes) | frozenset(kinds.own)
    kinds.own |= used
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
    return frozenset((found | set(captures(nodes))) - outer)


def captures(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names that patterns of `match` and handlers of exceptions bind."""
    for node in nodes:
        match node:
            case ast.MatchAs(name=name) | ast.MatchStar(name=name) | ast.MatchMapping(rest=name):
                yield from (name,) if name else ()
            case ast.ExceptHandler(name=name):
                yield from (name,) if name else ()
            case _:
                pass


def _bindings(node: ast.AST, kinds: Kinds) -> Iterator[tuple[str, Kind | None]]:
    """The names that a node binds, and the kinds of the values."""
    for name, value in stored_to(node) if kinds.lists else ():
        if name in kinds.lists:
            yield name, kind_stored(kinds.lists[name], kinds.of(value))
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in kinds.lists:
            yield name, kind_of_list(value, kinds.lists[name], kinds.of)
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
        case ast.withitem(optional_vars=ast.Name(id=name), context_expr=value):
            yield name, ITERATOR if kinds.of(value) == ITERATOR else UNKNOWN
        case _:
            pass


def _bound(target: ast.expr, kind: Kind | None) -> Iterator[tuple[str, Kind | None]]:
    match target:
        case ast.Name(id=name):
            yield name, kind
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            items = kind.items if isinstance(kind, Items) and len(kind.items) == len(parts) else None
            for number, part in enumerate(parts):
                whole = _taken(kind)
                yield from _bound(part, items[number] if items is not None else whole)
        case ast.Starred(value=inner):
            yield from _bound(inner, Other("a list"))
        case _:
            pass


def _taken(kind: Kind | None) -> Kind | None:
    """Kind of an element, or of a row, of a value."""
    match kind:
        case None:
            return None
        case Array(element, 1):
            return Number(element)
        case Array(element, rank, lists=lists) if rank > 1:
            return Array(element, rank - 1, lists=lists)
        case _:
            return UNKNOWN


def iterated(node: ast.expr, kinds: Kinds) -> Kind | None:
    """Kind of the value that a loop over an expression yields in each round."""
    if isinstance(node, ast.Call):
        path = path_of(node.func, kinds.declarations)
        if path in RANGES:
            return WHOLE
        if numpy_functions.numpy_name(path) == "ndindex":
            count = _ndindex_rank(node, kinds)
            return Items((WHOLE,) * count)
        if path == "itertools.product":
            repeat = next((k.value for k in node.keywords if k.arg == "repeat"), None)
            times = repeat.value if isinstance(repeat, ast.Constant) else 1
            inners = [iterated(one, kinds) for one in node.args] * (times if isinstance(times, int) else 1)
            return Items(tuple(one or UNKNOWN for one in inners)) if all(inners) else None
        if path == "enumerate" and node.args:
            inner = iterated(node.args[0], kinds)
            return Items((WHOLE, inner)) if inner is not None else None
        if path == "zip":
            inners = [iterated(one, kinds) for one in node.args]
            return Items(tuple(one or UNKNOWN for one in inners)) if all(inners) else None
        if path == "reversed" and node.args:
            return iterated(node.args[0], kinds)
    if isinstance(node, (ast.List, ast.Tuple)) and node.elts:
        found = either([kinds.of(one) for one in node.elts])
        is_told = found is None or isinstance(found, Number) or found == Other("a string")
        return found if is_told else UNKNOWN
    return _taken(kinds.of(node))


def _ndindex_rank(node: ast.Call, kinds: Kinds) -> int:
    """The number of dimensions that `np.ndindex` runs over."""
    only = node.args[0] if len(node.args) == 1 else None
    only = only.value if isinstance(only, ast.Starred) else only
    told = kinds.of(only) if only is not None else None
    return len(told.items) if isinstance(told, Items) else len(node.args)
