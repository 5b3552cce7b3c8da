"""What is said of a whole nest: its band, its transform, its model as text."""

from __future__ import annotations

import islpy as isl

from polylsp.analysis.budget import Exhausted, budgeted
from polylsp.analysis.chains import source_band
from polylsp.analysis.conflicts import Conflicts
from polylsp.analysis.dataflow import false_dependences, flow
from polylsp.analysis.regions import Nest
from polylsp.analysis.schedules import exposing_transform
from polylsp.analysis.timetable import schedule_tree
from polylsp.analysis.witness import dependence
from polylsp.model.facts import Band, NestFacts, NestModel, Transform
from polylsp.model.scop import Scop
from polylsp.model.verdict import Dependence, Verdict

_MOST_DEPENDENCES = 40


def nest_facts(
    nest: Nest, conflicts: Conflicts, verdicts: dict[int, Verdict], schedules: bool, operations: int
) -> NestFacts:
    """The facts of a nest; its transform and its text only if `schedules` are wanted."""
    scop = nest.scop
    found = budgeted(operations, lambda: source_band(conflicts, verdicts))
    band = Band(tuple(scop.loops)[:1], False, (False,)) if isinstance(found, Exhausted) else found
    transform = model = None
    if schedules:
        exposed = budgeted(operations, lambda: exposing_transform(conflicts, verdicts))
        transform = Transform("none-found") if isinstance(exposed, Exhausted) else exposed
        text = budgeted(operations, lambda: model_text(scop))
        model = None if isinstance(text, Exhausted) else text
    listed = budgeted(operations, lambda: _dependences(conflicts))
    dependences = () if isinstance(listed, Exhausted) else listed
    return NestFacts(scop.site, tuple(scop.loops), band, transform, model, dependences)


def model_text(scop: Scop) -> NestModel:
    """The polyhedral model in isl's notation."""
    domain = _union([s.domain.to_union_set() for s in scop.statements])
    return NestModel(
        str(scop.context),
        str(domain),
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
