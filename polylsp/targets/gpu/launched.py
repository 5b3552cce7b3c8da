"""Kernels of a region before any call is generated, independent of the launching language.

Reports the lines on which the threads of a warp diverge, and renders kernels for the device's
compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.ir.effects import walk
from polylsp.ir.program import Expr, Floating, If, Loop, Place, Read, Site, subexpressions, within
from polylsp.ir.verdict import Assumption
from polylsp.model.action import Declined
from polylsp.model.kernel_report import DeviceCode
from polylsp.poly.budget import budgeted
from polylsp.targets.gpu.alternatives import separated
from polylsp.targets.gpu.buffers import REAL, WHOLE, Memories, memories_of
from polylsp.targets.gpu.coalescing import Reference, references
from polylsp.targets.gpu.cuda_expressions import EXTREMES, Unwritable, extremum_lines
from polylsp.targets.gpu.emission_context import Setting, setting_of
from polylsp.targets.gpu.kernels import Written, written
from polylsp.targets.gpu.leaves import Leaf, Leaves
from polylsp.targets.gpu.mapping import Kernel, further, is_same, maps_of, onto, sets_of
from polylsp.targets.gpu.region import Region, loops_at
from polylsp.targets.gpu.schedule_choice import Choice, chosen, rounded
from polylsp.targets.gpu.slabs import Slabs, slabs_of
from polylsp.targets.gpu.sum_kernels import BLOCKS, sum_of, total_kernel

# --------------------------------------------------------------------------------------------------
# Warp divergence: conditions and loops that differ between threads of a warp, so that it runs both
# branches, or continues until its slowest thread is done.
# --------------------------------------------------------------------------------------------------


_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


def divergences(setting: Setting, kernel: Written) -> Iterator[str]:
    """A sentence for each line of a kernel in which the threads of a warp go different ways."""
    found = references(kernel.frame.launch, setting.region.scop, setting.shared) if kernel.axes else []
    for order in maps_of(kernel.frame.launch.order) if kernel.axes else ():
        leaf = setting.leaves[order.get_tuple_name(_IN) or ""]
        side = side_of(kernel, leaf)
        line = setting.region.subject.line_number
        for loop in _loops(setting, kernel, leaf, order, side):
            yield f"{_DIVERGE} {line(loop)}: each runs this loop as often as its bounds say."
        own = [each for each in found if each.leaf is leaf]
        for condition in _conditions(leaf, order, side, own):
            yield f"{_DIVERGE} {line(condition)}: what holds for one need not for others."


_DIVERGE = "Threads of a warp diverge in line"


def side_of(kernel: Written, leaf: Leaf) -> int:
    """The dimension along which the threads of a warp differ, in their instances of a leaf."""
    blocking = kernel.frame.blocking
    for part in blocking.parts:
        rows = blocking.lanes is not None and blocking.lanes.letter == "x"
        if part.split is not None and rows and leaf.name in part.segment.leaves:
            return part.split.dimension
    return kernel.axes[0].dimension


# --- Loops -------------------------------------------------------------------------------


def _loops(setting: Setting, kernel: Written, leaf: Leaf, order: isl.Map, side: int) -> Iterator[Site]:
    """The headers of the loops of a thread that do not run as often in its neighbour."""
    axes = [axis.dimension for axis in kernel.axes]
    points = order.range()
    for number, ordinal in enumerate(leaf.loops):
        for k in kernel.frame.blocking.left:
            is_counter = order.is_subset(order.equate(_IN, number, _OUT, k))
            if k != side and is_counter and not _is_regular(points, axes, k, side):
                yield setting.region.subject.known(ordinal).site


def _is_regular(points: isl.Set, axes: Sequence[int], loop: int, side: int) -> bool:
    """True if neighbours run a loop equally often, in an iteration of those around it."""
    length = points.dim(isl.dim_type.set)
    around = sorted({*axes, side, *range(min(axes), loop)} - {loop})
    values = onto(around, length).intersect_domain(points).reverse().apply_range(onto([loop], length))
    counts = isl.Map.from_pw_aff(values.dim_max(0).sub(values.dim_min(0)))
    beside = further(len(around), around.index(side), 1).apply_range(counts)
    return beside.intersect_domain(counts.domain()).is_subset(counts)


# --- Conditions --------------------------------------------------------------------------


def _conditions(leaf: Leaf, order: isl.Map, side: int, own: Sequence[Reference]) -> Iterator[Site]:
    """The conditions in the statements of a leaf that differ between neighbours."""
    for statement in walk(*leaf.statements):
        if isinstance(statement, (If, Loop)) and statement.condition is not None:
            inside = [each for each in own if within(each.access.site, statement.site)]
            if _differs(statement.condition, order, side, inside):
                yield statement.header if isinstance(statement, Loop) else statement.site


def _differs(condition: Expr, order: isl.Map, side: int, inside: Sequence[Reference]) -> bool:
    """True if a condition reads elements that differ between neighbours, or is one on counters that is true
    for one of two neighbours."""
    places = [each.place for each in subexpressions(condition) if isinstance(each, Read)]
    if any(place.steps for place in places):
        return any(_is_own(place, side, inside) for place in places if place.steps)
    bounds = [each.seen.domain() for each in inside if each.access.exact]
    return not all(_steady(each, order.range(), side) for each in bounds)


def _is_own(place: Place, side: int, inside: Sequence[Reference]) -> bool:
    return any(each.access.site == place.site and not is_same(each.seen, side) for each in inside)


def _steady(points: isl.Set, among: isl.Set, dimension: int) -> bool:
    """True if two neighbours along a dimension are both in a set, or none, where both are `among` others."""
    neighbour = further(points.dim(isl.dim_type.set), dimension, 1)
    after = points.apply(neighbour).intersect(among)
    before = points.apply(neighbour.reverse()).intersect(among)
    return after.union(before).is_subset(points)


# --------------------------------------------------------------------------------------------------
# Kernels of a region, before any call is generated.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Launched:
    """Kernels in the order in which a function called `name` launches them, and the memory on the device, for
    `slabs` of iterations; `uncut` says why there are none, if some were requested."""

    region: Region
    name: str
    leaves: Leaves
    memories: Memories
    setting: Setting
    kernels: tuple[tuple[Kernel, Written], ...]
    slabs: Slabs | None = None
    uncut: str = ""

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """Assumptions of the kernels."""
        region = self.region
        inside = {loop.ordinal for loop in loops_at(region.statements)}
        listed = {each.ordinal for each in region.subject.facts.loops}
        own = [
            region.scop.loops[o]
            for o in sorted(region.scop.loops.keys() & listed)
            if _is_inside(region, o, inside)
        ]
        found = [assumed for each in own for assumed in each.assumptions]
        for ordinal in dict.fromkeys(o for loops in separated(region, self.leaves).values() for o in loops):
            found += region.subject.known(ordinal).terms.assumptions
        found += self._reassociated()
        return tuple(dict.fromkeys((*region.scop.inherited, *found, *self.memories.assumptions)))

    def _reassociated(self) -> Iterator[Assumption]:
        """Assumptions under which the updates that threads make in another order give the same."""
        for kernel, _ in self.kernels:
            own = {each.get_tuple_name() for each in sets_of(kernel.domain)}
            is_sum = sum_of(kernel, self.leaves) is not None
            for leaf, access in self.leaves.shared:
                if leaf.name in own and (is_sum or access.memory.name in self.leaves.atomic):
                    yield from access.assumed if access.update is not None else ()

    @property
    def remarks(self) -> Iterator[str]:
        """Remarks on the kernels for the user."""
        for kernel, made in self.kernels:
            if made.rounds:
                yield f"What `{made.name}` adds up is added in another order."
            elif made.total is None and not kernel.parallel:
                yield f"`{made.name}` runs in one thread: nothing in it can run at once."
            if made.unaligned:
                yield f"`{made.name}` loads one element at a time: {made.unaligned}."
            yield from divergences(self.setting, made)
        yield from rounded(self.leaves)
        for each in self.memories.buffers:
            if each.of:
                yield f"What is read of `{each.of}` before it changes is read from a copy on the device."
        if self.slabs is not None:
            yield self.slabs.remark(self.memories)
        elif self.uncut:
            yield self.uncut


def launched(
    region: Region,
    settings: Settings,
    taken: frozenset[str] = frozenset(),
    other: Callable[[Region], Region | None] = lambda _: None,
) -> Launched | Declined:
    """The kernels of a region, or of an `other` one that computes the same in fewer steps; the function that
    launches them has none of the names that are `taken`."""
    *better, (_, choice) = candidates(region, settings, other)
    for second, cheaper in better:
        made = _launched(second, cheaper, settings, taken)
        if isinstance(made, Launched):
            return made
    made = _launched(region, choice, settings, taken)
    if isinstance(made, Declined) and isinstance(choice, Choice) and choice.leaves.has_own_scalars:
        # What cannot be written with elements of scalars may be without.
        return _launched(region, chosen(region, settings, privatises=False), settings, taken)
    return made


def candidates(
    region: Region, settings: Settings, other: Callable[[Region], Region | None]
) -> list[tuple[Region, Choice | Declined]]:
    """A region with its kernels, and before it an `other` one that computes the same, if it takes fewer
    steps."""
    choice = chosen(region, settings)
    second = other(region) if isinstance(choice, Choice) and choice.is_improvable else None
    if second is None or isinstance(choice, Declined):
        return [(region, choice)]
    better = budgeted(settings.max_operations, lambda: chosen(second, settings))
    if not isinstance(better, Choice) or better.cost >= choice.cost:
        return [(region, choice)]
    return [(second, better), (region, choice)]


def _launched(
    region: Region, choice: Choice | Declined, settings: Settings, taken: frozenset[str]
) -> Launched | Declined:
    if isinstance(choice, Declined):
        return choice
    memories = memories_of(region, choice.leaves)
    if isinstance(memories, Declined):
        return memories
    if not memories.buffers:
        line = region.subject.line_number(region.last.site)
        return Declined(f"The loop in line {line} leaves nothing behind: a GPU has nothing to do.")
    cut = slabs_of(region, choice, memories) if settings.cuda_slabs else None
    slabs = cut if isinstance(cut, Slabs) else None
    seen = memories if slabs is None else slabs.of_slab(memories)
    setting = setting_of(region, choice.leaves, seen, settings)
    if isinstance(setting, Declined):
        return setting
    if slabs is not None:
        setting = slabs.setting(setting)
    fresh = setting.fresh
    fresh.used.update(taken)
    name = fresh.name(f"{region.subject.function.name}_cuda")
    try:
        kernels = tuple(
            (one, written(setting, one, fresh.name(f"{name}_kernel{number}"), sum_of(one, choice.leaves)))
            for number, one in enumerate(choice.kernels if slabs is None else map(slabs.of, choice.kernels))
        )
    except Unwritable as reason:
        return Declined(str(reason))
    uncut = cut.reason if isinstance(cut, Declined) else ""
    return Launched(region, name, choice.leaves, memories, setting, kernels, slabs, uncut)


def _is_inside(region: Region, ordinal: int, outermost: set[int]) -> bool:
    around = (*region.subject.around(ordinal), region.subject.known(ordinal))
    return any(each.ordinal in outermost for each in around)


# --------------------------------------------------------------------------------------------------
# Kernels of a region as input of the device's compiler, independent of the launching language.
# --------------------------------------------------------------------------------------------------


def device_lines(found: Launched, *, generic: bool = False) -> Iterator[str]:
    """Kernels, with an empty line between two of them; those that are `generic` are templates for any index
    type."""
    kernels = [_generic(made) if generic else list(made.lines) for _, made in found.kernels]
    kernels += [list(total_kernel(total)) for total in found.setting.totals]
    words = found.setting.words
    extremes = dict.fromkeys(a for a in words.atomic.values() if a.operator in EXTREMES)
    own = [list(extremum_lines(each)) for each in extremes if isinstance(each.element, Floating)]
    kernels = [*own, *(list(each.lines) for each in words.helpers.values()), *kernels]
    for number, lines in enumerate(kernels):
        yield from [""] if number else []
        yield from lines


def template(index: str) -> str:
    """Template header for any index type."""
    return f"template <typename {index}>"


def index_line(index: str, of_type: str = "int") -> str:
    """The line that says in which type elements are counted."""
    return f"typedef {of_type} {index};"


def _generic(made: Written) -> list[str]:
    comment, *lines = made.lines
    return [comment, template(made.index), *lines] if made.index else [comment, *lines]


def device_code(found: Launched) -> DeviceCode:
    """The same, with how many threads a block has, for `int`s."""
    threads = [(made.name, prod(made.frame.blocking.threads)) for _, made in found.kernels]
    threads += [(total.kernel, BLOCKS) for total in found.setting.totals]
    index = found.setting.words.index
    types = [index_line(index)] if index else []
    words = {each.words for each in found.memories.buffers}
    types += (f"typedef double {REAL};", f"typedef double2 {REAL}2;") if REAL in words else ()
    types += (f"typedef long long {WHOLE};",) if WHOLE in words else ()
    lines = [*types, *device_lines(found)]
    return DeviceCode("".join(f"{line}\n" for line in lines), tuple(threads))
