"""The arguments of a `range`, as they are written."""

from __future__ import annotations

import ast

from polylsp.frontends.python.literals import constant


def range_arguments(call: ast.expr) -> tuple[ast.expr, ast.expr, int] | None:
    """The first value, the bound that is not reached, and the step (1 or -1) of a range."""
    if not isinstance(call, ast.Call) or call.keywords or not 1 <= len(call.args) <= 3:
        return None
    if len(call.args) == 1:
        return ast.Constant(0), call.args[0], 1
    step = constant(call.args[2]) if len(call.args) == 3 else 1
    return (call.args[0], call.args[1], step) if step in (1, -1) else None


def successor(node: ast.expr) -> str:
    """The text of an expression and one more."""
    return moved(node, 1)


def moved(node: ast.expr, by: int) -> str:
    """The text of an expression with a number added."""
    number = constant(node)
    if number is not None:
        return str(number + by)
    match node:
        case ast.BinOp(left=left, op=ast.Sub() | ast.Add() as operation, right=right):
            more = constant(right)
            if more is not None:
                return _sum(ast.unparse(left), (more if isinstance(operation, ast.Add) else -more) + by)
        case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call() | ast.BinOp():
            pass
        case _:
            return _sum(f"({ast.unparse(node)})", by)
    return _sum(ast.unparse(node), by)


def _sum(text: str, number: int) -> str:
    return f"{text} {'+' if number > 0 else '-'} {abs(number)}" if number else text
