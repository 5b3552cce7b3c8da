"""Array parts that a slab of iterations needs, with proof that they move along with the slab.

A slab cuts one loop around each statement group, not always the outermost, so that it takes rows of
the largest arrays in order. A part is exclusive where the slab writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import islpy as isl

from polylsp.analysis.scop.symbolic_value import Poly, Symbol, polynomial
from polylsp.emit.affine_bounds import Names, alone, largest, pieces_of, smallest, spelled
from polylsp.emit.footprint import section, written_sum
from polylsp.poly.scop import Access
from polylsp.targets.gpu.alternatives import of_leaf
from polylsp.targets.gpu.buffers import Buffer
from polylsp.targets.gpu.cuda_expressions import Unwritable
from polylsp.targets.gpu.leaves import Leaf, Leaves
from polylsp.targets.gpu.region import Region
from polylsp.targets.gpu.slab_ends import (
    END,
    FEW,
    FIRST,
    SIZE,
    Ends,
    Words,
    difference,
    ends_around,
    has_division,
    total,
)

_HALO = 128
"""Halo of a slab: the largest number of further rows; with more, little would be saved."""

_STEPS = (1, 2, 3, 4)


@dataclass(frozen=True, eq=False)
class Rows:
    """The iteration s needs rows from `step` s + `low` to `step` s + `high`; both are sums of parameters."""

    step: int
    low: isl.Aff
    high: isl.Aff

    @property
    def first(self) -> isl.Aff:
        """The first row of a slab."""
        return total(self._times(FIRST), self.low)

    @property
    def behind(self) -> isl.Aff:
        """The row after those of a slab."""
        return total(self._times(END), self.high.add_constant_val(isl.Val(1 - self.step)))

    @property
    def count(self) -> isl.Aff:
        """Number of rows of a slab."""
        return difference(self.behind, self.first)

    @property
    def most(self) -> isl.Aff:
        """Largest number of rows of any slab."""
        return total(self._times(SIZE), self.high.sub(self.low).add_constant_val(isl.Val(1 - self.step)))

    def _times(self, name: str) -> isl.PwAff:
        return isl.PwAff(f"[{name}] -> {{ [{self.step} * {name}] }}")

    def fit(self, every: Ends, where: isl.Set) -> bool:
        """True if a slab never has many more rows than are used at all, at some values of parameters."""
        rows = every.behind.sub(every.low).add_constant_val(isl.Val(_HALO))
        return bool(isl.PwAff.from_aff(self.most).gt_set(rows).intersect(where).is_empty())

    def take(self, every: Ends, slabs: Ends, where: isl.Set) -> bool:
        """True if all slabs together, which go from end to end, have all of some rows, at some values of
        parameters at which there is a slab."""
        step = isl.Val(self.step)
        first = slabs.low.scale_val(step).add(isl.PwAff.from_aff(self.low))
        high = self.high.add_constant_val(isl.Val(1 - self.step))
        last = slabs.behind.scale_val(step).add(isl.PwAff.from_aff(high))
        missed = first.gt_set(every.low).union(last.lt_set(every.behind))
        return bool(missed.intersect(where).intersect(slabs.low.lt_set(slabs.behind)).is_empty())

    @property
    def gap(self) -> int:
        """Number of rows between those of a slab and those of the next; negative if they share some."""
        between = self.low.sub(self.high).get_constant_val().to_python()
        return between + self.step - 1

    def up_to_the_next(self) -> Rows:
        """The same with all rows before those of the next iteration."""
        return Rows(self.step, self.low, self.low.add_constant_val(isl.Val(self.step - 1)))


def rows_of(rows: isl.Map) -> Rows | None:
    """Motion of rows along with iterations, given the needed rows `{ [s] -> [x] }`; `None` if they do not
    move along."""
    for step in _STEPS:
        apart = _apart(rows, step)
        ends = _constants(apart) or _sums(apart)
        if ends is not None and ends[1].sub(ends[0]).get_constant_val().to_python() < step + _HALO:
            return Rows(step, *ends)
    return None


def is_near(rows: isl.Map) -> bool:
    """True if rows move along with iterations, at any values of parameters."""
    for step in _STEPS:
        ends = _constants(_apart(rows, step))
        if ends is not None:
            return ends[1].sub(ends[0]).get_constant_val().to_python() < step + _HALO
    return False


def _apart(rows: isl.Map, step: int) -> isl.Set:
    """Distance of rows from the iterations' numbers: `{ [x - step s] }`."""
    return rows.apply_domain(isl.Map(f"{{ [s] -> [{step} * s] }}")).deltas()


def _constants(apart: isl.Set) -> tuple[isl.Aff, isl.Aff] | None:
    """The ends of a set of numbers over all parameters."""
    every = apart.project_out(isl.dim_type.param, 0, apart.dim(isl.dim_type.param))
    values = every.dim_min_val(0), every.dim_max_val(0)
    if not all(each.is_int() for each in values):
        return None
    space = isl.LocalSpace.from_space(isl.Space.params_alloc(isl.DEFAULT_CONTEXT, 0))
    low, high = (isl.Aff.val_on_domain(space, each) for each in values)
    return low, high


def _sums(apart: isl.Set) -> tuple[isl.Aff, isl.Aff] | None:
    """The ends of a set of numbers that are sums of parameters, at a constant distance."""
    low, high = smallest(apart, 0), largest(apart, 0)
    if low is None or high is None or low.dim(isl.dim_type.div) or high.dim(isl.dim_type.div):
        return None
    return (low, high) if high.sub(low).is_cst() else None


# --------------------------------------------------------------------------------------------------
# Loop that determines the slab of an instance: for each leaf one of those around it, not always the
# outermost, so that slabs take the rows of the largest arrays one after the other.
# --------------------------------------------------------------------------------------------------


_IN, _OUT, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set

Place = int | Literal["first", "last"]
"""Loop around a leaf that is cut (0: the outermost), or the one slab in which all of it runs."""


@dataclass(frozen=True, eq=False)
class Cut:
    """The `places` of leaves by their names; slabs go from end to end."""

    leaves: tuple[Leaf, ...]
    places: Mapping[str, Place]
    ends: Ends

    @property
    def dates(self) -> dict[str, isl.Map]:
        """`{ L[i, …] -> [s] }` by leaf: the iteration that tells in which slab an instance runs."""
        return {leaf.name: self._date(leaf) for leaf in self.leaves}

    def _date(self, leaf: Leaf) -> isl.Map:
        place = self.places[leaf.name]
        if isinstance(place, int):
            names = [f"i{k}" for k in range(len(leaf.loops))]
            text = f"{{ {leaf.name}[{', '.join(names)}] -> [{names[place]}] }}"
            return isl.Map(text).intersect_domain(leaf.domain)
        end = self.ends.low if place == "first" else self.ends.behind.add_constant_val(isl.Val(-1))
        # Without a slab, the loops run on the host.
        some = self.ends.low.lt_set(self.ends.behind)
        return isl.Map.from_domain_and_range(leaf.domain, isl.Set.from_pw_aff(end)).intersect_params(some)

    @property
    def instances(self) -> isl.UnionSet:
        """All instances in one slab."""
        result = isl.UnionSet("{ }")
        for leaf in self.leaves:
            result = result.union(self._of_slab(leaf).to_union_set())
        return result

    def _of_slab(self, leaf: Leaf) -> isl.Set:
        place, names = self.places[leaf.name], [f"i{k}" for k in range(len(leaf.loops))]
        if isinstance(place, int):
            condition = f"{FIRST} <= {names[place]} < {END}"
            return isl.Set(f"[{FIRST}, {END}] -> {{ {leaf.name}[{', '.join(names)}] : {condition} }}")
        every = isl.Set(f"{{ {leaf.name}[{', '.join(names)}] }}")
        return every.intersect_params(self.ends.first if place == "first" else self.ends.last)

    @property
    def loops(self) -> tuple[int, ...]:
        """The loops that are cut (ordinals)."""
        found = [(leaf, self.places[leaf.name]) for leaf in self.leaves]
        return tuple(dict.fromkeys(leaf.loops[k] for leaf, k in found if isinstance(k, int)))

    @property
    def has_once(self) -> bool:
        """True if some leaf runs in one slab alone, so that there has to be one."""
        return any(not isinstance(place, int) for place in self.places.values())


def cuts(found: Leaves, pairs: isl.UnionMap, context: isl.Set, largest: Sequence[Buffer]) -> Iterator[Cut]:
    """The ways to cut leaves: along the outermost loops, or along those that move through the rows of the
    `largest` arrays, from one of these on."""
    tried: list[Mapping[str, Place]] = []
    for chosen in _chosen(found, largest):
        if chosen and chosen not in tried:
            tried.append(chosen)
            places = _with_others(found, chosen, pairs)
            ends = _ends(found, places, context)
            one = Cut(found.leaves, places, ends) if ends is not None else None
            # Which of several ends is that of the last slab takes many words, in each launch.
            if one is not None and (one.ends.are_single or not one.has_once):
                yield one


def _chosen(found: Leaves, largest: Sequence[Buffer]) -> Iterator[dict[str, Place]]:
    yield {leaf.name: 0 for leaf in found.leaves if leaf.loops}
    able = [_able(found, each) for each in largest]
    for each in able:
        yield _through(found, each, [other for other in able if other is not each])


Able = Mapping[str, list[Place]]
"""The loops that move through the rows of an array, for each of the leaves that use it, by name."""


def _able(found: Leaves, buffer: Buffer) -> Able:
    result: dict[str, list[Place]] = {}
    for leaf in found.leaves:
        own = [access for one, access in found.shared if one is leaf and access.memory is buffer.memory]
        if own:
            result[leaf.name] = [k for k in range(len(leaf.loops)) if _follows(leaf, k, own)]
    return result


def _through(found: Leaves, start: Able, others: Sequence[Able]) -> dict[str, Place]:
    """The loops that move through the rows of an array, of the leaves that use it, and of those in the same
    loops; then through the rows of other arrays that move along with these."""
    result = _moving(found, start, {})
    while True:
        grown = result
        for each in others:
            if any(name in grown for name in each):
                more = _moving(found, each, grown)
                grown = more if all(name in more for name in each) else grown
        if grown == result:
            return result
        result = grown


def _moving(found: Leaves, able: Able, before: Mapping[str, Place]) -> dict[str, Place]:
    """The loops that move through the rows of an array, beside those that are chosen `before`."""
    result = dict(before)
    for name, places in able.items():
        if name in before and before[name] not in places:
            return dict(before)
        if places and name not in before:
            result[name] = places[0]
    loops = {leaf.loops[k] for leaf in found.leaves if isinstance(k := result.get(leaf.name), int)}
    for leaf in found.leaves:
        shared = [k for k, loop in enumerate(leaf.loops) if loop in loops]
        if leaf.name not in result and shared:
            result[leaf.name] = shared[0]
    return result


def _follows(leaf: Leaf, dimension: int, accesses: Sequence[Access]) -> bool:
    """True if iterations of a loop use rows near their numbers."""
    for each in accesses:
        rows = of_leaf(leaf, each.relation).project_out(_OUT, 1, each.relation.dim(_OUT) - 1)
        rows = rows.project_out(_IN, dimension + 1, rows.dim(_IN) - dimension - 1)
        rows = rows.project_out(_IN, 0, dimension).reset_tuple_id(_OUT)
        if not is_near(rows.reset_tuple_id(_IN) if rows.has_tuple_id(_IN) else rows):
            return False
    return True


def _with_others(found: Leaves, chosen: Mapping[str, Place], pairs: isl.UnionMap) -> dict[str, Place]:
    """The places of all leaves: leaves that need none of the placed ones run first, all others last."""
    cut, result = isl.UnionSet("{ }"), dict(chosen)
    for leaf in found.leaves:
        if leaf.name in chosen:
            cut = cut.union(leaf.domain.to_union_set())
    needing = pairs.intersect_domain(cut).range()
    for leaf in found.leaves:
        if leaf.name not in chosen:
            late = not needing.intersect(leaf.domain.to_union_set()).is_empty()
            result[leaf.name] = "last" if late else "first"
    return result


def _ends(found: Leaves, places: Mapping[str, Place], context: isl.Set) -> Ends | None:
    every: list[isl.Set] = []
    for leaf in found.leaves:
        place = places[leaf.name]
        if isinstance(place, int):
            own = alone(leaf.domain, place)
            own = own.reset_tuple_id() if own.has_tuple_id() else own
            every.append(own.intersect_params(context))
    return ends_around(every, context)


# --------------------------------------------------------------------------------------------------
# The part of an array that a slab needs where one subscript stands for several dimensions.
# --------------------------------------------------------------------------------------------------


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


# --------------------------------------------------------------------------------------------------
# Part of an array that a slab needs, in C: it moves along with the slab, and is exclusive where the
# slab writes.
# --------------------------------------------------------------------------------------------------


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
