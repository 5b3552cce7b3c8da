"""Loops of Python run in parallel by Numba: `prange`, and `@njit(parallel=True)` on their function."""

from __future__ import annotations

from collections.abc import Sequence

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
from polylsp.model.roots import parallel_roots
from polylsp.model.verdict import Parallel


def edit(subject: Subject, ordinal: int) -> Answer:
    """`prange` in each loop that runs in parallel when loop `ordinal` is asked to."""
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


def _why_not(source: Source, chosen: list[LoopFacts], compiled: Decorated) -> str:
    """Why the function as a whole cannot be compiled to run in parallel; empty if it can."""
    if compiled.in_parallel:
        return ""
    why = "" if compiled.already else why_not_compiled(source)
    return why or _others_in_parallel(source, chosen) or overlapping_statement(source)


def _others_in_parallel(source: Source, chosen: list[LoopFacts]) -> str:
    """Why a loop that is over `prange` already must not run in parallel, as it will with the others."""
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
    return Edited(tuple(sorted(made, key=_place)), tuple(dict.fromkeys(assumed)), (*remarks, *told))


def _told(name: str) -> str:
    return (
        f"Numba compiles `{name}`: its integers have 64 bits, subscripts out of range are not noticed, "
        "and dividing by zero is an error."
    )


def _rounding(source: Source) -> list[str]:
    """That numbers are rounded in another way, where there are any smaller than Python's own."""
    elements = (element_of(each) for each in source.subject.variables)
    small = any(isinstance(each, Floating) and each.bits < 64 for each in elements)
    return ["Numba computes with 64 bits where NumPy rounds to the type of an array."] if small else []


def _place(replacement: Replacement) -> tuple[int, int]:
    return replacement.span.start, replacement.span.end
