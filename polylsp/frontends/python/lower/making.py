"""Arrays that NumPy makes of shapes and numbers."""

from __future__ import annotations

import ast
from functools import reduce

from polylsp.frontends.python import library
from polylsp.frontends.python.call_kinds import shape_of
from polylsp.frontends.python.kinds import DOUBLE, INT, NATURAL, Array, Number, NumberType, wider
from polylsp.frontends.python.lists import filling, items, sizes
from polylsp.frontends.python.lower.arithmetic import binary, compared, convert, number_type, whole
from polylsp.frontends.python.lower.context import Context, Effects, refuse
from polylsp.frontends.python.lower.elementwise import Operand, Subscripts, number, operand
from polylsp.frontends.python.lower.expressions import value
from polylsp.frontends.python.lower.ranges import count
from polylsp.frontends.python.lower.section import is_zero
from polylsp.frontends.python.lower.temporaries import held
from polylsp.model.program import Call, Constant, Expr, Integer, Select


def made(context: Context, node: ast.Call, name: str, fx: Effects) -> Operand | None:
    """Array that a call creates; `None`, without a rejection in `fx`, where it takes another one as it is."""
    arguments = list(node.args)
    if name in ("array", "asarray"):
        of_list = bool(arguments) and isinstance(arguments[0], (ast.List, ast.Tuple))
        return _listed(context, node, fx) if of_list else None
    if name in ("eye", "identity") and len(arguments) == 1:
        return _identity(context, node, arguments[0], fx)
    if name == "linspace" and len(arguments) == 3:
        return _spaced(context, node, fx)
    if name == "arange":
        return _counted(context, node, fx)
    if name in library.MAKERS:
        return _filled(context, node, _shaped(context, node, fx), name)
    if name in library.LIKE_MAKERS and arguments:
        return _filled(context, node, operand(context, arguments[0], fx), name)
    return None


def _counted(context: Context, node: ast.Call, fx: Effects) -> Operand | None:
    """`np.arange(n)`, `np.arange(start, stop)` and `np.arange(start, stop, step)`."""
    if not 1 <= len(node.args) <= 3 or not all(isinstance(context.kind(one), Number) for one in node.args):
        return None
    bounds = [number(context, one, fx).at(()) for one in node.args]
    site = context.site(node)
    if len(bounds) == 1:
        bounds.insert(0, whole(0, site))
    start, stop, step = (*bounds, whole(1, site))[:3]
    kind = context.kind(node)
    of_type: NumberType = kind.element if isinstance(kind, Array) else DOUBLE
    if all(isinstance(one.type, Integer) for one in bounds) and isinstance(step, Constant) and step.value > 0:
        size = count(convert(start, INT), convert(stop, INT), int(step.value), site)
        found = convert(size, INT) if is_zero(start) else binary("max", size, whole(0, site), site)
    else:
        # How many there are depends on rounding.
        found = Call("arange", (start, stop, step), True, NATURAL, site)

    def at(subscripts: Subscripts) -> Expr:
        return convert(binary("+", start, binary("*", subscripts[0], step, site), site), of_type)

    return Operand((convert(found, INT),), at)


def _listed(context: Context, node: ast.Call, fx: Effects) -> Operand | None:
    """`np.array([x, y])`: which number is which element is not followed."""
    given = node.args[0]
    parts = given.elts if isinstance(given, (ast.List, ast.Tuple)) else []
    if not isinstance(context.kind(node), Array) or any(isinstance(one, ast.Starred) for one in parts):
        refuse(context, fx, "unsupported-type", node, f"`{context.text(node)}` is no array of numbers")
        return None
    values = [value(context, part, fx) for part in parts]
    kept_values = tuple(
        one if isinstance(one, Constant) else held(context, one, node, fx.statements) for one in values
    )
    kind, site = context.kind(node), context.site(node)
    of_type: NumberType = kind.element if isinstance(kind, Array) else DOUBLE
    return Operand(
        (whole(len(parts), site),), lambda at: Call("array", (*kept_values, *at), True, of_type, site)
    )


def listed(context: Context, node: ast.expr, fx: Effects) -> Operand | None:
    """The elements of a list that is made: one number everywhere, or numbers that are written out."""
    one, site = filling(node), context.site(node)
    if one is not None:
        counts = [value(context, size, fx) for size in sizes(node)]
        filled = value(context, one, fx)
        if not all(isinstance(count.type, Integer) for count in counts):
            text = f"the length of `{context.text(node)}` is not known"
            refuse(context, fx, "unknown-shape", node, text)
            return None
        fixed = filled if isinstance(filled, Constant) else held(context, filled, node, fx.statements)
        return Operand(tuple(convert(count, INT) for count in counts), lambda at: fixed)
    found = items(node)
    values = [value(context, each, fx) for each in found]
    if fx.rejections:
        return None
    # Which number is which element is not followed.
    fixed_values = tuple(
        each if isinstance(each, Constant) else held(context, each, node, fx.statements) for each in values
    )
    of_type = reduce(wider, (number_type(each) for each in values))
    counts = _lengths_written(node)
    return Operand(
        tuple(whole(count, site) for count in counts),
        lambda at: Call("list", (*fixed_values, *at), True, of_type, site),
    )


def _lengths_written(node: ast.expr) -> list[int]:
    if not isinstance(node, ast.List):
        return []
    return [len(node.elts), *_lengths_written(node.elts[0])]


def _identity(context: Context, node: ast.expr, size: ast.expr, fx: Effects) -> Operand | None:
    count = value(context, size, fx)
    if not isinstance(count.type, Integer):
        refuse(context, fx, "unknown-shape", node, f"the size `{context.text(size)}` is not known")
        return None
    length, site = convert(count, INT), context.site(node)
    kind = context.kind(node)
    of_type: NumberType = kind.element if isinstance(kind, Array) else DOUBLE
    one, nothing = convert(whole(1, site), of_type), convert(whole(0, site), of_type)
    return Operand(
        (length, length), lambda at: Select(compared("==", at[0], at[1], site), one, nothing, of_type, site)
    )


def _spaced(context: Context, node: ast.Call, fx: Effects) -> Operand | None:
    """`np.linspace(first, last, count)`."""
    bounds = [number(context, one, fx).at(()) for one in node.args]
    if not isinstance(bounds[2].type, Integer):
        refuse(context, fx, "unknown-shape", node, f"the length of `{context.text(node)}` is not known")
        return None
    kind, site = context.kind(node), context.site(node)
    of_type: NumberType = kind.element if isinstance(kind, Array) else DOUBLE
    return Operand(
        (convert(bounds[2], INT),), lambda at: Call("linspace", (*bounds, *at), True, of_type, site)
    )


def _shaped(context: Context, node: ast.Call, fx: Effects) -> Operand | None:
    """An array of the shape that a call asks for."""
    shape = shape_of(node)
    if shape is None:
        return None
    if isinstance(shape, ast.Attribute) and shape.attr == "shape":
        return operand(context, shape.value, fx)
    parts = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else [shape]
    counts = [value(context, part, fx) for part in parts]
    if not all(isinstance(count.type, Integer) for count in counts):
        refuse(context, fx, "unknown-shape", node, f"the shape `{context.text(shape)}` is not known")
        return None
    return Operand(tuple(convert(count, INT) for count in counts), lambda at: at[0])


def _filled(context: Context, node: ast.Call, like: Operand | None, name: str) -> Operand | None:
    """An array with one value everywhere."""
    if like is None:
        return None
    kind = context.kind(node)
    of_type: NumberType = kind.element if isinstance(kind, Array) else DOUBLE
    number = 1 if name.startswith("ones") else 0
    filled: Expr = Constant(float(number) if of_type == DOUBLE else number, of_type, context.site(node))
    if name.startswith("full") and len(node.args) > 1:
        inner = Effects()
        filled = convert(value(context, node.args[1], inner), of_type)
    return Operand(like.counts, lambda at: filled)
