"""Integer widths on the device: 64-bit values that fit in 32 bits, and wide strides.

A GPU computes with 32 bits at a time. Sizes that the host has checked to be small, and integers
used only in subscripts, are narrowed. Strides of arrays that may exceed an `int` count are `int`
only where all elements of a call can be counted in one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from polylsp.ir.effects import effects, nodes, walk
from polylsp.ir.program import (
    Assign,
    Binary,
    Cast,
    Constant,
    Expr,
    Integer,
    Read,
    Statement,
    Variable,
    subexpressions,
    subscripts,
)
from polylsp.schedule.statement_leaves import counter
from polylsp.targets.gpu.leaves import Leaves
from polylsp.targets.gpu.python_semantics import is_unlimited
from polylsp.targets.gpu.region import Region

# --------------------------------------------------------------------------------------------------
# Sizes that are strides of arrays with possibly more elements than an `int` counts: a kernel takes
# these in a type that is `int` only where all elements of a call can be counted in one, as a GPU
# computes with 32 bits at a time.
# --------------------------------------------------------------------------------------------------


_SUM = re.compile(r"[\w\s+*()-]+")
_WORD = re.compile(r"[A-Za-z_]\w*")


def strides(
    found: Leaves,
    extents: Mapping[str, tuple[str, ...]],
    called: Mapping[str, Variable],
    narrow: frozenset[str],
) -> frozenset[str]:
    """The unique names of those sizes, given the `extents` of arrays on the device (by their unique names)
    and the variables `called` so there; those that are `narrow` are `int`s anyway."""
    every = {v.name for inner in extents.values() for v in _named(inner, called) if _is_int(v, narrow)}
    able = frozenset(every - _without_sign(found))
    wide = (inner for inner in extents.values() if is_wide(inner, called, able, narrow))
    return able & {v.name for inner in wide for v in _named(inner, called)}


def is_wide(
    inner: tuple[str, ...], called: Mapping[str, Variable], counted: frozenset[str], narrow: frozenset[str]
) -> bool:
    """True if the rows of an array are counted with enough bits, given the sizes that are `counted` so: the
    type of the first product determines the rest of the computation."""
    if not inner or not _SUM.fullmatch(inner[0]):
        return False
    own = [called.get(word) for word in _WORD.findall(inner[0])]
    return bool(own) and all(v is not None and (v.name in counted or _is_long(v, narrow)) for v in own)


def _named(inner: tuple[str, ...], called: Mapping[str, Variable]) -> list[Variable]:
    """The sizes in the length of a row."""
    words = _WORD.findall(inner[0]) if inner else []
    return [called[word] for word in words if word in called]


def _is_int(variable: Variable, narrow: frozenset[str]) -> bool:
    return variable.type == Integer(32, True) or is_unlimited(variable.type) or variable.name in narrow


def _is_long(variable: Variable, narrow: frozenset[str]) -> bool:
    of_type = variable.type
    return isinstance(of_type, Integer) and of_type.bits == 64 and variable.name not in narrow


def _without_sign(found: Leaves) -> set[str]:
    """The scalars in unsigned computations: of another type, their results would differ."""
    every = (node for leaf in found.leaves for s in walk(*leaf.statements) for node in nodes(s))
    computed = (each for each in every if isinstance(each.type, Integer) and not each.type.signed)
    parts = (part for each in computed for part in subexpressions(each))
    return {p.place.variable.name for p in parts if isinstance(p, Read) and not p.place.steps}


# --------------------------------------------------------------------------------------------------
# 64-bit integers of the source that fit in 32 bits on the device: those used only in subscripts.
# The host has checked that these are small, and a GPU computes with 32 bits at a time.
# --------------------------------------------------------------------------------------------------


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
