"""A device region as an edit: the directives of one target, each in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from polylsp.core.settings import Settings
from polylsp.emit.c_pragmas import Directive, Stretch
from polylsp.emit.directive_placing import (
    before,
    before_loop,
    before_updates,
    behind,
    is_whole,
    line_before,
    remark,
    removed_hints,
    start_of,
    stop_of,
    takes_a_declaration,
    together,
)
from polylsp.emit.source_names import settled_by_macros
from polylsp.emit.subject import Subject
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.model.facts import LoopFacts
from polylsp.schedule.chain import fresh_name
from polylsp.targets.directives.data_regions import Transfer, Update
from polylsp.targets.directives.device_loops import Abilities, Kernel, Region, Shared, is_compiled, region
from polylsp.targets.directives.sibling_loops import regions

_SHORT = 20
"""A condition of so many characters is written more than once."""


@dataclass(frozen=True)
class Dialect:
    """Directives of a target. `loops` gives the directives of a kernel, each with its loop; `data` stands
    before a region; `update` moves sections (`to`: `host` or `device`) in the middle of one, both under a
    condition in C, if that is not empty; `routine` stand before and, if there are two, after a function that
    a kernel calls."""

    target: Abilities
    loops: Callable[[Subject, Kernel, Shared | None, Settings], Iterator[tuple[LoopFacts, Directive]]]
    data: Callable[[tuple[Transfer, ...], str], Directive]
    update: Callable[[str, tuple[str, ...], str], Directive]
    routine: tuple[Directive, ...]


def offloaded(subject: Subject, ordinal: int, settings: Settings, dialect: Dialect) -> Answer:
    """The parallel loops on the device, their arrays moved as little as can be: those that an action on
    a loop is about, or (`ordinal` 0) all of the function."""
    target = replace(dialect.target, most=settings.collapse)
    if ordinal:
        found = region(subject, ordinal, target)
        return found if isinstance(found, Declined) else _edited(subject, [found], (), settings, dialect)
    every = regions(subject, target)
    if isinstance(every, Declined):
        return every
    return _edited(subject, list(every.regions), every.remarks, settings, dialect)


def _edited(
    subject: Subject, found: list[Region], remarks: tuple[str, ...], settings: Settings, dialect: Dialect
) -> Answer:
    placed = list(_routines(subject, found, dialect))
    found = list(_named(subject, found, settings))
    for each in found:
        own = list(_placed(subject, each, settings, dialect))
        refused = next((one for one in own if isinstance(one, Declined)), None)
        if refused is not None:
            return refused
        placed += [one for one in own if isinstance(one, Replacement)]
    assumed = dict.fromkeys(a for each in found for a in each.assumptions)
    told = (*remarks, *removed_hints(subject, placed), *_untold(found), *_of_macros(subject, placed))
    return Edited(together(placed), tuple(assumed), told)


def _of_macros(subject: Subject, placed: list[Replacement]) -> Iterator[str]:
    """Remark that sections depend on the present values of macros."""
    numbers = settled_by_macros(subject, [each.text for each in placed])
    if numbers:
        named = ", ".join(f"`{each}`" for each in numbers)
        yield f"Macros make {named} of the sections as they are now: write their names if these may change."


def _untold(found: list[Region]) -> Iterator[str]:
    """Remarks found only when the edit is computed, so that no title has them."""
    for each in dict.fromkeys(a for one in found for a in one.assumptions if a not in one.proven):
        yield f"This is right only if {each.sentence}."
    told = remark(tuple(each for one in found for kernel in one.kernels for each in kernel.sharing.atomic))
    if told:
        yield told


def _named(subject: Subject, found: list[Region], settings: Settings) -> Iterator[Region]:
    """The regions; where several directives depend on one condition, with a variable for it."""
    taken: list[str] = []
    for each in found:
        shared = each.shared
        if shared is None or not _repeats_its_condition(each, shared, settings):
            yield each
        elif takes_a_declaration(subject, shared.place):
            taken.append(fresh_name(subject, "on_device", taken=taken))
            yield replace(each, shared=replace(shared, named=taken[-1]))
        else:
            yield each


def _repeats_its_condition(region: Region, shared: Shared, settings: Settings) -> bool:
    updates = len({(each.place, each.to) for each in shared.updates})
    count = bool(shared.transfers) + len(region.kernels) + updates
    return count > 1 and len(shared.formula(settings)) > _SHORT


def _placed(
    subject: Subject, found: Region, settings: Settings, dialect: Dialect
) -> Iterator[Replacement | Declined]:
    shared = found.shared
    if shared is not None and shared.named:
        start = subject.span(shared.place.site).start
        declared = f"const int {shared.named} = {shared.formula(settings)};"
        yield line_before(subject, start, subject.indentation(start) + declared)
    if shared is not None:
        yield from _moves(subject, shared, shared.condition(settings), dialect)
    for kernel in found.kernels:
        own = list(dialect.loops(subject, kernel, shared, settings))
        for loop, directive in own:
            yield from before_loop(subject, loop, directive)
        yield from before_updates(subject, kernel.sharing.atomic, own[0][1])
    if shared is not None and shared.transfers and shared.together:
        span = subject.span(shared.place.site)
        yield behind(subject, span.start, span.end, "}")


def _moves(
    subject: Subject, shared: Shared, condition: str, dialect: Dialect
) -> Iterator[Replacement | Declined]:
    if shared.transfers:
        start = subject.span(shared.place.site).start
        directive = dialect.data(shared.transfers, condition)
        yield before(subject, start, directive, "{" if shared.together else "")
    # Transfers after a statement precede those before the next one.
    for to in ("device", "host"):
        for place, sections in _grouped(shared.updates, to):
            yield _update(subject, place, to, dialect.update(to, sections, condition), sections)


def _routines(subject: Subject, found: list[Region], dialect: Dialect) -> Iterator[Replacement]:
    """The directives of the functions that are called, each once."""
    called = {each.start: each for one in found for kernel in one.kernels for each in kernel.routines}
    for each in called.values():
        if not is_compiled(subject.text, each.start):
            first, *last = dialect.routine
            yield before(subject, each.start, first)
            yield from (behind(subject, each.start, each.end, one.text("")) for one in last)


def _grouped(updates: tuple[Update, ...], to: str) -> Iterator[tuple[Stretch, tuple[str, ...]]]:
    places = dict.fromkeys(each.place for each in updates if each.to == to)
    for place in sorted(places, key=lambda one: one.site):
        yield place, tuple(sorted({u.section for u in updates if u.place == place and u.to == to}))


def _update(
    subject: Subject, place: Stretch, to: str, directive: Directive, sections: tuple[str, ...]
) -> Replacement | Declined:
    start, stop = start_of(subject, place), stop_of(subject, place)
    if start is None or stop is None or not is_whole(subject.text[start:stop]):
        names = ", ".join(f"`{each.partition('[')[0]}`" for each in sections)
        return Declined(
            f"{names} would have to be moved where no directive can stand: "
            "write what the host does with it as statements of their own."
        )
    if to == "host":
        return before(subject, start, directive)
    return behind(subject, start, stop, directive.text(subject.indentation(start)).lstrip())
