"""Lowering of Python calls: functions of numbers, functions of the file, and methods of `self`.

A method receives the object's arrays as additional arguments. Other calls are refused by name.
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.array_ranks import subscripted
from polylsp.frontends.python.kinds import (
    BOOL,
    COMPLEX,
    DOUBLE,
    DTYPES,
    INT,
    UNKNOWN,
    Array,
    Instance,
    Kind,
    Nothing,
    Number,
    wider,
)
from polylsp.frontends.python.lowering_scope import (
    Context,
    Effects,
    Stored,
    binary,
    convert,
    number_type,
    refuse,
)
from polylsp.frontends.python.names import Callable, ClassOf, Parameter, name_of
from polylsp.frontends.python.nodes import nodes_in, nodes_in_all
from polylsp.frontends.python.numpy_arguments import stored_arguments
from polylsp.frontends.python.places import array_type, base_of, not_a_number, place_of
from polylsp.ir.library import generator_obstacle, python_call_obstacle
from polylsp.ir.program import (
    AddressOf,
    Call,
    Constant,
    Expr,
    Index,
    Integer,
    Invariant,
    OtherType,
    Place,
    Pointer,
    Read,
)
from polylsp.ir.program import Array as ArrayType

if TYPE_CHECKING:
    from polylsp.frontends.python.array_expressions import Operand


def called(context: Context, node: ast.Call, declared: Callable, fx: Effects) -> Expr:
    """A call of a function of the file."""
    arguments = _matched(context, node, declared, fx)
    problem = "it calls itself" if declared.name == context.name else declared.problem
    if problem:
        refuse(context, fx, "unknown-call", node, f"`{declared.name}` is not followed: {problem}")
    passed = [
        _passed(context, given, parameter.kind, fx)
        for parameter, given in zip(declared.parameters, arguments, strict=False)
    ]
    return _result(context, node, declared, passed, fx)


def _result(context: Context, node: ast.Call, declared: Callable, passed: list[Expr], fx: Effects) -> Expr:
    """Result of a call."""
    result = declared.result
    of_type = result.type if isinstance(result, Number) else OtherType("None")
    if not isinstance(result, (Number, Nothing)):
        text = f"what `{declared.name}` returns is not a number"
        refuse(context, fx, "unsupported-type", node, text, "let it write into an array that it is given")
    return Call(declared.name, tuple(passed), False, of_type, context.site(node))


def method_of(context: Context, node: ast.Call) -> Callable | None:
    """The method of an object of a class of the file that a call names."""
    of = context.kind(node.func.value) if isinstance(node.func, ast.Attribute) else None
    found = context.kinds.declarations.get(of.name) if isinstance(of, Instance) else None
    is_class = isinstance(found, ClassOf) and isinstance(node.func, ast.Attribute)
    return found.method(node.func.attr) if is_class else None  # type: ignore[union-attr]


def method_called(context: Context, node: ast.Call, method: Callable, fx: Effects) -> Expr:
    """A call of a method of the `self` object: it gets the object's arrays as additional arguments, and uses
    the object's numbers under the names that they have here."""
    own, problem = _own(context, node), method.problem
    if not problem and (not own or method.parameters[0].name != own):
        problem = "it is not known which object this changes"
    if problem:
        return refuse(context, fx, "unknown-call", node, f"`{method.name}` is not followed: {problem}")
    arrays = {f"{own}.{name}": context.kinds.of_name(f"{own}.{name}") for name in method.uses}
    besides = tuple(Parameter(name, kind or UNKNOWN) for name, kind in arrays.items())
    given = [ast.keyword(name, ast.copy_location(ast.Name(name, ast.Load()), node.func)) for name in arrays]
    whole = ast.copy_location(ast.Call(node.func, node.args, [*node.keywords, *given]), node)
    return called(context, whole, replace(method, parameters=(*method.parameters[1:], *besides)), fx)


def _own(context: Context, node: ast.Call) -> str:
    """The name of the one object that a function is given, where a method of that one is called."""
    objects = [name for name, kind in context.kinds.own.items() if isinstance(kind, Instance)]
    of = node.func.value if isinstance(node.func, ast.Attribute) else None
    is_own = objects == [context.own] and isinstance(of, ast.Name) and of.id == context.own
    return context.own if is_own else ""


def _matched(context: Context, node: ast.Call, declared: Callable, fx: Effects) -> list[ast.expr]:
    """The arguments in the order of the parameters."""
    named = {k.arg: k.value for k in node.keywords if k.arg is not None}
    names = [one.name for one in declared.parameters]
    default = {one.name: one.default for one in declared.parameters if one.default is not None}
    left_out = {name: ast.copy_location(ast.Constant(value), node) for name, value in default.items()}
    given = {**left_out, **named}
    found = list(node.args) + [given[name] for name in names[len(node.args) :] if name in given]
    starred = len(named) < len(node.keywords) or any(isinstance(one, ast.Starred) for one in node.args)
    if starred or len(found) != len(names) or not named.keys() <= set(names):
        text = f"this call of `{declared.name}` does not give each of its {len(names)} parameters a value"
        refuse(context, fx, "unknown-call", node, text, "write all arguments")
    return found


def _passed(context: Context, node: ast.expr, wanted: object, fx: Effects) -> Expr:
    array = base_of(context, node)
    if array is not None:
        if not isinstance(wanted, Array) or wanted.rank != array.kind.rank:
            text = f"`{context.text(node)}` is passed for a parameter that is used as something else"
            return refuse(context, fx, "unsupported-type", node, text)
        return address(context, node, array)
    row = _row(context, node, wanted, fx)
    if row is not None:
        return row
    from polylsp.frontends.python.scalar_expressions import value

    given = value(context, node, fx)
    if not isinstance(wanted, Number):
        text = f"`{context.text(node)}` is passed for a parameter that is not a number"
        return refuse(context, fx, "unsupported-type", node, text)
    if isinstance(wanted.type, Integer) and not isinstance(given.type, Integer):
        text = f"`{context.text(node)}` is passed as a whole number, which it is not known to be"
        return refuse(context, fx, "unsupported-type", node, text)
    return convert(given, wanted.type)


def _row(context: Context, node: ast.expr, wanted: object, fx: Effects) -> Expr | None:
    """A part `a[i]` of an array as an argument: the address of its first element. `None` for any other
    expression, also one with slices."""
    kind = context.kind(node)
    if not isinstance(node, ast.Subscript) or not isinstance(kind, Array) or kind.lists:
        return None
    base, indices = subscripted(node)
    found = base_of(context, base)
    numbers = all(isinstance(context.kind(one), Number) for one in indices)
    if not numbers or found is None or not isinstance(wanted, Array) or wanted.rank != kind.rank:
        return None
    if found.kind.rank != len(indices) + kind.rank:
        return None
    first = node
    for _ in range(kind.rank):
        zero = ast.copy_location(ast.Constant(0), node)
        first = ast.copy_location(ast.Subscript(first, zero, ast.Load()), node)
    place = place_of(context, first, fx)
    if place is None or not all(isinstance(one, Index) for one in place.steps):
        return None
    left = found.extents[len(indices) + 1 :]
    of_type = array_type(kind, left) if left else place.type
    to_row = replace(place, steps=place.steps[: len(place.steps) - len(left)], type=of_type)
    return AddressOf(to_row, Pointer(of_type), context.site(node))


def address(context: Context, node: ast.expr, array: Stored) -> Expr:
    """An array as an argument, or as a value that a name is bound to."""
    site, variable = context.site(node), array.variable
    if isinstance(variable.type, Pointer) and not array.steps:
        return Read(Place(variable, (), variable.type, site))
    assert isinstance(variable.type, ArrayType)
    first = Index(Constant(0, INT, site))
    element = variable.type.element
    return AddressOf(Place(variable, (first,), element, site), Pointer(element), site)


# --------------------------------------------------------------------------------------------------
# Calls: numbers computed from numbers, functions of the file, and calls that are refused by name.
# --------------------------------------------------------------------------------------------------


def stores_to_argument(context: Context, node: ast.Call, fx: Effects) -> bool:
    """True for a call that changes elements of an argument, which is refused."""
    path = context.path(node.func)
    if not path and method_of(context, node) is not None:
        return False
    stored = next(iter(stored_arguments(path, node)), None)
    if stored is not None:
        text = f"`{name_of(node)}` stores to `{context.text(stored)}`"
        refuse(context, fx, "unknown-call", node, text, "write a loop over its elements")
    return stored is not None


def call(context: Context, node: ast.Call, fx: Effects) -> Expr:
    """The value of a call that gives a number."""
    path = context.path(node.func)
    if stores_to_argument(context, node, fx):
        return Invariant(context.text(node), DOUBLE, context.site(node))
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
    drawn = context.generator(node.func)
    known = generator_obstacle(name) if drawn is not None else python_call_obstacle(path, name)
    if known is not None:
        return refuse(context, fx, "unknown-call", node, known.reason, known.advice)
    if isinstance(node.func, ast.Name) and isinstance(context.kinds.declarations.get(name), ClassOf):
        return refuse(context, fx, "unknown-call", node, f"the effects of making a `{name}` are not analysed")
    return refuse_unknown(context, node, fx)


def refuse_unknown(context: Context, node: ast.Call, fx: Effects) -> Expr:
    """Refuse a call of a function of which nothing is known."""
    why, advice = _unknown_function(context, node.func)
    text = f"the effects of `{context.text(node.func)}` are unknown{why}"
    return refuse(context, fx, "unknown-call", node, text, advice)


def _unknown_function(context: Context, function: ast.expr) -> tuple[str, str]:
    """The reason why the function of a call is not known, as a clause, and what would tell it."""
    if isinstance(function, ast.Attribute) and ast.unparse(function.value) == "self":
        return ": it is an attribute or an inherited method", "call a function of this file by its own name"
    if not isinstance(function, ast.Name) or hasattr(builtins, function.id):
        return "", ""
    name = function.id
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef)
    inner = (n for n in nodes_in(context.parsed.tree) if isinstance(n, definitions))
    if any(one.name == name for one in inner):
        return (
            ": it is defined inside of a function",
            "define it outside, with parameters for what it uses",
        )
    if name in context.parameters:
        return ": it is a parameter", "call a function of this file by its own name"
    if name in context.kinds.local:
        return "", "call a function of this file by its own name"
    return "", f"define `{name}` in this file, or import it by its name"


def _is_array(kind: Kind | None) -> bool:
    return isinstance(kind, Array) and not kind.lists


def _without_rank(context: Context, node: ast.Call, path: str) -> ast.Name | None:
    """The first name of an array of unknown rank that a function of NumPy is given, where it is one that is
    analysed otherwise."""
    known = (
        numpy_functions.REDUCTIONS
        | numpy_functions.STATISTICS
        | numpy_functions.SHAPED
        | {"dot", "matmul", "outer"}
    )
    if numpy_functions.numpy_name(path) not in known and numpy_functions.computed(path) is None:
        return None
    names = (n for n in nodes_in_all(node.args) if isinstance(n, ast.Name) and not context.path(n))
    return next((n for n in names if context.kind(n) == UNKNOWN and n.id not in context.unfollowed), None)


def without_rank(context: Context, node: ast.Name, fx: Effects) -> Expr:
    """Refuse an array of which nothing tells how many dimensions it has."""
    text = f"it cannot be told how many dimensions `{node.id}` has"
    advice = f"unpack its shape first, as in `n, m = {node.id}.shape`"
    return refuse(context, fx, "unknown-shape", node, text, advice)


def _of_method(context: Context, node: ast.Call, fx: Effects) -> Operand | None:
    """Result of a method of an array."""
    from polylsp.frontends.python.array_expressions import is_statistic
    from polylsp.frontends.python.array_products import opaque, reduced

    return opaque(context, node, fx) if is_statistic(context, node) else reduced(context, node, fx)


def _known(context: Context, node: ast.Call, path: str, fx: Effects) -> Expr | None:
    if path == "len" and len(node.args) == 1:
        return _length(context, node.args[0], fx)
    if path == "float" and (written := _written_number(node)) is not None:
        return Constant(written, DOUBLE, context.site(node))
    if path in numpy_functions.THREADS and not node.args and not node.keywords:
        return Call(path, (), True, INT, context.site(node))
    if any(isinstance(context.kind(one), Array) for one in node.args):
        return _of_arrays(context, node, path, fx)
    if node.keywords or any(isinstance(one, ast.Starred) for one in node.args):
        return None
    if path in ("int", "float", "bool", "abs", "min", "max", "round", "pow", "complex"):
        return _builtin(context, node, path, fx)
    name = numpy_functions.math_name(path)
    if name in DTYPES and len(node.args) == 1:
        return convert(_argument(context, node.args[0], fx), DTYPES[name])
    if numpy_functions.is_pure(path):
        return _pure(context, node, name, fx)
    return None


def _written_number(node: ast.Call) -> float | None:
    """The number that a text stands for: `float("inf")`."""
    match node:
        case ast.Call(args=[ast.Constant(value=str(text))], keywords=[]):
            try:
                return float(text)
            except ValueError:
                return None
        case _:
            return None


def _length(context: Context, node: ast.expr, fx: Effects) -> Expr:
    from polylsp.frontends.python.array_sections import lengths_of

    lengths = lengths_of(context, node)
    if lengths:
        return convert(lengths[0], INT)
    text = f"the length of `{context.text(node)}` is not known: {not_a_number(context, node)}"
    return refuse(context, fx, "unknown-shape", node, text, "use the length of an array")


def _of_arrays(context: Context, node: ast.Call, path: str, fx: Effects) -> Expr | None:
    """A number that is computed from all elements of arrays."""
    from polylsp.frontends.python.array_products import reduced

    name = numpy_functions.numpy_name(path)
    if numpy_functions.is_statistic(name, node):
        from polylsp.frontends.python.array_products import opaque

        given = opaque(context, node, fx)
        return (
            given.at(()) if given is not None else Invariant(context.text(node), DOUBLE, context.site(node))
        )
    if numpy_functions.computed(path) is not None and isinstance(context.kind(node), Number):
        from polylsp.frontends.python.array_products import computed

        result = computed(context, node, fx)
        return (
            result.at(()) if result is not None else Invariant(context.text(node), DOUBLE, context.site(node))
        )
    reduces = name in numpy_functions.REDUCTIONS or name in ("dot", "matmul") or path in ("sum", "min", "max")
    if not reduces or not isinstance(context.kind(node), Number):
        return None
    found = reduced(context, node, fx)
    return found.at(()) if found is not None else Invariant(context.text(node), DOUBLE, context.site(node))


def _argument(context: Context, node: ast.expr, fx: Effects) -> Expr:
    from polylsp.frontends.python.scalar_expressions import value

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
