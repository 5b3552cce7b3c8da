"""Time tiling of stencils: several time steps run on a block of the grid while it is in the cache.

Stages are moved so that their inputs are in the block. Blocks that shrink with time, and the gaps
between them, run in parallel (split tiling: Krishnamoorthy et al., PLDI 2007); slanted blocks run
along diagonals (time skewing: Wonnacott 2000; Lamport 1974).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.emit.c_expressions import Linear, added, extremum, in_64_bits, sum_text
from polylsp.emit.c_text import Made, Piece, Written, replaced, style_of
from polylsp.emit.subject import Subject
from polylsp.ir.verdict import Assumption
from polylsp.model.action import Answer, Declined, Edited
from polylsp.schedule.chain import Chain, depends_on, fresh_name, type_words
from polylsp.schedule.stages import (
    Distance,
    Edge,
    Stage,
    TimeLoop,
    dimensions,
    distances,
    lower_edge,
    ordered,
    upper_edge,
)
from polylsp.schedule.statement_leaves import Leaves, carried_at, refusal, varies, violated

# --------------------------------------------------------------------------------------------------
# Common parts of the loops over blocks of a time loop, in C.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Steps:
    """A time loop, and names for the variables of its blocks: `time` is the beginning of a block of time
    steps, `block` that of one of the grid, `first` and `last` are the block's edges in a time step. `type`
    are the words that declare them."""

    subject: Subject
    loop: TimeLoop
    type: str
    time: str
    block: str
    first: str
    last: str

    @property
    def begin(self) -> Linear:
        """The first place of all stages."""
        return one_of([stage.first or {} for stage in self.loop.stages], "<")

    @property
    def end(self) -> Linear:
        """The place after the last one of all stages."""
        return one_of([stage.last or {} for stage in self.loop.stages], ">")

    def blocks_of_time(self, count: int, inside: tuple[Piece, ...], lead: str = "") -> Made:
        """The loop over blocks of time steps."""
        first, last = sum_text(self.loop.first), sum_text(self.loop.last)
        header = f"for ({self.type} {self.time} = {first}; {self.time} < {last}; {self.time} += {count})"
        return Made(header, inside, self.loop.text.braces, lead=lead)

    def points_of_time(self, count: int, edges: tuple[str, str], stages: Iterable[Piece]) -> Made:
        """The loop over the time steps of a block, in which it has these edges."""
        loop = self.loop
        last = extremum([{self.time: 1, "": count}, loop.last], "<")
        start = f"{loop.declared} {loop.name} = {self.time}".lstrip()
        words = f"const {self.type} {self.first} = {edges[0]}, {self.last} = {edges[1]};"
        header = f"for ({start}; {loop.name} < {last}; {loop.name}++)"
        return Made(header, (Written(words), *stages), loop.text.braces, loop.text.remark)

    def clipped(self, stage: Stage, low: int, high: int, above: Linear | None = None) -> Piece:
        """A stage between the edges of a block, moved by `low` and `high`. `above`: a lower bound of the
        lower edge."""
        assert stage.first is not None and stage.last is not None
        begin: Linear = {self.first: 1, "": low}
        end: Linear = {self.last: 1, "": high}
        if stage.along is None:
            place = sum_text(stage.first)
            return stage.loop(self.subject, f"{sum_text(begin)} <= {place}", f"{place} < {sum_text(end)}")
        inside = above is not None and _is_at_least(added(above, {"": low}, 1), stage.first)
        start = sum_text(begin) if inside else extremum([begin, stage.first], ">")
        return stage.loop(self.subject, start, extremum([end, stage.last], "<"))


def moved(edge: str, slope: int, passed: tuple[str, str]) -> str:
    """An edge at a time step (the first name of `passed`) since another one (the second)."""
    now, since = passed
    if abs(slope) < 2:
        return (f"{edge} - {now} + {since}", edge, f"{edge} + {now} - {since}")[slope + 1]
    return f"{edge} {'-' if slope < 0 else '+'} {abs(slope)} * ({now} - {since})"


def one_of(bounds: Sequence[Linear], order: str) -> Linear:
    """Extremum of some sums; those that are proven not to be it are left out."""
    chosen: list[Linear] = []
    for bound in bounds:
        if any(_beats(other, bound, order) for other in chosen):
            continue
        chosen = [other for other in chosen if not _beats(bound, other, order)]
        chosen.append(bound)
    return chosen[0] if len(chosen) == 1 else {extremum(chosen, order): 1}


def _beats(one: Linear, other: Linear, order: str) -> bool:
    return _is_at_least(other, one) if order == "<" else _is_at_least(one, other)


def _is_at_least(one: Linear, other: Linear) -> bool:
    """True if a sum is proven not to be less than another."""
    apart = {term: factor for term, factor in added(one, other, -1).items() if factor}
    return set(apart) <= {""} and apart.get("", 0) >= 0


# --------------------------------------------------------------------------------------------------
# Tiles of a time loop and a grid whose places are slanted, where each stage needs the values below
# it in the same time step (Gauss-Seidel): tiles on one diagonal do not need each other (time
# skewing: Wonnacott 2000; Lamport 1974).
# --------------------------------------------------------------------------------------------------


PARALLEL = 1
"""The dimension of the dates that says which tile of a front: different ones do not need each other."""


@dataclass(frozen=True, slots=True)
class Fronts:
    """Slanted tiles: `upper` is how far they move down, `count` their number of time steps, with `ratio`
    times as many places."""

    upper: Edge
    count: int
    ratio: int

    @property
    def width(self) -> int:
        """Number of places of a tile in a time step."""
        return self.count * self.ratio

    def dates(self, places: Sequence[int | None]) -> list[isl.Map]:
        """Schedule of each stage's instances: the front, the block of time steps, the time step, the stage,
        the place. It is valid wherever the first tile begins."""
        return [self._dates(number, place) for number, place in enumerate(places)]

    def _dates(self, stage: int, place: int | None) -> isl.Map:
        at = "i1" if place is None else str(place)
        block = f"floor((i0 - T) / {self.count})"
        slanted = f"({at} + {self.upper.offsets[stage]} + {self.upper.slope} * (i0 - T) - O)"
        front = f"{block} + floor({slanted} / {self.width})"
        names = "i0, i1" if place is None else "i0"
        return isl.Map(f"[T, O] -> {{ [{names}] -> [{front}, {block}, i0, {stage}, {at}] }}")

    def pieces(self, steps: Steps, front: str) -> tuple[Piece, ...]:
        """The loops, in C; `front` is the name of the outermost one's counter."""
        loop = steps.loop
        since: Linear = added({loop.name: self.upper.slope}, loop.first, -self.upper.slope)
        tile: Linear = added({steps.time: self.ratio}, loop.first, -self.ratio)
        first = added(added(added(steps.begin, {front: 1}, 1), tile, -1), since, -1)
        edges = (sum_text(first), f"{steps.first} + {self.width}")
        stages = [steps.clipped(s, -b, -b) for s, b in zip(loop.stages, self.upper.offsets, strict=True)]
        points = steps.points_of_time(self.count, edges, stages)
        tiles = steps.blocks_of_time(
            self.count, (points,), "/* Tiles on one front do not need each other. */"
        )
        last = sum_text(self.extent(steps))
        header = f"for ({steps.type} {front} = 0; {front} < {last}; {front} += {self.width})"
        return (Made(header, (tiles,), loop.text.braces),)

    def extent(self, steps: Steps) -> Linear:
        """Upper end of the fronts."""
        loop, slope = steps.loop, self.upper.slope + self.ratio
        places = added(added(steps.end, {"": max(self.upper.offsets)}, 1), steps.begin, -1)
        duration = added(added(loop.last, loop.first, -1), {"": 1}, -1)
        return added(places, duration, slope)


# --------------------------------------------------------------------------------------------------
# Blocks of a grid that get narrower with each time step, so that none needs another one, and then
# the gaps between them, which get wider (split tiling: Krishnamoorthy et al., PLDI 2007).
# --------------------------------------------------------------------------------------------------


NARROWING_PARALLEL = 2
"""The dimension of the dates that says which block: different ones do not need each other."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Inward motion of a block's edges, its number of time steps, and its initial width."""

    lower: Edge
    upper: Edge
    count: int
    width: int

    def dates(self, places: Sequence[int | None]) -> list[isl.Map]:
        """Schedule of each stage's instances: the block of time steps, blocks before the gaps between them,
        the number of the block or gap, the time step, the stage, the place. It is valid wherever the first
        block begins."""
        return [self._dates(number, place) for number, place in enumerate(places)]

    def _dates(self, stage: int, place: int | None) -> isl.Map:
        at = "i1" if place is None else str(place)
        first = f"(T + {self.count} * floor((i0 - T) / {self.count}))"
        block = f"floor(({at} - O) / {self.width})"
        inside = f"({at} - O - {self.width} * {block})"
        low = f"{self.lower.offsets[stage]} + {self.lower.slope} * (i0 - {first})"
        high = f"{self.width} - {self.upper.offsets[stage]} - {self.upper.slope} * (i0 - {first})"
        names = "i0, i1" if place is None else "i0"
        pieces = [
            f"[{names}] -> [{first}, {phase}, {number}, i0, {stage}, {at}] : {where}"
            for phase, number, where in (
                (0, block, f"{low} <= {inside} < {high}"),
                (1, block, f"{inside} < {low}"),
                (1, f"{block} + 1", f"{inside} >= {high}"),
            )
        ]
        return isl.Map(f"[T, O] -> {{ {'; '.join(pieces)} }}")

    def pieces(self, steps: Steps) -> tuple[Piece, ...]:
        """The loops, in C."""
        stages, name = steps.loop.stages, steps.loop.name
        passed = (name, steps.time)
        lower, upper = self.lower, self.upper
        narrow = self._blocks(
            steps,
            steps.end,
            (
                moved(steps.block, lower.slope, passed),
                moved(f"{steps.block} + {self.width}", -upper.slope, passed),
            ),
            [
                steps.clipped(s, a, -b, steps.begin)
                for s, a, b in zip(stages, lower.offsets, upper.offsets, strict=True)
            ],
            f"/* Blocks that get narrower with each {name}: none needs another one. */",
        )
        between = self._blocks(
            steps,
            added(steps.end, {"": self.width}, 1),
            (moved(steps.block, -upper.slope, passed), moved(steps.block, lower.slope, passed)),
            [steps.clipped(s, -b, a) for s, a, b in zip(stages, lower.offsets, upper.offsets, strict=True)],
            "/* What is left between them. */",
        )
        return (steps.blocks_of_time(self.count, (narrow, between)),)

    def _blocks(
        self, steps: Steps, end: Linear, edges: tuple[str, str], stages: Iterable[Piece], lead: str
    ) -> Made:
        name, first = steps.block, sum_text(steps.begin)
        header = f"for ({steps.type} {name} = {first}; {name} < {sum_text(end)}; {name} += {self.width})"
        points = steps.points_of_time(self.count, edges, stages)
        return Made(header, (points,), steps.loop.text.braces, lead=lead)


def narrowed(lower: Edge, upper: Edge, count: int | None, width: int) -> Narrowing:
    """Blocks of a width that run as many time steps as leave half of it, or `count` if that is possible. The
    width grows where it is too small for one."""
    edges = max(a + b for a, b in zip(lower.offsets, upper.offsets, strict=True))
    width = max(width, edges + 1)
    slope = max(lower.slope + upper.slope, 1)
    possible = 1 + (width - 1 - edges) // slope
    halving = 1 + max(width // 2 - edges, 0) // slope
    return Narrowing(lower, upper, min(possible, count or halving), width)


# --------------------------------------------------------------------------------------------------
# Time tiling: several time steps of a stencil run on a block of the grid while that is in the
# cache, and blocks run in parallel. The stages of a step may be several loops, each moved so that
# its inputs are in the block.
# --------------------------------------------------------------------------------------------------


_WIDTHS = {1: 512, 2: 64}
_WIDTH = 16
"""Number of places of a block of a grid, by the dimensions of the grid: its data then fit the second-level
cache of a core."""

_COUNTS = {1: 64, 2: 16}
_COUNT = 4
"""Number of time steps of slanted tiles; they have twice as many places."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A time loop, its dependences, and the blocks in which it can run. `places` are those of the stages with
    a single one."""

    loop: TimeLoop
    found: Leaves
    places: tuple[int | None, ...]
    blocks: Narrowing | Fronts


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """Blocks for the outermost loop around `ordinal` that is a time loop."""
    plan = planned(subject, ordinal, settings)
    return plan if isinstance(plan, Declined) else made(subject, plan)


def planned(subject: Subject, ordinal: int, settings: Settings) -> Plan | Declined:
    """The outermost time loop around a loop, and its blocks."""
    around = [*(each.ordinal for each in subject.around(ordinal)), ordinal]
    plans = [_planned(subject, each, settings) for each in around]
    return next((each for each in plans if isinstance(each, Plan)), plans[0])


def _planned(subject: Subject, ordinal: int, settings: Settings) -> Plan | Declined:
    read = ordered(subject, ordinal)
    if isinstance(read, Declined):
        return read
    loop, found, places = read
    if varies(found, 0) is None:
        return Declined(f"The loop `{loop.name}` can run in parallel as it stands.")
    apart = distances(found, places)
    if all(each.least == each.most == 0 for each in apart):
        doing = f"No iteration of the loop `{loop.name}` needs another place of the grid than its own"
        return Declined(f"{doing}: a loop along the grid can stand around it.")
    blocks = _blocks(subject, loop, apart, settings)
    if blocks is None:
        return _too_far(loop, found, apart)
    dates = blocks.dates(places)
    depth = NARROWING_PARALLEL if isinstance(blocks, Narrowing) else PARALLEL
    broken = violated(found, dates) or carried_at(found, dates, depth)
    if broken is not None:
        return refusal(found, f"Running blocks of the loop `{loop.name}`", broken)
    return Plan(loop, found, places, blocks)


def _blocks(
    subject: Subject, loop: TimeLoop, apart: Sequence[Distance], settings: Settings
) -> Narrowing | Fronts | None:
    """The blocks that the distances allow: those that need no other one are the first choice."""
    lower, upper = (edge(apart, len(loop.stages)) for edge in (lower_edge, upper_edge))
    depth = max(dimensions(subject, o) for o in loop.ordinals[1:])
    given = settings.tile_sizes
    if upper is None:
        return None
    if lower is not None:
        width = given[min(1, len(given) - 1)] if given else _WIDTHS.get(depth, _WIDTH)
        return narrowed(lower, upper, given[0] if given else None, width)
    return Fronts(upper, given[0] if given else _COUNTS.get(depth, _COUNT), 2)


def _too_far(loop: TimeLoop, found: Leaves, apart: Sequence[Distance]) -> Declined:
    """Reason why no block finds all values that it needs."""
    doing = f"Running several iterations of the loop `{loop.name}` on a part of the grid"
    broken = next((d.dependence for d in apart if d.least is None or d.most is None), None)
    return refusal(found, doing, broken or apart[0].dependence)


def comes_back(plan: Plan) -> bool:
    """True if each time step uses the same memory: accesses that vary over the grid do not vary over time."""
    scop, time = plan.found.scop, plan.loop.ordinal
    return not any(
        depends_on(scop, access, time) and depends_on(scop, access, stage.leaf.loops[-1])
        for stage in plan.loop.stages
        for access in scop.accesses
        if stage.along and stage.leaf.loops[-1] in scop.statements[access.statement].loops
    )


# --- Text --------------------------------------------------------------------------------


def made(subject: Subject, plan: Plan) -> Edited:
    """The edit that a plan says."""
    loop, blocks = plan.loop, plan.blocks
    steps = _steps(subject, loop)
    assumed = plan.found.assumptions
    pieces: tuple[Piece, ...]
    if isinstance(blocks, Narrowing):
        pieces = blocks.pieces(steps)
        remark = f"Blocks of {blocks.width} places run {blocks.count} iterations of `{loop.name}` at once"
    else:
        pieces = blocks.pieces(steps, fresh_name(subject, "front", "wave_front"))
        remark = f"Tiles of {blocks.width} places run {blocks.count} iterations of `{loop.name}` at once"
        assumed = (*assumed, _fits(blocks.extent(steps), blocks.width, steps.type))
    texts = [loop.text, *(stage.along for stage in loop.stages if stage.along)]
    text = replaced(subject, loop.text, pieces, style_of(subject, texts))
    counter = steps.time if isinstance(blocks, Fronts) else steps.block
    return Edited((text,), assumed, (f"{remark}; the loop `{counter}` can run in parallel.",))


def _fits(extent: Linear, step: int, words: str) -> Assumption:
    """Assumption that the fronts can be counted; an `int` can be compared with its limit before."""
    shown = sum_text(extent)
    guard = f"{sum_text(in_64_bits(extent))} < {2**31 - step}" if words == "int" else ""
    return Assumption("no-overflow", (shown,), f"`{shown}` does not overflow", guard)


def _steps(subject: Subject, loop: TimeLoop) -> Steps:
    along = next(stage for stage in loop.stages if stage.along)
    chain = Chain(loop.ordinals, ())
    time = fresh_name(subject, loop.name * 2, f"{loop.name}_block")
    block = fresh_name(subject, along.name * 2, f"{along.name}_block", taken={time})
    first, last = fresh_name(subject, "first", "first_place"), fresh_name(subject, "last", "last_place")
    return Steps(subject, loop, type_words(subject, chain), time, block, first, last)
