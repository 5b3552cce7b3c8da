"""Assignments of whole arrays and of parts of them. The right-hand side is evaluated wholly before the first
store: where it may read elements that are stored to, its values go to a temporary first."""

from __future__ import annotations

import ast
from dataclasses import replace

from polylsp.frontends.python.lower.agreeing import agree_anew
from polylsp.frontends.python.lower.arithmetic import convert
from polylsp.frontends.python.lower.context import Context, Effects, refuse
from polylsp.frontends.python.lower.elementwise import Operand, Subscripts, element, operand
from polylsp.frontends.python.lower.expressions import IN_PLACE, operation
from polylsp.frontends.python.lower.implied import loops
from polylsp.frontends.python.lower.masks import masked, store_masked
from polylsp.frontends.python.lower.section import Section
from polylsp.frontends.python.lower.sections import section_of
from polylsp.frontends.python.lower.storage import stored
from polylsp.frontends.python.lower.storing import apart, overlaps, target_of
from polylsp.frontends.python.lower.temporaries import is_kept, temporary
from polylsp.model.program import (
    Assign,
    BinaryOperator,
    Call,
    Cast,
    Expr,
    Read,
    Statement,
)


def store(context: Context, target: ast.expr, given: ast.expr, node: ast.AST, fx: Effects) -> None:
    """`target = given`, where the target is a part of an array or a new array's name."""
    if masked(context, target):
        store_masked(context, target, given, node, fx)
        return
    section = target_of(context, target, fx)
    found = operand(context, given, fx) if section is not None else None
    if section is not None and found is not None and not fx.rejections:
        _run(context, section, None, found, node, fx)


def store_new(context: Context, target: ast.Name, given: ast.expr, node: ast.AST, fx: Effects) -> None:
    """`target = given`, where the name gets a new array, which is as long as the value."""
    found = operand(context, given, fx)
    array = stored(context, target.id)
    if found is None or array is None or fx.rejections:
        return
    if len(found.counts) == len(array.extents):
        if target.id in context.remade:
            if not agree_anew(context, array, found.counts):
                text = f"`{target.id}` gets arrays of different lengths"
                refuse(context, fx, "unknown-shape", node, text, "give each array a name of its own")
                return
        elif target.id in context.owned and all(is_kept(context, count) for count in found.counts):
            context.arrays[target.id] = replace(array, extents=found.counts)
        elif target.id in context.owned and context.depth and any(map(_is_unknown, found.counts)):
            # Each round may make an array of another length.
            counts = tuple(_noted(context, target, k, count, fx) for k, count in enumerate(found.counts))
            context.arrays[target.id] = replace(array, extents=counts)
        found = replace(found, counts=_target_counts(context, target, fx))
    section = section_of(context, target, fx) if array.kind.lists else target_of(context, target, fx)
    if section is not None:
        _run(context, section, None, found, node, fx)


def _is_unknown(count: Expr) -> bool:
    """True if a length is a function of values that is not modelled."""
    return isinstance(count, Call) or (isinstance(count, Cast) and _is_unknown(count.operand))


def _noted(context: Context, target: ast.Name, dimension: int, count: Expr, fx: Effects) -> Expr:
    """A length of a new array, as a value of the round that makes it."""
    site, text = context.site(target), f"{target.id}.shape[{dimension}]"
    place = temporary(context, count.type, text, site, fx.statements)
    fx.statements.append(Assign(place, None, count, site))
    return Read(place)


def _target_counts(context: Context, target: ast.Name, fx: Effects) -> Subscripts:
    section = section_of(context, target, fx)
    return section.counts if section is not None else ()


def store_in_place(context: Context, node: ast.AugAssign, fx: Effects) -> None:
    """`target op= value`, where the target is an array or a part of one."""
    if masked(context, node.target):
        whole = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
        store_masked(context, node.target, whole, node, fx)
        return
    section = target_of(context, node.target, fx)
    found = operand(context, node.value, fx) if section is not None else None
    if section is None or found is None or fx.rejections:
        return
    operator = IN_PLACE.get(type(node.op))
    if operator is not None:
        _run(context, section, operator, found, node, fx)
        return
    counts = section.counts
    if len(found.counts) > len(counts):
        _too_deep(context, node, fx)
        return
    whole = Operand(
        counts,
        lambda at: operation(
            context, node.value, node.op, Read(section.place(at)), element(context, found, counts, at), fx
        ),
    )
    _run(context, section, None, whole, node, fx)


def _run(
    context: Context,
    target: Section,
    operator: BinaryOperator | None,
    found: Operand,
    node: ast.AST,
    fx: Effects,
) -> None:
    """Store elements, by way of a temporary array where they depend on the elements stored to."""
    counts, of_type = target.counts, target.array.kind.element
    if len(found.counts) > len(counts):
        _too_deep(context, node, fx)
        return
    if overlaps(context, target, found):
        found = apart(context, found, counts, of_type, node, fx)
    site = context.site(node)

    def body(at: Subscripts) -> list[Statement]:
        stored = convert(element(context, found, counts, at), of_type)
        return [Assign(target.place(at), operator, stored, site)]

    fx.statements += loops(context, counts, node, body)


def _too_deep(context: Context, node: ast.AST, fx: Effects) -> None:
    text = f"`{context.text(node)}` stores an array of more dimensions than there are to store to"
    refuse(context, fx, "unknown-shape", node, text, "annotate the arrays with their shapes")
