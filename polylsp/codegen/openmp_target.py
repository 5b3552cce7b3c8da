"""`#pragma omp target teams distribute parallel for` with its data clauses."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.codegen.device import Kernel, Region, region
from polylsp.codegen.directive import Clause, Directive, clauses, listed
from polylsp.codegen.placing import edited
from polylsp.codegen.subject import Subject
from polylsp.codegen.transfer import Transfer
from polylsp.model.action import Answer, Declined
from polylsp.model.facts import LoopFacts
from polylsp.settings import Settings

_WORDS = "target teams distribute parallel for"


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """The parallel loops on the device, their arrays moved as little as can be."""
    found = region(subject, ordinal)
    if isinstance(found, Declined):
        return found
    return edited(subject, found, list(_directives(found, settings)))


def _directives(found: Region, settings: Settings) -> Iterator[tuple[LoopFacts, Directive]]:
    if found.around is not None and found.shared:
        yield found.around, Directive("omp", "target data", tuple(_maps(found.shared)))
    for kernel in found.kernels:
        yield kernel.loops[0], _kernel(kernel, found, settings)


def _kernel(kernel: Kernel, found: Region, settings: Settings) -> Directive:
    count = len(kernel.loops)
    condition = kernel.work.condition(settings.offload_threshold) if kernel.work is not None else ""
    reduced = [name for clause in kernel.sharing.reductions for name in clause.arguments]
    return Directive(
        "omp",
        _WORDS,
        clauses(
            Clause("collapse", (str(count),)) if count > 1 else None,
            listed("private", kernel.sharing.private),
            *kernel.sharing.reductions,
            *_maps(_without(kernel.moved, reduced)),
            Clause("map", tuple(reduced), "tofrom") if reduced else None,
            Clause("if", (condition,), "target") if condition and found.around is None else None,
        ),
    )


def _without(moved: tuple[Transfer, ...], reduced: list[str]) -> tuple[Transfer, ...]:
    """A reduced array is listed with the reductions, as tofrom."""
    names = {each.split("[")[0] for each in reduced}
    return tuple(each for each in moved if each.name not in names)


def _maps(moved: tuple[Transfer, ...]) -> Iterator[Clause]:
    """One clause for each way of moving."""
    kinds = {"to": (True, False), "tofrom": (True, True), "from": (False, True), "alloc": (False, False)}
    for name, kind in kinds.items():
        sections = tuple(t.section for t in moved if (t.comes_in, t.goes_out) == kind)
        if sections:
            yield Clause("map", sections, name)
