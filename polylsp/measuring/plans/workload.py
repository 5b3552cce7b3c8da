"""Workload of a function on a device, at numeric sizes: operations, bytes, parallelism, launches.

Boxes around iterations and elements stand for them; the fill ratio of the box around a statement's iterations
is counted at a small size. The results are only a basis for an estimate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import islpy as isl

from polylsp.emit.subject import Subject
from polylsp.ir.effects import expressions, walk
from polylsp.ir.program import Assign, Binary, Floating, Integer, subexpressions
from polylsp.ir.verdict import Parallel
from polylsp.measuring.plans.data_extents import box, fixed, is_modelled
from polylsp.measuring.plans.structures import row
from polylsp.model.measurement import DeviceWork, Rung
from polylsp.poly.scop import Access, Scop, ScopStatement

_IN, _SET = isl.dim_type.in_, isl.dim_type.set
_SMALL = 11
_TILE = 16
"""Number of uses of a reused element for each load, with simple tiling."""
_SECTOR = 32
"""The bytes that a device moves at least at once."""
_SEVERAL = 4


Workloads = tuple[tuple[int, tuple[DeviceWork, ...]], ...]


def workloads(subject: Subject, rungs: Sequence[Rung], names: Sequence[str]) -> Workloads:
    """The work at a few of some sizes (their numbers), enough to tell it for all; none if that cannot be."""
    if not is_modelled(subject) or subject.effects.calls:
        return ()
    last = len(rungs) - 1
    chosen = sorted({last * k // _SEVERAL for k in range(_SEVERAL + 1)})
    counting = _Counting(subject)
    try:
        return tuple((k, counting.work(dict(zip(names, rungs[k].sizes, strict=True)))) for k in chosen)
    except _Unbounded:
        return ()


class _Unbounded(Exception):
    """Number of runs of a statement is undetermined."""


class _Counting:
    """Statements of a function in groups that one launch runs, evaluated at one size after another."""

    def __init__(self, subject: Subject) -> None:
        self._operations = {
            s.site: _operations(s) for s in walk(subject.function.body) if isinstance(s, Assign)
        }
        verdicts = {loop.ordinal: loop.verdict for loop in subject.facts.loops}
        found = {o: v for o, v in verdicts.items() if isinstance(v, Parallel)}
        self._sums = {o for o, v in found.items() if v.reductions}
        self._sequential = verdicts.keys() - found.keys()
        self._kernels = [(nest.scop, each) for nest in subject.nests for each in self._grouped(nest.scop)]

    def _grouped(self, scop: Scop) -> list[list[int]]:
        """The statements of a nest by the first parallel loop around them: their numbers."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for number, statement in enumerate(scop.statements):
            groups.setdefault(statement.loops[: self._depth(statement) + 1], []).append(number)
        return list(groups.values())

    def _depth(self, statement: ScopStatement) -> int:
        """Number of loops around the first one whose iterations a kernel would distribute: one without a sum,
        if there is any. Where there is none at all, one thread does all the work."""
        shared = [k for k, ordinal in enumerate(statement.loops) if ordinal not in self._sequential]
        plain = [k for k in shared if statement.loops[k] not in self._sums]
        return next(iter([*plain, *shared]), 0)

    def _is_shared(self, ordinal: int, first: int) -> bool:
        """True if threads of a kernel distribute a loop, given the `first` one that they distribute."""
        return ordinal == first or ordinal not in self._sequential | self._sums

    def work(self, sizes: Mapping[str, int]) -> tuple[DeviceWork, ...]:
        """Work of each group."""
        return tuple(self._kernel(scop, numbers, sizes) for scop, numbers in self._kernels)

    def _kernel(self, scop: Scop, numbers: Sequence[int], sizes: Mapping[str, int]) -> DeviceWork:
        counted = [self._statement(scop, scop.statements[k], sizes) for k in numbers]
        reads = _traffic(scop, numbers, counted, sizes, "read")
        writes = _traffic(scop, numbers, counted, sizes, "write")
        widths = [
            a.memory.element.bits for a in _accesses(scop, numbers) if isinstance(a.memory.element, Floating)
        ]
        return DeviceWork(
            float(max(each.launches for each in counted)),
            float(max(each.parallel for each in counted)),
            float(sum(each.points * each.operations for each in counted)),
            max(widths, default=64),
            reads.least + writes.least,
            reads.most + writes.most,
        )

    def _statement(self, scop: Scop, statement: ScopStatement, sizes: Mapping[str, int]) -> _Counted:
        ends = box(statement.domain, scop, sizes)
        if ends is None:
            raise _Unbounded
        trips = [max(0, high - low + 1) for low, high in ends]
        depth = self._depth(statement)
        inside = list(zip(statement.loops, trips, strict=False))[depth:]
        around = statement.domain.project_out(_SET, depth, len(trips) - depth)
        shared = [o for o, _ in inside if o not in self._sequential]
        middles = tuple((low + high) // 2 for low, high in ends[:depth])
        return _Counted(
            prod(trips) * _fullness(statement.domain, scop, sizes),
            prod(trips[:depth]) * _fullness(around, scop, sizes),
            prod(count for o, count in inside if shared and self._is_shared(o, shared[0])),
            self._operations.get(statement.site, 1),
            middles,
        )


@dataclass(frozen=True, slots=True)
class _Counted:
    """A statement at some sizes; `middles` are values of the iterators around its first parallel loop."""

    points: float
    launches: float
    parallel: int
    operations: int
    middles: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Traffic:
    """Bytes that have to move, and that move where caches are used as well as by simple tiles."""

    least: float
    most: float


def _traffic(
    scop: Scop, numbers: Sequence[int], counted: Sequence[_Counted], sizes: Mapping[str, int], kind: str
) -> _Traffic:
    """Neighbours of an element come with it: of a memory that a statement uses several times, that counts
    which moves most."""
    least: dict[str, float] = {}
    most: dict[tuple[int, str], float] = {}
    for number, found in zip(numbers, counted, strict=True):
        for access in _accesses(scop, [number]):
            if access.kind != kind:
                continue
            ends, size = _touched(access, scop, found.middles, sizes), _size(access)
            name, spread = access.memory.name, _spread(access, ends, scop, sizes)
            in_box = prod(max(0, high - low + 1) for low, high in ends) if ends is not None else 1
            # A box around a diagonal has more elements than there are accesses.
            used = min(found.launches * in_box, found.points)
            least[name] = max(least.get(name, 0), used * size * spread)
            moved = max(used, found.points / _TILE) * size * spread
            most[number, name] = max(most.get((number, name), 0), moved)
    return _Traffic(sum(least.values()), sum(most.values()))


def _accesses(scop: Scop, numbers: Sequence[int]) -> Iterator[Access]:
    wanted = set(numbers)
    yield from (a for a in scop.accesses if a.statement in wanted and a.memory.dimensions)


def _touched(
    access: Access, scop: Scop, middles: tuple[int, ...], sizes: Mapping[str, int]
) -> list[tuple[int, int]] | None:
    """A box around the elements that one launch touches, about; `None` where there is none."""
    relation = access.relation
    for dimension, value in enumerate(middles):
        relation = relation.fix_val(_IN, dimension, isl.Val(value))
    return box(relation.range(), scop, sizes)


def _spread(
    access: Access, ends: list[tuple[int, int]] | None, scop: Scop, sizes: Mapping[str, int]
) -> float:
    """Bytes moved for each byte that is used: a piece of a row brings all of its sectors."""
    memory, size = access.memory, _size(access)
    spelled = scop.parameters
    steps: Sequence[int] = [
        sum(c * prod(sizes.get(spelled.get(n, n), 0) for n in names) for names, c in stride)
        for stride in memory.strides
    ] or (row(memory.variable.type, sizes) or ())
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
