"""The bounds of slices: which elements of a dimension `1:-1` and `::2` take."""

from __future__ import annotations

import ast

from polylsp.frontends.python.kinds import INT, Number
from polylsp.frontends.python.lower.arithmetic import binary, compared, convert, floored, whole
from polylsp.frontends.python.lower.context import Context, Effects, refuse
from polylsp.frontends.python.lower.linear import simplified
from polylsp.frontends.python.lower.natural import is_natural
from polylsp.frontends.python.lower.places import not_a_number
from polylsp.frontends.python.lower.section import Run, is_zero
from polylsp.model.program import Constant, Expr, Integer, Select, Site


def sliced(context: Context, node: ast.Slice, of: Run, fx: Effects) -> Run | None:
    """Elements of a run that a slice selects."""
    taken = _own(context, node, of, fx)
    if taken is None:
        return None
    site = taken.start.site
    start = taken.start if is_zero(of.start) and of.step == 1 else simplified(of.at(taken.start, site), site)
    return Run(of.dimension, start, taken.count, of.step * taken.step)


def _own(context: Context, node: ast.Slice, of: Run, fx: Effects) -> Run | None:
    """Elements of a dimension of the given length that a slice selects."""
    site = context.site(node) if node.lower or node.upper or node.step else of.count.site
    length = convert(of.count, INT)
    step = _step(node.step)
    if step is None or (step < 0 and (node.lower is not None or node.upper is not None)):
        text = f"the step of `{context.text(node)}` is not a positive number"
        refuse(context, fx, "non-affine-subscript", node, text, "write a loop over its elements")
        return None
    if step < 0:
        start = simplified(binary("-", length, whole(1, site), site), site)
        return Run(of.dimension, start, _shrunk(length, -step, site), step)
    start = _start(context, node.lower, length, fx) if node.lower is not None else whole(0, site)
    stop = _stop(context, node.upper, length, fx) if node.upper is not None else length
    count = simplified(binary("-", stop, start, site), site)
    return Run(of.dimension, start, _shrunk(count, step, site), step)


def _shrunk(count: Expr, step: int, site: Site) -> Expr:
    """Number of elements at every `step`-th position."""
    if step == 1:
        return count
    return floored("/", binary("+", count, whole(step - 1, site), site), whole(step, site), site)


def _step(node: ast.expr | None) -> int | None:
    if node is None:
        return 1
    try:
        found = ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
    return found if isinstance(found, int) and found != 0 else None


def _start(context: Context, node: ast.expr, length: Expr, fx: Effects) -> Expr:
    """Start of a slice, clamped to the start of the array."""
    bound, from_end = _bound(context, node, length, fx)
    return binary("max", bound, whole(0, bound.site), bound.site) if from_end else bound


def _stop(context: Context, node: ast.expr, length: Expr, fx: Effects) -> Expr:
    """Stop of a slice, clamped to the end of the array."""
    bound, from_end = _bound(context, node, length, fx)
    is_inside = from_end and not isinstance(bound, Select)
    return bound if is_inside else binary("min", bound, length, bound.site)


def _bound(context: Context, node: ast.expr, length: Expr, fx: Effects) -> tuple[Expr, bool]:
    """A bound of a slice, and whether it may count from the end, as a negative one does."""
    from polylsp.frontends.python.lower.expressions import value

    if isinstance(node, ast.Constant) and node.value is None:
        text = f"`{context.text(node)}` is no bound of a slice"
        return refuse(context, fx, "unsupported-statement", node, text, "leave it out"), False
    found = value(context, node, fx)
    if not isinstance(found.type, Integer):
        return refuse(context, fx, "non-affine-subscript", node, _not_whole(context, node)), False
    site = context.site(node)
    bound = convert(found, INT)
    if isinstance(bound, Constant) and bound.value < 0:
        return simplified(binary("+", length, bound, site), site), True
    if is_natural(bound, context.counted):
        return bound, False
    below = compared("<", bound, whole(0, site), site)
    counted = simplified(binary("+", length, bound, site), site)
    return Select(below, counted, bound, INT, site), True


def _not_whole(context: Context, node: ast.expr) -> str:
    kind = context.kind(node)
    if isinstance(kind, Number):
        return f"`{context.text(node)}` is not known to be a whole number"
    return not_a_number(context, node)
