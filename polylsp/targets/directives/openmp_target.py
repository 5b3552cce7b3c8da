"""`#pragma omp target teams distribute parallel for` with its data clauses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polylsp.core.settings import Settings
from polylsp.emit.c_pragmas import Clause, Directive, clauses, condition, listed
from polylsp.emit.subject import Subject
from polylsp.model.action import Answer
from polylsp.model.facts import LoopFacts
from polylsp.targets.directives.data_regions import Transfer, by_way
from polylsp.targets.directives.device_directives import Dialect, offloaded
from polylsp.targets.directives.device_loops import Abilities, Kernel, Shared, pays
from polylsp.targets.directives.loop_nesting import collapsible

_WORDS = "target teams distribute parallel for"


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """The parallel loops on the device, their arrays moved as little as can be."""
    return offloaded(subject, ordinal, settings, _DIALECT)


def _loops(
    _subject: Subject, kernel: Kernel, shared: Shared | None, settings: Settings
) -> Iterator[tuple[LoopFacts, Directive]]:
    count = len(kernel.loops)
    reduced = [name for clause in kernel.sharing.reductions for name in clause.arguments]
    directive = Directive(
        "omp",
        _WORDS,
        clauses(
            Clause("collapse", (str(count),)) if count > 1 else None,
            listed("private", kernel.sharing.private),
            *kernel.sharing.reductions,
            *_maps(_without(kernel.moved if shared is None else _present(kernel, shared), reduced)),
            Clause("map", tuple(reduced), "tofrom") if reduced else None,
            condition(pays(kernel, shared, settings), "target"),
        ),
    )
    yield kernel.loops[0], directive


def _present(kernel: Kernel, shared: Shared) -> tuple[Transfer, ...]:
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


def _data(transfers: tuple[Transfer, ...], pays: str) -> Directive:
    return Directive("omp", "target data", clauses(*_maps(transfers), condition(pays)))


def _update(to: str, sections: tuple[str, ...], pays: str) -> Directive:
    moved = Clause("from" if to == "host" else "to", sections)
    return Directive("omp", "target update", clauses(moved, condition(pays)))


_AROUND = (Directive("omp", "declare target"), Directive("omp", "end declare target"))
_ABLE = Abilities("omp", collapsible, lambda _subject, _kernel: "")
_DIALECT = Dialect(_ABLE, _loops, _data, _update, _AROUND)
