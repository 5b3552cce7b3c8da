"""Choice of a region's schedule, and thereby of its kernels.

Minimises the longest chain of steps, over alternatives with expanded arrays and scalars. Atomic
updates serve sums whose elements data chooses, as in a histogram, where threads cannot have
private sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.ir.effects import walk
from polylsp.ir.program import Assign, Floating, Loop, Site, Statement
from polylsp.ir.verdict import Parallel
from polylsp.model.action import Declined
from polylsp.poly.budget import budgeted
from polylsp.poly.scop import Access
from polylsp.targets.gpu.alternatives import (
    Strategy,
    alternatives,
    by_nest,
    dependences,
    domain_of,
    in_source_order,
    in_turn,
    scheduled,
)
from polylsp.targets.gpu.cuda_expressions import update_of
from polylsp.targets.gpu.expansion import expanded, placed, renamed, scalar_expanded
from polylsp.targets.gpu.leaves import Leaf, Leaves, leaves_of, useful, varies
from polylsp.targets.gpu.mapping import Kernel, kernels, maps_of, respects, sets_of
from polylsp.targets.gpu.region import Region
from polylsp.targets.gpu.sum_kernels import sum_of, updates


def with_atomics(found: Leaves, seen: Leaves, made: Sequence[Kernel]) -> Leaves | None:
    """The leaves that were `found`, with updates that may come in any order, if of those that were `seen` one
    thread alone makes some; `None` if there are none that a device can make one at a time."""
    alone = {
        each.get_tuple_name()
        for kernel in made
        if not kernel.parallel and sum_of(kernel, seen) is None
        for each in sets_of(kernel.domain)
    }
    updated = {
        access.memory.name
        for leaf, access in seen.shared
        if leaf.name in alone and access.kind == "write" and access.update is not None
    }
    able = frozenset(name for name in updated if _can_be_atomic(found, name))
    return replace(found, atomic=able) if able else None


def _can_be_atomic(found: Leaves, name: str) -> bool:
    """True if a device supports all updates of a memory, and these have one operator."""
    own = [(leaf, a) for leaf, a in found.shared if a.memory.name == name and a.update is not None]
    writes = [(leaf, access) for leaf, access in own if access.kind == "write"]
    return len({a.update for _, a in own}) == 1 and all(_is_able(leaf, access) for leaf, access in writes)


def _is_able(leaf: Leaf, access: Access) -> bool:
    targets = (s for s in walk(*leaf.statements) if isinstance(s, Assign) and s.target.site == access.site)
    return any(update_of(each) is not None for each in targets)


def sites_of(found: Leaves) -> frozenset[Site]:
    """Sites of atomic updates."""
    return frozenset(
        access.site
        for _, access in found.shared
        if access.memory.name in found.atomic and access.update is not None and access.kind == "write"
    )


def rounded(found: Leaves) -> Iterator[str]:
    """Remarks on updates whose order is open."""
    memories = (a.memory for _, a in found.shared if a.memory.name in found.atomic)
    real = dict.fromkeys(m.path for m in memories if isinstance(m.element, Floating))
    for name in real:
        yield f"Threads update `{name}` in any order: sums may differ in their last digits from run to run."


# --------------------------------------------------------------------------------------------------
# Choice of the schedule of a region, and with it of its kernels.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Choice:
    """Leaves, and the kernels that run them; `pairs` of instances stay in order."""

    leaves: Leaves
    kernels: tuple[Kernel, ...]
    pairs: isl.UnionMap

    @property
    def steps(self) -> tuple[int, int, int]:
        """Cost in steps: the largest number of loops around sequential code (those of one thread alone count
        once more); the number of these on the host; and the number of kernels."""
        longest = max(each.counters + _loops(each, self.leaves) for each in self.kernels)
        return longest, max(each.counters for each in self.kernels), len(self.kernels)


def chosen(
    region: Region, settings: Settings, expands: bool = False, privatises: bool = True
) -> Choice | Declined:
    """The kernels of a region: those with which the longest chain of steps is shortest. `expands`: arrays may
    have further dimensions on the device; `privatises`: scalars may be elements that threads keep."""
    every = leaves_of(region)
    if isinstance(every, Declined):
        return every
    line = region.subject.line_number(region.last.site)
    if domain_of(every).is_empty():
        return Declined(f"The loop in line {line} never runs.")
    best = _chosen(region, every, settings, expands, privatises)
    if best is None:
        return Declined("isl's scheduler finds no order of these loops for a GPU.")
    copied = renamed(region, every) if best.steps[0] else None
    if copied is not None:
        made = budgeted(
            settings.max_operations, lambda: _chosen(region, copied, settings, expands, privatises)
        )
        # A copy takes as long as a kernel does that does little.
        best = made if isinstance(made, Choice) and made.steps[:2] < best.steps[:2] else best
    if not any(kernel.parallel or sum_of(kernel, best.leaves) is not None for kernel in best.kernels):
        return Declined(_why_in_order(region, best.leaves, line))
    return best


def _chosen(
    region: Region, every: Leaves, settings: Settings, expands: bool, privatises: bool
) -> Choice | None:
    found = useful(every)
    best = _best(region, found, settings)
    if best is None:
        return None
    others = list(alternatives(region, found, best.kernels)) if best.steps[0] >= _LONG else []
    best = _with_scalars(region, every, best, settings, expands) if privatises else best
    apart = expanded(region, found) if expands and best.steps[0] else None
    for other in others if apart is None else [apart, *others]:
        # What there is already is not lost where a better one takes too long to find.
        made = budgeted(settings.max_operations, lambda o=other: _best(region, o, settings))
        best = made if isinstance(made, Choice) and made.steps < best.steps else best
    updating = with_atomics(found, best.leaves, best.kernels)
    if updating is not None:
        made = budgeted(settings.max_operations, lambda: _best(region, updating, settings))
        best = made if isinstance(made, Choice) and made.steps < best.steps else best
    return best


def _with_scalars(region: Region, found: Leaves, best: Choice, settings: Settings, expands: bool) -> Choice:
    """Kernels that know of each step of their sums, if they take no more steps than the best ones so far."""
    without = frozenset[str]()
    for _ in range(_ROUNDS):
        opened = scalar_expanded(region, found, without)
        if opened is None:
            return best
        made = budgeted(settings.max_operations, lambda o=opened: _best(region, o, settings))
        if not isinstance(made, Choice) or made.steps[:2] > best.steps[:2]:
            return best
        leaves = placed(region, opened, made.kernels, expands)
        if isinstance(leaves, Leaves):
            seen = tuple(kernel for kernel in made.kernels if _leaves_something(kernel, leaves))
            return Choice(leaves, seen or made.kernels, made.pairs)
        without |= leaves
    return best


def _leaves_something(kernel: Kernel, found: Leaves) -> bool:
    """True if a kernel sets more than private scalars of its threads, which no later code sees."""
    own = {each.get_tuple_name() for each in sets_of(kernel.domain)}
    written = (a for leaf, a in found.shared if leaf.name in own and a.kind == "write")
    return any(a.memory.variable.name not in found.private for a in written)


_ROUNDS = 2
"""Rounds of splitting scalars: again without those for which there was no place."""


def _why_in_order(region: Region, found: Leaves, line: int) -> str:
    """Reason why no iterations of the loop in a line can run at once."""
    first = next(_first_cells(region, found), "")
    if first:
        told = f"The loop in line {line} runs in order where `{first}` is negative"
        return f"{told}: write `max({first}, 0)` instead."
    for _, access in found.shared:
        if access.indirect and access.kind == "write":
            name = access.memory.variable.source_name
            return f"The loop in line {line} may set an element of `{name}` twice: its subscripts are data."
    return f"No iterations of the loop in line {line} can run at once."


def _first_cells(region: Region, found: Leaves) -> Iterator[str]:
    """Subscripts that must not be negative for some loop to be parallel, as they would count from the end."""
    counted = (access.from_end() for _, access in found.shared if access.from_end is not None)
    least = {text for each in counted if each is not None for text in each.least}
    for ordinal in dict.fromkeys(o for leaf in found.leaves for o in leaf.loops):
        verdict = region.subject.known(ordinal).verdict
        for each in verdict.assumptions if isinstance(verdict, Parallel) else ():
            if each.kind == "in-bounds" and least.issuperset(each.subjects):
                yield each.subjects[0]


_LONG = 2
"""Loops around what runs one after the other from which on other orders are tried."""


def _best(region: Region, found: Leaves, settings: Settings) -> Choice | None:
    """The kernels by the strategy that is set or, if that is left open, by the one with fewest steps: for all
    nests together, or one after the other where that takes fewer."""
    pairs = dependences(region, found)
    _, best = _ordered(region, found, found, pairs, settings)
    groups = by_nest(found)
    if len(groups) > 1 and (best is None or best.steps > (1, 0, len(groups))):
        parts = [_ordered(region, each, found, pairs, settings)[0] for each in groups]
        made = Choice(found, kernels(in_turn(parts), _sums(found)), pairs)
        if respects(made.kernels, pairs) and (best is None or made.steps < best.steps):
            best = made
    return best


def _ordered(
    region: Region, some: Leaves, found: Leaves, pairs: isl.UnionMap, settings: Settings
) -> tuple[isl.Schedule, Choice | None]:
    """The best schedule of `some` of the leaves, and its kernels; the source's order where isl finds none."""
    domain, sums = domain_of(some), _sums(found)
    own = pairs.intersect_domain(domain).intersect_range(domain)
    best: tuple[isl.Schedule, Choice] | None = None
    for strategy in _strategies(settings):
        schedule = scheduled(region, some, own, strategy)
        made = Choice(found, kernels(schedule, sums) if schedule is not None else (), own)
        if schedule is None or not made.kernels or not respects(made.kernels, own):
            continue
        if best is None or made.steps < best[1].steps:
            best = schedule, made
        if settings.cuda_fusion in FUSIONS or best[1].steps[0] < _LONG:
            break
    if best is not None:
        return best
    schedule = in_source_order(region, some, own)
    made = Choice(found, kernels(schedule, sums), own)
    return schedule, made if made.kernels and respects(made.kernels, own) else None


def _sums(found: Leaves) -> frozenset[str]:
    return frozenset(leaf.name for leaf in found.leaves if updates(leaf, found))


FUSIONS: tuple[Strategy, ...] = ("min", "max", "maximal-band")
"""Fusion strategies that a user can set."""


def _strategies(settings: Settings) -> tuple[Strategy, ...]:
    """Strategies to try, in this order."""
    for each in FUSIONS:
        if each == settings.cuda_fusion:
            return each, "feautrier"
    return "maximal-band", "min", "feautrier"


def _loops(kernel: Kernel, found: Leaves) -> int:
    """Number of loops of a thread, including those inside of leaves. One thread alone counts as one more, if
    it has loops, or is launched in a nest of the host's loops: a launch takes longer than a step does."""
    if sum_of(kernel, found) is not None:
        return 0
    inside = list(maps_of(kernel.schedule.intersect_domain(kernel.domain)))
    dimensions = range(kernel.parallel, max(each.dim(isl.dim_type.out) for each in inside))
    count = sum(any(varies(each, k) for each in inside) for k in dimensions)
    names = {each.get_tuple_name(isl.dim_type.in_) for each in inside}
    count += max(_depth(leaf.statements) for leaf in found.leaves if leaf.name in names)
    return count + (not kernel.parallel and (count > 0 or kernel.counters > 1))


def _depth(statements: Sequence[Statement]) -> int:
    """Largest nesting depth of loops in statements."""
    found = [_depth(s.body.statements) + 1 for s in walk(*statements) if isinstance(s, Loop)]
    return max(found, default=0)
