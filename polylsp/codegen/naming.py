"""Nameability of a device's variables in a clause: the name must denote the same variable where the clause
stands as in the loops."""

from __future__ import annotations

from polylsp.analysis.effects import effects, walk
from polylsp.codegen.stretch import Stretch
from polylsp.codegen.subject import Subject
from polylsp.model.facts import LoopFacts
from polylsp.model.program import Array, Declare, Pointer, Variable
from polylsp.model.scop import Access
from polylsp.model.verdict import Parallel


def why_not_named(subject: Subject, region: Stretch, variable: Variable, accesses: list[Access]) -> str:
    """Reason why a clause before a region cannot name an array that is accessed in it; empty if it can."""
    name = variable.source_name
    if any(a.memory.follows_pointers for a in accesses):
        return (
            f"`{name}` leads to its elements by pointers in memory, which a device cannot follow: "
            "put them into one array."
        )
    if any(isinstance(a.memory.element, Pointer) for a in accesses):
        return f"`{name}` holds pointers, which lead to memory of the host: use subscripts instead."
    if [v.source_name for v in subject.variables].count(name) != 1:
        return f"More than one variable is called `{name}` in `{subject.function.name}`: rename one."
    if _is_declared_in(subject, region, variable):
        return f"`{name}` is declared between the parallel loops: declare it before them."
    if isinstance(variable.type, Pointer) and not _is_steady(subject, region, variable, accesses):
        return f"The pointer `{name}` is set anew: use one that keeps its value for the parallel loops."
    return ""


def unnamed_pointer(subject: Subject, root: LoopFacts, named: set[str]) -> str:
    """A pointer or an array that a loop of the device uses from outside, and that no clause names: it has
    the host's address there. Empty if there is none."""
    loop = subject.loop(root.ordinal)
    inside = {s.variable for s in walk(loop) if isinstance(s, Declare)}
    verdict = root.verdict
    own = {*verdict.private, *verdict.lastprivate} if isinstance(verdict, Parallel) else set[str]()
    found = (
        v.source_name
        for v in effects(loop).variables
        if isinstance(v.type, (Pointer, Array)) and v not in inside and v.source_name not in named | own
    )
    return min(found, default="")


def _is_declared_in(subject: Subject, region: Stretch, variable: Variable) -> bool:
    return any(
        isinstance(s, Declare) and s.variable == variable and region.holds(s.site)
        for s in walk(subject.function.body)
    )


def _is_steady(subject: Subject, region: Stretch, variable: Variable, accesses: list[Access]) -> bool:
    """True if subscripts count from the target of the pointer at the beginning of the region."""
    assigned = subject.assigned(variable)
    if all(a.memory.from_entry and not a.memory.fresh for a in accesses):
        return not assigned
    return len(assigned) == 1 and assigned[0].site.last < region.site.first
