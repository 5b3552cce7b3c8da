"""Sums and extremes that iterations update where their data says so (`if (a[i] > m) m = a[i];`). No single
update is certain, but a directive without the clause is right only if there is at most one."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.analysis.conflicts import Conflicts
from polylsp.analysis.data_sharing import DataSharing
from polylsp.analysis.effects import effects, nodes, walk
from polylsp.analysis.mending import lacking
from polylsp.analysis.races import Racing, calls_in, is_unconditional
from polylsp.analysis.scalars import LoopScalars
from polylsp.analysis.verdicts import reassociable
from polylsp.model.directive import Finding
from polylsp.model.expressions import subexpressions, subscripts
from polylsp.model.program import Assign, Expr, If, Jump, Loop, Read, Variable
from polylsp.model.scop import Memory


def conditional_updates(
    conflicts: Conflicts, sharing: DataSharing, scalars: LoopScalars
) -> Iterator[tuple[str, Finding]]:
    """The reductions whose clause is missing, by unique name."""
    construct = sharing.construct
    if construct.mode != "threads" or construct.inside or calls_in(construct.loop):
        return
    if _depends_on_the_thread(sharing):
        return
    for memory in conflicts.written_in(construct.loop.ordinal):
        if _is_shared_scalar(sharing, memory) and _happens_by_data(conflicts, construct.loop, memory):
            found = lacking(conflicts, sharing, scalars, Racing(memory, construct.loop.ordinal, ()))
            if found is not None and found.kind == "sum":
                yield memory.variable.name, found


def _is_shared_scalar(sharing: DataSharing, memory: Memory) -> bool:
    if memory.shape or memory.pointer is not None or memory.path != memory.variable.source_name:
        return False
    return not sharing.is_out_of_reach(memory, sharing.construct.loop.site)


def _happens_by_data(conflicts: Conflicts, loop: Loop, memory: Memory) -> bool:
    """Whether iterations do nothing with a variable but update it by one operator, under conditions on what
    each of them reads, of which there are many whatever the parameters are."""
    accesses = conflicts.accesses(memory, loop.ordinal)
    operator = reassociable(conflicts, accesses, loop.ordinal)
    guards = [guard for access in accesses for guard in conflicts.statement(access).guards]
    if operator is None or any(each.update != operator for each in accesses):
        return False
    if any(guard.kind != "if" for guard in guards) or not _reads_data(loop, memory.variable):
        return False
    carried = (each for each in conflicts.carried(memory, loop.ordinal) if not each.certain)
    return any(is_unconditional(conflicts, each, loop.ordinal) for each in carried)


def _reads_data(loop: Loop, variable: Variable) -> bool:
    """Whether all conditions that decide on an assignment read what is not the same in all iterations."""
    deciding = [s for s in walk(loop.body) if isinstance(s, If) and _decides(s, variable)]
    changing = effects(loop).scalars - {variable.name}
    return all(_changes(each.condition, changing) for each in deciding)


def _decides(choice: If, variable: Variable) -> bool:
    inside = list(walk(choice.then, choice.otherwise))
    assigned = any(isinstance(s, Assign) and s.target.variable == variable for s in inside)
    return assigned or any(isinstance(s, Jump) for s in inside)


def _changes(value: Expr, changing: frozenset[str]) -> bool:
    """Whether an expression reads a variable among some, or an element at a subscript that does."""
    for node in subexpressions(value):
        if isinstance(node, Read):
            if node.place.variable.name in changing and not node.place.steps:
                return True
            if any(_changes(each, changing) for each in subscripts(node.place)):
                return True
    return False


def _depends_on_the_thread(sharing: DataSharing) -> bool:
    """Whether the loop reads what each thread has for itself before it."""
    loop = sharing.construct.loop
    changing = effects(loop).scalars
    outside = {
        node.place.variable
        for statement in walk(loop)
        for node in nodes(statement)
        if isinstance(node, Read) and node.place.variable.name not in changing
    }
    return any(sharing.varies(v.source_name) or sharing.has_copies(v, loop.site) for v in outside)
