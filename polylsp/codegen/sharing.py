"""Which variables of a parallel loop have a copy each, and which are shared: the clauses about data that
OpenMP and OpenACC have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Literal

from polylsp.analysis.effects import effects
from polylsp.codegen.atomic import Atomic, atomic
from polylsp.codegen.directive import Clause
from polylsp.codegen.footprint import Section, entered, section
from polylsp.codegen.lasting import left_alone
from polylsp.codegen.stretch import Stretch, stretch_of
from polylsp.codegen.subject import Subject
from polylsp.codegen.trip_counts import surely_run
from polylsp.model.action import Declined
from polylsp.model.extents import constant_extents, is_whole_array
from polylsp.model.facts import LoopFacts
from polylsp.model.program import Type, Variable
from polylsp.model.scop import Access, Scop
from polylsp.model.verdict import Assumption, Parallel, Reduction

_MOST_BYTES = 1 << 20
"""What the copy of an array may take on the stack of a thread."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Names for the clauses; `reductions` by operator, in the order of the source; `atomic` are the arrays
    whose elements are updated one at a time instead; `kept` are those `lastprivate` that the loop may
    leave as they are: firstprivate too, since compilers copy them back all the same. `assumed`:
    what has to be true for the clauses to be right."""

    private: tuple[str, ...]
    lastprivate: tuple[str, ...]
    reductions: tuple[Clause, ...]
    atomic: tuple[Atomic, ...] = ()
    kept: tuple[str, ...] = ()
    assumed: tuple[Assumption, ...] = ()


@dataclass(frozen=True, slots=True)
class _Item:
    """A list item of a reduction clause, and what it rests on."""

    text: str
    assumed: tuple[Assumption, ...] = ()


Preferred = Literal["section", "atomic"]
"""How elements of arrays are added up where both can be: in a copy of the array, or one at a time."""


def sharing(
    subject: Subject, loops: tuple[LoopFacts, ...], preferred: Preferred = "section"
) -> Sharing | Declined:
    """The data clauses of a directive on `loops[0]` that makes one loop of all `loops`."""
    root = loops[0]
    verdict = root.verdict
    assert isinstance(verdict, Parallel)
    refused = _refused(subject, loops, verdict)
    if refused is not None:
        return refused
    reduced = [_reduced(subject, root, each, preferred) for each in verdict.reductions]
    unknown = next((each for each in reduced if isinstance(each, Declined)), None)
    if unknown is not None:
        return unknown
    own = {each.iterator for each in loops}
    return Sharing(
        tuple(n for n in verdict.private if n not in own),
        verdict.lastprivate,
        _clauses(verdict, reduced),
        tuple(each for each in reduced if isinstance(each, Atomic)),
        left_alone(subject, loops, verdict.lastprivate),
        tuple(a for each in reduced if isinstance(each, _Item) for a in each.assumed),
    )


def _refused(subject: Subject, loops: tuple[LoopFacts, ...], verdict: Parallel) -> Declined | None:
    """Why no clause gives a variable what it needs."""
    root = loops[0]
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
    counter = next((n for n in verdict.lastprivate if n in {each.iterator for each in loops}), "")
    if counter and not surely_run(subject, loops):
        return Declined(
            f"`{counter}` is used after the loop `{name}`, which may not run at all, and a directive leaves "
            f"it open then: count in a variable of the loop's own, and set `{counter}` after the loop."
        )
    return None


def _seen_by_calls(subject: Subject, root: LoopFacts, names: Iterable[str]) -> str:
    """A variable of the file that gets copies, while a called function knows only the original."""
    own = effects(subject.loop(root.ordinal))
    outside = {v.source_name for v in own.variables if v.storage in ("global", "static") or v.escapes}
    return next((name for name in names if own.calls and name in outside), "")


def _clauses(verdict: Parallel, reduced: list[_Item | Atomic | Declined]) -> tuple[Clause, ...]:
    items: dict[str, list[str]] = {}
    for each, item in zip(verdict.reductions, reduced, strict=True):
        if isinstance(item, _Item):
            items.setdefault(each.operator, []).append(item.text)
    return tuple(Clause("reduction", tuple(names), operator) for operator, names in items.items())


def _reduced(
    subject: Subject, root: LoopFacts, reduction: Reduction, preferred: Preferred
) -> _Item | Atomic | Declined:
    """The list item, a variable or the part of an array that is updated; or the updates that are atomic."""
    name = reduction.variable
    variable = next((v for v in effects(subject.loop(root.ordinal)).variables if v.source_name == name), None)
    if variable is not None and not reduction.is_array:
        return _Item(name)
    found = subject.nest(root.ordinal)
    accesses = _accesses(found[1].scop, root, reduction) if found is not None else []
    if found is None or len({a.memory.variable for a in accesses}) != 1:
        return Declined(f"What the loop `{root.iterator}` accesses of `{name}` is not known in full.")
    one_at_a_time = atomic(subject, root, reduction, accesses)
    if preferred == "atomic" and isinstance(one_at_a_time, Atomic):
        return one_at_a_time
    part = _section(subject, found[1].scop, root, reduction, variable, accesses)
    return one_at_a_time if isinstance(part, Declined) else part


def _section(
    subject: Subject,
    scop: Scop,
    root: LoopFacts,
    reduction: Reduction,
    variable: Variable | None,
    accesses: list[Access],
) -> _Item | Declined:
    """The part of an array that is updated, as a reduction takes it."""
    name = reduction.variable
    if variable is None:
        return Declined(
            f"`{name}` is no variable of its own, which a reduction needs: add up in a local one first."
        )
    if any(a.update != reduction.operator for a in accesses):
        return Declined(
            f"`{name}` is also used in other ways in the loop `{root.iterator}`: "
            "add up in a local variable first."
        )
    if is_whole_array(variable):
        if _bytes(variable.type) > _MOST_BYTES:
            return Declined(f"A copy of `{name}` for each thread does not fit on its stack.")
        return _Item(name)
    one = len({a.memory.name for a in accesses}) == 1
    region = stretch_of(subject, root)
    # A private copy of no elements is none that compilers know.
    part = section(subject, scop, accesses, region, may_be_empty=False) if one else None
    if part is not None and not part.assumed:
        return _Item(part.text, tuple(_not_empty(subject, scop, region, name, part)))
    return Declined(
        f"How much of `{name}` is updated cannot be written down before the loop, as a reduction must."
    )


def _not_empty(
    subject: Subject, scop: Scop, region: Stretch, name: str, part: Section
) -> Iterator[Assumption]:
    """A reduction takes no section without elements (OpenMP 5.2, 5.5.5), even if its loop does not run."""
    sure = part.rows is not None and entered(subject, scop, region).is_subset(part.rows.params())
    if not sure and not part.count.isdigit():
        yield Assumption("in-bounds", (name,), f"`{part.count}` is greater than 0")


def _accesses(scop: Scop, root: LoopFacts, reduction: Reduction) -> list[Access]:
    """What the loop does with the array or member that is reduced."""
    return [
        a
        for a in scop.accesses
        if a.memory.path == reduction.variable and root.ordinal in scop.statements[a.statement].loops
    ]


def _bytes(of_type: Type) -> int:
    """The size of a whole array, about."""
    return 8 * prod(constant_extents(of_type) or ())
