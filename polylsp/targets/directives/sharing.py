"""Data-sharing of the variables of a parallel loop, private or shared: the clauses about data that OpenMP and
OpenACC have in common."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflicts
from polylsp.analysis.dependence.privatisation import beyond_copies
from polylsp.emit.c_pragmas import Clause, Stretch, stretch_of
from polylsp.emit.directive_placing import Atomic, atomic
from polylsp.emit.footprint import Section, declared_rows, entered, names_before, section, touched
from polylsp.emit.subject import Subject
from polylsp.frontends.c.text_layout import COMMENTS, blanked
from polylsp.ir.effects import declared_in, effects, walk
from polylsp.ir.program import (
    Array,
    Assign,
    Binary,
    Complex,
    Constant,
    Expr,
    Field,
    Index,
    Integer,
    Read,
    Type,
    Variable,
    is_whole_array,
    stripped,
)
from polylsp.ir.verdict import Assumption, Parallel, Reduction
from polylsp.model.action import Declined
from polylsp.model.facts import LoopFacts
from polylsp.poly.scop import Access, Scop
from polylsp.targets.directives.loop_nesting import surely_run

STACK_BYTES = 1 << 20
"""Bytes that the copies of one directive may take on the stack of a thread: half of the smallest default.
Stacks of threads have 2 MiB in glibc without a limit, 4 MiB in LLVM's OpenMP, 8 MiB by the usual limit."""
_FEW = 1 << 14
"""Elements of an array of which each thread has its own in a sum, rather than update them one at a time."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Names for the clauses; `reductions` by operator, in the order of the source; `atomic` are the arrays
    whose elements are updated atomically instead; `kept` are those `lastprivate` that the loop may leave
    unset: firstprivate too, since compilers copy them back all the same. `assumed`: conditions for the
    clauses to be right."""

    private: tuple[str, ...]
    lastprivate: tuple[str, ...]
    reductions: tuple[Clause, ...]
    atomic: tuple[Atomic, ...] = ()
    kept: tuple[str, ...] = ()
    assumed: tuple[Assumption, ...] = ()


@dataclass(frozen=True, slots=True)
class _Item:
    """A list item of a reduction clause, and its assumptions."""

    text: str
    assumed: tuple[Assumption, ...] = ()


Preferred = Literal["section", "atomic"]
"""Preferred way to accumulate array elements where both are possible: in a copy of the array, or
atomically."""


def sharing(
    subject: Subject,
    loops: tuple[LoopFacts, ...],
    preferred: Preferred = "section",
    *,
    searching: bool = False,
) -> Sharing | Declined:
    """The data clauses of a directive on `loops[0]` that makes one loop of all `loops`. Extrema that are
    found with their positions are left to the caller if it is `searching`."""
    root = loops[0]
    verdict = root.verdict
    assert isinstance(verdict, Parallel)
    refused = _refused(subject, loops, verdict)
    if refused is not None:
        return refused
    found = next((each for each in verdict.reductions if each.carried), None)
    if found is not None and not searching:
        kept = " and ".join(f"`{name}`" for name in found.carried)
        return Declined(
            f"`{found.variable}` is found together with {kept}, which no clause combines: find the value "
            "first, and its position in a second loop."
        )
    verdict = replace(verdict, reductions=tuple(r for r in verdict.reductions if not r.carried))
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
        _left_alone(subject, loops, verdict.lastprivate),
        (
            *(a for each in reduced if isinstance(each, _Item) for a in each.assumed),
            *_unsized(subject, root, (*verdict.private, *verdict.lastprivate)),
        ),
    )


def _refused(subject: Subject, loops: tuple[LoopFacts, ...], verdict: Parallel) -> Declined | None:
    """Reason why no clause suits a variable."""
    root = loops[0]
    name = root.iterator or root.kind
    if verdict.inductions:
        counters = ", ".join(f"`{each.variable}`" for each in verdict.inductions)
        return Declined(
            f"{counters} is counted along with `{name}`: compute it from `{name}` in each iteration first."
        )
    named = {*verdict.private, *verdict.lastprivate, *(each.variable for each in verdict.reductions)}
    inside = static_inside(subject, root, named)
    if inside:
        return Declined(inside)
    too_large = _too_large(subject, root, (*verdict.private, *verdict.lastprivate))
    if too_large:
        return Declined(too_large)
    counter = next((n for n in verdict.lastprivate if n in {each.iterator for each in loops}), "")
    if counter and not surely_run(subject, loops):
        return Declined(
            f"`{counter}` is used after the loop `{name}`, which may not run at all, and a directive leaves "
            f"it open then: count in a variable of the loop's own, and set `{counter}` after the loop."
        )
    return None


def static_inside(subject: Subject, root: LoopFacts, names: Collection[str] | None = None) -> str:
    """Reason why no code outside of a loop can name a static variable (one of `names`, if given) that the
    loop uses: the loop declares it; empty if it declares none."""
    static = {v.source_name for v in effects(subject.loop(root.ordinal)).variables if v.storage == "static"}
    span = subject.span(root.site)
    text = COMMENTS.sub(blanked, subject.text[span.start : span.end]) if static else ""
    named = sorted(static if names is None else static.intersection(names))
    found = next((name for name in named if re.search(rf"\bstatic\b[^;]*?\b{name}\b", text)), "")
    return found and (
        f"`{found}` is static and declared inside the loop `{root.iterator or root.kind}`, where no clause "
        "can name it: declare it before the loop."
    )


def _too_large(subject: Subject, root: LoopFacts, names: Iterable[str]) -> str:
    """Reason why the copies of variables, and the variables that the loop declares, do not fit on the stack
    of a thread; empty if they do, or if their sizes are unknown."""
    loop = subject.loop(root.ordinal)
    named = set(names)
    copied = {v for v in effects(loop).variables if v.source_name in named}
    declared = declared_in(loop)
    unknown = next((v.source_name for v in copied if v.bytes is None and v.storage == "global"), "")
    if unknown:
        return f"The size of `{unknown}`, of which each thread would need a copy, is unknown here."
    if sum(v.bytes or 0 for v in copied | declared) <= STACK_BYTES:
        return ""
    largest = max(copied | declared, key=lambda v: (v.bytes or 0, v.name))
    return (
        f"Each thread would need {_readable(largest.bytes or 0)} for its own `{largest.source_name}`, "
        "which may not fit on its stack: allocate it inside the loop."
    )


def _readable(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size < 10_000_000 else f"{size // 1_000_000} MB"


def _unsized(subject: Subject, root: LoopFacts, names: Iterable[str]) -> Iterator[Assumption]:
    """Assumption that copies of arrays with run-time sizes fit on the stack of a thread."""
    named = set(names)
    for each in sorted(effects(subject.loop(root.ordinal)).variables, key=lambda v: v.name):
        if each.source_name in named and each.bytes is None and isinstance(each.type, Array):
            text = f"a copy of `{each.source_name}` fits on the stack of a thread"
            yield Assumption("other", (each.source_name,), text)


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
    found = subject.nest(root.ordinal)
    accesses = _accesses(found[1].scop, root, reduction) if found is not None else []
    if any(isinstance(a.memory.element, Complex) for a in accesses):
        # clang combines them with calls of libatomic, which it does not link by itself.
        told = f"`{name}` is a complex number, whose reduction not all compilers link"
        return Declined(f"{told}: add up its real and its imaginary part in variables of their own.")
    beyond = (
        found is not None
        and variable is not None
        and bool(beyond_copies(Conflicts(found[1].scop), variable.name, root.ordinal))
    )
    if variable is not None and not reduction.is_array and not beyond:
        return _Item(name)
    # A verdict that rests on a model of the loop alone: that of the nest lacks accesses.
    lacking = found is not None and bool(found[1].scop.loops[root.ordinal].obstacles)
    if found is None or lacking or len({a.memory.variable for a in accesses}) != 1:
        return Declined(f"What the loop `{root.iterator}` accesses of `{name}` is only partly known.")
    one_at_a_time = atomic(subject, root, reduction, accesses)
    if preferred == "atomic" and isinstance(one_at_a_time, Atomic):
        return one_at_a_time
    if beyond:
        # A pointer to the variable does not lead to a thread's copy.
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
        if (variable.bytes or 0) > STACK_BYTES:
            return Declined(f"A copy of `{name}` for each thread does not fit on its stack.")
        return _Item(name)
    one = len({a.memory.name for a in accesses}) == 1
    region = stretch_of(subject, root)
    # A private copy of no elements is none that compilers know.
    part = section(subject, scop, accesses, region, may_be_empty=False) if one else None
    if part is not None and not part.assumed:
        return _not_empty(subject, scop, region, name, variable, part)
    text = part.text if part is not None and not part.inner and _is_few(part.count) else ""
    text = text or (_histogram(subject, root, variable) if one and part is None else "")
    if text:
        # Atomic updates of few elements by all threads take longer than the loop does alone.
        return _Item(text, (Assumption("in-bounds", (name,), f"`{text}` is all of the array"),))
    return Declined(
        f"How much of `{name}` is updated cannot be written down before the loop, as a reduction must."
    )


def _is_few(count: str) -> bool:
    """True if each thread can have its own copy of so many elements."""
    return count.isdigit() and int(count) <= _FEW


def _histogram(subject: Subject, root: LoopFacts, variable: Variable) -> str:
    """The section of an array whose elements are chosen by bytes, masks or remainders; empty where more may
    be used of it."""
    inside = (s for s in walk(subject.loop(root.ordinal)) if isinstance(s, Assign))
    places = [s.target for s in inside if s.target.variable == variable]
    counts = [_choices(subject, place.steps[0]) if len(place.steps) == 1 else None for place in places]
    known = [each for each in counts if each is not None]
    most = max(known, default=0)
    return f"{variable.source_name}[0:{most}]" if len(known) == len(counts) and 0 < most <= _FEW else ""


def _choices(subject: Subject, step: Index | Field) -> int | None:
    """Number of the values that a subscript can have, from 0 on, if its type or its last operation limits
    them."""
    value = stripped(step.subscript) if isinstance(step, Index) else None
    match value:
        case Binary("&", _, Constant(int() as mask) as own) | Binary("&", Constant(int() as mask) as own, _):
            return mask + 1 if mask >= 0 and _is_literal(subject, own) else None
        case Binary("%", left, Constant(int() as divisor) as own) if divisor > 0:
            return divisor if _is_literal(subject, own) and not _is_signed(left.type) else None
        case Read(place=place) if place.type == Integer(8, False):
            return 256
        case _:
            return None


def _is_literal(subject: Subject, value: Expr) -> bool:
    """True if a number stands in the source as it is, and not as a macro."""
    return subject.source(value.site)[:1].isdigit()


def _is_signed(of_type: Type) -> bool:
    return not isinstance(of_type, Integer) or of_type.signed


def _not_empty(
    subject: Subject, scop: Scop, region: Stretch, name: str, variable: Variable, part: Section
) -> _Item:
    """A section of a variable as a reduction takes it: with an element, even if its loop does not run (OpenMP
    5.2, 5.5.5). Where it has none, it gets one that the array is declared to have; failing that, that it has
    one is an assumption about the variable, by its `name` in the verdict."""
    if part.count.isdigit():
        return _Item(part.text)
    where = entered(subject, scop, region)
    empty = where.subtract(part.rows.params()) if part.rows is not None else where
    if part.rows is not None and empty.is_empty():
        return _Item(part.text)
    declared = declared_rows(variable.type, names_before(subject, scop, region))
    if declared is None or part.start is None:
        sentence = f"`{part.count}` is greater than 0"
        return _Item(part.text, (Assumption("in-bounds", (name,), sentence),))
    some, count = _at_least_one(part.count)
    start = isl.Set.from_pw_aff(part.start).intersect_params(empty)
    # An array has a first element (C11, 6.7.6.2p5).
    first = part.first if start.is_subset(declared) else f"({some} ? {part.first} : 0)"
    return _Item(part.text.replace(f"[{part.first}:{part.count}]", f"[{first}:{count}]", 1))


def _at_least_one(count: str) -> tuple[str, str]:
    """The condition under which a number of elements is above 0, and the number, or one where it is less."""
    choice = re.fullmatch(r"\(([^?:]*) \? ([^?:]*) : 0\)", count)
    some, wanted = (choice[1], choice[2]) if choice is not None else (f"{count} > 0", count)
    return some, f"({some} ? {wanted} : 1)"


def _accesses(scop: Scop, root: LoopFacts, reduction: Reduction) -> list[Access]:
    """Accesses of the loop to the array or member that is reduced."""
    return [
        a
        for a in scop.accesses
        if a.memory.path == reduction.variable and root.ordinal in scop.statements[a.statement].loops
    ]


def _left_alone(subject: Subject, loops: tuple[LoopFacts, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    """Live-out variables that may keep the value which they have before loops that share a directive: a trip
    count is zero, or no iteration sets them. Compilers copy back the value of the last iteration all the
    same."""
    if not names:
        return ()
    run = surely_run(subject, loops)
    root = loops[0]
    # The loops themselves set their counters, which cannot be firstprivate (OpenMP 5.2, 5.1.1).
    others = [n for n in names if n not in {each.iterator for each in loops}]
    return tuple(
        n for n in others if not (run and _surely_sets(subject, root, n)) and _is_set_before(subject, root, n)
    )


def _surely_sets(subject: Subject, root: LoopFacts, name: str) -> bool:
    """True if each run of a loop that has iterations sets a variable. A variable without writes in the model
    has a closed form, or is set first of all in each iteration (`LoopScalars`)."""
    found = subject.nest(root.ordinal)
    if found is None:
        return False
    scop, region = found[1].scop, stretch_of(subject, root)
    writes = [a for a in region.accesses(scop) if a.memory.path == name and a.kind == "write"]
    if not writes:
        return True
    sure = [a for a in writes if scop.certain(a)]
    where = entered(subject, scop, region).intersect(scop.defined)
    return bool(sure) and where.is_subset(touched(scop, sure, region).params())


def _is_set_before(subject: Subject, root: LoopFacts, name: str) -> bool:
    """True if a variable may have a value as a loop begins."""
    named = (v for v in effects(subject.loop(root.ordinal)).variables if v.source_name == name)
    variable = next(named, None)
    if variable is None or variable.storage != "local" or isinstance(variable.type, Array) or root.depth > 1:
        return True
    return any(each.site.first < root.site.first for each in subject.assigned(variable))
