"""Which variables of a parallel loop have a copy each, and which are shared: the clauses about data that
OpenMP and OpenACC have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polylsp.analysis.effects import effects
from polylsp.codegen.directive import Clause
from polylsp.codegen.footprint import section
from polylsp.codegen.stretch import stretch_of
from polylsp.codegen.subject import Subject
from polylsp.model.action import Declined
from polylsp.model.facts import LoopFacts
from polylsp.model.program import Array, Constant, Type, Variable
from polylsp.model.scop import Access, Scop
from polylsp.model.verdict import Parallel, Reduction


@dataclass(frozen=True, slots=True)
class Sharing:
    """Names for the clauses; `reductions` by operator, in the order of the source."""

    private: tuple[str, ...]
    lastprivate: tuple[str, ...]
    reductions: tuple[Clause, ...]


def sharing(subject: Subject, loops: tuple[LoopFacts, ...]) -> Sharing | Declined:
    """The data clauses of a directive on `loops[0]` that makes one loop of all `loops`."""
    root = loops[0]
    verdict = root.verdict
    assert isinstance(verdict, Parallel)
    name = root.iterator or root.kind
    if verdict.inductions:
        counters = ", ".join(f"`{each.variable}`" for each in verdict.inductions)
        return Declined(
            f"{counters} is counted along with `{name}`: compute it from `{name}` in each iteration first."
        )
    hidden = _seen_by_calls(subject, root, (*verdict.private, *verdict.lastprivate))
    if hidden:
        return Declined(
            f"`{hidden}` would need a copy per thread, but a function that the loop calls uses it."
        )
    reductions = _reductions(subject, root, verdict.reductions)
    if isinstance(reductions, Declined):
        return reductions
    own = {each.iterator for each in loops}
    last = verdict.lastprivate
    return Sharing(tuple(n for n in verdict.private if n not in own), last, reductions)


def _seen_by_calls(subject: Subject, root: LoopFacts, names: Iterable[str]) -> str:
    """A variable of the file that gets copies, while a called function knows only the original."""
    own = effects(subject.loop(root.ordinal))
    outside = {v.source_name for v in own.variables if v.storage in ("global", "static") or v.escapes}
    return next((name for name in names if own.calls and name in outside), "")


def _reductions(
    subject: Subject, root: LoopFacts, found: tuple[Reduction, ...]
) -> tuple[Clause, ...] | Declined:
    items: dict[str, list[str]] = {}
    for each in found:
        item = _reduced(subject, root, each)
        if isinstance(item, Declined):
            return item
        items.setdefault(each.operator, []).append(item)
    return tuple(Clause("reduction", tuple(names), operator) for operator, names in items.items())


def _reduced(subject: Subject, root: LoopFacts, reduction: Reduction) -> str | Declined:
    """The list item: a variable, or the part of an array that is updated."""
    name = reduction.variable
    variable = next((v for v in effects(subject.loop(root.ordinal)).variables if v.source_name == name), None)
    if variable is None:
        return Declined(
            f"`{name}` is no variable of its own, which a reduction needs: add up in a local one first."
        )
    if not reduction.is_array:
        return name
    found = subject.nest(root.ordinal)
    scop = found[1].scop if found is not None else None
    accesses = _accesses(scop, root, variable) if scop is not None else []
    if any(a.update is None for a in accesses):
        return Declined(
            f"`{name}` is also used in other ways in the loop `{root.iterator}`: "
            "add up in a local variable first."
        )
    if _is_whole_array(variable):
        return name
    one = len({a.memory.name for a in accesses}) == 1 and scop is not None
    part = section(subject, scop, accesses, stretch_of(subject, root)) if one and scop is not None else None
    return (
        part.text
        if part is not None and not part.assumed
        else Declined(
            f"How much of `{name}` is updated cannot be written down before the loop, as a reduction must."
        )
    )


def _accesses(scop: Scop, root: LoopFacts, variable: Variable) -> list[Access]:
    return [
        a
        for a in scop.accesses
        if a.memory.variable == variable and root.ordinal in scop.statements[a.statement].loops
    ]


def _is_whole_array(variable: Variable) -> bool:
    """Whether the variable is an array of a fixed size, and no parameter."""
    of_type: Type = variable.type
    if variable.storage == "parameter" or not isinstance(of_type, Array):
        return False
    while isinstance(of_type, Array):
        if not isinstance(of_type.extent, Constant):
            return False
        of_type = of_type.element
    return True
