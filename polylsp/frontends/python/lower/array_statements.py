"""Assignments of whole arrays and of parts of them. The right-hand side is evaluated wholly before
anything is stored: where it may read what is stored, its values are kept apart first."""

from __future__ import annotations

import ast
from dataclasses import replace

from polylsp.frontends.python.kinds import BOOL, INT, Array, NumberType
from polylsp.frontends.python.lower.arithmetic import convert
from polylsp.frontends.python.lower.context import Context, Effects, refuse
from polylsp.frontends.python.lower.elementwise import Operand, Subscripts, element, operand
from polylsp.frontends.python.lower.expressions import IN_PLACE, operation
from polylsp.frontends.python.lower.implied import loops
from polylsp.frontends.python.lower.linear import without_sites
from polylsp.frontends.python.lower.reading import places_in
from polylsp.frontends.python.lower.section import Section
from polylsp.frontends.python.lower.sections import section_of
from polylsp.frontends.python.lower.storage import array_type, stored
from polylsp.frontends.python.lower.temporaries import is_kept
from polylsp.model.program import (
    Assign,
    BinaryOperator,
    Block,
    Declare,
    Expr,
    If,
    Index,
    Place,
    Read,
    Statement,
    Variable,
)


def store(context: Context, target: ast.expr, given: ast.expr, node: ast.AST, fx: Effects) -> None:
    """`target = given`, where the target is a part of an array or a new array's name."""
    mask = _mask(context, target)
    if mask is not None:
        _store_masked(context, mask, given, node, fx)
        return
    section = _target(context, target, fx)
    found = operand(context, given, fx) if section is not None else None
    if section is not None and found is not None and not fx.rejections:
        _run(context, section, None, found, node, fx)


def store_new(context: Context, target: ast.Name, given: ast.expr, node: ast.AST, fx: Effects) -> None:
    """`target = given`, where the name gets a new array, which is as long as what it is given."""
    found = operand(context, given, fx)
    array = stored(context, target.id)
    if found is None or array is None or fx.rejections:
        return
    if len(found.counts) == len(array.extents):
        if target.id in context.owned and all(is_kept(context, count) for count in found.counts):
            context.arrays[target.id] = replace(array, extents=found.counts)
        found = replace(found, counts=_target_counts(context, target, fx))
    section = _target(context, target, fx)
    if section is not None:
        _run(context, section, None, found, node, fx)


def _target_counts(context: Context, target: ast.Name, fx: Effects) -> Subscripts:
    section = section_of(context, target, fx)
    return section.counts if section is not None else ()


def store_in_place(context: Context, node: ast.AugAssign, fx: Effects) -> None:
    """`target op= value`, where the target is an array or a part of one."""
    section = _target(context, node.target, fx)
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


def _target(context: Context, node: ast.expr, fx: Effects) -> Section | None:
    found = section_of(context, node, fx)
    if found is None and not fx.rejections:
        text = f"what `{context.text(node)}` stores to is not known"
        refuse(context, fx, "unknown-shape", node, text, "write loops over its elements")
    return found


def _run(
    context: Context,
    target: Section,
    operator: BinaryOperator | None,
    found: Operand,
    node: ast.AST,
    fx: Effects,
) -> None:
    """Store elements, by way of an array of their own where they depend on what is stored."""
    counts, of_type = target.counts, target.array.kind.element
    if len(found.counts) > len(counts):
        _too_deep(context, node, fx)
        return
    if _overlaps(context, target, found):
        found = _kept(context, found, counts, of_type, node, fx)
    site = context.site(node)

    def body(at: Subscripts) -> list[Statement]:
        stored = convert(element(context, found, counts, at), of_type)
        return [Assign(target.place(at), operator, stored, site)]

    fx.statements += loops(context, counts, node, body)


def _too_deep(context: Context, node: ast.AST, fx: Effects) -> None:
    text = f"`{context.text(node)}` stores an array of more dimensions than there are to store to"
    refuse(context, fx, "unknown-shape", node, text, "annotate the arrays with their shapes")


def _overlaps(context: Context, target: Section, found: Operand) -> bool:
    """Whether an element may be read after it was stored for another one. It is not where each subscript
    that runs over elements is the same on both sides: then what is stored for one is read for that one alone,
    and before."""
    site = target.site
    at = tuple(
        Read(Place(Variable(f"at{k}", "", INT, "local"), (), INT, site)) for k in range(len(target.counts))
    )
    own = target.place(at).steps
    running = [len(target.array.steps) + k for k in target.running]
    return any(
        _is_shared(context, place.variable, target.array.variable)
        and (
            place.variable.name != target.array.variable.name
            or len(place.steps) != len(own)
            or any(without_sites(place.steps[k]) != without_sites(own[k]) for k in running)
        )
        for place in places_in(element(context, found, target.counts, at))
        if place.steps
    )


def _is_shared(context: Context, one: Variable, other: Variable) -> bool:
    """Whether two variables may lead to one array without anything being assumed."""
    return one.name == other.name or {one.name, other.name} <= context.aliased


def _kept(
    context: Context, found: Operand, counts: Subscripts, of_type: NumberType, node: ast.AST, fx: Effects
) -> Operand:
    """The values of an operand in an array of their own."""
    site = context.site(node)
    whole = array_type(Array(of_type, len(counts)), counts)
    variable = Variable(context.unused("values"), "the right-hand side", whole, "local")
    fx.statements.append(Declare(variable, site))

    def place(at: Subscripts) -> Place:
        return Place(variable, tuple(Index(one, None, k > 0) for k, one in enumerate(at)), of_type, site)

    def body(at: Subscripts) -> list[Statement]:
        return [Assign(place(at), None, convert(element(context, found, counts, at), of_type), site)]

    fx.statements += loops(context, counts, node, body)
    return Operand(counts, lambda at: Read(place(at)), found.arrays)


def _mask(context: Context, target: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The array and the condition of `a[a > 0]`."""
    if not isinstance(target, ast.Subscript):
        return None
    base, mask = context.kind(target.value), context.kind(target.slice)
    both = isinstance(base, Array) and isinstance(mask, Array) and base.rank == mask.rank
    return (target.value, target.slice) if both and _is_truth(mask) else None


def _is_truth(kind: object) -> bool:
    return isinstance(kind, Array) and kind.element == BOOL


def _store_masked(
    context: Context, mask: tuple[ast.expr, ast.expr], given: ast.expr, node: ast.AST, fx: Effects
) -> None:
    """`a[condition] = number`."""
    section = _target(context, mask[0], fx)
    condition, found = operand(context, mask[1], fx), operand(context, given, fx)
    if section is None or condition is None or found is None or fx.rejections:
        return
    counts, site = section.counts, context.site(node)
    if found.counts:
        text = f"`{context.text(node)}` takes values one after the other where a condition holds"
        refuse(context, fx, "unsupported-statement", node, text, "use `np.where`, or a loop")
        return
    if _overlaps(context, section, condition):
        condition = _kept(context, condition, counts, BOOL, node, fx)

    def body(at: Subscripts) -> list[Statement]:
        stored: Expr = convert(element(context, found, counts, at), section.array.kind.element)
        then = Block((Assign(section.place(at), None, stored, site),))
        return [If(element(context, condition, counts, at), then, Block(), site)]

    fx.statements += loops(context, counts, node, body)
