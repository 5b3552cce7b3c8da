"""Kinds of call results: functions of Python and NumPy, methods of arrays, functions of the file."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from polylsp.frontends.python import library
from polylsp.frontends.python.arithmetic_kinds import either, product
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
    Number,
    NumberType,
    combined,
)
from polylsp.frontends.python.names import Callable, ClassOf, path_of
from polylsp.model.program import Floating

if TYPE_CHECKING:
    from polylsp.frontends.python.inference import Kinds


def called(node: ast.Call, kinds: Kinds) -> Kind | None:
    """Kind of a call's result."""
    path = path_of(node.func, kinds.declarations)
    if isinstance(node.func, ast.Attribute):
        base = kinds.of(node.func.value) if not path or path.split(".")[0] in kinds.local else UNKNOWN
        if isinstance(base, Array) or base is None:
            return _method(node.func.attr, base, node, kinds)
        if isinstance(base, Instance):
            return _own_method(node.func.attr, base, kinds)
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
    if (name in library.REDUCTIONS or name in library.STATISTICS) and arguments:
        return _reduced(arguments[0], node, name)
    if name in library.SHAPED and arguments:
        return _shaped(arguments[0], name)
    if library.computed(path) is not None:
        return _computed(path, node, kinds)
    if name == "flip" and len(arguments) == 1:
        return arguments[0]
    if name in ("array", "asarray") and len(node.args) == 1:
        return _of_list(node, kinds)
    if name in ("eye", "identity") and len(node.args) == 1:
        return Array(_dtype(node, kinds) or DOUBLE, 2)
    if name in ("dot", "matmul", "inner") and len(arguments) == 2:
        return product(arguments[0], arguments[1])
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
        both = either(arguments)
        return Items((both, both)) if both is not None else None
    if len(arguments) == 1 and isinstance(arguments[0], Array):
        return arguments[0] if path == "abs" else Number(arguments[0].element)
    if path == "abs" and arguments == [Number(COMPLEX)]:
        return REAL
    return either(arguments) if arguments else UNKNOWN


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


def _shaped(of: Kind | None, name: str) -> Kind | None:
    """The result of a function that gives an array of the shape of its argument."""
    if not isinstance(of, Array):
        return None if of is None else UNKNOWN
    element = INT if name in library.COUNTING else COMPLEX if name.startswith("fft.") else of.element
    element = DOUBLE if name.startswith("linalg.") and not isinstance(element, Floating) else element
    return Array(INT if element == BOOL else element, of.rank, of.assumed)


def arguments_of(node: ast.Call) -> list[ast.expr]:
    """The arguments of a call, and those in tuples and lists among them (`np.concatenate((a, b))`)."""
    found: list[ast.expr] = []
    for one in (*node.args, *(each.value for each in node.keywords)):
        found += one.elts if isinstance(one, (ast.Tuple, ast.List)) else [one]
    return found


def _rank(node: ast.expr, kinds: Kinds) -> int | None:
    """The number of dimensions of an argument: -1 for several in a tuple or a list."""
    if isinstance(node, (ast.Tuple, ast.List)):
        several = all(isinstance(kinds.of(one), Array) for one in node.elts)
        return -1 if several else None
    kind = kinds.of(node)
    return kind.rank if isinstance(kind, Array) else 0 if isinstance(kind, Number) else None


def _computed(path: str, node: ast.Call, kinds: Kinds) -> Kind | None:
    """The new value that a function computes of arrays."""
    rule = library.computed(path)
    told = [kinds.of(one) for one in arguments_of(node)]
    arrays = [one for one in told if isinstance(one, Array)]
    ranks = [_rank(one, kinds) for one in node.args]
    if not arrays or not library.is_computed(path, ranks, [one.arg for one in node.keywords]):
        return None if None in told else UNKNOWN
    numeric = [one for one in told if isinstance(one, Array) or (isinstance(one, Number) and one != WHOLE)]
    types = [one.element if isinstance(one, Array) else one.type for one in numeric]
    element = library.computed_element(path, types)
    if isinstance(rule, int):
        like = kinds.of(node.args[rule]) if rule < len(node.args) else UNKNOWN
        if isinstance(like, Array) and not like.lists:
            return Array(element, like.rank, like.assumed)
        return Number(element) if isinstance(like, Number) else None if like is None else UNKNOWN
    if rule == "number":
        return Number(element)
    rank = {"flat": 1, "matrix": 2, "resized": arrays[0].rank}[rule or "flat"]
    return Array(element, rank)


def _of_list(node: ast.Call, kinds: Kinds) -> Kind | None:
    """The array that `np.array` makes of a list of numbers, or of another array."""
    given = node.args[0]
    if not isinstance(given, (ast.List, ast.Tuple)) or not given.elts:
        found = kinds.of(given)
        if isinstance(found, Array):
            return replace(found, element=_dtype(node, kinds) or found.element)
        return found if found is None or isinstance(found, Number) else UNKNOWN
    result = either([kinds.of(one) for one in given.elts])
    if result is None or not isinstance(result, Number):
        return None if result is None else UNKNOWN
    return Array(_dtype(node, kinds) or result.type, 1)


def _method(name: str, base: Array | None, node: ast.Call, kinds: Kinds) -> Kind | None:
    """The result of a method of an array."""
    if base is None or base.lists:
        return None if base is None else UNKNOWN
    if name == "copy":
        return Array(base.element, base.rank, base.assumed)
    if name == "astype" and node.args:
        return Array(DTYPES.get(_type_name(node.args[0]), DOUBLE), base.rank)
    if name in library.REDUCTIONS or name in library.STATISTICS:
        return _reduced(base, node, name)
    if name == "dot" and node.args:
        return product(base, kinds.of(node.args[0]))
    if name == "transpose" and not node.args:
        return base
    return Number(base.element) if name == "item" else UNKNOWN


def _own_method(name: str, base: Instance, kinds: Kinds) -> Kind:
    """The result of a method of an object."""
    found = kinds.declarations.get(base.name)
    method = found.method(name) if isinstance(found, ClassOf) else None
    return method.result if method is not None else UNKNOWN


def _reduced(of: Kind | None, node: ast.Call, name: str) -> Kind | None:
    if not isinstance(of, Array):
        return of if of is None or isinstance(of, Number) else UNKNOWN
    axis = next((k.value for k in node.keywords if k.arg == "axis"), None)
    real = name in ("mean", "std", "var", "median", "nanmean") and not isinstance(of.element, Floating)
    element = INT if name in library.COUNTING else DOUBLE if real else of.element
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
    told = kinds.of(ast.Tuple(shape.elts, ast.Load()) if isinstance(shape, ast.List) else shape)
    rank = len(told.items) if isinstance(told, Items) else 1
    if told is None or not isinstance(told, (Items, Number)):
        return None if told is None else UNKNOWN
    filled = kinds.of(node.args[1]) if _callee(node) == "full" and len(node.args) > 1 else REAL
    element = filled.type if isinstance(filled, Number) else DOUBLE
    named = any(k.arg == "dtype" for k in node.keywords) or len(node.args) > 1 + (_callee(node) == "full")
    found = _dtype(node, kinds)
    return Array(found or element, rank, assumed=named and found is None)


def shape_of(node: ast.Call) -> ast.expr | None:
    """Shape argument of a call that allocates an array."""
    keyword = next((k.value for k in node.keywords if k.arg == "shape"), None)
    return node.args[0] if node.args else keyword


def _like(of: Kind | None, node: ast.Call, kinds: Kinds) -> Kind | None:
    if not isinstance(of, Array):
        return None if of is None else UNKNOWN
    return Array(_dtype(node, kinds) or of.element, of.rank, of.assumed)


def _dtype(node: ast.Call, kinds: Kinds) -> NumberType | None:
    """The element type that a call asks for."""
    position = {"zeros": 1, "ones": 1, "empty": 1, "ndarray": 1, "full": 2}.get(_callee(node), 99)
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
