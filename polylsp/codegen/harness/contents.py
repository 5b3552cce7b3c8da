"""Constraints on integers in arrays so that no subscript computed from them leaves its array."""

from __future__ import annotations

from dataclasses import dataclass

from polylsp.analysis.effects import loops_in, places_in, walk
from polylsp.codegen.harness.members import spelling
from polylsp.codegen.harness.starts import Rows, rows
from polylsp.codegen.harness.storage import Storage
from polylsp.codegen.subject import Subject
from polylsp.model.expressions import bare, subexpressions
from polylsp.model.measurement import NoPlan
from polylsp.model.program import (
    Assign,
    Expr,
    Index,
    Integer,
    Place,
    Read,
)


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
