"""Part of an array that a slab needs, in C: it moves along with the slab, and is exclusive where the slab
writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.codegen.cuda.buffers import Buffer
from polylsp.codegen.cuda.expressions import Unwritable
from polylsp.codegen.cuda.region import Region
from polylsp.codegen.cuda.slab_ends import FEW, Ends, difference, has_division
from polylsp.codegen.cuda.slab_linear import linear_part
from polylsp.codegen.cuda.slab_rows import Rows, rows_of
from polylsp.codegen.cuda.slab_words import Words
from polylsp.codegen.footprint import section
from polylsp.codegen.hull import pieces_of
from polylsp.model.scop import Access


@dataclass(frozen=True, eq=False)
class Part:
    """Part of an array for one slab (`buffer`), for the largest slab (`room`), and the union over all
    (`whole`)."""

    buffer: Buffer
    room: Buffer
    whole: Buffer


@dataclass(frozen=True, eq=False)
class Parts:
    """Generator of the parts of a region's slabs: the names of `words` are those of all parameters, of
    `FIRST`, `END` and `SIZE` too."""

    region: Region
    ends: Ends
    words: Words

    def of(self, buffer: Buffer, needed: isl.Map, every: Sequence[Access]) -> Part | None:
        """The part of an array that slabs need, given which elements each iteration needs
        (`{ [s] -> M[…] }`) and all accesses; `None` where there is none that moves along with the slab. What
        slabs write together has no gap, and no element twice."""
        if buffer.each or not buffer.memory.shape or needed.is_empty():
            return None
        inner = range(1, needed.dim(isl.dim_type.out))
        rows = rows_of(needed.project_out(isl.dim_type.out, 1, len(inner)).reset_tuple_id(isl.dim_type.out))
        if rows is None:
            return None
        if buffer.memory.strides:
            texts = linear_part(buffer, rows, needed.range(), self.ends, self.words.names)
            if texts is None:
                return None
            mine = replace(buffer, first=texts[0], count=texts[1])
            return Part(mine, replace(buffer, first="0", count=texts[2]), buffer)
        if buffer.written and rows.gap > 0:
            rows = rows.up_to_the_next() if buffer.comes_in or not buffer.goes_out else None
        if rows is None or (buffer.written and rows.gap < 0):
            return None
        return self._of_rows(buffer, rows, every)

    def _of_rows(self, buffer: Buffer, rows: Rows, every: Sequence[Access]) -> Part | None:
        """The part of an array that has these rows, as far as slabs use them at all."""
        region = self.region
        whole = section(region.subject, region.scop, every, region.place, self.words.names)
        if whole is None or whole.rows is None or whole.conditional:
            return None
        if whole.inner != buffer.inner and not self.words.is_python:
            return None
        lows = pieces_of(whole.rows.dim_min(0), whole.rows)
        behinds = pieces_of(whole.rows.dim_max(0).add_constant_val(isl.Val(1)), whole.rows)
        if len(lows) != 1 or len(behinds) > FEW or any(map(has_division, (*lows, *behinds))):
            return None
        every_row = Ends((lows[0],), tuple(behinds))
        if buffer.goes_out and not rows.take(every_row, self.ends, region.context):
            return None  # What no slab fetches is nothing to hand to the host.
        try:
            return self._written(buffer, rows, every_row)
        except Unwritable:
            return None

    def _written(self, buffer: Buffer, rows: Rows, every: Ends) -> Part:
        """The same, given the ends of all rows that are used."""
        words, (low,) = self.words, every.lows
        around = words.value(low), words.greatest(every.behinds)
        counted = words.greatest([difference(each, low) for each in every.behinds])
        where = self.ends.every_slab.intersect(self.region.context)
        cut = [not every.have(each, where) for each in (rows.first, rows.behind)]
        first, count, most = (words.value(each) for each in (rows.first, rows.count, rows.most))
        if any(cut):
            ends = [words.value(each) for each in (rows.first, rows.behind)]
            first, end = (words.between(e, *around) if c else e for e, c in zip(ends, cut, strict=True))
            count = f"{end} - {first}" if cut[0] or first.isidentifier() else f"{end} - ({first})"
        if not rows.fit(every, self.ends.sizes.intersect(self.region.context)):
            most = words.between(most, "0", counted)
        together = replace(buffer, first=around[0], count=counted) if buffer.written else buffer
        mine = replace(buffer, first=first, count=count)
        return Part(mine, replace(buffer, first="0", count=most), together)
