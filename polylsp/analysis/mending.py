"""The one clause that makes a directive right, where there is one."""

from __future__ import annotations

from polylsp.analysis.conflicts import Conflicts
from polylsp.analysis.data_sharing import DataSharing, reduced
from polylsp.analysis.private import last_iteration_writes_all, may_have_copy
from polylsp.analysis.races import Racing, calls_in
from polylsp.analysis.scalars import LoopScalars
from polylsp.analysis.verdicts import reassociable
from polylsp.analysis.witness import access_point
from polylsp.model.directive import Lacking, Mend
from polylsp.model.extents import is_whole_array
from polylsp.model.program import Variable
from polylsp.model.scop import Memory
from polylsp.model.verdict import ReductionOperator


def lacking(
    conflicts: Conflicts, sharing: DataSharing, scalars: LoopScalars, racing: Racing
) -> Lacking | None:
    """The clause whose absence lets iterations race on a memory; `None` where no clause helps."""
    variable = racing.memory.variable
    if sharing.construct.directive.family == "numba":
        return None  # It takes no clauses.
    if sharing.is_shared_by_clause(variable.source_name) or variable.storage == "static":
        return None  # Another clause names it, or it may be declared in the loop, where no clause sees it.
    called = {call.site for call in calls_in(sharing.construct.loop)}
    accesses = conflicts.accesses(racing.memory, racing.ordinal)
    if any(access.site in called for access in accesses):
        return None  # A function that is called sees the variable itself, whatever copies there are.
    operator = reassociable(conflicts, accesses, racing.ordinal)
    write = next(a for a in accesses if a.kind == "write")
    if operator is not None:
        if not can_be_reduced(racing.memory, sharing):
            return None
        return Lacking("sum", variable.source_name, access_point(write), summing(operator, variable))
    kind = _copy(conflicts, sharing, scalars, racing)
    if kind is None:
        return None
    mend = Mend(f"{kind}({variable.source_name})")
    return Lacking("temporary", variable.source_name, access_point(write), mend)


def summing(operator: ReductionOperator, variable: Variable, out_of: str = "") -> Mend:
    """The reduction clause that a variable needs."""
    name = variable.source_name
    return Mend(f"reduction({operator}:{name})", name if out_of else "", out_of)


def can_be_reduced(memory: Memory, sharing: DataSharing) -> bool:
    """Whether a reduction clause can name what is reduced: a scalar, or in OpenMP a whole array."""
    variable = memory.variable
    if memory.pointer is not None or memory.path != variable.source_name:
        return False
    directive = sharing.construct.directive
    if directive.words == ("distribute",) or variable.source_name in reduced(directive):
        return False
    is_array = memory.dimensions > memory.scoped
    return not is_array or (directive.family == "omp" and is_whole_array(variable))


def _copy(conflicts: Conflicts, sharing: DataSharing, scalars: LoopScalars, racing: Racing) -> str | None:
    """Which copy per thread keeps the iterations apart."""
    memory, ordinal = racing.memory, racing.ordinal
    if memory.path != memory.variable.source_name or not may_have_copy(conflicts, memory, ordinal):
        return None
    if not scalars.live(memory.variable.name):
        return "private"
    if can_be_lastprivate(sharing) and last_iteration_writes_all(conflicts, memory, ordinal):
        return "lastprivate"
    return None


def can_be_lastprivate(sharing: DataSharing) -> bool:
    """Whether the directive takes the clause `lastprivate` for any variable."""
    directive = sharing.construct.directive
    return directive.family == "omp" and directive.words[-1] != "loop"
