"""Loops of Python run in parallel by Numba: `prange`, and `@njit(parallel=True)` on their function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polylsp.codegen.numba.array_statements import overlapping_statement
from polylsp.codegen.numba.compilable import element_of, why_not_compiled
from polylsp.codegen.numba.decorator import Decorated, decorated
from polylsp.codegen.numba.imports import Spelling, spelling
from polylsp.codegen.numba.loops import over_prange, why_not_over_prange
from polylsp.codegen.numba.source import Source, source_of
from polylsp.codegen.subject import Subject
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.model.facts import LoopFacts
from polylsp.model.program import Floating
from polylsp.model.roots import is_governed, parallel_roots
from polylsp.model.verdict import Parallel
from polylsp.text import Span


def edit(subject: Subject, ordinal: int) -> Answer:
    """`prange` in each loop that is to run in parallel for loop `ordinal`."""
    return edit_loops(subject, parallel_roots(subject.facts, ordinal))


def edit_loops(subject: Subject, roots: Sequence[LoopFacts]) -> Answer:
    """`prange` in those of some parallel loops that Numba can run so."""
    source = source_of(subject)
    if isinstance(source, Declined):
        return source
    refused = [(root, why_not_over_prange(source, root)) for root in roots]
    chosen = [root for root, why in refused if not why]
    if not chosen:
        return Declined(next((why for _, why in refused), "No loop here is known to be parallel."))
    spelled = spelling(source)
    if isinstance(spelled, Declined):
        return spelled
    compiled = decorated(source, spelled.njit)
    if isinstance(compiled, Declined):
        return compiled
    why = _why_not(source, chosen, compiled)
    if why:
        return Declined(why)
    return _edited(source, chosen, spelled, compiled, [why for _, why in refused if why])


def narrower(subject: Subject, ordinal: int) -> tuple[LoopFacts, ...]:
    """The outermost loops in and around loop `ordinal` that can run over `prange`, where those that one would
    choose first cannot."""
    source = source_of(subject)
    if isinstance(source, Declined):
        return ()
    around = (*subject.around(ordinal), subject.known(ordinal))
    outer = next((one for one in around if _is_free(source, one)), None)
    return (outer,) if outer is not None else tuple(_inside(source, ordinal))


def _inside(source: Source, ordinal: int) -> Iterator[LoopFacts]:
    for loop in source.subject.facts.loops:
        if loop.parent == ordinal:
            yield from (loop,) if _is_free(source, loop) else _inside(source, loop.ordinal)


def _is_free(source: Source, loop: LoopFacts) -> bool:
    return not is_governed(source.subject.facts, loop.ordinal) and not why_not_over_prange(source, loop)


def _why_not(source: Source, chosen: list[LoopFacts], compiled: Decorated) -> str:
    """Reason why the function as a whole cannot be compiled to run in parallel; empty if it can."""
    if compiled.in_parallel:
        return ""
    why = "" if compiled.already else why_not_compiled(source)
    return why or _others_in_parallel(source, chosen) or overlapping_statement(source)


def _others_in_parallel(source: Source, chosen: list[LoopFacts]) -> str:
    """Reason why a loop that is over `prange` already must not run in parallel, as it will with the
    others."""
    for loop in source.subject.facts.loops:
        if loop in chosen or not source.is_prange(loop):
            continue
        why = why_not_over_prange(source, loop)
        if why or not isinstance(loop.verdict, Parallel):
            line = source.subject.line_number(loop.header)
            told = f"The loop over `prange` on line {line} would run in parallel too"
            return f"{told}: write `range` there first."
    return ""


def _edited(
    source: Source, chosen: list[LoopFacts], spelled: Spelling, compiled: Decorated, remarks: list[str]
) -> Edited:
    made = [
        *spelled.replacements,
        *compiled.replacements,
        *(each for root in chosen for each in over_prange(source, root, spelled.prange)),
    ]
    assumed = [a for r in chosen if isinstance(r.verdict, Parallel) for a in r.verdict.assumptions]
    name = source.subject.function.name
    told = [] if compiled.already else [_told(name), *_rounding(source)]
    return Edited(tuple(_in_order(made)), tuple(dict.fromkeys(assumed)), (*remarks, *told))


def _told(name: str) -> str:
    return (
        f"Numba compiles `{name}`: its integers have 64 bits, subscripts out of range are not noticed, "
        "and dividing by zero is an error."
    )


def _rounding(source: Source) -> list[str]:
    """Remark on different rounding, where there are numbers smaller than Python's."""
    elements = (element_of(each) for each in source.subject.variables)
    small = any(isinstance(each, Floating) and each.bits < 64 for each in elements)
    return ["Numba computes with 64 bits where NumPy rounds to the type of an array."] if small else []


def _in_order(made: list[Replacement]) -> Iterator[Replacement]:
    """The replacements in the order of the text; insertions at one place are joined."""
    texts: dict[Span, str] = {}
    for each in sorted(made, key=lambda one: one.span):
        texts[each.span] = texts.get(each.span, "") + each.text
    return (Replacement(span, text) for span, text in texts.items())
