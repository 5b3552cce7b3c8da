"""Extents of the memories of a function, and its number of operations, at numeric sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from polylsp.codegen.harness.boxes import Touched, box, counted, domains_of, is_modelled, touched, widths
from polylsp.codegen.harness.contents import Contents, Target
from polylsp.codegen.harness.members import is_led_to, is_member, structures_of
from polylsp.codegen.harness.numbers import declared, row
from polylsp.codegen.harness.starts import PER_ROW, Rows
from polylsp.codegen.harness.storage import Storage
from polylsp.codegen.subject import Subject
from polylsp.model.measurement import Extent, Rung
from polylsp.model.program import Array, Pointer, Type, Variable

_UNKNOWN_EXTENT = 64
_MARGIN = 8
"""Largest number of elements by which a row may exceed the largest size."""


class Extents:
    """The memories of a function and its operations, evaluated at one size after another."""

    def __init__(self, subject: Subject, data: Storage, needs: Contents) -> None:
        self._data = data
        self._targets, self._rows = needs.targets, needs.rows
        pairs = zip(data.variables, data.memories, strict=True)
        self._touched = [
            list(touched(subject, v.name, follows=m.levels > 1 or is_led_to(v))) for v, m in pairs
        ]
        self._domains = domains_of(subject)
        self._is_modelled = is_modelled(subject)

    def rung(self, sizes: Mapping[str, int]) -> Rung:
        """Everything at some sizes."""
        most = max(sizes.values(), default=_UNKNOWN_EXTENT)
        extents = [self._extent(number, sizes, most) for number in range(len(self._data.memories))]
        for each in self._rows:
            self._make_rows(each, sizes, extents)
        for target in self._targets:
            before, limit = extents[target.number], self._limit(target, sizes, extents)
            least = limit if before.limit is None else min(before.limit, limit)
            extents[target.number] = Extent(before.first, before.count, least)
        chosen = tuple(sizes[name] for name in self._data.sizes)
        return rung_of(chosen, extents, counted(self._domains, sizes), self._is_modelled)

    def widths(self, sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
        """Iterations of each loop around each statement at some sizes; -1 where these are not bounded."""
        return widths(self._domains, sizes)

    def exceeded(self, sizes: Mapping[str, int]) -> str | None:
        """The name of a variable of the file that has fewer elements than loops touch at some sizes."""
        pairs = zip(self._data.variables, self._data.memories, strict=True)
        for number, (variable, memory) in enumerate(pairs):
            said = declared(variable.type, sizes) if memory.is_global else None
            ends = [self._ends(number, each, sizes, said or 1) for each in self._touched[number]]
            if said is not None and any(each is not None and each[1] >= said for each in ends):
                return memory.name
        return None

    def _ends(
        self, number: int, each: Touched, sizes: Mapping[str, int], most: int
    ) -> tuple[int, int] | None:
        variable = self._data.variables[number]
        if is_member(variable):
            return _ends_of_member(each, variable, sizes, most)
        return _ends(each, variable.type, sizes)

    def _extent(self, number: int, sizes: Mapping[str, int], most: int) -> Extent:
        of_type = self._data.variables[number].type
        if (levels := self._data.memories[number].levels) > 1:
            return self._table(number, levels, sizes, most)
        if not isinstance(of_type, (Array, Pointer)):
            return Extent(0, 1)
        said = declared(of_type, sizes)
        if self._data.memories[number].is_global and said is not None:
            return Extent(0, said)
        ends = [self._ends(number, each, sizes, most) for each in self._touched[number]]
        if said is not None:
            ends.append((0, said - 1))
        elif not ends or None in ends:
            ends.append((0, most * (row(of_type, sizes) or (1,))[0] - 1))
        known = [each for each in ends if each is not None]
        first = min(0, *(low for low, _ in known))
        return Extent(first, max(1, max(high for _, high in known) - first + 1))

    def _table(self, number: int, levels: int, sizes: Mapping[str, int], most: int) -> Extent:
        """Extent of the targets of pointer tables, as long in each dimension as any nest needs it."""
        boxes = [box(each.elements, each.scop, sizes) for each in self._touched[number]]
        known = [ends for ends in boxes if ends is not None and len(ends) == levels]
        shape = [max((ends[k][1] + 1 for ends in known), default=1) for k in range(levels)]
        if not known or len(known) < len(boxes):
            shape = [max(each, most) for each in shape]
        return Extent(0, prod(shape), shape=tuple(max(1, each) for each in shape))

    def _make_rows(self, found: Rows, sizes: Mapping[str, int], extents: list[Extent]) -> None:
        """Let rows have a few elements each, as far as arrays that are declared have room for them."""
        starts = extents[found.starts]
        total = PER_ROW * max(1, starts.count - 1)
        numbers = [(self._data.number_at(place), place.variable) for place, _ in found.places]
        of_types = [
            (number, variable.type if number is None else self._data.variables[number].type)
            for number, variable in numbers
        ]
        used = [(number, of_type, (row(of_type, sizes) or (1,))[0]) for number, of_type in of_types]
        for _, of_type, step in used:
            said = declared(of_type, sizes)
            total = total if said is None else min(total, max(0, said // step - 1))
        for number, of_type, step in used:
            if number is not None and declared(of_type, sizes) is None:
                before = extents[number]
                extents[number] = Extent(before.first, max(before.count, (total + 1) * step))
        extents[found.starts] = Extent(starts.first, starts.count, total + 1)

    def _limit(self, target: Target, sizes: Mapping[str, int], extents: list[Extent]) -> int:
        """Number of values that a subscript may have."""
        number = self._data.number_at(target.place)
        variable = target.place.variable if number is None else self._data.variables[number]
        if number is not None and extents[number].shape:
            return extents[number].shape[min(target.step, len(extents[number].shape) - 1)]
        steps = row(variable.type, sizes) or (1,)
        if target.step > 0 and target.step < len(steps):
            return max(1, steps[target.step - 1] // steps[target.step])
        if number is None:
            return max(1, (declared(variable.type, sizes) or 1) // steps[0])
        extent = extents[number]
        return max(1, (extent.first + extent.count) // steps[0])


def rung_of(sizes: tuple[int, ...], extents: Sequence[Extent], instances: int, is_known: bool) -> Rung:
    """Needs at some sizes; where not all loops are modelled, elements stand for their operations."""
    elements = sum(each.count for each in extents)
    return Rung(sizes, instances if is_known else max(instances, elements), tuple(extents), is_known)


def _ends_of_member(
    touched: Touched, member: Variable, sizes: Mapping[str, int], most: int
) -> tuple[int, int] | None:
    """Ends like `_ends`, for the target of a structure's member: of several subscripts only the first is
    certain, and each of the others steps over as many elements as any size allows."""
    of_type, outer = member.type, structures_of(member.name)
    ends = box(touched.elements, touched.scop, sizes)
    if ends is None or touched.memory.scoped or touched.memory.shape[-1:] != ("[]",):
        return None
    if isinstance(of_type, Array):
        steps = row(of_type, sizes) or ()
        within = list(zip(ends[outer:], steps, strict=False))
        return sum(low * step for (low, _), step in within), sum(high * step for (_, high), step in within)
    (low, high), *others = ends[outer:]
    return (low, high) if not others else (min(low, 0), (high + 2) * (most + _MARGIN) ** len(others))


def _ends(touched: Touched, of_type: Type, sizes: Mapping[str, int]) -> tuple[int, int] | None:
    """The first and the last element, as one subscript; `None` where they are undetermined."""
    memory = touched.memory
    fields = [number for number, step in enumerate(memory.shape) if step != "[]"]
    # Of structures, the subscripts before their fields say which one it is.
    dimensions = min([memory.dimensions, *fields])
    if memory.scoped or (fields and (memory.strides or not dimensions)):
        return None
    if memory.strides:
        spelled = touched.scop.parameters
        steps = [
            sum(c * prod(sizes.get(spelled.get(n, n), 0) for n in names) for names, c in stride)
            for stride in memory.strides
        ]
    else:
        found = row(of_type, sizes)
        if found is None or len(found) < dimensions:
            return None
        steps = list(found[:dimensions])
    whole = box(touched.elements, touched.scop, sizes)
    ends = whole[:dimensions] if whole is not None else None
    if ends is None or len(ends) != len(steps):
        return None
    pairs = list(zip(ends, steps, strict=True))
    return sum(low * step for (low, _), step in pairs), sum(high * step for (_, high), step in pairs)
