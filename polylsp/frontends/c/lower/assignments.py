"""Assignments, increments, and expressions evaluated for their side effects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from pycparser import c_ast

from polylsp.frontends.c.lower import calls
from polylsp.frontends.c.lower.addresses import store
from polylsp.frontends.c.lower.context import Context, Effects, refuse
from polylsp.frontends.c.lower.order import note_change, settle
from polylsp.frontends.c.lower.places import place
from polylsp.frontends.c.lower.types import BOOL, INT, common, is_arithmetic, promote, spelling
from polylsp.frontends.c.lower.values import binary, convert, decayed, is_scalar
from polylsp.model.program import (
    Array,
    Assign,
    BinaryOperator,
    Block,
    Call,
    Constant,
    Evaluate,
    Expr,
    Field,
    Floating,
    If,
    Index,
    Invariant,
    Place,
    Pointer,
    Read,
    Site,
    Struct,
    Type,
)

_WHOLE_COPY_LIMIT = 64
_Pairs = list[tuple[Place, Place]]


def effect(context: Context, node: Any, fx: Effects) -> None:
    """Evaluate an expression and drop its value."""
    from polylsp.frontends.c.lower.expressions import value

    match node:
        case c_ast.Assignment():
            assignment(context, node, fx, used=False)
        case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--"):
            increment(context, node, fx, used=False)
        case c_ast.ExprList():
            for part in node.exprs:
                effect(context, part, fx.sequenced())
        case c_ast.FuncCall() if (fact := calls.fact(context, node, fx)) is not None:
            fx.statements.extend(fact)
        case c_ast.FuncCall():
            result = calls.call(context, node, fx)
            if isinstance(result, Call) and not result.pure:
                fx.statements.append(Evaluate(result, context.site(node)))
        case c_ast.Cast():
            effect(context, node.expr, fx)
        case c_ast.TernaryOp():
            _branches(context, node, node.cond, node.iftrue, node.iffalse, fx)
        case c_ast.BinaryOp(op="&&"):
            _branches(context, node, node.left, node.right, None, fx)
        case c_ast.BinaryOp(op="||"):
            _branches(context, node, node.left, None, node.right, fx)
        case _:
            settle(context, fx, value(context, node, fx))


def assignment(context: Context, node: Any, fx: Effects, used: bool) -> Expr:
    """`target = value` or `target op= value`; the value that the target then has."""
    from polylsp.frontends.c.lower.expressions import direct_value, value

    site = context.site(node)
    target = place(context, node.lvalue, fx)
    if target is None:
        effect(context, node.rvalue, fx)
        return Invariant(context.text(node), INT, site)
    lowering = direct_value if node.op == "=" else value
    result = lowering(context, node.rvalue, fx)
    calls.note_given(result, fx, kept=False)
    settle(context, fx, (result, *target.steps), target.variable)
    if not _fits(context, target, result, fx):
        return Invariant(context.text(node), INT, site)
    if node.op == "=":
        assign(context, target, result, site, fx)
    else:
        _update(target, cast(BinaryOperator, node.op[:-1]), result, site, fx)
    return _afterwards(target, node.op, result, fx) if used else Invariant("", INT, site)


def assign(context: Context, target: Place, value: Expr, site: Site, fx: Effects) -> None:
    """`target = value`, a structure member by member."""
    if isinstance(target.type, Struct) and isinstance(value, Read):
        _copy(context, target, value.place, site, fx)
        return
    converted = convert(value, target.type)
    store(context, target, converted)
    fx.statements.append(Assign(target, None, converted, site))


def increment(context: Context, node: Any, fx: Effects, used: bool) -> Expr:
    """`++x`, `x++` and their like; the value that C gives them."""
    site = context.site(node)
    target = place(context, node.expr, fx)
    if target is None or not _fits(context, target, None, fx):
        return Invariant(context.text(node), INT, site)
    operator: BinaryOperator = "+" if "+" in node.op else "-"
    one = _one(target.type, site)
    statements = fx.statements
    if used and node.op[0] == "p" and fx.after is not None:
        statements = fx.after
    _append_update(statements, target, operator, one, site)
    if not used:
        return one
    if not target.steps:
        note_change(fx, target.variable, 1)
    result = Read(Place(target.variable, target.steps, target.type, target.site))
    if node.op[0] != "p" or statements is fx.after:
        return result
    # The variable has its new value already: the old one is computed back, exactly.
    back: BinaryOperator = "-" if operator == "+" else "+"
    return convert(binary(back, result, one, site), target.type)


def _branches(context: Context, node: Any, test: Any, then: Any, otherwise: Any, fx: Effects) -> None:
    from polylsp.frontends.c.lower.expressions import condition

    decided = condition(context, test, fx)
    blocks: list[Block] = []
    for part in (then, otherwise):
        branch = fx.branch()
        if part is not None:
            effect(context, part, branch)
        blocks.append(Block(tuple(branch.statements)))
    if blocks[0].statements or blocks[1].statements:
        fx.statements.append(If(decided, blocks[0], blocks[1], context.site(node)))


def _update(target: Place, operator: BinaryOperator, value: Expr, site: Site, fx: Effects) -> None:
    _append_update(fx.statements, target, operator, value, site)


def _append_update(
    statements: list[Any], target: Place, operator: BinaryOperator, value: Expr, site: Site
) -> None:
    """`target operator= value`, the value converted to the type that C computes in."""
    if target.type == BOOL:
        statements.append(
            Assign(target, None, convert(binary(operator, Read(target), value, site), BOOL), site)
        )
        return
    if operator in ("<<", ">>") or isinstance(target.type, Pointer):
        value = convert(value, promote(value.type))
    else:
        value = convert(value, common(target.type, value.type))
    statements.append(Assign(target, operator, value, site))


def _one(type: Type, site: Site) -> Constant:
    return Constant(1.0, type, site) if isinstance(type, Floating) else Constant(1, INT, site)


def _fits(context: Context, target: Place, value: Expr | None, fx: Effects) -> bool:
    """True if the target can take the value; otherwise note a rejection."""
    fits = (
        is_scalar(target.type)
        if value is None
        else (
            (is_scalar(target.type) and is_scalar(value.type))
            or (isinstance(target.type, Struct) and target.type == value.type)
        )
    )
    if not fits and not fx.rejections:
        what = context.sites.text(target.site)
        message = f"`{what}` has the type `{spelling(target.type)}`, to which assignments are not analysed"
        refuse(fx, "unsupported-type", target.site, message)
    return fits


def _afterwards(target: Place, operator: str, value: Expr, fx: Effects) -> Expr:
    """The value of an assignment: the new value of its target."""
    if operator == "=" and isinstance(value, Constant) and is_arithmetic(target.type):
        if not target.steps:
            note_change(fx, target.variable, 0)
        return convert(value, target.type)
    if not target.steps:
        note_change(fx, target.variable, 1)
    return Read(target)


def _copy(context: Context, target: Place, source: Place, site: Site, fx: Effects) -> None:
    """A structure's members one by one, in their order."""
    pairs: _Pairs = []
    if not _leaves(context, target, source, site, pairs, fx):
        what = context.sites.text(source.site)
        message = f"`{what}` is copied whole, which is not analysed"
        refuse(fx, "unsupported-type", site, message, "copy the members that are needed")
        return
    for number, (written, read) in enumerate(pairs, start=1):
        target, value = _numbered(written, number), decayed(_numbered(read, number))
        store(context, target, value)
        fx.statements.append(Assign(target, None, value, replace(site, part=number)))


def _numbered(place: Place, number: int) -> Place:
    """A member's place, told apart from the others of the structure."""
    return replace(place, site=replace(place.site, part=number))


def _leaves(context: Context, target: Place, source: Place, site: Site, pairs: _Pairs, fx: Effects) -> bool:
    """Collect the scalars of two places of one type; whether that is possible."""
    steps: list[tuple[Field | Index, Type]]
    match target.type:
        case Struct(name=name, union=False) if name in context.structs:
            steps = [(entry.step, entry.type) for entry in context.structs[name]]
        case Array(element=element, extent=Constant(value=count)) if count <= _WHOLE_COPY_LIMIT:
            steps = [(Index(Constant(position, INT, site)), element) for position in range(int(count))]
        case _ if is_scalar(target.type):
            pairs.append((target, source))
            return len(pairs) <= _WHOLE_COPY_LIMIT
        case _:
            return False
    return all(
        _leaves(context, _part(target, step, type), _part(source, step, type), site, pairs, fx)
        for step, type in steps
    )


def _part(whole: Place, step: Field | Index, type: Type) -> Place:
    return Place(whole.variable, (*whole.steps, step), type, whole.site)
