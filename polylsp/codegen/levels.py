"""Mapping of a nest's loops to a device's groups and threads; the others stay in order."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.codegen.nesting import inner_loops
from polylsp.codegen.subject import Subject
from polylsp.model.facts import LoopFacts
from polylsp.model.verdict import Parallel


def inside(subject: Subject, loops: tuple[LoopFacts, ...]) -> tuple[LoopFacts, ...]:
    """All loops inside the innermost of `loops`, outermost first."""
    return tuple(_below(subject, loops[-1].ordinal))


def _below(subject: Subject, ordinal: int) -> Iterator[LoopFacts]:
    for inner in inner_loops(subject, ordinal):
        yield inner
        yield from _below(subject, inner.ordinal)


def vectors(subject: Subject, loops: tuple[LoopFacts, ...]) -> tuple[LoopFacts, ...]:
    """Outermost loops inside that can spread over the threads of a group: parallel without reductions,
    private variables or conditions."""
    found: list[LoopFacts] = []
    for inner in inside(subject, loops):
        covered = any(one.site.first <= inner.site.first <= one.site.last for one in found)
        if not covered and not inner.misfit and inner.verdict == Parallel(private=_private(inner)):
            found.append(inner)
    return tuple(found)


def _private(loop: LoopFacts) -> tuple[str, ...]:
    return loop.verdict.private if isinstance(loop.verdict, Parallel) else ()
