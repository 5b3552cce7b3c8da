"""What a slab needs of an array, in C: a part that moves along with it, and is nobody else's where the slab
writes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.codegen.affine import Names, spelled
from polylsp.codegen.cuda.memory import Buffer
from polylsp.codegen.cuda.region import Region
from polylsp.codegen.cuda.slab_boxes import END, FIRST, SIZE, Box, Ends, box_of
from polylsp.codegen.footprint import Section, section
from polylsp.language import PYTHON
from polylsp.model.scop import Access

_PARAM = isl.dim_type.param


@dataclass(frozen=True, eq=False)
class Part:
    """What a slab has of an array (`buffer`), as much as any slab may have (`room`), and what all have
    together (`whole`)."""

    buffer: Buffer
    room: Buffer
    whole: Buffer


@dataclass(frozen=True, eq=False)
class Parts:
    """How slabs of a region are told apart in C: `names` are those of all parameters, of `FIRST`, `END` and
    `SIZE` too."""

    region: Region
    ends: Ends
    names: Names

    def of(self, buffer: Buffer, own: Sequence[Access], every: Sequence[Access]) -> Part | None:
        """The part of an array that the accesses of one slab need, which are its `own`; `None` where there is
        none that moves along with the slab. What slabs write together has no gap, and no element twice."""
        box = box_of(self.region, own, self.ends.slab)
        if box is None or not box.moves or buffer.each:
            return None
        found, room = self._section(own, self.ends.slab), self._room(own)
        if found is None or room is None or (found.inner != buffer.inner and self._is_c):
            return None
        if found.rows is not None and not box.has(found.rows, self.ends.slab):
            return None
        whole = self._whole(buffer, box, every) if buffer.written else buffer
        if whole is None or ((buffer.written or not self._is_c) and _has_choice(found.first + found.count)):
            return None
        mine = replace(buffer, first=found.first, count=found.count)
        one = Part(mine, replace(buffer, first="0", count=room), whole)
        return self._up_to_the_next(one, box) if buffer.written and box.gap else one

    def _up_to_the_next(self, part: Part, box: Box) -> Part | None:
        """A part with the elements between it and the next slab's, which come in and go out as they are."""
        buffer, behind = part.buffer, spelled(self.ends.behind, self.names)
        texts, known = self.names.parameters, self._is_c and (buffer.comes_in or not buffer.goes_out)
        if box.pace is None or behind is None or not known or not texts.keys() >= {*box.pace[1]}:
            return None
        number, sizes = box.pace
        by, factors = [str(number)] if number > 1 else [], [texts[name] for name in sizes]
        first, end, size = (" * ".join([*by, texts[name], *factors]) for name in (FIRST, END, SIZE))
        count = f"{end} - {first} - ({texts[END]} < {behind} ? 0 : {box.gap})"
        return replace(part, buffer=replace(buffer, count=count), room=replace(part.room, count=size))

    @property
    def _is_c(self) -> bool:
        """Whether rows are as long as a declaration says; arrays of Python know it themselves."""
        return self.region.subject.language != PYTHON.name

    def _section(self, accesses: Sequence[Access], where: isl.Set) -> Section | None:
        region = self.region
        scop = replace(region.scop, context=region.scop.context.intersect(where))
        there = [replace(each, relation=each.relation.intersect_params(where)) for each in accesses]
        return section(region.subject, scop, there, region.place, self.names)

    def _room(self, own: Sequence[Access]) -> str | None:
        """How many rows, or elements, a slab has, by its size alone."""
        same_end = isl.Set(f"[{FIRST}, {END}, {SIZE}] -> {{ : {END} = {FIRST} + {SIZE} }}")
        sized: list[Access] = []
        for each in own:
            relation = each.relation.intersect_params(same_end)
            at = relation.find_dim_by_name(_PARAM, END)
            sized.append(replace(each, relation=relation.project_out(_PARAM, at, 1)))
        where = self.ends.slab.intersect(same_end)
        where = where.project_out(_PARAM, where.find_dim_by_name(_PARAM, END), 1)
        found = self._section(sized, where)
        if found is None or _has_choice(found.count):
            return None
        return None if self.names.parameters[FIRST] in re.findall(r"\w+", found.count) else found.count

    def _whole(self, buffer: Buffer, box: Box, every: Sequence[Access]) -> Buffer | None:
        """What all slabs write together, if they lie one behind the other."""
        around = box_of(self.region, every, self.region.context)
        if (
            around is None
            or (-1 if box.gap is None else box.gap) < 0
            or not box.is_part_of(around, self.ends)
        ):
            return None
        if buffer.memory.strides:
            return buffer
        count = around.highs[0].sub(around.lows[0]).add_constant_val(isl.Val(1))
        texts = [spelled(each, self.names) for each in (around.lows[0], count)]
        first, rows = texts
        return None if first is None or rows is None else replace(buffer, first=first, count=rows)


def _has_choice(text: str) -> bool:
    """Whether a value is one of several, in C or in Python."""
    return "?" in text or " if " in text
