"""`#pragma acc parallel loop`, `#pragma omp target teams distribute parallel for`, and their data clauses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polylsp.core.settings import Settings
from polylsp.emit.c_pragmas import Clause, Directive, clauses, condition, listed
from polylsp.emit.directive_placing import no_room
from polylsp.emit.subject import Subject
from polylsp.ir.effects import effects
from polylsp.ir.program import Array, Binary, Constant, Variable
from polylsp.model.facts import LoopFacts
from polylsp.schedule.statement_leaves import counter
from polylsp.targets.directives.data_regions import Transfer, by_way
from polylsp.targets.directives.device_directives import Dialect
from polylsp.targets.directives.device_loops import Abilities, Kernel, Shared, pays
from polylsp.targets.directives.loop_nesting import collapsible, inside, multiplied, vectors

# --------------------------------------------------------------------------------------------------
# OpenACC
# --------------------------------------------------------------------------------------------------


def _refused(subject: Subject, kernel: Kernel) -> str:
    """Compilers take reductions of scalars only, and no `!=` (OpenACC 3.3, 2.9); gcc's code for arrays whose
    length is no constant crashes."""
    variable = next(
        filter(_has_variable_length, effects(subject.loop(kernel.loops[0].ordinal)).variables), None
    )
    if variable is not None:
        name = variable.source_name
        return f"Not all OpenACC compilers take `{name}`, whose length is no constant: allocate it."
    for loop in kernel.loops:
        condition = subject.loop(loop.ordinal).condition
        if isinstance(condition, Binary) and condition.operator == "!=":
            return f"OpenACC takes no `!=` in the header of the loop `{loop.iterator}`: write `<` or `>`."
    arrays = {each.variable for each in kernel.loops[0].terms.reductions if each.is_array}
    combined = (name for clause in kernel.sharing.reductions for name in clause.arguments)
    refused = next((name for name in combined if name.partition("[")[0] in arrays), None)
    return f"OpenACC cannot add up `{refused}` in parallel: only scalars." if refused else ""


def _has_variable_length(variable: Variable) -> bool:
    """True for a local array with a dimension that is no constant."""
    of_type = variable.type if variable.storage == "local" else None
    while isinstance(of_type, Array):
        if of_type.extent is not None and not isinstance(of_type.extent, Constant):
            return True
        of_type = of_type.element
    return False


def _acc_loops(
    subject: Subject, kernel: Kernel, shared: Shared | None, settings: Settings
) -> Iterator[tuple[LoopFacts, Directive]]:
    inner = tuple(
        loop for loop in vectors(subject, kernel.loops) if _takes_a_directive(subject, kernel, loop)
    )
    levels = (Clause("gang"),) if inner else (Clause("gang"), Clause("vector"))
    yield kernel.loops[0], _outer(kernel, levels, shared, settings)
    for loop in inside(subject, kernel.loops):
        if _takes_a_directive(subject, kernel, loop):
            yield loop, _inner(loop, inner)


def _takes_a_directive(subject: Subject, kernel: Kernel, loop: LoopFacts) -> bool:
    """True if a loop inside can have a directive, which privatises its counter: not where the counter's last
    value is used after the loop, or goes back to the host (OpenACC 3.3, 2.6.1)."""
    if loop.misfit:
        return False
    after = subject.live_after[loop.ordinal]
    if loop.iterator is not None and {counter(subject, loop.ordinal).name, "*"} & after:
        return False
    if loop.iterator in kernel.uses or any(each.name == loop.iterator for each in kernel.moved):
        return False
    condition = subject.loop(loop.ordinal).condition
    unequal = isinstance(condition, Binary) and condition.operator == "!="
    placed = subject.begins_in_macro(loop.site) or no_room(subject, loop, "acc")
    return not unequal and not placed


def _outer(
    kernel: Kernel, levels: tuple[Clause, ...], shared: Shared | None, settings: Settings
) -> Directive:
    count = len(kernel.loops)
    moved = tuple(_clauses(kernel.moved)) if shared is None else _acc_present(kernel, shared)
    return Directive(
        "acc",
        "parallel loop",
        clauses(
            *levels,
            Clause("collapse", (str(count),)) if count > 1 else None,
            listed("private", kernel.sharing.private),
            *kernel.sharing.reductions,
            *moved,
            condition(pays(kernel, shared, settings)),
        ),
    )


def _inner(loop: LoopFacts, vector: tuple[LoopFacts, ...]) -> Directive:
    if loop not in vector:
        return Directive("acc", "loop", (Clause("seq"),))
    return Directive("acc", "loop", clauses(Clause("vector"), listed("private", loop.terms.private)))


def _acc_data(transfers: tuple[Transfer, ...], pays: str) -> Directive:
    return Directive("acc", "data", clauses(*_clauses(transfers), condition(pays)))


def _acc_update(to: str, sections: tuple[str, ...], pays: str) -> Directive:
    return Directive("acc", "update", clauses(Clause(to, sections), condition(pays)))


def _clauses(transfers: tuple[Transfer, ...]) -> Iterator[Clause]:
    """Clauses, one for each kind of transfer."""
    for name, sections in by_way(transfers, ("copyin", "copy", "copyout", "create")):
        yield Clause(name, sections)


def _acc_present(kernel: Kernel, shared: Shared) -> tuple[Clause, ...]:
    used = tuple(t.section for t in shared.transfers if t.name in kernel.uses)
    return (Clause("present", used),) if used else ()


# --------------------------------------------------------------------------------------------------
# OpenMP
# --------------------------------------------------------------------------------------------------


def _omp_loops(
    _subject: Subject, kernel: Kernel, shared: Shared | None, settings: Settings
) -> Iterator[tuple[LoopFacts, Directive]]:
    count = len(kernel.loops)
    reduced = [name for clause in kernel.sharing.reductions for name in clause.arguments]
    directive = Directive(
        "omp",
        "target teams distribute parallel for",
        clauses(
            Clause("collapse", (str(count),)) if count > 1 else None,
            listed("private", kernel.sharing.private),
            *kernel.sharing.reductions,
            *_maps(_without(kernel.moved if shared is None else _omp_present(kernel, shared), reduced)),
            Clause("map", tuple(reduced), "tofrom") if reduced else None,
            condition(pays(kernel, shared, settings), "target"),
        ),
    )
    yield kernel.loops[0], directive


def _omp_present(kernel: Kernel, shared: Shared) -> tuple[Transfer, ...]:
    """The sections of arrays and the scalars that are present already: without a clause, an array would be
    moved as a whole, and a scalar would be firstprivate (OpenMP 5.2, 5.8.1); a pointer finds its target."""
    used = (each for each in shared.transfers if each.name in kernel.uses)
    used = (each for each in used if each.is_array or each.section == each.name)
    return tuple(replace(each, comes_in=False, goes_out=False) for each in used)


def _without(moved: tuple[Transfer, ...], reduced: list[str]) -> tuple[Transfer, ...]:
    """A reduced array is listed with the reductions, as tofrom."""
    names = {each.split("[")[0] for each in reduced}
    return tuple(each for each in moved if each.name not in names)


def _maps(moved: tuple[Transfer, ...]) -> Iterator[Clause]:
    """Clauses, one for each kind of transfer."""
    for kind, sections in by_way(moved, ("to", "tofrom", "from", "alloc")):
        yield Clause("map", sections, kind)


def _omp_data(transfers: tuple[Transfer, ...], pays: str) -> Directive:
    return Directive("omp", "target data", clauses(*_maps(transfers), condition(pays)))


def _omp_update(to: str, sections: tuple[str, ...], pays: str) -> Directive:
    moved = Clause("from" if to == "host" else "to", sections)
    return Directive("omp", "target update", clauses(moved, condition(pays)))


_ROUTINE = Directive("acc", "routine", (Clause("seq"),))
_AROUND = (Directive("omp", "declare target"), Directive("omp", "end declare target"))
_ABLE = Abilities("omp", collapsible, lambda _subject, _kernel: "")
DIALECTS = {
    "openacc": Dialect(
        Abilities("acc", multiplied, _refused), _acc_loops, _acc_data, _acc_update, (_ROUTINE,)
    ),
    "openmp-target": Dialect(_ABLE, _omp_loops, _omp_data, _omp_update, _AROUND),
}
"""The directives of each target."""
