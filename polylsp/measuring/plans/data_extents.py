"""Extents of a function's memories and its operation count, at numeric sizes.

With the parameters fixed, isl's optima are whole numbers; parametric optima, which can be wrong
beside strides, are not used. Also constrains index arrays so that subscripts stay in range.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import islpy as isl

from polylsp.emit.subject import Subject
from polylsp.ir.effects import loops_in, places_in, walk
from polylsp.ir.program import (
    Array,
    Assign,
    Expr,
    Index,
    Integer,
    Place,
    Pointer,
    Read,
    Type,
    Variable,
    bare,
    subexpressions,
)
from polylsp.measuring.plans.arguments import PER_ROW, Rows, Storage, rows
from polylsp.measuring.plans.structures import declared, is_led_to, is_member, row, spelling, structures_of
from polylsp.model.measurement import Extent, NoPlan, Rung
from polylsp.poly.scop import VALUE_OF, Memory, Scop

_PARAM, _SET = isl.dim_type.param, isl.dim_type.set


@dataclass(frozen=True, slots=True)
class Touched:
    """The elements of a memory that a nest touches, for any parameters."""

    scop: Scop
    memory: Memory
    elements: isl.Set


def domains_of(subject: Subject) -> list[tuple[Scop, isl.Set]]:
    """The iteration domains of a function's statements."""
    return [(nest.scop, domain) for nest in subject.nests for domain in domains(nest.scop)]


def is_modelled(subject: Subject) -> bool:
    """True if there is a model of all loops."""
    statements = [each for nest in subject.nests for each in nest.scop.statements]
    known = {ordinal for each in statements for ordinal in each.loops}
    return all(loop.ordinal in known for loop in subject.facts.loops)


def counted(known: list[tuple[Scop, isl.Set]], sizes: Mapping[str, int]) -> int:
    """Number of instances in boxes around domains."""
    return sum(points(domain, scop, sizes) or 0 for scop, domain in known)


def widths(known: list[tuple[Scop, isl.Set]], sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
    """Sides of the box around each domain, in their order; -1 for those of a domain that is not bounded."""
    found: list[tuple[int, ...]] = []
    for scop, domain in known:
        ends = box(domain, scop, sizes)
        none = (-1,) * domain.dim(_SET)
        found.append(none if ends is None else tuple(max(0, high - low + 1) for low, high in ends))
    return found


def touched(subject: Subject, name: str, *, follows: bool = False) -> Iterator[Touched]:
    """The elements of the memory that a variable leads to, or (`follows`) that pointers found there lead to,
    by nest; one object can be several memories. Elements that data choose are apart from the others, whose
    box they would take away."""
    for nest in subject.nests:
        by_memory: dict[tuple[Memory, bool], isl.Set] = {}
        for access in nest.scop.accesses:
            memory = access.memory
            # A path does not say which of its members are pointers.
            if name != memory.variable.name and name.replace("->", ".") != memory.path.replace("->", "."):
                continue
            if memory.fresh or memory.follows_pointers != follows:
                continue
            elements = access.relation.range()
            key = memory, bool(elements.is_bounded())
            before = by_memory.get(key)
            by_memory[key] = elements if before is None else before.union(elements)
        yield from (Touched(nest.scop, memory, elements) for (memory, _), elements in by_memory.items())


def domains(scop: Scop) -> list[isl.Set]:
    """The iteration domains of the statements, one of those in the same loops."""
    by_loops: dict[tuple[tuple[int, ...], str], isl.Set] = {}
    for statement in scop.statements:
        plain = statement.domain.reset_tuple_id() if statement.domain.has_tuple_id() else statement.domain
        by_loops.setdefault((statement.loops, str(plain)), plain)
    return list(by_loops.values())


def spoken_of(subject: Subject) -> frozenset[str]:
    """Spellings of the parameters on which the number of runs depends."""
    return frozenset(
        nest.scop.parameters.get(domain.get_dim_name(_PARAM, k) or "", "")
        for nest in subject.nests
        for domain in domains(nest.scop)
        for k in range(domain.dim(_PARAM))
        if domain.involves_dims(_PARAM, k, 1)
    )


def points(domain: isl.Set, scop: Scop, sizes: Mapping[str, int]) -> int | None:
    """The iterations in a box around a domain; `None` where there is none."""
    ends = box(domain, scop, sizes)
    return None if ends is None else prod(max(0, high - low + 1) for low, high in ends)


def box(values: isl.Set, scop: Scop, sizes: Mapping[str, int]) -> list[tuple[int, int]] | None:
    """The least and the greatest value of each dimension; empty ranges where there are none, `None` where
    they are not bounded."""
    known = fixed(values, scop, sizes)
    if known.is_empty():
        return [(0, -1)] * known.dim(_SET)
    ends: list[tuple[int, int]] = []
    for k in range(known.dim(_SET)):
        low, high = known.dim_min_val(k), known.dim_max_val(k)
        if not (low.is_int() and high.is_int()):
            return None
        ends.append((int(str(low)), int(str(high))))
    return ends


def fixed(values: isl.Set, scop: Scop, sizes: Mapping[str, int]) -> isl.Set:
    """The set at some sizes, for any values of the other parameters."""
    for k in range(values.dim(_PARAM)):
        name = values.get_dim_name(_PARAM, k) or ""
        text = scop.parameters.get(name, "")
        if text in sizes and name not in scop.derived:
            values = values.fix_val(_PARAM, k, isl.Val(sizes[text]))
        elif name in scop.products:
            values = values.fix_val(_PARAM, k, isl.Val(_product(scop, name, sizes)))
    return values.project_out(_PARAM, 0, values.dim(_PARAM))


def _product(scop: Scop, name: str, sizes: Mapping[str, int]) -> int:
    return prod(sizes.get(scop.parameters.get(factor, ""), 1) for factor in scop.products[name])


# --------------------------------------------------------------------------------------------------
# Constraints on integers in arrays so that no subscript computed from them leaves its array.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Target:
    """The elements of memory `number` are subscripts of `place`, in its step `step`."""

    number: int
    place: Place
    step: int


@dataclass(frozen=True, slots=True)
class Contents:
    """The subscripts that come out of memories, and the rows whose starts do."""

    targets: tuple[Target, ...]
    rows: tuple[Rows, ...]


def contents(subject: Subject, data: Storage) -> Contents | NoPlan:
    """Constraints on the data, or the reason why valid data cannot be generated."""
    known = _Known(subject, data)
    used = list(places_in(subject.function.body))
    found = tuple(rows(subject, data, used))
    bounded = {each.loop for each in found}
    for loop in loops_in(subject.function.body):
        if loop.ordinal in bounded:
            continue
        name = known.name_in(loop.condition) if loop.condition is not None else None
        if name is not None:
            return NoPlan(
                f"How often the loop on line {subject.line_number(loop.header)} runs is told by the contents "
                f"of `{name}`: such data cannot be made up. Measure a function that fills `{name}` itself."
            )
    of_rows = {(place.site, number) for each in found for place, number in each.places}
    targets: list[Target] = []
    for place in used:
        for number, step in enumerate(place.steps):
            if not isinstance(step, Index) or known.name_in(step.subscript) is None:
                continue
            if (place.site, number) in of_rows:
                continue
            memory = known.whole(step.subscript)
            if memory is None:
                return _computed(subject, place, known.name_in(step.subscript) or "")
            targets.append(Target(memory, place, number))
    return Contents(tuple(targets), found)


def _computed(subject: Subject, place: Place, name: str) -> NoPlan:
    return NoPlan(
        f"A subscript of `{place.variable.source_name}` on line {subject.line_number(place.site)} is "
        f"computed from the contents of `{name}`: data for which it stays inside the array cannot be made "
        f"up. Measure a function that fills `{name}` itself."
    )


class _Known:
    """Variables with values from an array of integers: `_direct`, exactly an element of a memory (its
    number); `_tainted`, a value computed from one (its name)."""

    def __init__(self, subject: Subject, data: Storage) -> None:
        self._data = data
        self._direct: dict[str, int] = {}
        self._tainted: dict[str, str] = {}
        assigned = [s for s in walk(subject.function.body) if isinstance(s, Assign) and not s.target.steps]
        for each in assigned:
            memory = self.whole(each.value)
            name = each.target.variable.name
            if (
                memory is not None
                and each.operator is None
                and len(subject.assigned(each.target.variable)) == 1
            ):
                self._direct[name] = memory
        while more := {
            each.target.variable.name: name
            for each in assigned
            if each.target.variable.name not in self._tainted
            and isinstance(each.target.variable.type, Integer)
            and (name := self.name_in(each.value)) is not None
        }:
            self._tainted.update(more)

    def name_in(self, value: Expr) -> str | None:
        """The array that whole numbers in an expression come from, if they do."""
        for node in subexpressions(value):
            if isinstance(node, Read) and isinstance(node.type, Integer):
                if node.place.steps and not self._data.is_number(node.place):
                    return spelling(node.place) or node.place.variable.source_name
                if node.place.variable.name in self._tainted:
                    return self._tainted[node.place.variable.name]
        return None

    def whole(self, value: Expr) -> int | None:
        """The memory whose element an expression is, if it is nothing else."""
        value = bare(value)
        if not isinstance(value, Read) or not isinstance(value.type, Integer):
            return None
        place = value.place
        return self._data.number_at(place) if place.steps else self._direct.get(place.variable.name)


# --------------------------------------------------------------------------------------------------
# Extents of the memories of a function, and its number of operations, at numeric sizes.
# --------------------------------------------------------------------------------------------------


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


def steps_of(memory: Memory, scop: Scop, sizes: Mapping[str, int]) -> tuple[int, ...] | None:
    """The strides of a linear array in elements, at some sizes (by spelling); `None` if they are computed of
    other values."""
    terms = [term for stride in memory.strides for term in stride]
    if any(name.startswith(VALUE_OF) for names, _ in terms for name in names):
        return None
    spelled = scop.parameters
    return tuple(
        sum(c * prod(sizes.get(spelled.get(n, n), 0) for n in names) for names, c in stride)
        for stride in memory.strides
    )


def _ends(touched: Touched, of_type: Type, sizes: Mapping[str, int]) -> tuple[int, int] | None:
    """The first and the last element, as one subscript; `None` where they are undetermined."""
    memory = touched.memory
    fields = [number for number, step in enumerate(memory.shape) if step != "[]"]
    # Of structures, the subscripts before their fields say which one it is.
    dimensions = min([memory.dimensions, *fields])
    if memory.scoped or (fields and (memory.strides or not dimensions)):
        return None
    if memory.strides:
        found = steps_of(memory, touched.scop, sizes)
        if found is None:
            return None
        steps = list(found)
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
