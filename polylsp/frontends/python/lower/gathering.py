"""Elements that an array of subscripts takes."""

from __future__ import annotations

import ast

from polylsp.frontends.python.kinds import BOOL, INT, Array
from polylsp.frontends.python.lower.arithmetic import convert
from polylsp.frontends.python.lower.context import Context, Effects, refuse
from polylsp.frontends.python.lower.elementwise import Operand, Subscripts, operand
from polylsp.frontends.python.lower.section import Run
from polylsp.frontends.python.lower.sections import section_of, subscript
from polylsp.model.program import Expr, Integer, Read


def gathered(context: Context, node: ast.Subscript, fx: Effects) -> Operand | None:
    """The elements of an array whose subscripts another one holds."""
    by, base = context.kind(node.slice), section_of(context, node.value, fx)
    if context.mask and ast.dump(node.slice) == context.mask:
        return operand(context, node.value, fx)
    whole_numbers = isinstance(by, Array) and isinstance(by.element, Integer) and by.element != BOOL
    at = operand(context, node.slice, fx) if whole_numbers and base is not None else None
    if at is None or base is None or fx.rejections or not isinstance(base.runs[0], Run):
        if not fx.rejections:
            text = f"`{context.text(node)}` takes elements by an array"
            refuse(context, fx, "non-affine-subscript", node, text, "write a loop over its elements")
        return None
    first, rank = base.runs[0], len(at.counts)

    def element_at(subscripts: Subscripts) -> Expr:
        index = subscript(context, convert(at.at(subscripts[:rank]), INT), first)
        return Read(base.element(index).place(subscripts[rank:]))

    arrays = at.arrays | {base.array.variable.name}
    return Operand((*at.counts, *base.counts[1:]), element_at, arrays)
