"""Parts of one phase of a parallel region that use the same element, one of them writing it: nothing keeps
their threads in order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from polylsp.analysis.parallel_regions import ParallelRegion
from polylsp.analysis.phases import Part, phases, rounds
from polylsp.analysis.uniform import Uniformity
from polylsp.analysis.unordered_arrays import ModelOf, array_meeting
from polylsp.analysis.unordered_scalars import scalar_meeting
from polylsp.model.directive import Directive, Unordered, UnorderedKind
from polylsp.model.program import Loop


def unordered_findings(region: ParallelRegion, model_of: ModelOf) -> Iterator[tuple[Directive, Unordered]]:
    """What meets in a phase, with the directive that should have kept it apart: one finding for each."""
    told: set[int] = set()
    uniformity = Uniformity(region)
    for phase in phases(region):
        for first, second in combinations(phase, 2):
            kind, directive = _culprit(region, first, second)
            if kind is None or directive.pragma in told:
                continue
            shown = scalar_meeting(uniformity, first, second) or array_meeting(
                region, first, second, model_of
            )
            if shown is not None:
                told.add(directive.pragma)
                yield directive, Unordered(kind, shown)
    for loop, first, second in _in_next_round(region):
        kind, directive = _late(region, first)
        if directive.pragma in told:
            continue
        shown = None if first is second else scalar_meeting(uniformity, first, second)
        shown = shown or array_meeting(region, first, second, model_of, loop)
        if shown is not None:
            told.add(directive.pragma)
            yield directive, Unordered(kind, shown)


def _in_next_round(region: ParallelRegion) -> Iterator[tuple[Loop, Part, Part]]:
    """Parts of a loop around them, and those that a thread gets to in the next round without a barrier."""
    for one in rounds(region):
        for first, second in product(one.last, one.first):
            if first.who != second.who or first.who not in ("all", "first"):
                yield one.loop, first, second


def _culprit(region: ParallelRegion, first: Part, second: Part) -> tuple[UnorderedKind | None, Directive]:
    """What lets two parts run at once, if anything does."""
    directive = first.directive or region.directive
    if first.who == second.who and first.who in ("all", "first"):
        return None, directive
    if first.directive is not None and first.directive is second.directive:
        return "sections", directive
    return _late(region, first)


def _late(region: ParallelRegion, first: Part) -> tuple[UnorderedKind, Directive]:
    """What lets threads go on before others are done with a part."""
    directive = first.directive or region.directive
    if first.who == "all":
        return "no-barrier", region.directive
    return ("master" if first.who == "first" else "nowait"), directive
