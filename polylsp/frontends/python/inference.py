"""What the names of a function are: from annotations where there are some, else from what is assigned to
them and how they are used. Told once for the whole function, whatever the order of its statements."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from polylsp.frontends.python import library
from polylsp.frontends.python.annotations import annotated
from polylsp.frontends.python.kinds import (
    BOOL,
    COMPLEX,
    DOUBLE,
    DTYPES,
    INT,
    REAL,
    UNKNOWN,
    WHOLE,
    Array,
    Instance,
    Items,
    Kind,
    Nothing,
    Number,
    NumberType,
    Other,
    combined,
    joined,
)
from polylsp.frontends.python.names import Callable, ClassOf, Declarations, Value, path_of
from polylsp.frontends.python.usage import kinds_by_use, own_nodes
from polylsp.model.program import Floating


@dataclass(slots=True)
class Kinds:
    """What is known so far: of the function's own names, else of the file's."""

    declarations: Declarations
    own: dict[str, Kind] = field(default_factory=dict[str, "Kind"])
    local: frozenset[str] = frozenset()

    def of(self, node: ast.expr) -> Kind | None:
        """What an expression is; `None` where that is not known yet."""
        return _kind(node, self)

    def of_name(self, name: str) -> Kind | None:
        """What a name is."""
        if name in self.own or name in self.local:
            return self.own.get(name)
        found = self.declarations.get(name)
        return found.kind if isinstance(found, Value) else UNKNOWN


def inferred(body: list[ast.stmt], given: Mapping[str, Kind], declarations: Declarations) -> Kinds:
    """What the names assigned in a function are; `given` is what its parameters are. An array that comes
    from where nothing is known is what its use tells."""
    nodes = list(own_nodes(body))
    found = _assigned(nodes, given, {}, declarations)
    used = _used(body, nodes, found)
    return _assigned(nodes, given, used, declarations) if used else found


def _used(body: list[ast.stmt], nodes: list[ast.AST], kinds: Kinds) -> dict[str, Kind]:
    """The names that are bound once, to what a call of unknown code gives, and are then used as arrays."""
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
    """What names are by what is assigned to them, but for those that are `used` as something."""
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
    """The names that a node binds, and what to."""
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
            yield name, own if isinstance(own, Array) else _arithmetic(operator, own, kinds.of(value))
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
    """What a loop over an expression gives in each round."""
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
        case Array(element, rank) if rank > 1:
            return Array(element, rank - 1)
        case _:
            return UNKNOWN


def _ndindex_rank(node: ast.Call, kinds: Kinds) -> int:
    """The number of dimensions that `np.ndindex` runs over."""
    only = node.args[0] if len(node.args) == 1 else None
    only = only.value if isinstance(only, ast.Starred) else only
    told = kinds.of(only) if only is not None else None
    return len(told.items) if isinstance(told, Items) else len(node.args)


def _kind(node: ast.expr, kinds: Kinds) -> Kind | None:
    match node:
        case ast.Constant(value=value):
            return _constant(value)
        case ast.Name(id=name):
            return kinds.of_name(name)
        case ast.NamedExpr(value=value):
            return kinds.of(value)
        case ast.BinOp(left=left, op=operator, right=right):
            return _arithmetic(operator, kinds.of(left), kinds.of(right))
        case ast.UnaryOp(op=ast.Not()):
            return WHOLE
        case ast.UnaryOp(operand=operand):
            return kinds.of(operand)
        case ast.Compare(left=left, comparators=others):
            return _compared([left, *others], kinds)
        case ast.BoolOp(values=values):
            return _either([kinds.of(value) for value in values])
        case ast.IfExp(body=then, orelse=otherwise):
            return _either([kinds.of(then), kinds.of(otherwise)])
        case ast.Tuple(elts=parts):
            return Items(tuple(kinds.of(part) or UNKNOWN for part in parts))
        case ast.Attribute():
            return _attribute(node, kinds)
        case ast.Subscript(value=base, slice=subscript):
            return _element(kinds.of(base), subscript, kinds)
        case ast.Call():
            return _called(node, kinds)
        case ast.List() | ast.ListComp():
            return Other("a list")
        case ast.Dict() | ast.DictComp():
            return Other("a dictionary")
        case ast.JoinedStr():
            return Other("a string")
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


def _either(found: list[Kind | None]) -> Kind | None:
    result = found[0]
    for one in found[1:]:
        result = joined(result, one)
    return result


def _arithmetic(operator: ast.operator, left: Kind | None, right: Kind | None) -> Kind | None:
    if isinstance(operator, ast.MatMult):
        return _product(left, right)
    result = combined(left, right)
    if isinstance(operator, ast.Div):
        match result:
            case Number(of_type) if not isinstance(of_type, Floating):
                return REAL
            case Array(element, rank) if not isinstance(element, Floating):
                return Array(DOUBLE, rank)
            case _:
                pass
    if isinstance(operator, ast.Pow) and result == WHOLE:
        return Number(INT)
    return result


def _product(left: Kind | None, right: Kind | None) -> Kind | None:
    match combined(left, right):
        case Array(element):
            ranks = (getattr(left, "rank", 0), getattr(right, "rank", 0))
            result = {(1, 1): 0, (2, 1): 1, (1, 2): 1, (2, 2): 2}.get(ranks)
            if result is None:
                return UNKNOWN
            return Array(element, result) if result else Number(element)
        case None:
            return None
        case _:
            return UNKNOWN


def _compared(parts: list[ast.expr], kinds: Kinds) -> Kind | None:
    found = [kinds.of(part) for part in parts]
    ranks = [one.rank for one in found if isinstance(one, Array)]
    return Array(BOOL, max(ranks)) if ranks else WHOLE


def _attribute(node: ast.Attribute, kinds: Kinds) -> Kind | None:
    path = path_of(node, kinds.declarations)
    if path and library.constant(path) is not None:
        return REAL
    base = kinds.of(node.value)
    match base, node.attr:
        case None, _:
            return None
        case Array(_, rank), "shape":
            return Items((WHOLE,) * max(rank, 0)) if rank >= 0 else UNKNOWN
        case Array(), "size" | "ndim" | "nbytes" | "itemsize":
            return WHOLE
        case Array(), "T":
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
        case Items(items), ast.Constant(value=int(k)) if -len(items) <= k < len(items):
            return items[k]
        case Items(items), _ if items and all(item == items[0] for item in items):
            return items[0]
        case Array(element, rank), _:
            parts = subscript.elts if isinstance(subscript, ast.Tuple) else [subscript]
            left = _rank_left(parts, rank, kinds)
            if left is None:
                return UNKNOWN
            return Array(element, left) if left else Number(element)
        case _:
            return UNKNOWN


def _rank_left(parts: list[ast.expr], rank: int, kinds: Kinds) -> int | None:
    """The rank of what some subscripts leave of an array; `None` where that can't be told."""
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


def _called(node: ast.Call, kinds: Kinds) -> Kind | None:
    path = path_of(node.func, kinds.declarations)
    if isinstance(node.func, ast.Attribute):
        base = kinds.of(node.func.value) if not path or path.split(".")[0] in kinds.local else UNKNOWN
        if isinstance(base, Array) or base is None:
            return _method(node.func.attr, base, node, kinds)
    arguments = [kinds.of(argument) for argument in node.args]
    name = library.math_name(path)
    if path in ("len", "int", "round", "ord", "hash") and len(node.args) < 2:
        return WHOLE
    if path in ("float", "complex", "bool"):
        return Number(DTYPES[path]) if path != "bool" else WHOLE
    if path in ("abs", "min", "max", "sum", "divmod"):
        return _builtin(path, arguments)
    if library.numpy_name(path) in DTYPES:
        return Number(DTYPES[library.numpy_name(path)])
    if name and name in library.MAKERS:
        return _made(node, kinds)
    if name and name in library.LIKE_MAKERS and arguments:
        return _like(arguments[0], node, kinds)
    if name in library.REDUCTIONS and arguments:
        return _reduced(arguments[0], node, name)
    if name in ("dot", "matmul", "inner") and len(arguments) == 2:
        return _product(arguments[0], arguments[1])
    if name == "outer" and len(arguments) == 2:
        both = combined(arguments[0], arguments[1])
        return Array(both.element, 2) if isinstance(both, Array) else UNKNOWN
    if name == "arange" or name == "linspace":
        real = name == "linspace" or any(one != WHOLE for one in arguments)
        return Array(_dtype(node, kinds) or (DOUBLE if real else INT), 1)
    if name and library.is_pure(path):
        return _pure(path, name, arguments)
    found = kinds.declarations.get(node.func.id) if isinstance(node.func, ast.Name) else None
    if isinstance(found, Callable):
        return found.result
    return Instance(found.name) if isinstance(found, ClassOf) else UNKNOWN


def _builtin(path: str, arguments: list[Kind | None]) -> Kind | None:
    if path == "divmod":
        both = _either(arguments)
        return Items((both, both)) if both is not None else None
    if len(arguments) == 1 and isinstance(arguments[0], Array):
        return arguments[0] if path == "abs" else Number(arguments[0].element)
    if path == "abs" and arguments == [Number(COMPLEX)]:
        return REAL
    return _either(arguments) if arguments else UNKNOWN


def _pure(path: str, name: str, arguments: list[Kind | None]) -> Kind | None:
    """The result of a function of numbers, or of each element of arrays."""
    if any(one is None for one in arguments) or not arguments:
        return None if arguments else UNKNOWN
    used = arguments[1:] if name == "where" and len(arguments) == 3 else arguments
    result = used[0]
    for one in used[1:]:
        result = combined(result, one)
    if name == "where" and isinstance(arguments[0], Array) and isinstance(result, Number):
        result = Array(result.type, arguments[0].rank)
    whole_rounding = name in library.ROUNDING and path.startswith("math.")
    match result:
        case Array(element, rank):
            return Array(_result_type(name, element, whole_rounding), rank)
        case Number(of_type):
            return Number(_result_type(name, of_type, whole_rounding))
        case _:
            return UNKNOWN


def _result_type(name: str, of_type: NumberType, whole_rounding: bool) -> NumberType:
    if name in library.TRUTH:
        return BOOL
    if whole_rounding or name in library.WHOLE:
        return INT
    if of_type == COMPLEX and name in ("abs", "absolute"):
        return DOUBLE
    if name in library.SAME or isinstance(of_type, Floating):
        return of_type
    return DOUBLE


def _method(name: str, base: Array | None, node: ast.Call, kinds: Kinds) -> Kind | None:
    """The result of a method of an array."""
    if base is None:
        return None
    if name == "copy":
        return Array(base.element, base.rank, base.assumed)
    if name == "astype" and node.args:
        return Array(DTYPES.get(_type_name(node.args[0]), DOUBLE), base.rank)
    if name in library.REDUCTIONS:
        return _reduced(base, node, name)
    if name == "dot" and node.args:
        return _product(base, kinds.of(node.args[0]))
    if name == "transpose" and not node.args:
        return base
    return Number(base.element) if name == "item" else UNKNOWN


def _reduced(of: Kind | None, node: ast.Call, name: str) -> Kind | None:
    if not isinstance(of, Array):
        return of if of is None or isinstance(of, Number) else UNKNOWN
    axis = next((k.value for k in node.keywords if k.arg == "axis"), None)
    element = DOUBLE if name == "mean" and not isinstance(of.element, Floating) else of.element
    element = INT if name in ("sum", "prod") and element == BOOL else element
    if any(k.arg == "keepdims" for k in node.keywords):
        return Array(element, of.rank)
    if axis is None and len(node.args) > (1 if isinstance(node.func, ast.Name) else 0):
        return UNKNOWN if not isinstance(node.func, ast.Attribute) or len(node.args) > 1 else Number(element)
    if axis is None:
        return Number(element)
    gone = len(axis.elts) if isinstance(axis, ast.Tuple) else 1
    return Array(element, of.rank - gone) if of.rank > gone else Number(element)


def _made(node: ast.Call, kinds: Kinds) -> Kind | None:
    """The result of `np.zeros(shape)` and its like."""
    shape = shape_of(node)
    if shape is None:
        return UNKNOWN
    told = kinds.of(shape)
    rank = len(told.items) if isinstance(told, Items) else 1
    if told is None or not isinstance(told, (Items, Number)):
        return None if told is None else UNKNOWN
    filled = kinds.of(node.args[1]) if _callee(node) == "full" and len(node.args) > 1 else REAL
    element = filled.type if isinstance(filled, Number) else DOUBLE
    named = any(k.arg == "dtype" for k in node.keywords) or len(node.args) > 1 + (_callee(node) == "full")
    found = _dtype(node, kinds)
    return Array(found or element, rank, assumed=named and found is None)


def shape_of(node: ast.Call) -> ast.expr | None:
    """The shape that an array is made with."""
    keyword = next((k.value for k in node.keywords if k.arg == "shape"), None)
    return node.args[0] if node.args else keyword


def _like(of: Kind | None, node: ast.Call, kinds: Kinds) -> Kind | None:
    if not isinstance(of, Array):
        return None if of is None else UNKNOWN
    return Array(_dtype(node, kinds) or of.element, of.rank, of.assumed)


def _dtype(node: ast.Call, kinds: Kinds) -> NumberType | None:
    """The element type that a call asks for."""
    position = {"zeros": 1, "ones": 1, "empty": 1, "full": 2}.get(_callee(node), 99)
    told = next((k.value for k in node.keywords if k.arg == "dtype"), None)
    if told is None and len(node.args) > position:
        told = node.args[position]
    if told is None:
        return None
    if isinstance(told, ast.Attribute) and told.attr == "dtype":
        other = kinds.of(told.value)
        return other.element if isinstance(other, Array) else None
    return DTYPES.get(_type_name(told))


def _callee(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _type_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.lstrip("<>=")
    return node.id if isinstance(node, ast.Name) else ""
