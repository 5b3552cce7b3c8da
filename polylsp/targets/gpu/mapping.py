"""Mapping of a schedule: parts that are kernels, dimensions that are threads, and loops that stay on the host
(Verdoolaege et al., TACO 2013, section 7.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import islpy as isl

_TYPE = isl.schedule_node_type


@dataclass(frozen=True, eq=False)
class Kernel:
    """Instances of one launch. `domain` are those of all launches; `outer` gives each the counters of the
    host's loops; `schedule` its place in a launch, of which the first `parallel` dimensions are threads.
    `date` is the time of a launch: places in sequences, and counters of the host (`None`)."""

    name: str
    domain: isl.UnionSet
    outer: isl.UnionMap
    schedule: isl.UnionMap
    parallel: int
    date: tuple[int | None, ...]

    @property
    def counters(self) -> int:
        """Number of loops of the host around it."""
        return self.date.count(None)


Kind = Literal["threads", "host", "wavefront", "one thread"]


def kernels(schedule: isl.Schedule, sums: frozenset[str]) -> tuple[Kernel, ...]:
    """Kernels of a schedule, in the order in which the host launches them; leaves that are `sums` (names) are
    worth a separate kernel."""
    found = enumerate(_visited(schedule.get_root(), (), sums))
    every = (
        Kernel(f"K{number}", node.get_domain(), outer, order, parallel, date)
        for number, (node, outer, order, parallel, date) in found
    )
    # A statement may stand where no iteration gets to, whatever the sizes are.
    return tuple(kernel for kernel in every if not kernel.domain.is_empty())


Date = tuple["int | None", ...]
Found = tuple[isl.ScheduleNode, isl.UnionMap, isl.UnionMap, int, Date]


def _visited(node: isl.ScheduleNode, date: Date, sums: frozenset[str]) -> Iterator[Found]:
    kind = node.get_type()
    if kind == _TYPE.sequence or kind == _TYPE.set:
        for number in range(node.n_children()):
            yield from _visited(node.get_child(number), (*date, number), sums)
    elif kind == _TYPE.band:
        yield from _band(node, date, sums)
    elif kind == _TYPE.leaf:
        yield _found(node, node.get_subtree_schedule_union_map(), 0, date)
    else:
        yield from _visited(node.first_child(), date, sums)


def _band(node: isl.ScheduleNode, date: Date, sums: frozenset[str]) -> Iterator[Found]:
    match _kind(node, sums):
        case "threads":
            order = _coincident_first(node)
            count = sum(node.band_member_get_coincident(k) for k in order)
            yield _found(node, _reordered(node, order), count, date)
        case "host":
            inner = (*date, *(None for _ in range(node.band_n_member())))
            yield from _visited(node.first_child(), inner, sums)
        case "wavefront":
            yield _wavefront(node, date)
        case "one thread":
            yield _found(node, node.get_subtree_schedule_union_map(), 0, date)


def _kind(node: isl.ScheduleNode, sums: frozenset[str]) -> Kind:
    members = range(node.band_n_member())
    flags = [bool(node.band_member_get_coincident(k)) for k in members]
    if flags[0] or (any(flags) and node.band_get_permutable()):
        return "threads"
    if not _is_sum(node, sums) and _has_parallelism(node.first_child(), sums):
        return "host"
    return "wavefront" if len(members) > 1 and node.band_get_permutable() else "one thread"


def _is_sum(node: isl.ScheduleNode, sums: frozenset[str]) -> bool:
    """True if the subtree of a node is one sum."""
    leaves: list[str | None] = []
    node.get_domain().foreach_set(lambda each: leaves.append(each.get_tuple_name()))
    return len(leaves) == 1 and leaves[0] in sums


def _has_parallelism(node: isl.ScheduleNode, sums: frozenset[str]) -> bool:
    if node.get_type() == _TYPE.band and (_kind(node, sums) != "one thread" or _is_sum(node, sums)):
        return True
    return any(_has_parallelism(node.get_child(k), sums) for k in range(node.n_children()))


def _coincident_first(node: isl.ScheduleNode) -> list[int]:
    """The members of a band, those that are threads first; members of a permutable band may change places."""
    members = range(node.band_n_member())
    if node.band_get_permutable():
        return sorted(members, key=lambda k: not node.band_member_get_coincident(k))
    return list(members)


def _reordered(node: isl.ScheduleNode, order: Sequence[int]) -> isl.UnionMap:
    """The order below a node, with the members of its band in another one."""
    whole = node.get_subtree_schedule_union_map()
    count = _length(whole)
    names = [f"d{k}" for k in range(count)]
    moved = [names[k] for k in order] + names[len(order) :]
    return whole.apply_range(isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(moved)}] }}").to_union_map())


def _wavefront(node: isl.ScheduleNode, date: Date) -> Found:
    """All members of a permutable band count up along a dependence: where their sum is the same, nothing
    depends on anything (Lamport's hyperplanes)."""
    whole, members = node.get_subtree_schedule_union_map(), node.band_n_member()
    names = [f"d{k}" for k in range(_length(whole))]
    total = isl.Map(f"{{ [{', '.join(names)}] -> [{' + '.join(names[:members])}] }}")
    rest = isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(names[1:])}] }}")
    outer = node.get_prefix_schedule_union_map().flat_range_product(whole.apply_range(total.to_union_map()))
    return node, outer, whole.apply_range(rest.to_union_map()), members - 1, (*date, None)


def _found(node: isl.ScheduleNode, order: isl.UnionMap, parallel: int, date: Date) -> Found:
    return node, node.get_prefix_schedule_union_map(), order, parallel, date


def _length(order: isl.UnionMap) -> int:
    """Number of dimensions of a schedule."""
    lengths: list[int] = []
    order.foreach_map(lambda each: lengths.append(each.dim(isl.dim_type.out)))
    return max(lengths)


# --- Is it right? ------------------------------------------------------------------------


def respects(found: Sequence[Kernel], pairs: isl.UnionMap) -> bool:
    """True if each pair of instances stays in order: in two launches, or in one thread."""
    launches, inside = isl.UnionMap("{ }"), isl.UnionMap("{ }")
    length = max(len(each.date) for each in found)
    for each in found:
        launched = host_date(each, length)
        launches = launches.union(each.outer.intersect_domain(each.domain).apply_range(launched))
        threads = each.schedule.intersect_domain(each.domain)
        inside = inside.union(_together(each, threads))
    left = pairs.subtract(launches.lex_lt_union_map(launches))
    same = launches.apply_range(launches.reverse())
    return bool(left.is_subset(same.intersect(inside)))


def host_date(kernel: Kernel, length: int) -> isl.UnionMap:
    """`{ [counters of the host] -> [date of the launch] }`, of a length."""
    names = iter(f"h{k}" for k in range(kernel.counters))
    counters = ", ".join(f"h{k}" for k in range(kernel.counters))
    date = [next(names) if part is None else str(part) for part in kernel.date]
    date += ["0"] * (length - len(date))
    return isl.Map(f"{{ [{counters}] -> [{', '.join(date)}] }}").to_union_map()


def _together(kernel: Kernel, order: isl.UnionMap) -> isl.UnionMap:
    """Pairs of instances that one thread runs in this order."""
    names = [f"d{k}" for k in range(_length(order))]
    coordinates = ", ".join(names[: kernel.parallel])
    project = isl.Map(f"{{ [{', '.join(names)}] -> [{coordinates}] }}").to_union_map()
    thread = order.apply_range(project)
    return thread.apply_range(thread.reverse()).intersect(order.lex_lt_union_map(order))
