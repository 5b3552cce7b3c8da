"""Operators: values of operands, and their side effects in C's order."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from polylsp.frontends.c.lower import assignments, conversions, expressions
from polylsp.frontends.c.lower.context import Context, Effects
from polylsp.frontends.c.lower.order import settle
from polylsp.frontends.c.lower.temporaries import assign_temporary, temporary
from polylsp.frontends.c.lower.types import INT, common, is_arithmetic
from polylsp.frontends.c.lower.values import binary, convert, is_scalar, negated, truth, unary
from polylsp.model.program import Block, Constant, Expr, If, Invariant, Pointer, Read, Select, Struct, Type


def unary_operation(context: Context, node: Any, fx: Effects) -> Expr:
    """An operator before or after one operand."""
    match node.op:
        case "&":
            return expressions.address(context, node, fx)
        case "!":
            return expressions.replace_site(negated(expressions.value(context, node.expr, fx)), context, node)
        case "++" | "--" | "p++" | "p--":
            return assignments.increment(context, node, fx, used=True)
        case "sizeof" | "_Alignof":
            return conversions.size_of(context, node)
        case _:
            operand = expressions.value(context, node.expr, fx)
            if not is_arithmetic(operand.type):
                return expressions.unsupported(
                    context, node, fx, f"`{node.op}` is applied to something that is no number"
                )
            return unary(node.op, operand, context.site(node))


def binary_operation(context: Context, node: Any, fx: Effects) -> Expr:
    """An operator between two operands."""
    site = context.site(node)
    if node.op in ("&&", "||"):
        return _logical(context, node, fx)
    left = expressions.value(context, node.left, fx)
    right = expressions.value(context, node.right, fx)
    if not (is_scalar(left.type) and is_scalar(right.type)):
        if not fx.rejections:
            expressions.unsupported(
                context, node, fx, "this operator is applied to something that is no number"
            )
        return Invariant(context.text(node), INT, site)
    return binary(node.op, left, right, site)


def _logical(context: Context, node: Any, fx: Effects) -> Expr:
    """`a && b`; where `b` does something, as `t = a; if (t) t = b;`."""
    first = fx.sequenced()
    left = truth(expressions.value(context, node.left, first))
    settle(context, first, left)
    branch = fx.branch()
    right = truth(expressions.value(context, node.right, branch))
    settle(context, branch, right)
    site = context.site(node)
    if not branch.statements:
        return binary(node.op, left, right, site)
    result = temporary(context, fx, INT, node)
    assign_temporary(fx.statements, result, left)
    assign_temporary(branch.statements, result, right)
    chosen = Read(result) if node.op == "&&" else negated(Read(result))
    fx.statements.append(If(truth(chosen), Block(tuple(branch.statements)), Block(), site))
    return truth(Read(result))


def select(context: Context, node: Any, fx: Effects) -> Expr:
    """`c ? a : b`; where `a` or `b` does something, as an `if` that sets a temporary. In `c ?: b`, which
    evaluates `c` once, that is its value too."""
    then_fx, else_fx = fx.branch(), fx.branch()
    if isinstance(node.iftrue, c_ast.ID) and node.iftrue.name == "__polylsp_same":
        inner = fx.sequenced()
        then = expressions.value(context, node.cond, inner)
        settle(context, inner, then)
        test = truth(then)
    else:
        test = expressions.condition(context, node.cond, fx)
        then = expressions.value(context, node.iftrue, then_fx)
    otherwise = expressions.value(context, node.iffalse, else_fx)
    settle(context, then_fx, then)
    settle(context, else_fx, otherwise)
    site = context.site(node)
    type = _common_type(then, otherwise)
    if isinstance(type, Struct) and not fx.rejections:
        expressions.unsupported(context, node, fx, "`?:` chooses between structures")
    then, otherwise = convert(then, type), convert(otherwise, type)
    if isinstance(test, Constant):
        chosen, kept = (then, then_fx) if test.value else (otherwise, else_fx)
        fx.statements.extend(kept.statements)
        return chosen
    if not then_fx.statements and not else_fx.statements:
        return Select(test, then, otherwise, type, site)
    result = temporary(context, fx, type, node)
    assign_temporary(then_fx.statements, result, then)
    assign_temporary(else_fx.statements, result, otherwise)
    fx.statements.append(If(test, Block(tuple(then_fx.statements)), Block(tuple(else_fx.statements)), site))
    return Read(result)


def _common_type(then: Expr, otherwise: Expr) -> Type:
    if is_arithmetic(then.type) and is_arithmetic(otherwise.type):
        return common(then.type, otherwise.type)
    return then.type if isinstance(then.type, Pointer) and not isinstance(then, Constant) else otherwise.type
