"""Numbers as they are written."""

from __future__ import annotations

import ast


def constant(node: ast.expr) -> int | None:
    """A number that is written out."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return -value
        case _:
            return None
