"""Passes over memory of array statements, and the temporary arrays that they make.

NumPy evaluates an array expression one operation at a time, each over whole arrays, and stores its result in
a new array (Walt, Colbert and Varoquaux, Computing in Science & Engineering 2011).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polylsp.ir.effects import walk
from polylsp.ir.program import (
    Assign,
    Binary,
    Block,
    Call,
    Declare,
    Expr,
    Function,
    Loop,
    Place,
    Read,
    Select,
    Site,
    Statement,
    Unary,
    subexpressions,
    subscripts,
)
from polylsp.model.facts import ArrayStatements

_FEWEST_TEMPORARIES = 3
"""Temporary arrays that are worth a finding."""


def array_statements(function: Function) -> tuple[ArrayStatements, ...]:
    """The array statements of a function that follow one another, where together they make several temporary
    arrays."""
    runs = {run for each in walk(function.body) if isinstance(each, Block) for run in _runs(each)}
    found: list[ArrayStatements] = []
    for run in sorted(runs, key=lambda one: (one.site.first, -one.site.last)):
        # Blocks stand in blocks: the longest run has all statements of those inside.
        if not found or run.site.first > found[-1].site.last:
            found.append(run)
    return tuple(run for run in found if run.temporaries >= _FEWEST_TEMPORARIES)


def _runs(block: Block) -> Iterator[ArrayStatements]:
    """The runs of array statements in a block itself, the longest ones."""
    run: list[tuple[Loop, Assign]] = []
    for each in _flat(block.statements):
        found = _of_array(each)
        if found is not None:
            run.append(found)
        elif run and not _prepares(each):
            yield _counted(run)
            run = []
    if run:
        yield _counted(run)


def _flat(statements: Sequence[Statement]) -> Iterator[Statement]:
    for each in statements:
        if isinstance(each, Block):
            yield from _flat(each.statements)
        else:
            yield each


def _prepares(statement: Statement) -> bool:
    """True if a statement belongs to an array statement after it: it declares or starts a counter."""
    if isinstance(statement, Assign):
        return not statement.target.steps and _is_counter(statement.target)
    return isinstance(statement, Declare)


def _is_counter(place: Place) -> bool:
    """True for counters of array statements, whose names no source has."""
    return "@@" in place.variable.name


def _of_array(statement: Statement) -> tuple[Loop, Assign] | None:
    """The outermost loop and the assignment of an array statement that stores one value to each element."""
    if not isinstance(statement, Loop) or not statement.implied:
        return None
    inside = [each for each in _flat(statement.body.statements) if not _prepares(each)]
    if len(inside) != 1:
        return None
    if isinstance(inside[0], Assign):
        return (statement, inside[0]) if inside[0].target.steps else None
    found = _of_array(inside[0])
    return (statement, found[1]) if found is not None else None


def _counted(run: Sequence[tuple[Loop, Assign]]) -> ArrayStatements:
    passes = temporaries = 0
    for _, assign in run:
        operations = sum(_is_pass(each) for each in subexpressions(assign.value))
        stores = assign.operator is not None or not operations or _is_part(assign)
        passes += operations + stores
        temporaries += operations - (not stores)
    first, last = run[0][0], run[-1][0]
    site = Site(first.site.first, last.site.last)
    names = [assign.target.variable.source_name for _, assign in run]
    like = next((each for each in names if " " not in each), names[-1])
    # A statement that reads what it stores is two: its values are there before they are stored.
    count = len({loop.site for loop, _ in run})
    return ArrayStatements(first.ordinal, site, count, passes, temporaries, like)


def _is_part(assign: Assign) -> bool:
    """True if the values are copied to an array that was there before: a new one is the last operation's
    result."""
    return assign.target.variable.storage != "local"


def _is_pass(value: Expr) -> bool:
    """True if an operation is one over arrays."""
    return isinstance(value, (Unary, Binary, Call, Select)) and _reads_elements(value)


def _reads_elements(value: Expr) -> bool:
    """True if a value depends on an element that a counter of an array statement chooses."""
    reads = (each for each in subexpressions(value) if isinstance(each, Read) and each.place.steps)
    return any(
        _is_counter(inner.place)
        for each in reads
        for subscript in subscripts(each.place)
        for inner in subexpressions(subscript)
        if isinstance(inner, Read)
    )
