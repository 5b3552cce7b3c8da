"""Nest around a loop in words: its band, and the transform that exposes parallelism."""

from __future__ import annotations

from polylsp.model.facts import LoopFacts, NestFacts, Transform
from polylsp.model.report import PlacedFunction
from polylsp.model.verdict import Parallel, Sequential

_EXPOSING = ("interchange", "distribute", "skew")


def nest_of(placed: PlacedFunction, loop: LoopFacts) -> NestFacts | None:
    """The nest that a loop belongs to."""
    return next((nest for nest in placed.answer.facts.nests if loop.ordinal in nest.loops), None)


def parallel_band(placed: PlacedFunction, loop: LoopFacts) -> tuple[LoopFacts, ...]:
    """The loops of the band that `loop` is the outermost of, if more than one and all of them
    run in parallel as they stand; otherwise nothing."""
    nest = nest_of(placed, loop)
    if nest is None or len(nest.band.loops) < 2 or nest.band.loops[0] != loop.ordinal:
        return ()
    by_ordinal = {each.ordinal: each for each in placed.answer.facts.loops}
    band = tuple(by_ordinal[ordinal] for ordinal in nest.band.loops if ordinal in by_ordinal)
    plain = all(each.verdict == Parallel() for each in band)
    return band if plain and nest.band.permutable and all(nest.band.coincident) else ()


def exposing_transform(placed: PlacedFunction, loop: LoopFacts) -> Transform | None:
    """The transform that parallelises `loop`, the outermost sequential loop of its nest; `None` for other
    loops, or where there is none."""
    nest = nest_of(placed, loop)
    if nest is None or nest.transform is None or nest.transform.kind not in _EXPOSING:
        return None
    members = [each for each in placed.answer.facts.loops if each.ordinal in nest.loops]
    sequential = [each for each in members if isinstance(each.verdict, Sequential)]
    outermost = min(sequential, key=lambda each: (each.depth, each.ordinal), default=None)
    return nest.transform if outermost is not None and outermost.ordinal == loop.ordinal else None


def outermost_of_nest(placed: PlacedFunction, loop: LoopFacts) -> LoopFacts:
    """The outermost loop around a loop that is modelled with it."""
    by_ordinal = {each.ordinal: each for each in placed.answer.facts.loops}
    nests = [nest.loops for nest in placed.answer.facts.nests if loop.ordinal in nest.loops]
    while nests and loop.parent in nests[0]:
        loop = by_ordinal[loop.parent]
    return loop
