"""64-bit integers of the source that fit in 32 bits on the device: those used only in subscripts. The host
has checked that these are small, and a GPU computes with 32 bits at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from polylsp.analysis.effects import effects, nodes, walk
from polylsp.codegen.cuda.leaves import Leaves
from polylsp.codegen.cuda.region import Region
from polylsp.codegen.transform.leaves import counter
from polylsp.model.expressions import subscripts
from polylsp.model.program import Assign, Binary, Cast, Constant, Expr, Integer, Read, Statement, Variable

_LARGEST = 1 << 20
"""Largest constant added in a subscript: sums of this and a size are far from overflow."""


def narrow(region: Region, found: Leaves, sizes: Iterable[Variable]) -> frozenset[str]:
    """The counters of loops, and of the `sizes` that the host compares with a limit, those that are `int`s
    on the device (unique names)."""
    counters = {counter(region.subject, ordinal) for leaf in found.leaves for ordinal in leaf.loops}
    wide = {v.name for v in (*counters, *sizes) if _is_wide(v)}
    statements = [s for leaf in found.leaves for s in leaf.statements]
    if not wide:
        return frozenset()
    every = Counter(_reads(statements))
    inside = Counter(_of_subscripts(statements))
    set_there = effects(*statements).scalars | found.kept
    return frozenset(name for name in wide - set_there if every[name] == inside[name])


def _is_wide(variable: Variable) -> bool:
    of_type = variable.type
    return isinstance(of_type, Integer) and (
        of_type.bits == 64 or (of_type.bits == 32 and not of_type.signed)
    )


def _reads(statements: Iterable[Statement]) -> Iterator[str]:
    """The scalars that are read, each time."""
    for value in _values(statements):
        if isinstance(value, Read) and not value.place.steps:
            yield value.place.variable.name


def _of_subscripts(statements: list[Statement]) -> Iterator[str]:
    """Variables that are a subscript, up to an added constant."""
    targets = [s.target for s in walk(*statements) if isinstance(s, Assign)]
    places = [value.place for value in _values(statements) if isinstance(value, Read)]
    for place in (*targets, *places):
        for subscript in subscripts(place):
            name = _alone(subscript)
            if name:
                yield name


def _values(statements: Iterable[Statement]) -> Iterator[Expr]:
    for statement in walk(*statements):
        yield from nodes(statement)


def _alone(subscript: Expr) -> str:
    """The variable of `i`, `i + 1` or `i - 1`; empty for anything else."""
    match _converted(subscript):
        case Binary("+" | "-", left, right) if _is_small(right):
            subscript = left
        case Binary("+", left, right) if _is_small(left):
            subscript = right
        case _:
            pass
    own = _converted(subscript)
    return own.place.variable.name if isinstance(own, Read) and not own.place.steps else ""


def _converted(value: Expr) -> Expr:
    """A number before it is converted to a type that surely holds it."""
    while isinstance(value, Cast) and isinstance(value.type, Integer) and value.type.bits >= 32:
        value = value.operand
    return value


def _is_small(value: Expr) -> bool:
    plain = _converted(value)
    return isinstance(plain, Constant) and isinstance(plain.type, Integer) and abs(plain.value) <= _LARGEST
