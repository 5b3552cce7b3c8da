"""`#pragma omp parallel for` on loops that are proven parallel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.affine_bounds import largest, smallest, spelled
from polylsp.emit.c_pragmas import (
    Clause,
    Directive,
    all_of,
    clauses,
    condition,
    left_out,
    listed,
    of_another_family,
)
from polylsp.emit.directive_placing import Atomic, before_loop, before_updates, no_room, remark, removed_hints
from polylsp.emit.source_names import names_at
from polylsp.emit.subject import Subject
from polylsp.ir.program import Integer
from polylsp.ir.verdict import Assumption
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.model.facts import LoopFacts, parallel_roots
from polylsp.schedule.statement_leaves import counter
from polylsp.targets.directives.loop_nesting import (
    collapsible,
    inner_loops,
    is_uneven,
    limited,
    work_of,
)
from polylsp.targets.directives.search_regions import search_region
from polylsp.targets.directives.sharing import Sharing, sharing

_FEW_ITERATIONS = 32


def edit(subject: Subject, ordinal: int, settings: Settings, only_if: tuple[str, ...] = ()) -> Answer:
    """A directive on each loop that is to run in parallel for loop `ordinal`. `only_if`: conditions in C;
    otherwise its iterations run in order."""
    roots = parallel_roots(subject.facts, ordinal)
    made = [_made(subject, root, settings, only_if) for root in roots]
    chosen = [(root, one) for root, one in zip(roots, made, strict=True) if isinstance(one, _Made)]
    refused = [one for one in made if isinstance(one, Declined)]
    if not chosen:
        return refused[0] if refused else Declined("No loop here is known to be parallel.")
    assumed = dict.fromkeys(a for root, _ in chosen for a in root.terms.assumptions if not a.guard)
    clauses_assume = (a for _, one in chosen for a in one.assumed)
    placed = tuple(sorted((each for root, one in chosen for each in _placed(subject, root, one)), key=_place))
    return Edited(
        placed,
        tuple(assumed | dict.fromkeys(clauses_assume)),
        (
            *(one.reason for one in refused),
            *removed_hints(subject, placed),
            *_remarks(subject, chosen, settings),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Made:
    """The directive on a loop, the updates in it that are atomic, and the assumptions of its clauses; a
    `region` stands in the place of the loop, and has the directive in it."""

    directive: Directive
    atomic: tuple[Atomic, ...]
    assumed: tuple[Assumption, ...]
    region: Replacement | None = None


def _placed(subject: Subject, root: LoopFacts, made: _Made) -> Iterator[Replacement]:
    if made.region is not None:
        yield made.region
        return
    yield from before_loop(subject, root, made.directive)
    yield from before_updates(subject, made.atomic, made.directive)


def _place(replacement: Replacement) -> Span:
    return replacement.span


def _made(
    subject: Subject, root: LoopFacts, settings: Settings, only_if: tuple[str, ...]
) -> _Made | Declined:
    if root.misfit:
        return Declined(f"A directive cannot stand before the loop `{root.iterator}`: {root.misfit}.")
    if subject.begins_in_macro(root.site):
        return Declined(f"The loop `{root.iterator}` stands inside a macro: write it out first.")
    present = (
        left_out(subject, root)
        or of_another_family(subject, root.site, "omp")
        or no_room(subject, root, "omp")
    )
    if present:
        return Declined(present)
    seen = subject.state_of_thread(root.ordinal)
    if seen:
        return Declined(seen)
    searching = root.terms.searches
    loops = (root,) if searching else _together(subject, root, settings)
    data = sharing(subject, loops, searching=not only_if)
    if isinstance(data, Declined):
        return data
    words = clauses(*_clauses(subject, root, loops, data, settings, only_if))
    directive = Directive("omp", "parallel for", words)
    region = search_region(subject, root, directive) if searching else None
    if isinstance(region, Declined):
        return region
    if region is not None and data.atomic:
        return Declined(f"The loop `{root.iterator}` updates elements one at a time beside its search.")
    return _Made(directive, data.atomic, data.assumed, region)


def _clauses(
    subject: Subject,
    root: LoopFacts,
    loops: tuple[LoopFacts, ...],
    data: Sharing,
    settings: Settings,
    only_if: tuple[str, ...],
) -> Iterator[Clause | None]:
    if len(loops) > 1:
        yield Clause("collapse", (str(len(loops)),))
    yield listed("private", data.private)
    yield listed("firstprivate", data.kept)
    yield listed("lastprivate", data.lastprivate)
    yield from data.reductions
    # One thread takes dynamic chunks in no order that the standard promises.
    in_order = data.lastprivate or only_if or root.terms.searches
    schedule = _schedule(subject, loops, "static" if in_order else "dynamic")
    # A thread must come to its iterations in their order to find the first of equal values.
    yield schedule or (Clause("schedule", ("static",)) if root.terms.searches else None)
    work = work_of(subject, root)
    enough = work.condition(settings.parallel_threshold) if work is not None else ""
    guards = (each.guard for each in root.terms.assumptions)
    yield condition(" && ".join(all_of((enough, *guards, *only_if))))


def _together(subject: Subject, root: LoopFacts, settings: Settings) -> tuple[LoopFacts, ...]:
    """The loops that share the directive: as many as the user wants, or all but the innermost one, which is
    left to the vector unit; two of two only where the outer one has too few iterations to go round."""
    loops = collapsible(subject, root)
    if settings.collapse:
        return limited(loops, settings.collapse)
    while len(loops) > 1 and not inner_loops(subject, loops[-1].ordinal):
        if len(loops) == 2 and _has_few(subject, root):
            return loops
        loops = loops[:-1]
    return loops


def _has_few(subject: Subject, root: LoopFacts) -> bool:
    """True if the loop is proven to have few iterations."""
    found = subject.nest(root.ordinal)
    if found is None:
        return False
    scop = found[1].scop
    domain = scop.loops[root.ordinal].domain
    last = domain.dim(isl.dim_type.set) - 1
    high, low = largest(domain, last), smallest(domain, last)
    if high is None or low is None:
        return False
    # A macro may be given another value when the program is compiled.
    count = spelled(high.sub(low).add_constant_val(isl.Val(1)), names_at(subject, scop, root.site))
    return count is not None and count.isdigit() and int(count) < _FEW_ITERATIONS


def _schedule(
    subject: Subject, loops: tuple[LoopFacts, ...], kind: Literal["static", "dynamic"]
) -> Clause | None:
    """Distribution of iterations that do different amounts of work: in small chunks, as threads become free
    (`dynamic`) or in turn (`static`). A loop with `lastprivate` takes the latter: LLVM's OpenMP runtime takes
    iterations of dynamic loops from one thread to another, and then at times copies no value back (seen with
    LLVM 19). So does a loop that counts down in an unsigned type: gcc's runtime runs no iteration of it in
    dynamic chunks (seen with gcc 12)."""
    root = loops[0].ordinal
    found = subject.nest(root)
    if found is None or not is_uneven(found[1].scop, root):
        return None
    of_type = counter(subject, root).type
    if isinstance(of_type, Integer) and not of_type.signed and found[1].scop.loops[root].step < 0:
        kind = "static"
    inside = inner_loops(subject, loops[-1].ordinal)
    deep = any(inner_loops(subject, each.ordinal) for each in inside)
    if deep:
        return Clause("schedule", ("static", "1") if kind == "static" else ("dynamic",))
    return Clause("schedule", (kind, "16"))


def _remarks(subject: Subject, chosen: list[tuple[LoopFacts, _Made]], settings: Settings) -> Iterator[str]:
    """Remarks on the sums and on the guard for the user."""
    told = remark(tuple(each for _, made in chosen for each in made.atomic))
    yield from [told] if told else []
    for each in dict.fromkeys(a for _, made in chosen for a in made.assumed):
        yield f"This is right only if {each.sentence}."
    for root, _ in chosen:
        work = work_of(subject, root)
        if work is None:
            yield f"The work of the loop `{root.iterator}` is unknown: it always runs in parallel."
        elif not work.factors and work.known < settings.parallel_threshold:
            yield (
                f"The loop `{root.iterator}` does only about {work.known} operations: "
                "starting threads may cost more than it saves."
            )
