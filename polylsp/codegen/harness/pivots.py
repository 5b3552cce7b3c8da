"""Matrices whose diagonal a function divides by, or takes the root of, as solvers do.

With arbitrary numbers, the results grow from row to row until they are infinite, or the root of a negative
number: then versions cannot be compared. A diagonal that outweighs its rows (Golub and Van Loan, Matrix
Computations, 4.1) keeps all results small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polylsp.analysis.effects import nodes, walk
from polylsp.codegen.harness.starts import variable_of
from polylsp.codegen.harness.storage import Storage
from polylsp.codegen.subject import Subject
from polylsp.model.expressions import subexpressions
from polylsp.model.program import Assign, Binary, Call, Expr, Floating, Index, Place, Read, Variable

_ROOTS = frozenset({"sqrt", "sqrtf", "sqrtl"})


def with_pivots(data: Storage, subject: Subject) -> Storage:
    """Arguments of the function, where some matrices have a heavy diagonal."""
    found = {data.number_at(place) for place in _pivots(subject)}
    memories = (
        replace(m, fill="positive-definite") if k in found and m.kind == "f" and m.fill == "random" else m
        for k, m in enumerate(data.memories)
    )
    return replace(data, memories=tuple(memories))


def _pivots(subject: Subject) -> Iterator[Place]:
    """The places on diagonals that something is divided by, also by way of a variable."""
    for node in (part for value in _divisors(subject) for part in subexpressions(value)):
        if isinstance(node, Read):
            values = [node] if node.place.steps else [a.value for a in subject.assigned(node.place.variable)]
            yield from (v.place for v in values if isinstance(v, Read) and _is_diagonal(v.place))


def _divisors(subject: Subject) -> Iterator[Expr]:
    """Divisors of real numbers, and operands of roots."""
    for statement in walk(subject.function.body):
        if isinstance(statement, Assign) and statement.operator == "/":
            yield statement.value
        for node in nodes(statement):
            match node:
                case Binary("/", _, right, Floating()):
                    yield right
                case Call(name, arguments) if name.rpartition(".")[2] in _ROOTS:
                    yield from arguments
                case _:
                    pass


def _is_diagonal(place: Place) -> bool:
    """True for `a[i][i]` and `a[i * n + i]`."""
    subscripts = [step.subscript for step in place.steps if isinstance(step, Index)]
    last = subscripts[-2:]
    if len(last) == 2:
        return variable_of(last[0]) is not None and variable_of(last[0]) == variable_of(last[1])
    match last:
        case [Binary("+", left, right)]:
            return _is_row(left, variable_of(right)) or _is_row(right, variable_of(left))
        case _:
            return False


def _is_row(value: Expr, row: Variable | None) -> bool:
    """True for the element offset of row `row`, a multiple of the row length."""
    match value:
        case Binary("*", left, right):
            return row is not None and row in (variable_of(left), variable_of(right))
        case _:
            return False
