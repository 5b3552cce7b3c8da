"""Targets of array statements, and temporaries for values that must be complete before the first store."""

from __future__ import annotations

import ast

from polylsp.frontends.python.kinds import INT, Array, NumberType
from polylsp.frontends.python.lower.arithmetic import convert
from polylsp.frontends.python.lower.context import Context, Effects, refuse
from polylsp.frontends.python.lower.elementwise import Operand, Subscripts, element
from polylsp.frontends.python.lower.implied import loops
from polylsp.frontends.python.lower.linear import without_sites
from polylsp.frontends.python.lower.reading import places_in
from polylsp.frontends.python.lower.section import Section
from polylsp.frontends.python.lower.sections import section_of
from polylsp.frontends.python.lower.storage import array_type
from polylsp.model.program import Assign, Declare, Index, Place, Read, Statement, Variable


def target_of(context: Context, node: ast.expr, fx: Effects) -> Section | None:
    """The part of an array that a statement stores to."""
    found = section_of(context, node, fx)
    if found is not None and found.array.kind.lists:
        text = f"`{context.text(node)}` is a list, of which single elements alone are followed"
        refuse(context, fx, "unsupported-statement", node, text, "store its elements one by one")
        return None
    if found is None and not fx.rejections:
        text = f"what `{context.text(node)}` stores to is not known"
        refuse(context, fx, "unknown-shape", node, text, "write loops over its elements")
    return found


def overlaps(context: Context, target: Section, found: Operand) -> bool:
    """True if an element may be read after it was stored for another one. It is not where each subscript that
    runs over elements is the same on both sides: then the stored value is read for that element alone, and
    before."""
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
    """True if two variables may lead to one array without any assumption."""
    return one.name == other.name or {one.name, other.name} <= context.aliased


def apart(
    context: Context, found: Operand, counts: Subscripts, of_type: NumberType, node: ast.AST, fx: Effects
) -> Operand:
    """Values of an operand in a temporary array."""
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
