"""The part of an array that a slab needs where one subscript stands for several dimensions."""

from __future__ import annotations

import islpy as isl

from polylsp.analysis.notation import polynomial
from polylsp.analysis.value import Poly, Symbol
from polylsp.codegen.affine import Names, largest, smallest, spelled
from polylsp.codegen.cuda.buffers import Buffer
from polylsp.codegen.cuda.slab_ends import END, FIRST, SIZE, Ends
from polylsp.codegen.cuda.slab_rows import Rows
from polylsp.codegen.footprint import written_sum


def linear_part(
    buffer: Buffer, rows: Rows, elements: isl.Set, ends: Ends, names: Names
) -> tuple[str, str, str] | None:
    """The first element of a slab, how many it has, and how many any may have, in C, given its rows and all
    `elements` that are used; `None` where slabs reach further than these, or share written elements."""
    strides = [Poly.of({tuple(map(Symbol, m)): c for m, c in each}) for each in buffer.memory.strides]
    around = [_both(smallest(elements, k), largest(elements, k)) for k in range(len(strides))]
    own, slabs = _both(rows.low, rows.high), _both(_single(ends.lows), _single(ends.behinds))
    if own is None or slabs is None or any(each is None for each in around):
        return None
    if around[0] != (slabs[0] * rows.step + own[0], (slabs[1] - 1) * rows.step + own[1]):
        return None
    before, behind = own[0] * strides[0], (own[1] - rows.step) * strides[0] + 1
    for stride, found in zip(strides[1:], around[1:], strict=True):
        if found is not None:
            before, behind = before + found[0] * stride, behind + found[1] * stride
    first, end, size = (strides[0] * rows.step * Poly.atom(Symbol(each)) for each in (FIRST, END, SIZE))
    gap = (before - behind).as_constant
    if not buffer.written or gap == 0:
        return _texts((first + before, end - first + behind - before, size + behind - before), names)
    if gap is None or gap < 0 or (buffer.goes_out and not buffer.comes_in):
        return None
    # What lies between a slab's elements and the next one's comes in and goes out as it is.
    texts, last = _texts((first + before, end - first, size), names), _spelled(_single(ends.behinds), names)
    if texts is None or last is None:
        return None
    count = f"{texts[1]} - ({names.parameters[END]} < {last} ? 0 : {gap})"
    return texts[0], count, texts[2]


def _texts(values: tuple[Poly, Poly, Poly], names: Names) -> tuple[str, str, str] | None:
    first, count, room = (written_sum(each, names) for each in values)
    return None if first is None or count is None or room is None else (first, count, room)


def _spelled(value: isl.Aff | None, names: Names) -> str | None:
    return spelled(value, names) if value is not None else None


def _both(low: isl.Aff | None, high: isl.Aff | None) -> tuple[Poly, Poly] | None:
    ends = [polynomial(each) if each is not None else None for each in (low, high)]
    return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])


def _single(ends: tuple[isl.Aff, ...]) -> isl.Aff | None:
    """The one sum that an end is."""
    return ends[0] if len(ends) == 1 else None
