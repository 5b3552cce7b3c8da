"""Analysis of a loop as a time loop: dependences among its stages, and the stages with a single place."""

from __future__ import annotations

from collections.abc import Iterable

from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.chain import unstable
from polylsp.codegen.transform.dependences import leaves_of
from polylsp.codegen.transform.distances import distances, limit
from polylsp.codegen.transform.leaves import Leaves, counter
from polylsp.codegen.transform.stages import TimeLoop, shared_counters, time_loop
from polylsp.model.action import Declined

_BORDER = (0, 1)
"""Places where stages with a single place may be; others may come from an extent in a macro."""


def ordered(subject: Subject, ordinal: int) -> tuple[TimeLoop, Leaves, tuple[int | None, ...]] | Declined:
    """A loop as a time loop. Stages of fewer loops than others that depend on them wherever these are, as
    those at the border of a grid, are at one place."""
    fixed: set[int] = set()
    while True:
        loop = time_loop(subject, ordinal, fixed)
        if isinstance(loop, Declined):
            return loop
        more = _shallower(subject, loop, shared_counters(subject, loop))
        if more:
            fixed |= more
            continue
        found = _leaves(subject, loop)
        if isinstance(found, Declined):
            return found
        places = _places(loop, found)
        if isinstance(places, Declined):
            return places
        far = [d.dependence for d in distances(found, places) if d.least is None or d.most is None]
        more = _shallower(subject, loop, ((d.source, d.sink) for d in far)) - fixed
        if not more:
            stages = tuple(s if p is None else s.at(p) for s, p in zip(loop.stages, places, strict=True))
            return loop.with_stages(stages), found, places
        fixed |= more


def _leaves(subject: Subject, loop: TimeLoop) -> Leaves | Declined:
    for one, other in shared_counters(subject, loop):
        name = counter(subject, loop.stages[one].leaf.loops[1]).source_name
        line = subject.text.count("\n", 0, loop.stages[other].part.core.start) + 1
        return Declined(f"Line {line} uses `{name}`, which counts another loop beside it.")
    return unstable(subject, loop.ordinals) or leaves_of(subject, loop.leaves)


def _shallower(subject: Subject, loop: TimeLoop, pairs: Iterable[tuple[int, int]]) -> set[int]:
    """Of pairs of stages, those along the grid that are fewer loops than the other."""
    depths = [dimensions(subject, stage.leaf.loops[-1]) if stage.along else 0 for stage in loop.stages]
    found = {min(pair, key=lambda k: depths[k]) for pair in pairs if depths[pair[0]] != depths[pair[1]]}
    return {number for number in found if loop.stages[number].along}


def _places(loop: TimeLoop, found: Leaves) -> tuple[int | None, ...] | Declined:
    """For each stage that has but one place, the first that depends on it."""
    places: list[int | None] = []
    for number, stage in enumerate(loop.stages):
        place = None if stage.along else _place(loop, found, number)
        if isinstance(place, Declined):
            return place
        places.append(place)
    return tuple(places)


def _place(loop: TimeLoop, found: Leaves, number: int) -> int | Declined:
    touched: list[int | None] = []
    for each in found.dependences:
        if each.source == number and loop.stages[each.sink].along:
            touched.append(limit(each.pairs.range(), 1, up=False))
        if each.sink == number and loop.stages[each.source].along:
            touched.append(limit(each.pairs.domain(), 1, up=False))
    known = [place for place in touched if place in _BORDER]
    if not touched or len(known) < len(touched):
        line = found.subject.text.count("\n", 0, loop.stages[number].part.core.start) + 1
        doing = f"What line {line} does in each iteration of the loop `{loop.name}`"
        return Declined(f"{doing} is not at the lower border of the grid: no block of it can do that.")
    return min(known)


def dimensions(subject: Subject, ordinal: int) -> int:
    """Nesting depth of the loops, from a loop on."""
    inner = [each.ordinal for each in subject.facts.loops if each.parent == ordinal]
    return 1 + max((dimensions(subject, each) for each in inner), default=0)
