"""Calls: numbers computed from numbers, functions of the file, and calls that are refused by name."""

from __future__ import annotations

import ast
from functools import reduce
from typing import TYPE_CHECKING

from polylsp.frontends.python import library
from polylsp.frontends.python.kinds import (
    BOOL,
    COMPLEX,
    DOUBLE,
    DTYPES,
    INT,
    UNKNOWN,
    Array,
    Kind,
    Number,
    wider,
)
from polylsp.frontends.python.lower.arithmetic import binary, convert, number_type
from polylsp.frontends.python.lower.context import Context, Effects, refuse
from polylsp.frontends.python.lower.passing import called, method_called, method_of
from polylsp.frontends.python.lower.places import not_a_number
from polylsp.frontends.python.names import Callable
from polylsp.model.library import python_call_obstacle
from polylsp.model.program import (
    Call,
    Expr,
    Integer,
    Invariant,
)

if TYPE_CHECKING:
    from polylsp.frontends.python.lower.elementwise import Operand


def call(context: Context, node: ast.Call, fx: Effects) -> Expr:
    """The value of a call that gives a number."""
    path = context.path(node.func)
    if path:
        found = _known(context, node, path, fx)
        if found is not None:
            return found
    elif isinstance(node.func, ast.Attribute) and _is_array(context.kind(node.func.value)):
        result = _of_method(context, node, fx)
        return result.at(()) if result is not None else Invariant(name_of(node), DOUBLE, context.site(node))
    method = method_of(context, node)
    if method is not None:
        return method_called(context, node, method, fx)
    if isinstance(node.func, ast.Name) and node.func.id not in context.kinds.local:
        declared = context.kinds.declarations.get(node.func.id)
        if isinstance(declared, Callable):
            return called(context, node, declared, fx)
    unclear = _without_rank(context, node, path)
    if unclear is not None:
        return without_rank(context, unclear, fx)
    name = context.text(node.func)
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("copy", "astype"):
        of = context.text(node.func.value)
        text = f"what `{of}` is cannot be told"
        return refuse(context, fx, "unsupported-type", node, text, f"annotate `{of}`")
    known = python_call_obstacle(path, name)
    if known is not None:
        return refuse(context, fx, "unknown-call", node, known.reason, known.advice)
    advice = f"define `{name}` in this file" if isinstance(node.func, ast.Name) else ""
    return refuse(context, fx, "unknown-call", node, f"the effects of `{name}` are unknown", advice)


def _is_array(kind: Kind | None) -> bool:
    return isinstance(kind, Array) and not kind.lists


def _without_rank(context: Context, node: ast.Call, path: str) -> ast.Name | None:
    """The first name of an array of unknown rank that a function of NumPy is given, where it is one that is
    analysed otherwise."""
    known = library.REDUCTIONS | library.STATISTICS | library.SHAPED | {"dot", "matmul", "outer"}
    if library.numpy_name(path) not in known:
        return None
    names = (n for one in node.args for n in ast.walk(one) if isinstance(n, ast.Name))
    return next((n for n in names if context.kind(n) == UNKNOWN and n.id not in context.unfollowed), None)


def without_rank(context: Context, node: ast.Name, fx: Effects) -> Expr:
    """Refuse an array of which nothing tells how many dimensions it has."""
    text = f"it cannot be told how many dimensions `{node.id}` has"
    advice = f"unpack its shape first, as in `n, m = {node.id}.shape`"
    return refuse(context, fx, "unknown-shape", node, text, advice)


def _of_method(context: Context, node: ast.Call, fx: Effects) -> Operand | None:
    """Result of a method of an array."""
    from polylsp.frontends.python.lower.elementwise import is_statistic
    from polylsp.frontends.python.lower.opaque import opaque
    from polylsp.frontends.python.lower.products import reduced

    return opaque(context, node, fx) if is_statistic(context, node) else reduced(context, node, fx)


def name_of(node: ast.Call) -> str:
    """Name of a call's function."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _known(context: Context, node: ast.Call, path: str, fx: Effects) -> Expr | None:
    if path == "len" and len(node.args) == 1:
        return _length(context, node.args[0], fx)
    if any(isinstance(context.kind(one), Array) for one in node.args):
        return _of_arrays(context, node, path, fx)
    if node.keywords or any(isinstance(one, ast.Starred) for one in node.args):
        return None
    if path in ("int", "float", "bool", "abs", "min", "max", "round", "pow", "complex"):
        return _builtin(context, node, path, fx)
    name = library.math_name(path)
    if name in DTYPES and len(node.args) == 1:
        return convert(_argument(context, node.args[0], fx), DTYPES[name])
    if library.is_pure(path):
        return _pure(context, node, name, fx)
    return None


def _length(context: Context, node: ast.expr, fx: Effects) -> Expr:
    from polylsp.frontends.python.lower.sections import lengths_of

    lengths = lengths_of(context, node)
    if lengths:
        return convert(lengths[0], INT)
    text = f"the length of `{context.text(node)}` is not known: {not_a_number(context, node)}"
    return refuse(context, fx, "unknown-shape", node, text, "use the length of an array")


def _of_arrays(context: Context, node: ast.Call, path: str, fx: Effects) -> Expr | None:
    """A number that is computed from all elements of arrays."""
    from polylsp.frontends.python.lower.products import reduced

    name = library.numpy_name(path)
    if name in library.STATISTICS:
        from polylsp.frontends.python.lower.opaque import opaque

        given = opaque(context, node, fx)
        return (
            given.at(()) if given is not None else Invariant(context.text(node), DOUBLE, context.site(node))
        )
    if library.computed(path) is not None and isinstance(context.kind(node), Number):
        from polylsp.frontends.python.lower.opaque import computed

        result = computed(context, node, fx)
        return (
            result.at(()) if result is not None else Invariant(context.text(node), DOUBLE, context.site(node))
        )
    reduces = name in library.REDUCTIONS or name in ("dot", "matmul") or path in ("sum", "min", "max")
    if not reduces or not isinstance(context.kind(node), Number):
        return None
    found = reduced(context, node, fx)
    return found.at(()) if found is not None else Invariant(context.text(node), DOUBLE, context.site(node))


def _argument(context: Context, node: ast.expr, fx: Effects) -> Expr:
    from polylsp.frontends.python.lower.expressions import value

    return value(context, node, fx)


def _builtin(context: Context, node: ast.Call, path: str, fx: Effects) -> Expr | None:
    arguments = [_argument(context, one, fx) for one in node.args]
    site = context.site(node)
    if path in ("min", "max"):
        if len(arguments) < 2:
            return None
        return reduce(lambda a, b: binary("min" if path == "min" else "max", a, b, site), arguments)
    if not arguments:
        return None
    first = arguments[0]
    of_type = number_type(first)
    match path:
        case "int" | "round" if len(arguments) == 1:
            whole = convert(first, INT) if isinstance(of_type, Integer) else None
            return whole or Call("trunc" if path == "int" else "round", (first,), True, INT, site)
        case "complex":
            return Call("complex", tuple(arguments), True, COMPLEX, site)
        case "float" if len(arguments) == 1:
            return convert(first, DOUBLE)
        case "bool" if len(arguments) == 1:
            return convert(first, INT)
        case "abs" if isinstance(of_type, Integer):
            return Call("abs", (first,), True, INT, site)
        case "abs":
            return Call("fabs", (first,), True, DOUBLE if of_type == COMPLEX else of_type, site)
        case _:
            result = wider(of_type, number_type(arguments[-1]))
            return Call(path, tuple(arguments), True, result, site)


def _pure(context: Context, node: ast.Call, name: str, fx: Effects) -> Expr:
    arguments = tuple(_argument(context, one, fx) for one in node.args)
    kind = context.kind(node)
    result = kind.type if isinstance(kind, Number) else DOUBLE
    site = context.site(node)
    if name in ("minimum", "maximum", "fmin", "fmax") and len(arguments) == 2:
        return binary("min" if "min" in name else "max", arguments[0], arguments[1], site)
    if name in ("abs", "absolute") and arguments and isinstance(arguments[0].type, Integer):
        return Call("abs", arguments, True, INT, site)
    return Call(name, arguments, True, INT if result == BOOL else result, site)
