"""The dependences that a drawing shows."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polylsp.analysis.chains import binding
from polylsp.analysis.conflicts import Conflict, Conflicts
from polylsp.analysis.liveness import Live
from polylsp.analysis.private import may_have_copy
from polylsp.analysis.regions import Nest
from polylsp.analysis.scalars import scalars_of
from polylsp.analysis.space.axes import Drawn
from polylsp.analysis.verdicts import verdict
from polylsp.analysis.witness import access_point, value_based
from polylsp.model.verdict import AccessPoint, DependenceKind


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """A conflict of two accesses that a drawn loop carries, as pairs of points `{ [x, y] -> [x', y'] }`."""

    kind: DependenceKind
    accesses: tuple[AccessPoint, AccessPoint]
    relation: isl.Map


def carried(nest: Nest, conflicts: Conflicts, drawn: Drawn, after: dict[int, Live]) -> list[Carried]:
    """Dependences that the drawn loops carry between drawn statements."""
    found: list[Carried] = []
    for ordinal in drawn.loops:
        for conflict in _binding(nest, conflicts, ordinal, after):
            source, sink = (
                drawn.places.get(conflicts.statement(a).name) for a in (conflict.source, conflict.sink)
            )
            if source is not None and sink is not None:
                pairs = value_based(conflicts, conflict, ordinal)
                ends = access_point(conflict.source), access_point(conflict.sink)
                found.append(Carried(conflict.kind, ends, pairs.apply_domain(source).apply_range(sink)))
    return found


def _binding(nest: Nest, conflicts: Conflicts, ordinal: int, after: dict[int, Live]) -> list[Conflict]:
    """Dependences that the loop carries, without those that a copy per iteration removes; of reductions the
    flow."""
    scalars = scalars_of(nest.entries[ordinal].loop, nest.scop, after[ordinal])
    verdicts = {ordinal: verdict(conflicts, ordinal, scalars)}
    written = conflicts.written_in(ordinal)
    kept = {
        m.name for m in written if scalars.live(m.variable.name) or not may_have_copy(conflicts, m, ordinal)
    }
    return [
        c
        for c in binding(conflicts, ordinal, verdicts, updates=True)
        if (c.kind == "flow" or not _is_update(c)) and c.source.memory.name in kept
    ]


def _is_update(conflict: Conflict) -> bool:
    return conflict.source.update is not None and conflict.source.update == conflict.sink.update
