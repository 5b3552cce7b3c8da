"""Facts of a whole nest: its band, its transform, its model as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import islpy as isl

from polylsp.analysis.budget import Budget, Exhausted
from polylsp.analysis.chains import source_band
from polylsp.analysis.conflicts import Conflicts
from polylsp.analysis.dataflow import false_dependences, flow
from polylsp.analysis.regions import Nest
from polylsp.analysis.schedules import exposing_transform
from polylsp.analysis.timetable import schedule_tree
from polylsp.analysis.witness import dependence
from polylsp.model.facts import Band, NestFacts, NestModel, NestRelations, Transform
from polylsp.model.scop import Scop
from polylsp.model.verdict import Dependence, Unknown, Verdict

T = TypeVar("T")

_MOST_DEPENDENCES = 40


def nest_facts(
    nest: Nest,
    conflicts: Conflicts,
    verdicts: dict[int, Verdict],
    budget: Budget,
    schedules: bool,
    relations: bool,
) -> NestFacts:
    """The facts of a nest; its transform and its model only if `schedules` are wanted, and of that the
    `relations` only if they are too."""
    scop = nest.scop
    asked = _Asked(budget, scop.depth, any(_gave_up(verdict) for verdict in verdicts.values()))
    found = asked.of(lambda: source_band(conflicts, verdicts))
    band = Band(tuple(scop.loops)[:1], False, (False,)) if isinstance(found, Exhausted) else found
    listed = asked.of(lambda: _dependences(conflicts))
    dependences = () if isinstance(listed, Exhausted) else listed
    transform = model = None
    if schedules:
        exposed = asked.of(lambda: exposing_transform(conflicts, verdicts))
        transform = Transform("none-found") if isinstance(exposed, Exhausted) else exposed
        text = asked.of(lambda: _model(scop, relations))
        model = None if isinstance(text, Exhausted) else text
    return NestFacts(scop.site, tuple(scop.loops), band, transform, model, dependences)


@dataclass(slots=True)
class _Asked:
    """Queries about a nest. An interrupted isl may be left in a state that crashes: after that (`gave_up`) no
    further query is run."""

    budget: Budget
    depth: int
    gave_up: bool

    def of(self, work: Callable[[], T]) -> T | Exhausted:
        """An answer, or that there is none."""
        found = Exhausted() if self.gave_up else self.budget.run(work, depth=self.depth)
        self.gave_up = isinstance(found, Exhausted)
        return found


def _gave_up(verdict: Verdict) -> bool:
    return isinstance(verdict, Unknown) and verdict.rejection.code == "budget"


def _model(scop: Scop, relations: bool) -> NestModel:
    """The polyhedral model in isl's notation."""
    domain = _union([s.domain.to_union_set() for s in scop.statements])
    return NestModel(str(scop.context), str(domain), _relations(scop) if relations else None)


def _relations(scop: Scop) -> NestRelations:
    return NestRelations(
        str(schedule_tree(scop)),
        _accesses(scop, "read", None),
        _accesses(scop, "write", False),
        _accesses(scop, "write", True),
        str(flow(scop)),
        str(false_dependences(scop)),
    )


def _union(parts: list[isl.UnionSet]) -> isl.UnionSet:
    """The union of isl sets."""
    result = isl.UnionSet("{ }")
    for part in parts:
        result = result.union(part)
    return result.coalesce()


def _accesses(scop: Scop, kind: str, certain: bool | None) -> str:
    result = isl.UnionMap("{ }")
    for access in scop.accesses:
        sure = access.exact and not scop.statements[access.statement].guards
        if access.kind == kind and (certain is None or certain == sure):
            result = result.union(access.relation.to_union_map())
    return str(result.coalesce())


def _dependences(conflicts: Conflicts) -> tuple[Dependence, ...]:
    """The conflicts that each loop carries, as the user sees them."""
    found: list[Dependence] = []
    for ordinal in conflicts.scop.loops:
        for memory in conflicts.written_in(ordinal):
            for conflict in conflicts.carried(memory, ordinal):
                found.append(dependence(conflicts, conflict, ordinal))
                if len(found) >= _MOST_DEPENDENCES:
                    return tuple(found)
    return tuple(found)
