"""Expressions: values without side effects, which are set apart in `Effects`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pycparser import c_ast

from polylsp.frontends.c.lower import assignments, calls, conversions, operators
from polylsp.frontends.c.lower.context import Context, Effects, Prototype, refuse
from polylsp.frontends.c.lower.declarators import FUNCTION
from polylsp.frontends.c.lower.literals import character, number, string
from polylsp.frontends.c.lower.order import settle
from polylsp.frontends.c.lower.places import place
from polylsp.frontends.c.lower.types import (
    CHAR,
    INT,
    LONG,
    spelling,
)
from polylsp.frontends.c.lower.values import (
    decayed,
    truth,
)
from polylsp.model.program import (
    AddressOf,
    Array,
    Constant,
    Expr,
    Invariant,
    OtherType,
    Pointer,
    Read,
    Type,
)


def value(context: Context, node: Any, fx: Effects) -> Expr:
    """Value of an expression; calls that may have side effects run before it is used."""
    return calls.held(context, direct_value(context, node, fx), node, fx)


def direct_value(context: Context, node: Any, fx: Effects) -> Expr:
    """The value of an expression; a call at its top stays a `Call`, to be used at once."""
    match node:
        case c_ast.Constant():
            return _literal(context, node, fx)
        case c_ast.ID():
            return _name(context, node, fx)
        case c_ast.ArrayRef() | c_ast.StructRef() | c_ast.UnaryOp(op="*") | c_ast.CompoundLiteral():
            return _read(context, node, fx)
        case c_ast.UnaryOp():
            return operators.unary_operation(context, node, fx)
        case c_ast.BinaryOp():
            return operators.binary_operation(context, node, fx)
        case c_ast.Assignment():
            return assignments.assignment(context, node, fx, used=True)
        case c_ast.TernaryOp():
            return operators.select(context, node, fx)
        case c_ast.ExprList():
            for part in node.exprs[:-1]:
                assignments.effect(context, part, fx.sequenced())
            return value(context, node.exprs[-1], fx)
        case c_ast.Cast():
            return conversions.cast(context, node, fx)
        case c_ast.FuncCall():
            return calls.call(context, node, fx)
        case _:
            return unsupported(context, node, fx, "this kind of expression is not analysed")


def condition(context: Context, node: Any, fx: Effects) -> Expr:
    """Condition that an expression is not zero, as a comparison or a logical operation."""
    inner = fx.sequenced()
    result = truth(value(context, node, inner))
    settle(context, inner, result)
    return result


def type_of(context: Context, node: Any) -> Type:
    """The type of an expression that is not evaluated; arrays do not decay."""
    fx = Effects()
    if isinstance(node, c_ast.ArrayRef | c_ast.StructRef | c_ast.ID) or getattr(node, "op", "") == "*":
        found = place(context, node, fx)
        if found is not None:
            return found.type
    return value(context, node, Effects()).type


def unsupported(context: Context, node: Any, fx: Effects, message: str) -> Expr:
    """Note a rejection, and stand-in value for the expression."""
    text = context.text(node)
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    refuse(fx, "unsupported-statement", context.site(node), f"{message}: `{shown}`")
    return Invariant(context.text(node), INT, context.site(node))


def _literal(context: Context, node: Any, fx: Effects) -> Expr:
    site = context.site(node)
    if node.type == "string":
        length = string(" ".join(context.sites.tokens[site.first : site.last + 1]))
        extent = Constant(len(length) + 1, LONG, site) if length is not None else None
        return Invariant(context.text(node), Pointer(Array(CHAR, extent).element), site)
    if node.type == "char":
        code = character(node.value)
        return Constant(code if code is not None else 0, INT, site)
    found = number(node.value)
    if found is None:
        return unsupported(context, node, fx, "this literal is not understood")
    return Constant(found[0], found[1], site)


def _name(context: Context, node: Any, fx: Effects) -> Expr:
    known = context.lookup(node.name)
    site = context.site(node)
    match known:
        case Constant():
            return replace(known, site=site)
        case Prototype():
            return Invariant(node.name, Pointer(FUNCTION), site)
        case _:
            return _read(context, node, fx)


def _read(context: Context, node: Any, fx: Effects) -> Expr:
    found = place(context, node, fx)
    if found is None:
        return Invariant(context.text(node), INT, context.site(node))
    if not found.steps and found.variable.name in context.known:
        return replace(context.known[found.variable.name], site=found.site)
    if isinstance(found.type, OtherType) and found.type != FUNCTION:
        message = f"`{context.text(node)}` has the type `{spelling(found.type)}`, which is not analysed"
        refuse(fx, "unsupported-type", found.site, message)
    return decayed(found)


def replace_site(expr: Expr, context: Context, node: Any) -> Expr:
    """The expression as spelled by `node`."""
    return expr if isinstance(expr, Read) else replace(expr, site=context.site(node))


def address(context: Context, node: Any, fx: Effects) -> Expr:
    """`&operand`."""
    site = context.site(node)
    if isinstance(node.expr, c_ast.ID) and isinstance(context.lookup(node.expr.name), Prototype):
        return Invariant(node.expr.name, Pointer(FUNCTION), site)
    found = place(context, node.expr, fx)
    if found is None:
        return Invariant(context.text(node), Pointer(INT), site)
    return AddressOf(found, Pointer(found.type), site)
