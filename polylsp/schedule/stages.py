"""Stages of a time loop over a grid, their dependence distances, and the edges of blocks.

A stage is a statement of the body: a loop along one grid dimension, or a statement at one place.
The motion of a block's edges from stage to stage preserves all distances (as in split tiling:
Krishnamoorthy et al., PLDI 2007).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.emit.c_expressions import Linear
from polylsp.emit.c_syntax import LoopText, Part
from polylsp.emit.c_text import Kept, Made, Piece, kept
from polylsp.emit.subject import Subject
from polylsp.ir.effects import effects, walk
from polylsp.ir.program import Block, Variable
from polylsp.model.action import Declined
from polylsp.schedule.chain import Chain, comments, is_directed, opened, unstable
from polylsp.schedule.loop_headers import in_c, iterations
from polylsp.schedule.statement_leaves import Leaf, LeafDependence, Leaves, counter, leaves_of


@dataclass(frozen=True, slots=True)
class Stage:
    """A statement of the time loop's body. `along` is the loop along the grid, `first` and `last` its bounds
    in C (`last` is not reached), `declared` the words that declare its counter. Without `along` it is at one
    place, which is determined later: then `first` is that and `last` the next one."""

    part: Part
    leaf: Leaf
    comments: tuple[str, str]
    along: LoopText | None = None
    name: str = ""
    declared: str = ""
    first: Linear | None = None
    last: Linear | None = None

    def at(self, place: int) -> Stage:
        """The stage at a determined place."""
        return replace(self, first={"": place}, last={"": place + 1})

    def loop(self, subject: Subject, begin: str, end: str) -> Piece:
        """The stage between two places, in C."""
        before, after = self.comments
        if self.along is None:
            return Made(f"if ({begin} && {end})", (kept_alone(self.part),), "none", "", before, after)
        header = subject.text[self.along.header.start : self.along.header.end]
        advance = f"++{self.name}" if f"++{self.name}" in header else f"{self.name}++"
        start = f"{self.declared} {self.name} = {begin}".lstrip()
        made = f"for ({start}; {self.name} < {end}; {advance})"
        return Made(made, (kept(self.along.parts),), self.along.braces, self.along.remark, before, after)


def kept_alone(part: Part) -> Kept:
    """A statement without the comments about it."""
    return Kept(part.core, (), part.node.type not in ("declaration", "type_definition"))


@dataclass(frozen=True, slots=True)
class TimeLoop:
    """A loop whose body is stages. `first` and `last` are its bounds in C."""

    ordinal: int
    text: LoopText
    name: str
    declared: str
    first: Linear
    last: Linear
    stages: tuple[Stage, ...]

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Leaves, one for each stage."""
        return tuple(stage.leaf for stage in self.stages)

    def with_stages(self, stages: tuple[Stage, ...]) -> TimeLoop:
        """The loop with refined stages."""
        return replace(self, stages=stages)

    @property
    def ordinals(self) -> tuple[int, ...]:
        """The loops that are opened, the time loop first."""
        return tuple(dict.fromkeys(o for leaf in self.leaves for o in leaf.loops))


def time_loop(subject: Subject, ordinal: int, fixed: Collection[int] = ()) -> TimeLoop | Declined:
    """A loop as a time loop, in which the stages with the numbers `fixed` are at one place."""
    text = opened(subject, ordinal)
    if isinstance(text, Declined):
        return text
    name = subject.known(ordinal).iterator or ""
    if is_directed(subject, text) or any(part.directive for part in text.parts):
        return Declined(f"A directive stands before or in the loop `{name}`: remove it first.")
    own = iterations(subject, Chain((ordinal,), (text,)))
    if isinstance(own, Declined):
        return own
    stages: list[Stage] = []
    for number, part in enumerate(text.parts):
        stage = _stage(subject, ordinal, text, part, number, number in fixed)
        if isinstance(stage, Declined):
            return stage
        stages.append(stage)
    if all(stage.along is None for stage in stages):
        return Declined(f"There is no loop along a grid inside the loop `{name}`.")
    first, last = in_c(own, own.firsts[0]), in_c(own, own.lasts[0])
    return TimeLoop(ordinal, text, name, own.declared[0], first, last, tuple(stages))


def _stage(
    subject: Subject, ordinal: int, outer: LoopText, part: Part, number: int, fixed: bool
) -> Stage | Declined:
    starts = {subject.span(e.site): e.ordinal for e in subject.facts.loops if e.parent == ordinal}
    inner = starts.get(part.core)
    about = comments(subject, part)
    if fixed or inner is None:
        if part.node.type in ("declaration", "type_definition"):
            line = subject.text.count("\n", 0, part.core.start) + 1
            return Declined(
                f"What line {line} declares is used by several loops: declare it in each of them."
            )
        return Stage(part, Leaf(part.whole, (ordinal,), number), about)
    text = opened(subject, inner)
    if isinstance(text, Declined):
        return text
    chain = Chain((ordinal, inner), (outer, text))
    points = iterations(subject, chain)
    if isinstance(points, Declined):
        return points
    if any("i0" in bound for bound in (points.firsts[1], points.lasts[1])):
        return Declined(f"The bounds of the loop `{points.counters[1]}` depend on `{points.counters[0]}`.")
    first, last = in_c(points, points.firsts[1]), in_c(points, points.lasts[1])
    span = text.parts[0].whole.cover(text.parts[-1].whole)
    leaf = Leaf(span, (ordinal, inner), number)
    return Stage(part, leaf, about, text, points.counters[1], points.declared[1], first, last)


def shared_counters(subject: Subject, loop: TimeLoop) -> Iterator[tuple[int, int]]:
    """Pairs of stages of which the first counts with a variable that the second names, and does not count
    with along the grid."""
    for first, one in enumerate(loop.stages):
        for second, other in enumerate(loop.stages):
            if one.along is None or first == second:
                continue
            variable = counter(subject, one.leaf.loops[1])
            own = [counter(subject, o) for o in other.leaf.loops[1:]]
            if variable not in own and variable in _named(subject, loop, other):
                yield first, second


def _named(subject: Subject, loop: TimeLoop, stage: Stage) -> frozenset[Variable]:
    """The variables that a stage names, in headers too."""
    body = subject.loop(loop.ordinal).body
    inside = [
        each
        for each in walk(body)
        if not isinstance(each, Block)
        and stage.part.core.start <= subject.span(each.site).start < stage.part.core.end
    ]
    return effects(*inside).variables


# --------------------------------------------------------------------------------------------------
# Dependence distances in a grid between instances of stages, and the motion of a block's edges from
# one stage to the next that preserves them (as in split tiling: Krishnamoorthy et al., PLDI 2007).
# --------------------------------------------------------------------------------------------------


_STEEPEST = 8
"""Largest motion of an edge from one iteration of the time loop to the next."""

_FAR = 4
"""A longer distance may come from the extent of the grid, which is another one where a macro is changed."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Inward motion of an edge of a block: by `offsets` in each stage, and by `slope` more with each
    iteration of the time loop."""

    offsets: tuple[int, ...]
    slope: int

    def after(self, steps: int) -> int:
        """Largest motion in `steps` iterations of the time loop."""
        return max(self.offsets) + self.slope * (steps - 1)


@dataclass(frozen=True, slots=True)
class Distance:
    """A dependence between stages, within an iteration of the time loop or between different ones
    (`carried`): by how much the place grows at least and at most from its source to its sink, if that is
    little."""

    dependence: LeafDependence
    carried: bool
    least: int | None
    most: int | None


def distances(found: Leaves, places: Sequence[int | None]) -> tuple[Distance, ...]:
    """The distances of all dependences. `places` are the places of the stages that have but one."""
    return tuple(each for d in found.dependences for each in _distances(d, places))


def _distances(dependence: LeafDependence, places: Sequence[int | None]) -> Iterator[Distance]:
    pairs = dependence.pairs.apply_domain(_placed(places[dependence.source]))
    apart = pairs.apply_range(_placed(places[dependence.sink])).deltas()
    apart = apart.project_out(isl.dim_type.param, 0, apart.dim(isl.dim_type.param))
    for carried in (False, True):
        steps = isl.Set(f"{{ [t, x] : t {'>' if carried else '='} 0 }}")
        part = apart.intersect(steps)
        if not part.is_empty():
            yield Distance(dependence, carried, _near(part, up=False), _near(part, up=True))


def _placed(place: int | None) -> isl.Map:
    return isl.Map("{ [t, x] -> [t, x] }" if place is None else f"{{ [t] -> [t, {place}] }}")


def _near(apart: isl.Set, up: bool) -> int | None:
    found = limit(apart, up)
    return found if found is not None and abs(found) <= _FAR else None


def limit(values: isl.Set, up: bool) -> int | None:
    """The largest (`up`) or smallest value of the second dimension, if it is a number."""
    bounded = values.dim_has_any_upper_bound if up else values.dim_has_any_lower_bound
    if not bounded(isl.dim_type.set, 1):
        return None
    value = values.dim_max_val(1) if up else values.dim_min_val(1)
    return value.to_python() if value.is_int() else None


def lower_edge(found: Sequence[Distance], stages: int) -> Edge | None:
    """Motion of the lower edge of a block, if one exists: the block's instances need no values from below
    it."""
    return _edge([(d.dependence, d.carried, d.most) for d in found], stages)


def upper_edge(found: Sequence[Distance], stages: int) -> Edge | None:
    """Motion of the upper edge, if one exists: the block's instances need no values from above it."""
    return _edge([(d.dependence, d.carried, None if d.least is None else -d.least) for d in found], stages)


def _edge(found: Sequence[tuple[LeafDependence, bool, int | None]], stages: int) -> Edge | None:
    """The least slope, and the least offsets for it, with which the edge moves by as much as each dependence
    asks for from its source to its sink (difference constraints: Bellman 1958)."""
    for slope in range(_STEEPEST + 1):
        offsets = [0] * stages
        for _ in range(stages + 1):
            before = list(offsets)
            for dependence, carried, most in found:
                if most is None:
                    return None
                wanted = offsets[dependence.source] + most - (slope if carried else 0)
                offsets[dependence.sink] = max(offsets[dependence.sink], wanted)
            if offsets == before:
                return Edge(tuple(offsets), slope)
    return None


# --------------------------------------------------------------------------------------------------
# Analysis of a loop as a time loop: dependences among its stages, and the stages with a single
# place.
# --------------------------------------------------------------------------------------------------


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
            touched.append(limit(each.pairs.range(), up=False))
        if each.sink == number and loop.stages[each.source].along:
            touched.append(limit(each.pairs.domain(), up=False))
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
