"""Statements that store where a condition holds: `a[a > 0] = …`."""

from __future__ import annotations

import ast

from polylsp.frontends.python import library
from polylsp.frontends.python.kinds import BOOL, Array, Number
from polylsp.frontends.python.lower.arithmetic import convert
from polylsp.frontends.python.lower.context import Context, Effects, refuse
from polylsp.frontends.python.lower.elementwise import Operand, Subscripts, element, operand
from polylsp.frontends.python.lower.implied import loops
from polylsp.frontends.python.lower.storing import apart, overlaps, target_of
from polylsp.model.program import Assign, Block, Expr, If, Statement


def masked(context: Context, target: ast.expr) -> bool:
    """True if a target selects the elements of an array by a mask of the same rank."""
    if not isinstance(target, ast.Subscript):
        return False
    base, mask = context.kind(target.value), context.kind(target.slice)
    both = isinstance(base, Array) and isinstance(mask, Array) and base.rank == mask.rank
    return both and isinstance(mask, Array) and mask.element == BOOL


def store_masked(context: Context, target: ast.expr, given: ast.expr, node: ast.AST, fx: Effects) -> None:
    """`a[condition] = x`, where `x` is a number, or computed from elements of other arrays under the same
    mask."""
    assert isinstance(target, ast.Subscript)
    section = target_of(context, target.value, fx)
    condition = operand(context, target.slice, fx)
    found = _stored(context, given, ast.dump(target.slice), fx)
    if section is None or condition is None or found is None or fx.rejections:
        return
    counts, site = section.counts, context.site(node)
    if found.counts and (len(found.counts) != len(counts) or overlaps(context, section, found)):
        _refused(context, node, fx)
        return
    if overlaps(context, section, condition):
        condition = apart(context, condition, counts, BOOL, node, fx)

    def body(at: Subscripts) -> list[Statement]:
        stored: Expr = convert(element(context, found, counts, at), section.array.kind.element)
        then = Block((Assign(section.place(at), None, stored, site),))
        return [If(element(context, condition, counts, at), then, Block(), site)]

    fx.statements += loops(context, counts, node, body)


def _stored(context: Context, given: ast.expr, mask: str, fx: Effects) -> Operand | None:
    """Value to store for each element, without regard to the condition."""
    if isinstance(context.kind(given), Number):
        return operand(context, given, fx)
    if not _follows(context, given, mask):
        _refused(context, given, fx)
        return None
    context.mask = mask
    found = operand(context, given, fx)
    context.mask = ""
    return found


def _follows(context: Context, node: ast.expr, mask: str) -> bool:
    """True if each element of an expression depends on array elements under the same condition alone."""
    match node:
        case ast.Subscript(slice=by) if ast.dump(by) == mask:
            return True
        case ast.BinOp(left=left, op=operator, right=right) if not isinstance(operator, ast.MatMult):
            return _follows(context, left, mask) and _follows(context, right, mask)
        case ast.UnaryOp(operand=inner):
            return _follows(context, inner, mask)
        case ast.Call(func=function, args=arguments, keywords=[]) if library.is_pure(context.path(function)):
            return all(_follows(context, one, mask) for one in arguments)
        case _:
            inner = (n for n in ast.walk(node) if isinstance(n, ast.Subscript))
            plain = all(ast.dump(n.slice) != mask for n in inner)
            return plain and isinstance(context.kind(node), Number)


def _refused(context: Context, node: ast.AST, fx: Effects) -> None:
    text = f"`{context.text(node)}` takes values one after the other where a condition holds"
    refuse(context, fx, "unsupported-statement", node, text, "use `np.where`, or a loop")
