"""Arrays that say where rows start, as in sparse matrices: `for (k = s[i]; k < s[i + 1]; k++)`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from polylsp.analysis.effects import loops_in
from polylsp.codegen.harness.members import spelling, structures_of
from polylsp.codegen.harness.storage import Storage
from polylsp.codegen.subject import Subject
from polylsp.model.expressions import bare
from polylsp.model.program import (
    Assign,
    Binary,
    Constant,
    Expr,
    Index,
    Integer,
    Loop,
    Place,
    Read,
    Variable,
)

PER_ROW = 8
"""Default number of elements of a row."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The elements of memory `starts` are where an iterator begins and ends; `places` are those that have it
    as their subscript number `step`, and nothing else in it. `loop` is the number of the loop."""

    starts: int
    loop: int
    places: tuple[tuple[Place, int], ...]


def rows(subject: Subject, data: Storage, places: list[Place]) -> Iterator[Rows]:
    """The loops over rows. An iterator that only ever gets elements of the array, or counts upwards, stays
    below the largest of them."""
    for loop in loops_in(subject.function.body):
        found = _bound(subject, data, loop)
        if found is not None:
            number, iterator = found
            used = [(p, k) for p in places for k, step in enumerate(p.steps) if _is(step, iterator)]
            yield Rows(number, loop.ordinal, tuple(used))


def with_rows(data: Storage, found: Iterable[Rows]) -> Storage:
    """Arguments of the function, where some memories contain the starts of rows."""
    starts = {each.starts for each in found}
    memories = (replace(m, fill="ascending") if k in starts else m for k, m in enumerate(data.memories))
    return replace(data, memories=tuple(memories))


def _bound(subject: Subject, data: Storage, loop: Loop) -> tuple[int, Variable] | None:
    """The memory whose element ends a loop, and the iterator."""
    match loop.condition:
        case Binary("<", left, right):
            iterator, number = variable_of(left), _ends(subject, data, right)
        case _:
            return None
    if iterator is None or number is None or iterator.storage != "local" or iterator.escapes:
        return None
    if data.memories[number].written:
        return None
    assigned = subject.assigned(iterator)
    return (number, iterator) if all(_stays(each, iterator, number, data) for each in assigned) else None


def _ends(subject: Subject, data: Storage, value: Expr) -> int | None:
    """The memory that an expression is an element of, also by way of a variable."""
    variable = variable_of(value)
    if variable is None or variable.storage != "local" or variable.escapes:
        return _element(value, data)
    assigned = subject.assigned(variable)
    found = {_element(each.value, data) for each in assigned if each.operator is None}
    is_plain = len(found) == 1 and all(each.operator is None for each in assigned)
    return next(iter(found)) if is_plain else None


def _stays(assign: Assign, iterator: Variable, number: int, data: Storage) -> bool:
    """True if an iterator is incremented, or gets an element of the array or a non-negative number."""
    value = bare(assign.value)
    if assign.operator is not None:
        return assign.operator == "+" and _is_natural(value)
    match value:
        case Binary("+", left, right):
            return variable_of(left) == iterator and _is_natural(bare(right))
        case _:
            return _is_natural(value) or _element(value, data) == number


def _is_natural(value: Expr) -> bool:
    return isinstance(value, Constant) and value.value >= 0


def _element(value: Expr, data: Storage) -> int | None:
    """The memory that an expression is an element of."""
    value = bare(value)
    if not isinstance(value, Read) or not isinstance(value.type, Integer):
        return None
    subscripts = [each for each in value.place.steps if isinstance(each, Index)]
    # Of a member, the first subscripts are those of the structures themselves.
    is_element = len(subscripts) == 1 + structures_of(spelling(value.place) or "")
    return data.number_at(value.place) if is_element else None


def _is(step: object, iterator: Variable) -> bool:
    return isinstance(step, Index) and variable_of(step.subscript) == iterator


def variable_of(value: Expr) -> Variable | None:
    """The variable that a whole number is, if it is nothing else."""
    value = bare(value)
    is_whole = isinstance(value, Read) and not value.place.steps
    return value.place.variable if is_whole and isinstance(value, Read) else None
