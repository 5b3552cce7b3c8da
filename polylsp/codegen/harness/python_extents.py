"""Lengths of the arrays of a Python function, and its number of operations, at numeric sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from polylsp.codegen.harness.boxes import Touched, box, counted, domains_of, is_modelled, touched, widths
from polylsp.codegen.harness.contents import Contents, Target
from polylsp.codegen.harness.extents import rung_of
from polylsp.codegen.harness.numbers import evaluated
from polylsp.codegen.harness.starts import PER_ROW, Rows
from polylsp.codegen.harness.storage import Storage, shape_of
from polylsp.codegen.subject import Subject
from polylsp.model.measurement import Extent, Rung
from polylsp.model.program import Array, Pointer, Type

_UNKNOWN_EXTENT = 64


class PythonExtents:
    """The arrays of a function and its operations, evaluated at one size after another."""

    def __init__(self, subject: Subject, data: Storage, needs: Contents) -> None:
        self._data = data
        self._targets, self._rows = needs.targets, needs.rows
        self._touched = [list(touched(subject, variable.name)) for variable in data.variables]
        self._domains = domains_of(subject)
        self._is_modelled = is_modelled(subject)

    def widths(self, sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
        """Iterations of each loop around each statement at some sizes; -1 where these are not bounded."""
        return widths(self._domains, sizes)

    def exceeded(self, sizes: Mapping[str, int]) -> str | None:
        """Always `None`: arrays are allocated as long as necessary."""
        return None

    def rung(self, sizes: Mapping[str, int]) -> Rung:
        """Everything at some sizes."""
        most = max(sizes.values(), default=_UNKNOWN_EXTENT)
        shapes = self._alike([self._shape(k, sizes, most) for k in range(len(self._data.memories))])
        limits = {each.starts: self._make_rows(each, shapes) for each in self._rows}
        for target in self._targets:
            limit = self._limit(target, sizes, shapes)
            limits[target.number] = min(limit, limits.get(target.number, limit))
        extents = [Extent(0, prod(shape), limits.get(k), shape) for k, shape in enumerate(shapes)]
        chosen = tuple(sizes[name] for name in self._data.sizes)
        return rung_of(chosen, extents, counted(self._domains, sizes), self._is_modelled)

    def _shape(self, number: int, sizes: Mapping[str, int], most: int) -> tuple[int, ...]:
        names = shape_of(self._data.variables[number])
        needed = [self._needed(each, len(names), sizes) for each in self._touched[number]]
        each_needed = [[each[k] for each in needed] for k in range(len(names))]
        pairs = zip(names, each_needed, strict=True)
        return tuple(_length(sizes.get(name), found, most) for name, found in pairs)

    def _alike(self, shapes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Arrays that may take each other's place have the same shape, where no size says another one."""
        pairs = list(zip(self._data.variables, shapes, strict=True))
        bound = [shape for variable, shape in pairs if isinstance(variable.type, Pointer)]
        found: list[tuple[int, ...]] = []
        for variable, own in pairs:
            others = [each for each in bound if len(each) == len(own)]
            if isinstance(variable.type, Pointer):
                longest = (max(lengths) for lengths in zip(*others, strict=True))
                spelled = zip(shape_of(variable), own, longest, strict=True)
                own = tuple(one if name in self._data.sizes else most for name, one, most in spelled)
            found.append(own)
        return found

    def _needed(self, one: Touched, rank: int, sizes: Mapping[str, int]) -> list[int | None]:
        """Lengths that a nest needs of the array; `None` where undetermined."""
        ends = box(one.elements, one.scop, sizes)
        if ends is None or len(ends) != rank:
            return [None] * rank
        return [high + 1 for _, high in ends]

    def _make_rows(self, found: Rows, shapes: list[tuple[int, ...]]) -> int:
        """Let rows have a few elements each; gives how many values their starts may have."""
        total = PER_ROW * max(1, shapes[found.starts][0] - 1)
        for place, step in found.places:
            number = self._data.number(place.variable)
            if number is not None:
                shape = list(shapes[number])
                shape[step] = max(shape[step], total + 1)
                shapes[number] = tuple(shape)
        return total + 1

    def _limit(self, target: Target, sizes: Mapping[str, int], shapes: list[tuple[int, ...]]) -> int:
        """Number of values that a subscript may have."""
        variable = target.place.variable
        number = self._data.number(variable)
        if number is not None:
            return max(1, shapes[number][min(target.step, len(shapes[number]) - 1)])
        lengths = list(_lengths(variable.type, sizes))
        return max(1, (lengths[target.step] if target.step < len(lengths) else None) or 1)


def _length(given: int | None, needed: list[int | None], most: int) -> int:
    known = [each for each in needed if each is not None]
    if given is None and len(known) < max(1, len(needed)):
        known.append(most)
    return max(1, given or 0, *known)


def _lengths(of_type: Type, sizes: Mapping[str, int]) -> Iterator[int | None]:
    while isinstance(of_type, Array):
        yield evaluated(of_type.extent, sizes) if of_type.extent is not None else None
        of_type = of_type.element
