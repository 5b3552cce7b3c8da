"""The one clause that makes a directive right, where there is one."""

from __future__ import annotations

from functools import reduce

import islpy as isl

from polylsp.analysis.conflicts import Conflicts
from polylsp.analysis.data_sharing import DataSharing, reduced
from polylsp.analysis.effects import walk
from polylsp.analysis.private import last_iteration_writes_all, may_have_copy
from polylsp.analysis.races import Racing, calls_in
from polylsp.analysis.scalars import LoopScalars
from polylsp.analysis.verdicts import reassociable
from polylsp.analysis.witness import access_point
from polylsp.model.directive import Lacking, Mend
from polylsp.model.extents import is_whole_array
from polylsp.model.program import Array, Assign, Variable, within
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
    mend = lasting(conflicts, sharing, variable) if kind == "lastprivate" else None
    mend = mend or Mend(f"{kind}({variable.source_name})")
    return Lacking("temporary", variable.source_name, access_point(write), mend)


def lasting(conflicts: Conflicts, sharing: DataSharing, variable: Variable) -> Mend:
    """The clause for a variable whose last value is needed after the loop. One that has a value before is
    firstprivate too where the loop may not set it: compilers copy it back all the same."""
    name, words = variable.source_name, sharing.construct.directive.words
    takes_both = "for" in words and "distribute" not in words
    if takes_both and _may_have_value(sharing, variable) and _may_not_set(conflicts, sharing, variable):
        return Mend(f"firstprivate({name}) lastprivate({name})")
    return Mend(f"lastprivate({name})")


def _may_have_value(sharing: DataSharing, variable: Variable) -> bool:
    """True if the variable may have been set when the loop begins."""
    if variable.storage != "local" or isinstance(variable.type, Array) or variable.escapes:
        return True
    loop, directed = sharing.construct.loop, sharing.directed
    declared = [each.site for each in directed.declared if each.variable == variable]
    # In the iteration before of a loop around, unless the variable lives for one of these alone.
    again = [
        each.site
        for each in directed.loops
        if within(loop.site, each.site) and each != loop and not any(within(d, each.site) for d in declared)
    ]
    sites = [
        s.site
        for s in walk(directed.function.body)
        if isinstance(s, Assign) and s.target.variable == variable
    ]
    return any(site.first < loop.site.first or any(within(site, o) for o in again) for site in sites)


def _may_not_set(conflicts: Conflicts, sharing: DataSharing, variable: Variable) -> bool:
    """True if there may be no iteration that sets a variable when the loops of the directive begin."""
    loops, dims = conflicts.scop.loops, isl.dim_type.set
    handed = sharing.construct.loops
    depth = loops[handed[-1].ordinal].domain.dim(dims) - len(handed)
    sets = _setting(conflicts, handed[-1].ordinal, variable)
    runs = reduce(isl.Set.union, (_outer(each, depth) for each in sets)) if sets else None
    if runs is None or depth == 0:
        return runs is None or not conflicts.defined().is_subset(runs.params())
    around = [each.ordinal for each in sharing.directed.loops if within(handed[0].site, each.site)]
    begins = [loops[o].domain for o in around if o in loops and loops[o].domain.dim(dims) == depth]
    return len(begins) != 1 or not _outer(begins[0], depth).is_subset(runs)


def _setting(conflicts: Conflicts, ordinal: int, variable: Variable) -> list[isl.Set]:
    """Iterations of a loop in which a variable is surely set; all, if it is no memory of the model."""
    scop = conflicts.scop
    inside = [a for a in scop.accesses if ordinal in scop.statements[a.statement].loops]
    writes = [a for a in inside if a.memory.path == variable.source_name and a.kind == "write"]
    if not writes:
        return [scop.loops[ordinal].domain]
    return [scop.statements[a.statement].domain for a in writes if scop.certain(a)]


def _outer(domain: isl.Set, depth: int) -> isl.Set:
    """The values of the first iterators."""
    return _unnamed(domain.project_out(isl.dim_type.set, depth, domain.dim(isl.dim_type.set) - depth))


def _unnamed(domain: isl.Set) -> isl.Set:
    return domain.reset_tuple_id() if domain.has_tuple_id() else domain


def summing(operator: ReductionOperator, variable: Variable, out_of: str = "") -> Mend:
    """The reduction clause that a variable needs."""
    name = variable.source_name
    return Mend(f"reduction({operator}:{name})", name if out_of else "", out_of)


def can_be_reduced(memory: Memory, sharing: DataSharing) -> bool:
    """True if a reduction clause can name the reduced memory: a scalar, or in OpenMP a whole array."""
    variable = memory.variable
    if memory.pointer is not None or memory.path != variable.source_name:
        return False
    directive = sharing.construct.directive
    if directive.words == ("distribute",) or variable.source_name in reduced(directive):
        return False
    is_array = memory.dimensions > memory.scoped
    return not is_array or (directive.family == "omp" and is_whole_array(variable))


def _copy(conflicts: Conflicts, sharing: DataSharing, scalars: LoopScalars, racing: Racing) -> str | None:
    """Data-sharing clause for a copy per thread that separates the iterations."""
    memory, ordinal = racing.memory, racing.ordinal
    if memory.path != memory.variable.source_name or not may_have_copy(conflicts, memory, ordinal):
        return None
    if not scalars.live(memory.variable.name):
        return "private"
    if can_be_lastprivate(sharing) and last_iteration_writes_all(conflicts, memory, ordinal):
        return "lastprivate"
    return None


def can_be_lastprivate(sharing: DataSharing) -> bool:
    """True if the directive takes the clause `lastprivate` for any variable."""
    directive = sharing.construct.directive
    return directive.family == "omp" and directive.words[-1] != "loop"
