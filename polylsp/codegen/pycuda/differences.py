"""Semantic differences between kernels and Python."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.analysis.effects import expressions, walk
from polylsp.codegen.cuda.launched import Launched
from polylsp.model.expressions import subexpressions
from polylsp.model.program import Binary, Call, Constant, Expr, Floating


def differences(found: Launched) -> Iterator[str]:
    """Remarks on numerical differences for the user."""
    values = [e for s in walk(*found.region.statements) for e in expressions(s)]
    if any(_may_fail(each) for value in values for each in subexpressions(value)):
        stops = "a division by zero, or at the root of a negative number"
        yield f"Where Python stops at {stops}, a GPU goes on with inf or nan."
    if any(each.memory.element == Floating(32) for each in found.memories.buffers):
        yield "The GPU computes with 64 bits where NumPy rounds to the type of an array."


def _may_fail(value: Expr) -> bool:
    match value:
        case Binary("/", _, right):
            return not isinstance(right, Constant)
        case Call():
            return True
        case _:
            return False
