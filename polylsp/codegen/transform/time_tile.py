"""Time tiling: several time steps of a stencil run on a block of the grid while that is in the cache, and
blocks run in parallel. The stages of a step may be several loops, each moved so that its inputs are in the
block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polylsp.codegen.subject import Subject
from polylsp.codegen.transform import fronts, narrowing
from polylsp.codegen.transform.chain import Chain
from polylsp.codegen.transform.distances import Distance, distances, lower_edge, upper_edge
from polylsp.codegen.transform.fresh import fresh_name, type_words
from polylsp.codegen.transform.fronts import Fronts
from polylsp.codegen.transform.layout import Piece, replaced, style_of
from polylsp.codegen.transform.leaves import Leaves, carried_at, refusal, varies, violated
from polylsp.codegen.transform.locality import depends_on
from polylsp.codegen.transform.narrowing import Narrowing, narrowed
from polylsp.codegen.transform.stages import TimeLoop
from polylsp.codegen.transform.steps import Steps
from polylsp.codegen.transform.time_loop import dimensions, ordered
from polylsp.model.action import Answer, Declined, Edited
from polylsp.model.verdict import Assumption
from polylsp.settings import Settings

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
    depth = narrowing.PARALLEL if isinstance(blocks, Narrowing) else fronts.PARALLEL
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
        extent = blocks.extent(steps)
        assumed = (*assumed, Assumption("no-overflow", (extent,), f"`{extent}` does not overflow"))
    texts = [loop.text, *(stage.along for stage in loop.stages if stage.along)]
    text = replaced(subject, loop.text, pieces, style_of(subject, texts))
    counter = steps.time if isinstance(blocks, Fronts) else steps.block
    return Edited((text,), assumed, (f"{remark}; the loop `{counter}` can run in parallel.",))


def _steps(subject: Subject, loop: TimeLoop) -> Steps:
    along = next(stage for stage in loop.stages if stage.along)
    chain = Chain(loop.ordinals, ())
    time = fresh_name(subject, loop.name * 2, f"{loop.name}_block")
    block = fresh_name(subject, along.name * 2, f"{along.name}_block", taken={time})
    first, last = fresh_name(subject, "first", "first_place"), fresh_name(subject, "last", "last_place")
    return Steps(subject, loop, type_words(subject, chain), time, block, first, last)
