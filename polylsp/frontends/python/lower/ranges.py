"""Ranges: where they start and stop, their steps, and how many values they have."""

from __future__ import annotations

import ast

from polylsp.frontends.python.kinds import INT, WHOLE
from polylsp.frontends.python.library import numpy_name
from polylsp.frontends.python.lower.arithmetic import binary, convert, floored, whole
from polylsp.frontends.python.lower.context import Context, Effects, refuse
from polylsp.frontends.python.lower.expressions import value
from polylsp.frontends.python.names import Value
from polylsp.frontends.python.usage import RANGES
from polylsp.model.program import Expr, Integer, Site


def is_range(context: Context, node: ast.Call) -> bool:
    """True for a range, and for `np.arange` of whole numbers, whose elements a loop takes one by one."""
    path = context.path(node.func)
    whole_numbers = bool(node.args) and all(context.kind(one) == WHOLE for one in node.args)
    return path in RANGES or (numpy_name(path) == "arange" and whole_numbers and not node.keywords)


def range_bounds(context: Context, node: ast.Call, fx: Effects) -> tuple[Expr, Expr, int] | None:
    """Start, stop and step of a range."""
    if node.keywords or not 1 <= len(node.args) <= 3 or any(isinstance(a, ast.Starred) for a in node.args):
        refuse(context, fx, "non-affine-bound", node, f"`{context.text(node)}` is not a range of numbers")
        return None
    values = [whole_number(context, one, fx) for one in node.args]
    if fx.rejections:
        return None
    step = _step(context, node.args[2]) if len(node.args) == 3 else 1
    if not step:
        text = f"the step `{context.text(node.args[2])}` of this range is not a constant"
        refuse(context, fx, "non-affine-bound", node.args[2], text, "write the step as a number")
        return None
    start = values[0] if len(values) > 1 else whole(0, context.site(node))
    return start, values[1] if len(values) > 1 else values[0], step


def whole_number(context: Context, node: ast.expr, fx: Effects) -> Expr:
    """A bound, which must be a whole number."""
    found = value(context, node, fx)
    if not isinstance(found.type, Integer) and not fx.rejections:
        text = f"`{context.text(node)}` is not known to be a whole number, so it cannot bound a range"
        return refuse(context, fx, "non-affine-bound", node, text, "annotate it with `int`")
    return convert(found, INT) if isinstance(found.type, Integer) and found.type != INT else found


def _step(context: Context, node: ast.expr) -> int | None:
    """A step that is a number, or a name that the file gives to one."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _step(context, node.operand)
        return -inner if inner is not None else None
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name) and node.id not in context.kinds.local:
        found = context.kinds.declarations.get(node.id)
        if isinstance(found, Value) and isinstance(found.constant, int):
            return found.constant
    return None


def count(start: Expr, stop: Expr, step: int, site: Site) -> Expr:
    """Number of values of a range, unless it is empty."""
    way = binary("-", stop, start, site) if step > 0 else binary("-", start, stop, site)
    size = abs(step)
    if size == 1:
        return way
    return floored("/", binary("+", way, whole(size - 1, site), site), whole(size, site), site)
