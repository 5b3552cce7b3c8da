"""Casts, and the sizes of types."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from polylsp.frontends.c.lower import expressions
from polylsp.frontends.c.lower.context import Context, Effects, refuse
from polylsp.frontends.c.lower.declarators import is_volatile, resolve
from polylsp.frontends.c.lower.literals import string
from polylsp.frontends.c.lower.types import BOOL, SIZE, VOID, alignment, offset_of, size, spelling
from polylsp.frontends.c.lower.values import convert, is_scalar, is_truth
from polylsp.model.program import Array, Constant, Expr, Invariant, Pointer, Struct, Type, Variable


def cast(context: Context, node: Any, fx: Effects) -> Expr:
    """`(type) operand`."""
    if is_volatile(context, node.to_type):
        message = f"`{context.text(node)}` makes the access `volatile`, so its order must be kept"
        refuse(fx, "volatile", context.site(node), message)
    to = resolve(context, node.to_type, fx)
    operand = expressions.direct_value(context, node.expr, fx)
    if not is_scalar(to) or not is_scalar(operand.type):
        if to != VOID and not fx.rejections:
            expressions.unsupported(context, node, fx, f"the conversion to `{spelling(to)}` is not analysed")
        return operand
    result = convert(operand, to)
    if isinstance(node.expr, c_ast.FuncCall) and not _is_pure(result):
        return result
    return expressions.replace_site(result, context, node) if to != BOOL or is_truth(result) else result


def _is_pure(expr: Expr) -> bool:
    return bool(getattr(expr, "pure", True))


def size_of(context: Context, node: Any) -> Expr:
    """`sizeof` or `_Alignof` of a type or of an expression, which is not evaluated."""
    site = context.site(node)
    operand = node.expr
    if isinstance(operand, c_ast.Typename):
        type = resolve(context, operand, Effects())
    else:
        type = _as_object(context, operand, expressions.type_of(context, operand))
    if node.op == "_Alignof":
        return Constant(alignment(type, context.structs), SIZE, site)
    if isinstance(operand, c_ast.Constant) and operand.type == "string":
        text = string(operand.value)
        return Constant(len(text) + 1 if text is not None else 8, SIZE, site)
    bytes = size(type, context.structs)
    return Constant(bytes, SIZE, site) if bytes is not None else Invariant(context.text(node), SIZE, site)


def _as_object(context: Context, operand: Any, type: Type) -> Type:
    """A parameter with brackets is a pointer, also to `sizeof`."""
    known = context.lookup(operand.name) if isinstance(operand, c_ast.ID) else None
    if isinstance(known, Variable) and known.storage == "parameter" and isinstance(type, Array):
        return Pointer(type.element)
    return type


def offset(context: Context, node: Any, fx: Effects) -> Expr:
    """`offsetof(type, member)`."""
    type = resolve(context, node.args.exprs[0], fx)
    member = node.args.exprs[1]
    site = context.site(node)
    if isinstance(type, Struct) and isinstance(member, c_ast.ID):
        found = offset_of(type, member.name, context.structs)
        if found is not None:
            return Constant(found, SIZE, site)
    return Invariant(context.text(node), SIZE, site)
