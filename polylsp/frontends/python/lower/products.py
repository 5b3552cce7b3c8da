"""Sums over dimensions: reductions, and products of matrices. Each is computed before the statement it stands
in, into a temporary array or number."""

from __future__ import annotations

import ast
from collections.abc import Callable

from polylsp.frontends.python import library
from polylsp.frontends.python.kinds import DOUBLE, Array, Number, NumberType, element_type
from polylsp.frontends.python.lower.arithmetic import binary, convert, quotient, whole
from polylsp.frontends.python.lower.context import Context, Effects, refuse
from polylsp.frontends.python.lower.elementwise import Operand, Subscripts, operand
from polylsp.frontends.python.lower.implied import loops
from polylsp.frontends.python.lower.storage import array_type
from polylsp.model.program import Array as ArrayType
from polylsp.model.program import (
    Assign,
    BinaryOperator,
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
        name = library.numpy_name(context.path(function)) or name
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


def _outer(context: Context, node: ast.expr, arguments: list[ast.expr], fx: Effects) -> Operand | None:
    a, b = operand(context, arguments[0], fx), operand(context, arguments[1], fx)
    if a is None or b is None or len(a.counts) != 1 or len(b.counts) != 1:
        return None
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
