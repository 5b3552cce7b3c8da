"""Workload of a function on a device at numeric sizes: operations, bytes, parallelism and launches of the
kernels that the CUDA target makes of it.

Boxes around iterations and elements stand for them; the fill ratio of a box is counted at a small size. The
results are only a basis for an estimate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.emit.subject import Again, Subject
from polylsp.ir.effects import expressions, walk
from polylsp.ir.program import Assign, Binary, Floating, Integer, subexpressions
from polylsp.measuring.plans.data_extents import box, fixed, is_modelled, steps_of
from polylsp.measuring.plans.structures import row
from polylsp.model.measurement import DeviceWork, Rung
from polylsp.poly.scop import Access, Scop
from polylsp.targets.gpu.alternatives import of_leaf
from polylsp.targets.gpu.cuda import in_place
from polylsp.targets.gpu.launched import candidates
from polylsp.targets.gpu.leaves import Leaf, Leaves
from polylsp.targets.gpu.mapping import Kernel, maps_of, onto, sets_of
from polylsp.targets.gpu.preparation import simplified
from polylsp.targets.gpu.region import Region, regions_of
from polylsp.targets.gpu.schedule_choice import Choice
from polylsp.targets.gpu.sum_kernels import are_sums, sum_of

_SET, _OUT = isl.dim_type.set, isl.dim_type.out
_SMALL = 11
_TILE = 16
"""Number of uses of a reused element for each load, with simple tiling."""
_LANES = 32
"""Number of threads that share a sum."""
_SECTOR = 32
"""The bytes that a device moves at least at once."""
_SEVERAL = 4


Workloads = tuple[tuple[int, tuple[DeviceWork, ...]], ...]


def workloads(subject: Subject, rungs: Sequence[Rung], names: Sequence[str], again: Again) -> Workloads:
    """The work at a few of some sizes (their numbers), enough to tell it for all; none if that cannot be, or
    if some loops have no kernels. `again` reads another text of the function."""
    if not is_modelled(subject) or subject.effects.calls:
        return ()
    regions: list[_Counting] = []
    for each in regions_of(simplified(subject)):
        if not isinstance(each, Region):
            return ()
        (region, choice), *_ = candidates(each, Settings(), partial(in_place, subject, again))
        if not isinstance(choice, Choice):
            return ()
        regions.append(_Counting(region.scop, choice))
    last = len(rungs) - 1
    found: list[tuple[int, tuple[DeviceWork, ...]]] = []
    try:
        for k in sorted({last * k // _SEVERAL for k in range(_SEVERAL + 1)}):
            sizes = dict(zip(names, rungs[k].sizes, strict=True))
            found.append((k, tuple(work for each in regions for work in each.work(sizes))))
    except _Unbounded:
        return ()
    return tuple(found)


class _Unbounded(Exception):
    """Number of runs of a statement is undetermined."""


class _Counting:
    """The kernels of a region, evaluated at one size after another."""

    def __init__(self, scop: Scop, choice: Choice) -> None:
        self._scop = scop
        self._kernels = [_Parts(each, choice.leaves) for each in choice.kernels]

    def work(self, sizes: Mapping[str, int]) -> Iterator[DeviceWork]:
        """Work of each kernel."""
        for each in self._kernels:
            yield self._kernel(each, sizes)

    def _kernel(self, one: _Parts, sizes: Mapping[str, int]) -> DeviceWork:
        launches = self._count(one.launches, sizes)
        runs = {leaf.name: [self._run(leaf, k, sizes) for k in sorted(leaf.numbers)] for leaf in one.leaves}
        points = {leaf.name: self._count(one.own[leaf.name], sizes) for leaf in one.leaves}
        threads = sum(points.values()) if one.is_sum else self._count(one.threads, sizes) * one.lanes
        instances = {
            leaf.name: points[leaf.name] * max((times for times, _ in runs[leaf.name]), default=1.0)
            for leaf in one.leaves
        }
        traffic = self._traffic(one, launches, instances, sizes)
        elements = [access.memory.element for _, access in one.accesses]
        return DeviceWork(
            launches,
            threads / launches if launches else 0.0,
            sum(points[name] * times * each for name, found in runs.items() for times, each in found),
            max((each.bits for each in elements if isinstance(each, Floating)), default=64),
            traffic.least,
            traffic.most,
        )

    def _run(self, leaf: Leaf, number: int, sizes: Mapping[str, int]) -> tuple[float, int]:
        """The times that a statement of the model runs for each instance of a leaf, and its operations."""
        statement, depth = self._scop.statements[number], len(leaf.loops)
        inner = statement.domain.dim(_SET) - depth
        times = 1.0
        if inner:
            outside = self._count(statement.domain.project_out(_SET, depth, inner), sizes)
            times = self._count(statement.domain, sizes) / outside if outside else 0.0
        assigns = [s for s in walk(*leaf.statements) if isinstance(s, Assign) and s.site == statement.site]
        return times, _operations(assigns[0]) if assigns else 1

    def _count(self, points: isl.Set, sizes: Mapping[str, int]) -> float:
        """Number of points, about."""
        ends = box(points, self._scop, sizes)
        if ends is None:
            raise _Unbounded
        return prod(max(0, high - low + 1) for low, high in ends) * _fullness(points, self._scop, sizes)

    def _traffic(
        self, one: _Parts, launches: float, instances: Mapping[str, float], sizes: Mapping[str, int]
    ) -> _Traffic:
        """Neighbours of an element come with it: of a memory that a leaf reads several times, or writes, that
        counts which moves most."""
        least: dict[tuple[str, str], float] = {}
        most: dict[tuple[str, tuple[str, str]], float] = {}
        middle = one.middle(box(one.launches, self._scop, sizes))
        for leaf, access in one.accesses:
            touched = of_leaf(leaf, access.relation).intersect_domain(middle[leaf.name]).range()
            ends, size = box(touched, self._scop, sizes), _size(access)
            name, spread = access.memory.name, _spread(access, ends, self._scop, sizes)
            in_box = prod(max(0, high - low + 1) for low, high in ends) if ends is not None else 1
            # A box around a diagonal has more elements than there are accesses.
            used = min(launches * in_box, instances[leaf.name])
            moves = (access.kind, name)
            least[moves] = max(least.get(moves, 0), used * size * spread)
            moved = max(used, instances[leaf.name] / _TILE) * size * spread
            most[leaf.name, moves] = max(most.get((leaf.name, moves), 0), moved)
        return _Traffic(sum(least.values()), sum(most.values()))


class _Parts:
    """A kernel: its `leaves`, the instances of each (`own`), the counters of the host at which it is launched
    (`launches`), and these with its `threads`, by each of which `lanes` share a sum."""

    def __init__(self, kernel: Kernel, found: Leaves) -> None:
        self.own = {each.get_tuple_name() or "": each for each in sets_of(kernel.domain)}
        self.leaves = [leaf for leaf in found.leaves if leaf.name in self.own]
        self.is_sum = sum_of(kernel, found) is not None
        self.lanes = _LANES if kernel.parallel == 1 and are_sums(kernel, found) else 1
        self._outer = kernel.outer.intersect_domain(kernel.domain)
        order = self._outer.flat_range_product(kernel.schedule)
        self.launches = _places(order, kernel.counters)
        self.threads = _places(order, kernel.counters + kernel.parallel)
        self.accesses = [
            (leaf, access)
            for leaf, access in found.shared
            if leaf.name in self.own
            and access.memory.dimensions
            and access.memory.variable.name not in found.private
        ]

    def middle(self, ends: list[tuple[int, int]] | None) -> dict[str, isl.Set]:
        """The instances of each leaf in a launch half-way."""
        if ends is None:
            raise _Unbounded
        values = [(low + high) // 2 for low, high in ends]
        found: dict[str, isl.Set] = {}
        for each in maps_of(self._outer):
            for k, value in enumerate(values):
                each = each.fix_val(_OUT, k, isl.Val(value))
            found[each.get_tuple_name(isl.dim_type.in_) or ""] = each.domain()
        return found


def _places(order: isl.UnionMap, count: int) -> isl.Set:
    """The values of the first dimensions of an order, so many of them."""
    first, *rest = [each.range().apply(onto(range(count), each.dim(_OUT))) for each in maps_of(order)]
    for each in rest:
        first = first.union(each)
    return first


@dataclass(frozen=True, slots=True)
class _Traffic:
    """Bytes that have to move, and that move where caches are used as well as by simple tiles."""

    least: float
    most: float


def _spread(
    access: Access, ends: list[tuple[int, int]] | None, scop: Scop, sizes: Mapping[str, int]
) -> float:
    """Bytes moved for each byte that is used: a piece of a row brings all of its sectors."""
    memory, size = access.memory, _size(access)
    steps = steps_of(memory, scop, sizes) or row(memory.variable.type, sizes) or ()
    if ends is None or len(ends) < 2 or len(steps) < len(ends) or len(memory.shape) > len(ends):
        return 1.0
    piece, whole = (ends[-1][1] - ends[-1][0] + 1) * size, steps[len(ends) - 2] * size
    return max(1.0, min(max(piece, _SECTOR), whole) / piece) if piece > 0 else 1.0


def _size(access: Access) -> int:
    element = access.memory.element
    return max(1, element.bits // 8) if isinstance(element, (Integer, Floating)) else 8


def _fullness(domain: isl.Set, scop: Scop, sizes: Mapping[str, int]) -> float:
    """The part of the box around a domain that it fills."""
    small = {name: min(size, _SMALL) for name, size in sizes.items()}
    ends = box(domain, scop, small)
    whole = prod(max(0, high - low + 1) for low, high in ends) if ends is not None else 0
    if not whole or whole > _SMALL**4:
        return 1.0
    return fixed(domain, scop, small).count_val().to_python() / whole


def _operations(assign: Assign) -> int:
    """Operations on real numbers that an assignment does."""
    nodes = [node for value in expressions(assign) for node in subexpressions(value)]
    found = sum(isinstance(node, Binary) and isinstance(node.type, Floating) for node in nodes)
    return found + (assign.operator is not None)
