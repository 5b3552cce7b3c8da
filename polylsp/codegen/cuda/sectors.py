"""Memory traffic of a warp in sectors of global memory (CUDA C++ Best Practices Guide, "Coalesced Access to
Global Memory")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import islpy as isl

from polylsp.codegen.cuda.axes import is_next, is_same
from polylsp.codegen.cuda.references import Reference
from polylsp.model.program import Floating, Integer

SECTOR = 32
"""Bytes of a sector."""

Sides = Sequence[tuple[int, int]]
"""Dimensions along which the threads of a warp differ, and how many there are along each."""


def sectors(seen: isl.Map, width: int, sides: Sides) -> int:
    """Number of sectors that a warp touches with an access to elements of `width` bytes."""
    result = 1
    for dimension, threads in sides:
        if is_next(seen, dimension):
            result *= -(-threads * width // SECTOR)
        elif not is_same(seen, dimension):
            result *= threads
    return result


def sectors_of(references: Iterable[Reference], sides: Sides) -> int:
    """The same for several accesses."""
    return sum(sectors(each.seen, _width(each), sides) for each in references)


def _width(reference: Reference) -> int:
    element = reference.access.memory.element
    return max(1, element.bits // 8) if isinstance(element, (Integer, Floating)) else SECTOR
