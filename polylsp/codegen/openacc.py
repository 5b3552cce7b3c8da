"""`#pragma acc parallel loop` with its data clauses."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.codegen.device import Kernel, Region, region
from polylsp.codegen.directive import Clause, Directive, clauses, listed
from polylsp.codegen.levels import inside, vectors
from polylsp.codegen.placing import edited
from polylsp.codegen.subject import Subject
from polylsp.codegen.transfer import Transfer
from polylsp.model.action import Answer, Declined
from polylsp.model.facts import LoopFacts
from polylsp.model.program import Binary
from polylsp.model.verdict import Parallel
from polylsp.settings import Settings

_KINDS = {
    "copyin": (True, False),
    "copy": (True, True),
    "copyout": (False, True),
    "create": (False, False),
}
"""The clause for what comes in and goes out."""


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """The parallel loops on the device, their arrays moved as little as can be."""
    found = region(subject, ordinal)
    if isinstance(found, Declined):
        return found
    refused = next((r for kernel in found.kernels if (r := _refused(subject, kernel))), None)
    if refused is not None:
        return Declined(refused)
    return edited(subject, found, list(_directives(subject, found, settings)))


def _refused(subject: Subject, kernel: Kernel) -> str | None:
    """Compilers take reductions of scalars only, and no `!=` (OpenACC 3.3, 2.9)."""
    for loop in kernel.loops:
        condition = subject.loop(loop.ordinal).condition
        if isinstance(condition, Binary) and condition.operator == "!=":
            return f"OpenACC takes no `!=` in the header of the loop `{loop.iterator}`: write `<` or `>`."
    verdict = kernel.loops[0].verdict
    arrays = (
        {r.variable for r in verdict.reductions if r.is_array} if isinstance(verdict, Parallel) else set()
    )
    combined = (name for clause in kernel.sharing.reductions for name in clause.arguments)
    refused = next((name for name in combined if name.partition("[")[0] in arrays), None)
    return f"OpenACC cannot add up `{refused}` in parallel: only scalars." if refused else None


def _directives(subject: Subject, found: Region, settings: Settings) -> Iterator[tuple[LoopFacts, Directive]]:
    if found.around is not None and found.shared:
        yield found.around, Directive("acc", "data", tuple(_data(found.shared)))
    for kernel in found.kernels:
        inner = vectors(subject, kernel.loops)
        levels = (Clause("gang"),) if inner else (Clause("gang"), Clause("vector"))
        yield kernel.loops[0], _outer(kernel, levels, found, settings)
        for loop in inside(subject, kernel.loops):
            if _takes_a_directive(subject, loop):
                yield loop, _inner(loop, inner)


def _takes_a_directive(subject: Subject, loop: LoopFacts) -> bool:
    condition = subject.loop(loop.ordinal).condition
    unequal = isinstance(condition, Binary) and condition.operator == "!="
    return not loop.misfit and not unequal and not subject.begins_in_macro(loop.site)


def _outer(kernel: Kernel, levels: tuple[Clause, ...], found: Region, settings: Settings) -> Directive:
    count = len(kernel.loops)
    condition = kernel.work.condition(settings.offload_threshold) if kernel.work is not None else ""
    moved = tuple(_data(kernel.moved)) if kernel.moved else _present(found.shared)
    return Directive(
        "acc",
        "parallel loop",
        clauses(
            *levels,
            Clause("collapse", (str(count),)) if count > 1 else None,
            listed("private", kernel.sharing.private),
            *kernel.sharing.reductions,
            *moved,
            Clause("if", (condition,)) if condition and found.around is None else None,
        ),
    )


def _inner(loop: LoopFacts, vector: tuple[LoopFacts, ...]) -> Directive:
    if loop not in vector:
        return Directive("acc", "loop", (Clause("seq"),))
    private = loop.verdict.private if isinstance(loop.verdict, Parallel) else ()
    return Directive("acc", "loop", clauses(Clause("vector"), listed("private", private)))


def _data(moved: tuple[Transfer, ...]) -> Iterator[Clause]:
    """One clause for each way of moving."""
    kinds = {
        "copyin": (True, False),
        "copy": (True, True),
        "copyout": (False, True),
        "create": (False, False),
    }
    for name, kind in kinds.items():
        sections = tuple(t.section for t in moved if (t.comes_in, t.goes_out) == kind)
        if sections:
            yield Clause(name, sections)


def _present(shared: tuple[Transfer, ...]) -> tuple[Clause, ...]:
    return (Clause("present", tuple(t.name for t in shared)),) if shared else ()
