"""Sums that the vector unit adds up: `omp simd reduction` on innermost loops that walk along memory.
Compilers leave these alone, since another order of addition rounds differently."""

from __future__ import annotations

from polylsp.core.settings import Settings
from polylsp.emit.c_pragmas import Clause, Directive, clauses, kind_of, listed, pragmas_above
from polylsp.emit.directive_placing import before_loop, no_room, removed_hints, together
from polylsp.emit.subject import Subject
from polylsp.ir.effects import effects, walk
from polylsp.ir.program import Assign, Block, Declare, Floating
from polylsp.ir.verdict import Parallel
from polylsp.model.action import Answer, Declined, Edited
from polylsp.model.facts import LoopFacts
from polylsp.schedule.chain import Chain, most_iterations, opened, walks_along
from polylsp.targets.directives.sharing import sharing
from polylsp.transforms import jam

_LANES = 8
"""Least number of iterations: the vector unit adds up at most as many numbers at once."""


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """The directive on a loop, with sums of array elements in variables."""
    text = opened(subject, ordinal)
    if isinstance(text, Declined):
        return text
    known = subject.known(ordinal)
    sums = _sums(subject, known, _is_directed(subject, known))
    if isinstance(sums, Declined):
        return sums
    if all(each.is_array for each in sums.reductions):
        return jam.held(subject, Chain((ordinal,), (text,)))
    words = _clauses(subject, known, sums)
    if isinstance(words, Declined):
        return words
    remark = f"The sums over `{known.iterator or known.kind}` are added up in another order."
    directive = Directive("omp", "simd", words)
    crowded = no_room(subject, known, "omp")
    if crowded:
        return Declined(crowded)
    placed = together(before_loop(subject, known, directive))
    return Edited(placed, sums.assumptions, (*removed_hints(subject, placed), remark))


def pays(subject: Subject, ordinal: int) -> bool:
    """True if a loop adds up floating-point numbers, whose order compilers keep, in more than a few
    iterations."""
    inside = walk(subject.loop(ordinal).body)
    if not any(isinstance(s, Assign) and isinstance(s.target.type, Floating) for s in inside):
        return False
    count = most_iterations(subject, ordinal)
    return count is None or count >= _LANES


def _is_directed(subject: Subject, loop: LoopFacts) -> bool:
    above = pragmas_above(subject, subject.span(loop.site).start)
    return any(kind_of(each) == "directive" for each in above)


def _sums(subject: Subject, known: LoopFacts, directed: bool) -> Parallel | Declined:
    """Sums of a loop that only adds up, along memory and under no other directive."""
    ordinal, name, verdict = known.ordinal, known.iterator or known.kind, known.verdict
    if directed:
        return Declined(f"A directive stands before the loop `{name}` already.")
    if any(ordinal in each.loops for each in subject.facts.directives):
        return Declined(f"A directive hands out the iterations of the loop `{name}` already.")
    if any(each.parent == ordinal for each in subject.facts.loops):
        return Declined(f"The loop `{name}` has loops inside.")
    if not isinstance(verdict, Parallel) or not verdict.reductions:
        return Declined(f"The loop `{name}` is not known to add anything up.")
    if any(each.operator != "+" for each in verdict.reductions):
        return Declined(f"The loop `{name}` does more than to add up.")
    if not _is_straight(subject, ordinal) or not _walks_along(subject, ordinal):
        return Declined(f"The loop `{name}` has branches or calls, or jumps through memory.")
    return verdict


def _clauses(subject: Subject, known: LoopFacts, sums: Parallel) -> tuple[Clause, ...] | Declined:
    """Clauses of `omp simd` for the variables of a loop."""
    name = known.iterator or known.kind
    if any(each.is_array for each in sums.reductions):
        return Declined(f"The loop `{name}` adds to variables and to array elements: split it first.")
    data = sharing(subject, (known,))
    if isinstance(data, Declined):
        return data
    if data.kept:
        return Declined(
            f"`{data.kept[0]}` is used after the loop `{name}`, which may not set it, and the directive "
            f"leaves it open then: set it after the loop."
        )
    if data.atomic:
        return Declined(
            f"`{data.atomic[0].name}` is no variable of its own, as `omp simd` needs: "
            "add up in a local one first."
        )
    return clauses(listed("private", data.private), listed("lastprivate", data.lastprivate), *data.reductions)


def _is_straight(subject: Subject, ordinal: int) -> bool:
    body = subject.loop(ordinal).body
    return not effects(body).calls and all(isinstance(s, (Assign, Block, Declare)) for s in walk(body))


def _walks_along(subject: Subject, ordinal: int) -> bool:
    found = subject.nest(ordinal)
    return found is not None and walks_along(found[1].scop, ordinal)
