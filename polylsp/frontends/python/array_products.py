"""Lowering of reductions over dimensions and matrix products.

Each is computed before its statement, into a temporary array or number. A function of arrays whose
result is not modelled is a reduction that reads all of its arguments, with an unknown result.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.array_expressions import Operand, Subscripts, operand
from polylsp.frontends.python.kinds import DOUBLE, INT, NATURAL, Array, Number, NumberType, element_type
from polylsp.frontends.python.lowering_scope import (
    Context,
    Effects,
    binary,
    convert,
    loops,
    quotient,
    refuse,
    whole,
)
from polylsp.frontends.python.numpy_functions import arguments_of
from polylsp.frontends.python.places import array_type
from polylsp.ir.program import Array as ArrayType
from polylsp.ir.program import (
    Assign,
    BinaryOperator,
    Call,
    Constant,
    Declare,
    Expr,
    Floating,
    Index,
    Place,
    Read,
    Site,
    Variable,
)

_OPERATORS: dict[str, BinaryOperator] = {
    "sum": "+", "mean": "+", "prod": "*", "min": "min", "max": "max", "amin": "min", "amax": "max",
    "all": "&&", "any": "||",
}  # fmt: skip


def product(context: Context, node: ast.expr, left: ast.expr, right: ast.expr, fx: Effects) -> Operand | None:
    """`left @ right`."""
    a, b = operand(context, left, fx), operand(context, right, fx)
    if a is None or b is None or not 1 <= len(a.counts) <= 2 or not 1 <= len(b.counts) <= 2:
        if not fx.rejections:
            text = f"`{context.text(node)}` is a product of arrays that is not analysed"
            refuse(context, fx, "unsupported-statement", node, text)
        return None
    rows, columns = a.counts[:-1], b.counts[1:]
    site = context.site(node)

    def term(outer: Subscripts, inner: Subscripts) -> Expr:
        first = a.at((*outer[: len(rows)], *inner))
        second = b.at((*inner, *outer[len(rows) :]))
        return binary("*", first, second, site)

    counts = (*rows, *columns)
    return summed(context, node, "+", counts, a.counts[-1:], term, a.arrays | b.arrays, fx)


def reduced(context: Context, node: ast.Call, fx: Effects) -> Operand | None:
    """A reduction (`np.sum(a, axis=0)`, `a.max()`), `np.dot` or `np.outer`."""
    function = node.func
    assert isinstance(function, (ast.Attribute, ast.Name))
    name = function.attr if isinstance(function, ast.Attribute) else function.id
    arguments = list(node.args)
    if isinstance(function, ast.Attribute) and not context.path(function):
        arguments = [function.value, *arguments]
    if isinstance(function, ast.Name):
        name = numpy_functions.numpy_name(context.path(function)) or name
    if name in ("dot", "matmul") and len(arguments) == 2:
        return product(context, node, arguments[0], arguments[1], fx)
    if name == "outer" and len(arguments) == 2:
        return _outer(context, node, arguments, fx)
    of = operand(context, arguments[0], fx) if arguments else None
    axes = axes_of(node, arguments, len(of.counts)) if of is not None else None
    operator = _OPERATORS.get(name)
    named = {k.arg for k in node.keywords}
    if of is None or axes is None or operator is None or not named <= {"axis", "keepdims"}:
        if not fx.rejections:
            text = f"`{context.text(node)}` is a reduction in a form that is not analysed"
            refuse(context, fx, "unsupported-statement", node, text)
        return None
    kept = [k for k in range(len(of.counts)) if k not in axes]

    def term(outer: Subscripts, inner: Subscripts) -> Expr:
        at = dict(zip(kept, outer, strict=True)) | dict(zip(axes, inner, strict=True))
        return of.at(tuple(at[k] for k in range(len(of.counts))))

    counts = tuple(of.counts[k] for k in kept)
    over = tuple(of.counts[k] for k in axes)
    found = summed(context, node, operator, counts, over, term, of.arrays, fx)
    found = _divided(context, node, found, over) if name == "mean" else found
    return _keeping(context, node, found, axes, len(of.counts)) if "keepdims" in named else found


def _keeping(
    context: Context, node: ast.Call, of: Operand, axes: tuple[int, ...], rank: int
) -> Operand | None:
    """With the dimensions that a reduction runs over, of length one (`keepdims=True`)."""
    site = context.site(node)
    rest = iter(of.counts)
    counts = tuple(whole(1, site) if k in axes else next(rest) for k in range(rank))
    return Operand(counts, lambda at: of.at(tuple(x for k, x in enumerate(at) if k not in axes)), of.arrays)


def _divided(context: Context, node: ast.expr, of: Operand, over: Subscripts) -> Operand:
    site = context.site(node)
    size: Expr = whole(1, site)
    for count in over:
        size = binary("*", size, count, site)
    return Operand(of.counts, lambda at: quotient(of.at(at), size, site), of.arrays)


def _outer(context: Context, node: ast.Call, arguments: list[ast.expr], fx: Effects) -> Operand | None:
    a, b = operand(context, arguments[0], fx), operand(context, arguments[1], fx)
    if a is None or b is None or len(a.counts) != 1 or len(b.counts) != 1:
        return _refused(context, node, fx)
    site = context.site(node)
    counts, arrays = (*a.counts, *b.counts), a.arrays | b.arrays
    return Operand(counts, lambda at: binary("*", a.at(at[:1]), b.at(at[1:]), site), arrays)


def axes_of(node: ast.Call, arguments: list[ast.expr], rank: int) -> tuple[int, ...] | None:
    """The dimensions that a reduction runs over."""
    told = next((k.value for k in node.keywords if k.arg == "axis"), None)
    told = told or (arguments[1] if len(arguments) == 2 else None)
    if told is None:
        return tuple(range(rank)) if len(arguments) == 1 else None
    try:
        found = ast.literal_eval(told)
    except (ValueError, TypeError):
        return None
    if found is None:
        return tuple(range(rank))
    axes = found if isinstance(found, tuple) else (found,)
    if not all(isinstance(k, int) and -rank <= k < rank for k in axes):
        return None
    return tuple(sorted(k % rank for k in axes))


def summed(
    context: Context,
    node: ast.expr,
    operator: BinaryOperator,
    counts: Subscripts,
    over: Subscripts,
    term: Callable[[Subscripts, Subscripts], Expr],
    arrays: frozenset[str],
    fx: Effects,
) -> Operand:
    """An array of sums, worked out among the effects of the expression."""
    if not fx.certain:
        text = f"`{context.text(node)}` is worked out only sometimes within this expression"
        refuse(context, fx, "unsupported-statement", node, text, "assign it in a line of its own")
    kind = context.kind(node)
    element: NumberType = DOUBLE
    if isinstance(kind, Number):
        element = kind.type
    elif isinstance(kind, Array):
        element = element_type(kind.element)
    site = context.site(node)
    place = _result(context, node, element, counts, fx)
    start = Constant(_neutral(operator, element), element, site)

    def body(outer: Subscripts) -> list[object]:
        target = place(outer)
        inner = loops(
            context,
            over,
            node,
            lambda at: [_added(target, operator, convert(term(outer, at), element), site)],
        )
        return [Assign(target, None, start, site), *inner]

    fx.statements += loops(context, counts, node, body) if counts else body(())  # type: ignore[arg-type]
    return Operand(counts, lambda at: Read(place(at)), arrays)


def _added(target: Place, operator: BinaryOperator, term: Expr, site: Site) -> Assign:
    return Assign(target, operator, term, site)


def _result(
    context: Context, node: ast.expr, element: NumberType, counts: Subscripts, fx: Effects
) -> Callable[[Subscripts], Place]:
    """A place for each of the sums."""
    site = context.site(node)
    of_type = array_type(Array(element, len(counts)), counts) if counts else element
    variable = Variable(context.unused("sums"), context.text(node), of_type, "local")
    fx.statements.append(Declare(variable, site))
    assert not counts or isinstance(of_type, ArrayType)

    def place(at: Subscripts) -> Place:
        steps = tuple(Index(one, None, k > 0) for k, one in enumerate(at))
        return Place(variable, steps, element, site)

    return place


def _neutral(operator: BinaryOperator, element: NumberType) -> int | float:
    """Neutral element of a reduction."""
    if operator in ("min", "max"):
        large = float("inf") if isinstance(element, Floating) else 1 << 62
        return large if operator == "min" else -large
    return int(operator in ("*", "&&"))


# --------------------------------------------------------------------------------------------------
# Functions of arrays whose results are not modelled, but whose reads are: all of their arguments. A
# sum stands for that, of which the result is an unknown function.
# --------------------------------------------------------------------------------------------------


_HARMLESS = frozenset(("axis", "k", "ddof", "kind"))
"""Arguments by name that say how, not where to."""


def opaque(context: Context, node: ast.Call, fx: Effects) -> Operand | None:
    """Result of a function that reads all of its array."""
    name, arguments = _called(context, node)
    of = operand(context, arguments[0], fx) if arguments else None
    named = {keyword.arg for keyword in node.keywords}
    others = [one for one in arguments[1:] if not isinstance(context.kind(one), Number)]
    if of is None or others or not named <= _HARMLESS:
        return _refused(context, node, fx)
    if name in numpy_functions.SHAPED:
        return _shaped(context, node, name, of, fx)
    return _reduced(context, node, name, of, fx)


def computed(context: Context, node: ast.Call, fx: Effects) -> Operand | None:
    """New value that a function computes of all its arguments: its elements are unknown functions of them."""
    path, kind, site = context.path(node.func), context.kind(node), context.site(node)
    rule = numpy_functions.computed(path)
    if not isinstance(kind, (Array, Number)):
        return _refused(context, node, fx)
    digests: list[Expr] = []
    shapes: dict[int, Subscripts] = {}
    arrays = frozenset[str]()
    for one in arguments_of(node):
        if isinstance(one, ast.Constant) and not isinstance(one.value, (int, float, complex)):
            continue
        of = operand(context, one, fx)
        if of is None:
            return _refused(context, node, fx)
        shapes[id(one)] = of.counts
        arrays |= of.arrays
        digests.append(convert(_digest(context, node, of, fx).at(()), DOUBLE))
    of_type, given = _element(context, node), tuple(digests)
    text = context.text(node)
    if isinstance(rule, int) and isinstance(kind, Array):
        counts = shapes[id(node.args[rule])]
    else:
        rank = kind.rank if isinstance(kind, Array) else 0
        sizes = (Call(f"shape({text})", (*given, whole(k, site)), True, NATURAL, site) for k in range(rank))
        counts = tuple(convert(size, INT) for size in sizes)
    return Operand(counts, lambda at: Call(path, (*given, *at), True, of_type, site), arrays)


def _digest(context: Context, node: ast.Call, of: Operand, fx: Effects) -> Operand:
    """Number that stands for all elements of an array."""
    if not of.counts:
        return of
    return summed(context, node, "+", (), of.counts, lambda _, inner: of.at(inner), of.arrays, fx)


def _called(context: Context, node: ast.Call) -> tuple[str, list[ast.expr]]:
    """The name of a function and its arguments, the object of a method first."""
    path = numpy_functions.numpy_name(context.path(node.func))
    if path or not isinstance(node.func, ast.Attribute):
        return path, list(node.args)
    return node.func.attr, [node.func.value, *node.args]


def _refused(context: Context, node: ast.Call, fx: Effects) -> None:
    if not fx.rejections:
        text = f"`{context.text(node)}` is called in a form that is not analysed"
        refuse(context, fx, "unsupported-statement", node, text, "write a loop over its elements")


def _shaped(context: Context, node: ast.Call, name: str, of: Operand, fx: Effects) -> Operand:
    """An array each element of which may depend on all of another one."""

    def term(_: Subscripts, inner: Subscripts) -> Expr:
        return of.at(inner)

    everything = summed(context, node, "+", (), of.counts, term, of.arrays, fx)
    of_type, site = _element(context, node), context.site(node)
    digest = convert(everything.at(()), DOUBLE)
    return Operand(of.counts, lambda at: Call(name, (digest, *at), True, of_type, site), of.arrays)


def _reduced(context: Context, node: ast.Call, name: str, of: Operand, fx: Effects) -> Operand | None:
    """Numbers each of which may depend on all elements along some dimensions."""
    arguments = _called(context, node)[1]
    axes = axes_of(node, arguments, len(of.counts))
    if axes is None:
        return _refused(context, node, fx)
    kept = [k for k in range(len(of.counts)) if k not in axes]

    def term(outer: Subscripts, inner: Subscripts) -> Expr:
        at = dict(zip(kept, outer, strict=True)) | dict(zip(axes, inner, strict=True))
        return of.at(tuple(at[k] for k in range(len(of.counts))))

    counts, over = tuple(of.counts[k] for k in kept), tuple(of.counts[k] for k in axes)
    found = summed(context, node, "+", counts, over, term, of.arrays, fx)
    of_type, site = _element(context, node), context.site(node)
    return Operand(counts, lambda at: Call(name, (found.at(at),), True, of_type, site), of.arrays)


def _element(context: Context, node: ast.expr) -> NumberType:
    kind = context.kind(node)
    if isinstance(kind, Array):
        return element_type(kind.element)
    return kind.type if isinstance(kind, Number) else DOUBLE
