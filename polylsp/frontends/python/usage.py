"""Kinds of the parameters of a function, by their use in its body."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from polylsp.frontends.python.array_ranks import (
    bound_parts,
    looped,
    part_of,
    plain_name,
    ranks_by_use,
    subscripted,
)
from polylsp.frontends.python.kinds import (
    DOUBLE,
    INT64,
    REAL,
    UNKNOWN,
    WHOLE,
    Array,
    Kind,
    NumberType,
)
from polylsp.frontends.python.names import Callable, Declarations, path_of
from polylsp.frontends.python.nodes import children, nodes_in_all, own_nodes
from polylsp.frontends.python.numpy_functions import numpy_name


def kinds_by_use(body: list[ast.stmt], names: set[str], declarations: Declarations) -> dict[str, Kind]:
    """Kinds of names, as far as their uses determine them."""
    nodes = own_nodes(body)
    keys = _keys(nodes, declarations)
    known = ranks_by_use(nodes, declarations, keys)
    ranks, told, vectors = known.found, known.told, known.vectors
    whole = _whole(nodes, declarations) - keys
    listed, foreign = _by_attributes(nodes)
    bare = _whole_arrays(nodes, names)
    subscripts = {*_of_subscripts(nodes, whole, declarations), *_of_parts(nodes, whole, declarations)}
    views = _updated_views(nodes, declarations)
    numbers = dict(_run_over(nodes))
    kinds: dict[str, Kind] = {}
    for name in names:
        if name in foreign:
            kinds[name] = UNKNOWN
        elif name in ranks:
            # One that is subscripted with less than its rank somewhere else is an array too.
            element = INT64 if name in subscripts else DOUBLE
            of_list = name in listed
            guessed = name in views or ranks[name] != told.get(name)
            kinds[name] = Array(element, ranks[name], True, guessed=guessed, lists=of_list)
        elif name in subscripts:
            kinds[name] = Array(INT64, 1, assumed=True, guessed=name in views)
        elif name in numbers:
            kinds[name] = Array(numbers[name], 1, assumed=True, guessed=True)
        elif name in vectors:
            kinds[name] = Array(DOUBLE, 1, assumed=True, guessed=True)
        elif name in bare:
            kinds[name] = UNKNOWN
        else:
            kinds[name] = WHOLE if name in whole else REAL
    return kinds


_LIST_METHODS = frozenset(("append", "extend", "insert", "reverse"))
_NDARRAY = (
    "T all any argmax argmin argpartition argsort astype base byteswap choose clip compress conj conjugate "
    "copy ctypes cumprod cumsum data device diagonal dot dtype dump dumps fill flags flat flatten getfield "
    "imag item itemsize mT max mean min nbytes ndim nonzero partition prod put ravel real repeat reshape "
    "resize round searchsorted setfield setflags shape size sort squeeze std strides sum swapaxes take "
    "to_device tobytes tofile tolist trace transpose var view"
)
_ARRAY_ATTRIBUTES = frozenset(_NDARRAY.split())
"""Attributes of `numpy.ndarray`."""


def _by_attributes(nodes: list[ast.AST]) -> tuple[set[str], set[str]]:
    """Names with methods of lists, and names that are neither arrays nor lists, as their attributes, or
    subscripts that are strings, exclude it."""
    listed, foreign = set[str](), set[str]()
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                listed |= {name} if attribute in _LIST_METHODS else set()
                foreign |= {name} if attribute not in _LIST_METHODS | _ARRAY_ATTRIBUTES else set()
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str())):
                foreign.add(name)
            case _:
                pass
    return listed, foreign


def _keys(nodes: list[ast.AST], declarations: Declarations) -> set[str]:
    """Names that a loop over anything but numbers gives a value, and that are whole subscripts, as a key of a
    dictionary is; arithmetic with them is evidence of a number."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.For):
            called = path_of(node.iter.func, declarations) if isinstance(node.iter, ast.Call) else ""
            pairs = [] if _counts(called) or called == "itertools.product" else looped(node.target, node.iter)
            found |= {
                one.id for one, of in pairs if isinstance(one, ast.Name) and not _is_counted(of, declarations)
            }
    for parent in nodes:
        for child in children(parent):
            if isinstance(child, ast.Name) and child.id in found and not isinstance(parent, ast.For):
                numeric = _evidence(child, parent, ()) or isinstance(parent, (ast.Tuple, ast.Slice))
                found -= {child.id} if numeric else set()
    return found


def _is_counted(node: ast.expr, declarations: Declarations) -> bool:
    """True for a range, also in reverse, and for one array, or one of several, that NumPy makes."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return _is_counted(node.value, declarations)
    if not isinstance(node, ast.Call):
        return False
    path = path_of(node.func, declarations)
    inner = node.args[0] if path == "reversed" and node.args else None
    return (
        path in RANGES or bool(numpy_name(path)) or (inner is not None and _is_counted(inner, declarations))
    )


def _updated_views(nodes: list[ast.AST], declarations: Declarations) -> set[str]:
    """The arrays of which an element gets a name that is then updated in place (`for x in a: x += 1`), or
    that a loop reads while it stores to the array. Were there more dimensions than its subscripts tell, the
    element would be a view: the array would be written, or the element change. Those that are transposed,
    too."""
    updated = {n.target.id for n in nodes if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}
    parts = [(name, *of) for node in nodes for name, of in bound_parts(node, declarations)]
    bound = [(name, source) for name, source, _ in parts]
    found: set[str] = set()
    for loop in (node for node in nodes if isinstance(node, (ast.For, ast.While))):
        inside = nodes_in_all(loop.body)
        named = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        named -= {name for node in (loop, *inside) for name, _ in bound_parts(node, declarations)}
        for _ in range(3):
            named |= {source for name, source, taken in parts if name in named and not taken}
        stores = (n for n in inside if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store))
        stored = {plain_name(subscripted(each)[0]) for each in stores}
        found |= {source for name, source, taken in parts if taken and name in named and source in stored}
    found |= set(_transposed(nodes, declarations))
    for _ in range(3):
        found |= {source for name, source in bound if name in updated | found and source}
    return found


def _transposed(nodes: list[ast.AST], declarations: Declarations) -> Iterator[str]:
    """The arrays of which the axes are exchanged, which leaves those of one dimension as they are."""
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr="T" | "mT" | "transpose" | "swapaxes"):
                yield name
            case ast.Call(func=function, args=[ast.Name(id=name), *_]):
                if numpy_name(path_of(function, declarations)) in _EXCHANGING:
                    yield name
            case _:
                pass


_EXCHANGING = frozenset(("transpose", "matrix_transpose", "swapaxes", "moveaxis", "rollaxis", "rot90"))


_BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift, ast.Invert)
_NUMERIC = (ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Pow, *_BITWISE)
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def _run_over(nodes: list[ast.AST]) -> Iterator[tuple[str, NumberType]]:
    """Names that a loop runs over whose elements are computed with, and used for nothing else that numbers
    cannot do; with the type of the elements."""
    loops = (node for node in nodes if isinstance(node, ast.For))
    bound = [pair for loop in loops for pair in looped(loop.target, loop.iter)]
    elements = [
        (one.id, of.id) for one, of in bound if isinstance(one, ast.Name) and isinstance(of, ast.Name)
    ]
    if not elements:
        return
    uses: dict[str, list[tuple[ast.expr, ast.AST]]] = {}
    started = {name for name, value in _computations(nodes) if _is_number(value)}
    for parent in nodes:
        for child in children(parent):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
                uses.setdefault(child.id, []).append((child, parent))
    for name, of in elements:
        evidence = [_evidence(node, parent, started) for node, parent in uses.get(name, [])]
        others = [one for one in uses.get(of, []) if not isinstance(one[1], (ast.For, ast.Call))]
        if any(evidence) and None not in evidence and not others:
            own = (parent for _, parent in uses[name] if isinstance(parent, (ast.BinOp, ast.AugAssign)))
            yield of, INT64 if any(isinstance(one.op, _BITWISE) for one in own) else DOUBLE


def _evidence(node: ast.expr, parent: ast.AST, numbers: Collection[str]) -> bool | None:
    """True if a use needs a number, False if it takes anything, `None` if it excludes a number."""
    match parent:
        case ast.BinOp(left=left, op=operator, right=right):
            other = right if left is node else left
            is_text = isinstance(other, (ast.Constant, ast.JoinedStr)) and not _is_number(other)
            return None if is_text else isinstance(operator, _NUMERIC) or _is_known(other, numbers)
        case ast.AugAssign(target=target, op=operator):
            return isinstance(operator, _NUMERIC) or _is_known(target, numbers)
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            other = right if left is node else left
            if isinstance(operator, (ast.In, ast.NotIn)) or (
                isinstance(other, ast.Constant) and not _is_number(other)
            ):
                return None
            return isinstance(operator, _ORDER) and _is_known(other, numbers)
        case ast.UnaryOp(op=ast.USub()):
            return True
        case ast.Attribute() | ast.For() | ast.Starred() | ast.JoinedStr() | ast.FormattedValue():
            return None
        case ast.Subscript(value=value) if value is node:
            return None
        case ast.Call(func=function) if function is node:
            return None
        case _:
            return False


def _is_known(node: ast.expr, numbers: Collection[str]) -> bool:
    return _is_number(node) or (isinstance(node, ast.Name) and node.id in numbers)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    plain = isinstance(node, ast.Constant) and isinstance(node.value, (int, float, complex))
    return plain and not isinstance(getattr(node, "value", None), bool)


def _whole_arrays(nodes: list[ast.AST], names: set[str]) -> set[str]:
    """Names whose attributes or elements are used, that are iterated over, or multiplied as matrices."""
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name)) | ast.Subscript(value=ast.Name(id=name)) if (
                name in names
            ):
                found.add(name)
            case ast.For(iter=ast.Name(id=name)) if name in names:
                found.add(name)
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                found.update(one.id for one in (left, right) if isinstance(one, ast.Name))
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[ast.Name(id=of), *_]) if (
                name in _CONVERTING
            ):
                found.add(of)
            case _:
                pass
    return found & names


_CONVERTING = frozenset(
    ("asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "array", "atleast_1d")
)
"""Functions of NumPy that make an array of what may be one already."""


def _whole(nodes: list[ast.AST], declarations: Declarations) -> set[str]:
    """Names that must hold whole numbers: bounds of ranges, subscripts, sizes, and the names these are
    computed from."""
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.Call(func=function, args=arguments) if _counts(path_of(function, declarations)):
                found.update(name for argument in arguments[:3] for name in _named(argument))
            case ast.Subscript(slice=subscript):
                found.update(_named(subscript))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                called = declarations.get(name)
                parameters = called.parameters if isinstance(called, Callable) else ()
                for given, wanted in zip(arguments, parameters, strict=False):
                    found.update(_named(given) if wanted.kind == WHOLE else ())
            case ast.Call(func=function, args=[_, _, size]) if _is_spaced(function, declarations):
                found.update(_named(size))
            case ast.BinOp(left=ast.List(), op=ast.Mult(), right=size):
                found.update(_named(size))
            case _:
                pass
    return _computed_from(found, list(_computations(nodes)))


def range_bounds(nodes: Sequence[ast.AST], declarations: Declarations) -> set[str]:
    """Names that stand in bounds of ranges, or that such names are computed from: whole numbers, as nothing
    else can be there."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Call) and path_of(node.func, declarations) in RANGES:
            found.update(name for argument in node.args for name in _named(argument))
    return _computed_from(found, list(_bound_once(nodes)))


def _bound_once(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """Names that are bound once, with the expressions assigned."""
    stores = Counter(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return ((name, value) for name, value in _computations(nodes) if stores[name] == 1)


def _computations(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """Assigned names, with the expressions assigned."""
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                pairs = zip(targets, values, strict=False)
                yield from ((target.id, value) for target, value in pairs if isinstance(target, ast.Name))
            case _:
                pass


def _computed_from(found: set[str], given: Sequence[tuple[str, ast.expr]]) -> set[str]:
    """Names that hold whole numbers, with those that they are computed from."""
    before = -1
    while len(found) > before:
        before = len(found)
        for name, value in given:
            if name in found:
                found.update(_named(value))
    return found


def _is_spaced(function: ast.expr, declarations: Declarations) -> bool:
    return path_of(function, declarations) == "numpy.linspace"


def _of_subscripts(nodes: list[ast.AST], whole: set[str], declarations: Declarations) -> Iterator[str]:
    """Names of arrays whose elements are subscripts or bounds of ranges, by a name of their own too, or are
    subscripted by such a name."""
    for name, value in _bound_once(nodes):
        yield from _elements(value) if name in whole else ()
    for node in nodes:
        match node:
            case ast.Call(func=function, args=arguments) if _counts(path_of(function, declarations)):
                yield from (name for argument in arguments for name in _elements(argument))
            case ast.Subscript(slice=subscript):
                yield from _elements(subscript)
            case ast.BinOp(left=left, op=operator, right=right) if isinstance(operator, _BITWISE):
                yield from (*_elements(left), *_elements(right))
            case ast.AugAssign(op=operator, value=value) if isinstance(operator, _BITWISE):
                yield from _elements(value)
            case ast.For(target=ast.Name(id=name), iter=ast.Name(id=array)) if name in whole:
                yield array
            case ast.For(
                target=ast.Tuple(elts=[_, ast.Name(id=name)]),
                iter=ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name(id=array), *_]),
            ) if name in whole:
                yield array
            case _:
                pass


def _of_parts(nodes: list[ast.AST], whole: set[str], declarations: Declarations) -> Iterator[str]:
    """Names of arrays of which a part has a name that is used as a subscript: `x[k]` after `k = a[i:j]`."""
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() as part) if name in whole:
                if any(isinstance(one, ast.Slice) for one in subscripted(part)[1]):
                    yield part_of(part, declarations)[0]
            case _:
                pass


def _elements(node: ast.expr) -> Iterator[str]:
    """The arrays whose elements are parts of whole-number arithmetic."""
    for part in _parts(node):
        base, indices = subscripted(part) if isinstance(part, ast.Subscript) else (part, [])
        if isinstance(base, ast.Name) and indices and not any(isinstance(i, ast.Slice) for i in indices):
            yield base.id


RANGES = ("range", "xrange", "prange", "numba.prange")


def _counts(path: str) -> bool:
    return path in (*RANGES, "numpy.ndindex") or path in (
        "numpy.zeros",
        "numpy.ones",
        "numpy.empty",
        "numpy.eye",
        "numpy.identity",
        "numpy.ndarray",
    )


def _named(node: ast.expr) -> Iterator[str]:
    """The names that whole-number arithmetic is done with in an expression."""
    return (part.id for part in _parts(node) if isinstance(part, ast.Name))


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """The names and elements that whole-number arithmetic is done with in an expression."""
    match node:
        case ast.Name() | ast.Subscript():
            yield node
        case ast.BinOp(
            left=left, right=right, op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv() | ast.Mod()
        ):
            yield from _parts(left)
            yield from _parts(right)
        case ast.UnaryOp(operand=operand):
            yield from _parts(operand)
        case ast.Tuple(elts=parts):
            for part in parts:
                yield from _parts(part)
        case ast.Slice(lower=lower, upper=upper, step=step):
            for part in (lower, upper, step):
                if part is not None:
                    yield from _parts(part)
        case ast.Call(func=ast.Name(id="min" | "max"), args=arguments):
            for argument in arguments:
                yield from _parts(argument)
        case _:
            pass
