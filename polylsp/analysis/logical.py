"""Logical iteration numbers, counted from 0: static schedules of loops with equally many iterations give
equal numbers to the same thread (OpenMP 5.2, 11.5.3).
"""

from __future__ import annotations

import islpy as isl

from polylsp.analysis.conflicts import Conflicts
from polylsp.analysis.iterations import first, iterations
from polylsp.model.scop import ScopStatement

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


def numbered_alike(
    conflicts: Conflicts, one: tuple[int, ScopStatement], other: tuple[int, ScopStatement]
) -> isl.Map:
    """The pairs of instances of two statements in iterations of the same number of a loop (ordinal) around
    each."""
    return _numbered(conflicts, one, other, isl.Map("{ [k] -> [k] }"))


def _numbered(
    conflicts: Conflicts,
    one: tuple[int, ScopStatement],
    other: tuple[int, ScopStatement],
    related: isl.Map,
) -> isl.Map:
    """The pairs of instances of two statements in iterations whose numbers are related."""
    numbers = [_number(conflicts, ordinal) for ordinal, _ in (one, other)]
    pairs = numbers[0].apply_range(related).apply_range(numbers[1].reverse())
    for kind, (_, statement) in ((_IN, one), (_OUT, other)):
        depth = pairs.dim(kind)
        pairs = pairs.insert_dims(kind, depth, len(statement.loops) - depth)
        pairs = pairs.set_tuple_name(kind, statement.name)
    return pairs


def in_next_chunk(
    conflicts: Conflicts, one: tuple[int, ScopStatement], other: tuple[int, ScopStatement], chunk: int
) -> isl.Map:
    """The pairs of instances of two statements in chunks of a loop that follow each other, which a static
    schedule gives to two threads."""
    near = isl.Map(
        f"{{ [k] -> [l] : floor(l / {chunk}) = floor(k / {chunk}) + 1 or "
        f"floor(k / {chunk}) = floor(l / {chunk}) + 1 }}"
    )
    return _numbered(conflicts, one, other, near)


def numbered_first(conflicts: Conflicts, ordinal: int, statement: ScopStatement) -> isl.Set:
    """The instances of a statement in the first iteration of a loop around it."""
    number = _number(conflicts, ordinal)
    found = number.intersect_range(isl.Set("{ [0] }")).domain()
    depth = found.dim(isl.dim_type.set)
    found = found.insert_dims(isl.dim_type.set, depth, len(statement.loops) - depth)
    return found.set_tuple_name(statement.name)


def _number(conflicts: Conflicts, ordinal: int) -> isl.Map:
    """`{ [iterators down to the loop] -> [number] }`."""
    step = conflicts.scop.loops[ordinal].step
    own = iterations(conflicts.scop, ordinal)
    depth = own.dim(_IN)
    start = first(own, step)
    count = isl.Map(f"{{ [[l] -> [i]] -> [i, k] : i - l = {step} k }}")
    return start.range_product(own).apply_range(count).move_dims(_IN, depth, _OUT, 0, 1)
