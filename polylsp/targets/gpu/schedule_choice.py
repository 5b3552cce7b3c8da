"""Choice of a region's schedule, and thereby of its kernels.

Minimises the longest chain of steps, over alternatives with expanded arrays and scalars. Atomic
updates serve sums whose elements data chooses, as in a histogram, where threads cannot have
private sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

import islpy as isl

from polylsp.core.language import PYTHON
from polylsp.core.settings import Settings
from polylsp.ir.effects import walk
from polylsp.ir.program import Assign, Floating, Loop, Site, Statement
from polylsp.model.action import Declined
from polylsp.poly.budget import budgeted
from polylsp.poly.scop import Access
from polylsp.schedule.chain import one_subscript
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
from polylsp.targets.gpu.cuda_expressions import EXTREMES, Atomic, update_of
from polylsp.targets.gpu.expansion import expanded, placed, renamed, scalar_expanded
from polylsp.targets.gpu.leaves import Leaf, Leaves, leaves_of, useful, varies
from polylsp.targets.gpu.mapping import Date, Kernel, kernels, maps_of, respects, sets_of
from polylsp.targets.gpu.region import Region
from polylsp.targets.gpu.sum_kernels import mixes_a_sum, sum_of, updates


def with_atomics(found: Leaves, seen: Leaves, made: Sequence[Kernel], extremes: bool) -> Leaves | None:
    """The leaves that were `found`, with updates that may come in any order, if of those that were `seen` one
    thread alone makes some; `None` if there are none that a device can make one at a time. `extremes`: these
    may be minima and maxima."""
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
    able = frozenset(name for name in updated if _can_be_atomic(found, name, extremes))
    return replace(found, atomic=able) if able else None


def _can_be_atomic(found: Leaves, name: str, extremes: bool) -> bool:
    """True if a device supports all updates of a memory, and these have one operator."""
    own = [(leaf, a) for leaf, a in found.shared if a.memory.name == name and a.update is not None]
    writes = [(leaf, access) for leaf, access in own if access.kind == "write"]
    operators = {a.update for _, a in own}
    known = extremes or operators.isdisjoint(EXTREMES)
    return known and len(operators) == 1 and all(_is_able(leaf, access) for leaf, access in writes)


def _is_able(leaf: Leaf, access: Access) -> bool:
    targets = (s for s in walk(*leaf.statements) if isinstance(s, Assign) and s.target.site == access.site)
    return access.update is not None and any(update_of(each, access.update) is not None for each in targets)


def sites_of(found: Leaves) -> dict[Site, Atomic]:
    """Atomic updates by their sites."""
    return {
        access.site: Atomic(access.update, access.memory.element)
        for _, access in found.shared
        if access.memory.name in found.atomic and access.update is not None and access.kind == "write"
    }


def rounded(found: Leaves) -> Iterator[str]:
    """Remarks on updates whose order is open."""
    added = (a for _, a in found.shared if a.memory.name in found.atomic and a.update not in EXTREMES)
    memories = (a.memory for a in added)
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

    @cached_property
    def steps(self) -> tuple[int, int, int, int]:
        """Cost in steps: the largest number of loops around sequential code (those of one thread alone count
        once more); the number of kernels in which sums are mixed with other loops; the number of loops on the
        host; and the number of kernels."""
        longest = max(each.counters + _loops(each, self.leaves) for each in self.kernels)
        mixed = sum(mixes_a_sum(each, self.leaves) for each in self.kernels)
        return longest, mixed, max(each.counters for each in self.kernels), len(self.kernels)

    @property
    def is_improvable(self) -> bool:
        """True if a loop on the host is around others, or needs further arrays."""
        return self.steps[2] > 0 and (self.steps[0] > 1 or bool(self.leaves.expanded))

    @property
    def cost(self) -> tuple[int, ...]:
        """Cost in steps, then in further arrays on the device, then in kernels."""
        *steps, count = self.steps
        return *steps, len(self.leaves.expanded), count


def chosen(region: Region, settings: Settings, privatises: bool = True) -> Choice | Declined:
    """The kernels of a region: those with which the longest chain of steps is shortest. `privatises`: scalars
    may be elements that threads keep. In C, arrays may have further dimensions on the device."""
    expands = region.subject.language != PYTHON.name
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
        best = made if isinstance(made, Choice) and made.steps[:3] < best.steps[:3] else best
    if not any(kernel.parallel or sum_of(kernel, best.leaves) is not None for kernel in best.kernels):
        return Declined(_why_in_order(region, best.leaves, line))
    return _sharing_launches(best, settings)


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
    updating = with_atomics(found, best.leaves, best.kernels, extremes=expands)
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
        if not isinstance(made, Choice) or made.steps[:3] > best.steps[:3]:
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
        for each in region.subject.known(ordinal).terms.assumptions:
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
    if len(groups) > 1 and (best is None or best.steps > (1, 0, 0, len(groups))):
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


# --------------------------------------------------------------------------------------------------
# Independent kernels of one loop of the host in one launch (horizontal fusion): where each thread runs
# a few statements only, a launch takes longer than these do.
# --------------------------------------------------------------------------------------------------


_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


def _sharing_launches(choice: Choice, settings: Settings) -> Choice:
    """Kernels of which those share a launch that are in one loop of the host, run no loop in a thread, and
    have no dependence between two threads."""
    every: list[Kernel] = []
    for around, run in groupby(choice.kernels, lambda each: _innermost_host_loop(each.date)):
        own = tuple(run)
        able = [each for each in own if around and _can_share(each, choice.leaves)]
        found = (
            [_launches(own, able, choice.pairs, late) for late in (False, True)] if len(able) > 1 else [own]
        )
        every += min(found, key=len)
    if len(every) == len(choice.kernels):
        return choice
    is_right = budgeted(settings.max_operations, lambda: respects(every, choice.pairs))
    return replace(choice, kernels=tuple(every)) if is_right is True else choice


def _innermost_host_loop(date: Date) -> Date:
    """The part of a date down to the innermost loop of the host."""
    return date[: max((k + 1 for k, part in enumerate(date) if part is None), default=0)]


def _can_share(kernel: Kernel, found: Leaves) -> bool:
    return sum_of(kernel, found) is None and not _loops(kernel, found)


def _launches(
    run: Sequence[Kernel], able: Sequence[Kernel], pairs: isl.UnionMap, late: bool
) -> tuple[Kernel, ...]:
    """Launches of the kernels in one loop of the host, each kernel that is `able` to share one in the first
    launch that its dependences allow, or in the last one (`late`)."""
    launches: list[list[Kernel]] = []
    for kernel in reversed(run) if late else run:
        least = 0
        for number, members in enumerate(launches):
            if not _is_apart(kernel, members, pairs):
                both = _together_with(kernel, members, able, late)
                in_thread = both is not None and respects([both], _simultaneous(both, pairs))
                least = number if in_thread else number + 1
        for members in launches[least:]:
            if _together_with(kernel, members, able, late) is not None:
                members.insert(0 if late else len(members), kernel)
                break
        else:
            launches.append([kernel])
    made = (_joined(members) or members[0] for members in (reversed(launches) if late else launches))
    return tuple(replace(each, date=kernel.date) for each, kernel in zip(made, run, strict=False))


def _is_apart(kernel: Kernel, members: Sequence[Kernel], pairs: isl.UnionMap) -> bool:
    """True if no instances of a kernel and of others have to stay in order."""
    own = kernel.domain
    return all(
        pairs.intersect_domain(one).intersect_range(other).is_empty()
        for each in members
        for one, other in ((own, each.domain), (each.domain, own))
    )


def _together_with(
    kernel: Kernel, members: Sequence[Kernel], able: Sequence[Kernel], late: bool
) -> Kernel | None:
    if kernel not in able or members[0] not in able:
        return None
    return _joined([kernel, *members] if late else [*members, kernel])


def _simultaneous(kernel: Kernel, pairs: isl.UnionMap) -> isl.UnionMap:
    """The pairs of instances of a kernel that run in one launch."""
    own = kernel.outer.intersect_domain(kernel.domain)
    return pairs.intersect(own.apply_range(own.reverse()))


def _joined(members: Sequence[Kernel]) -> Kernel | None:
    """A kernel whose threads run those of all members, one member after the other; `None` where some members
    have threads far from those of the largest one."""
    first, *_ = members
    if len(members) == 1:
        return first
    threads = max(each.parallel for each in members)
    widest = next(each for each in members if each.parallel == threads)
    domain, outer, order = first.domain, first.outer, isl.UnionMap("{ }")
    length = max(each.dim(_OUT) for member in members for each in _own(member))
    for number, member in enumerate(members):
        places = _placed_beside(member, widest)
        if places is None:
            return None
        domain, outer = domain.union(member.domain), outer.union(member.outer)
        for place, each in zip(places, _own(member), strict=True):
            inside = each.project_out(_OUT, 0, member.parallel)
            padded = inside.insert_dims(_OUT, 0, 1).fix_val(_OUT, 0, isl.Val(number))
            left = length - inside.dim(_OUT)
            padded = padded.insert_dims(_OUT, padded.dim(_OUT), left)
            for k in range(padded.dim(_OUT) - left, padded.dim(_OUT)):
                padded = padded.fix_val(_OUT, k, isl.Val(0))
            order = order.union(place.flat_range_product(padded).to_union_map())
    return Kernel(first.name, domain, outer, order, threads, first.date)


def _own(kernel: Kernel) -> list[isl.Map]:
    """The order of each leaf of a kernel."""
    return list(maps_of(kernel.schedule.intersect_domain(kernel.domain)))


def _placed_beside(kernel: Kernel, widest: Kernel) -> list[isl.Map] | None:
    """The threads for the leaves of a kernel in a launch of another one, which has no fewer dimensions: its
    own where it has as many, else as the innermost counters say; `None` where they would be far from the
    others. Launches without the other kernel have these threads alone."""
    if kernel.parallel == widest.parallel:
        return [
            each.project_out(_OUT, kernel.parallel, each.dim(_OUT) - kernel.parallel) for each in _own(kernel)
        ]
    found: list[isl.Map] = []
    for each in _own(kernel):
        name, depth, threads = each.get_tuple_name(_IN), each.dim(_IN), widest.parallel
        names = [f"i{k}" for k in range(depth)]
        for inner in (min(depth, threads), kernel.parallel):
            values = [*["0"] * (threads - inner), *names[depth - inner :]]
            text = f"{{ {name}[{', '.join(names)}] -> [{', '.join(values)}] }}"
            place = isl.Map(text).intersect_domain(each.domain())
            if _is_near(place, kernel, widest) and _keeps_apart(place, each, kernel.parallel):
                found.append(place)
                break
        else:
            return None
    return found


def _keeps_apart(place: isl.Map, order: isl.Map, parallel: int) -> bool:
    """True if instances of different threads go to different ones."""
    threads = order.project_out(_OUT, parallel, order.dim(_OUT) - parallel)
    return bool(place.apply_range(place.reverse()).is_subset(threads.apply_range(threads.reverse())))


def _is_near(place: isl.Map, kernel: Kernel, widest: Kernel) -> bool:
    """True if threads are no more than one step from the range of another kernel's, along each dimension."""
    outer = widest.outer.intersect_domain(widest.domain).reverse()
    others = isl.Map.from_union_map(outer.apply_range(_threads(widest)))
    own = kernel.outer.intersect_domain(kernel.domain).reverse()
    placed = isl.Map.from_union_map(own.apply_range(place.to_union_map())).intersect_domain(others.domain())
    for k in range(widest.parallel):
        one, all_of = (one_subscript(each, k) for each in (placed, others))
        if not one.is_subset(all_of.apply_range(isl.Map("{ [x] -> [y] : x - 1 <= y <= x + 1 }"))):
            return False
    return True


def _threads(kernel: Kernel) -> isl.UnionMap:
    result = isl.UnionMap("{ }")
    for each in _own(kernel):
        result = result.union(
            each.project_out(_OUT, kernel.parallel, each.dim(_OUT) - kernel.parallel).to_union_map()
        )
    return result


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
