"""Mapping of a schedule to kernels, and the launch of a kernel.

Parts of the schedule are kernels, dimensions are threads, and loops stay on the host (Verdoolaege et al.,
TACO 2013, section 7.1). In a launch, counters of the host are parameters; along `x`, neighbouring threads
access neighbouring elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import islpy as isl

from polylsp.emit.affine_bounds import alone, highest, lowest
from polylsp.targets.gpu.cuda_expressions import Unwritable
from polylsp.targets.gpu.cuda_statements import expression

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
    return whole.apply_range(onto([*order, *range(len(order), count)], count).to_union_map())


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
    thread = order.apply_range(onto(range(kernel.parallel), _length(order)).to_union_map())
    return thread.apply_range(thread.reverse()).intersect(order.lex_lt_union_map(order))


# --------------------------------------------------------------------------------------------------
# Launch of a kernel, at some values of the host's counters, and sets of points of it.
# --------------------------------------------------------------------------------------------------


_PARAM, _SET, _OUT = isl.dim_type.param, isl.dim_type.set, isl.dim_type.out


@dataclass(frozen=True, eq=False)
class Launch:
    """The `order` in which threads run instances, with the host's counters as parameters (`__h0`, …), and the
    conditions on parameters then. Scalars in `private` (unique names) have no place in memory."""

    order: isl.UnionMap
    context: isl.Set
    private: frozenset[str] = frozenset()

    @property
    def length(self) -> int:
        """Number of dimensions of the order."""
        return isl.Set.from_union_set(self.order.range()).dim(_SET)


def launch_of(
    kernel: Kernel, context: isl.Set, known: Mapping[str, str], private: frozenset[str] = frozenset()
) -> Launch:
    """A launch of a kernel; of the `context` of its region it preserves the conditions on `known`
    parameters."""
    names = [f"__h{k}" for k in range(kernel.counters)]
    at = fixed(names, range(len(names)), len(names))
    own = kernel.outer.intersect_domain(kernel.domain).intersect_range(at.to_union_set()).domain()
    where = spelled(known, own.params().intersect(context.params()))
    return Launch(kernel.schedule.intersect_domain(own), where, private)


def spelled(names: Mapping[str, str], known: isl.Set) -> isl.Set:
    """Conditions on the parameters that have a name on the device."""
    for k in reversed(range(known.dim(_PARAM))):
        name = known.get_dim_name(_PARAM, k) or ""
        if name not in names and not name.startswith("__h"):
            known = known.project_out(_PARAM, k, 1)
    return known


def fixed(names: Sequence[str], dimensions: Sequence[int], length: int) -> isl.Set:
    """The points of which some dimensions are parameters of these names."""
    points = ", ".join(f"d{k}" for k in range(length))
    equal = " and ".join(f"d{k} = {name}" for name, k in zip(names, dimensions, strict=True))
    return isl.Set(f"[{', '.join(names)}] -> {{ [{points}] : {equal or 'true'} }}")


def parameter_names(threads: Sequence[int], length: int) -> list[str]:
    """isl's names for the dimensions of an order, as parameters: those that are threads, and those left to a
    thread, which are numbered."""
    left = [k for k in range(length) if k not in threads]
    return [f"__d{left.index(k)}" if k in left else f"__p{k}" for k in range(length)]


def onto(dimensions: Sequence[int], length: int) -> isl.Map:
    """Points to some of their dimensions."""
    points = ", ".join(f"d{k}" for k in range(length))
    return isl.Map(f"{{ [{points}] -> [{', '.join(f'd{k}' for k in dimensions)}] }}")


def further(length: int, dimension: int, by: int) -> isl.Map:
    """Points to those that are a number of steps further along a dimension."""
    names = [f"d{k}" for k in range(length)]
    moved = [f"{name} + ({by})" if k == dimension else name for k, name in enumerate(names)]
    return isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(moved)}] }}")


def as_parameters(values: isl.Set, names: Sequence[str]) -> isl.Set:
    """A set with all its dimensions turned into parameters of these names."""
    at = values.dim(_PARAM)
    moved = values.move_dims(_PARAM, at, _SET, 0, values.dim(_SET))
    for number, name in enumerate(names):
        moved = moved.set_dim_name(_PARAM, at + number, name)
    return moved.params()


def host_atoms(counters: Sequence[str]) -> dict[str, str]:
    """Texts of the counters of the host, which are parameters."""
    return {f"__h{number}": name for number, name in enumerate(counters)}


def maps_of(order: isl.UnionMap) -> Iterator[isl.Map]:
    """The maps of a union."""
    found: list[isl.Map] = []
    order.foreach_map(found.append)
    yield from found


def sets_of(values: isl.UnionSet) -> Iterator[isl.Set]:
    """The sets of a union."""
    found: list[isl.Set] = []
    values.foreach_set(found.append)
    yield from found


# --------------------------------------------------------------------------------------------------
# The dimensions of a launch that are threads: which they are, and from where to where they go.
# --------------------------------------------------------------------------------------------------


_AXES_OUT = isl.dim_type.out


@dataclass(frozen=True, eq=False)
class Axis:
    """A dimension of threads, `name` in C, from `first` to before `end` (in C, as the host knows them too);
    `ends` are its first and its last value, `values` those between, of a parameter `__p…`; `extent` says in C
    how many there are. A block has
    `threads` along it, each of which runs `each` of the values, `threads` apart."""

    letter: str
    dimension: int
    name: str
    first: str
    end: str
    extent: str
    ends: tuple[isl.PwAff, isl.PwAff]
    values: isl.Set
    threads: int
    each: int = 1

    @property
    def tile(self) -> int:
        """Number of values of a block along the axis."""
        return self.threads * self.each

    @property
    def parameter(self) -> str:
        """isl's name for a value along it."""
        return f"__p{self.dimension}"

    @property
    def base(self) -> str:
        """isl's name for the first value of a block."""
        return f"__b{self.dimension}"


_BLOCKS = {0: (), 1: (256,), 2: (32, 8), 3: (32, 4, 2)}
"""Threads in a block, from `x` on."""


def axes_of(
    launch: Launch, chosen: Sequence[int], names: Sequence[str], texts: Mapping[str, str]
) -> list[Axis]:
    """The dimensions of threads, `x` first; `texts` are C's names of parameters."""
    found: list[Axis] = []
    for number, dimension in enumerate(chosen):
        low, high = ends_of(values_of(launch.order, dimension))
        behind = high.add_constant_val(isl.Val(1))
        first, end = (expression(e, launch.context, texts) for e in (low, behind))
        plain = low.n_piece() == 1 and high.n_piece() == 1
        extent = expression(behind.sub(low), launch.context, texts) if plain else _between(first, end)
        above = isl.Set.from_pw_aff(low).apply(isl.Map("{ [v] -> [x] : x >= v }"))
        below = isl.Set.from_pw_aff(high).apply(isl.Map("{ [v] -> [x] : x <= v }"))
        threads = _BLOCKS[len(chosen)][number]
        between = above.intersect(below)
        name, ends = names[dimension], (low, high)
        found.append(Axis("xyz"[number], dimension, name, first, end, extent, ends, between, threads))
    return found


def _between(first: str, end: str) -> str:
    """Number of values between two ends, in C."""
    if first == "0":
        return end
    return f"{end} - {first}" if first.isalnum() else f"{end} - ({first})"


def sized(axes: Sequence[Axis], threads: Sequence[int], each: Sequence[int]) -> list[Axis]:
    """The axes with other blocks."""
    return [replace(a, threads=t, each=e) for a, t, e in zip(axes, threads, each, strict=True)]


def abreast(axis: Axis, width: int, first: str) -> Axis:
    """The axis with `width` values for each thread, from another `first` one on, in C, which lies before the
    axis's first by less than that."""
    low, high = axis.ends
    before = isl.Set.from_pw_aff(low).apply(isl.Map(f"{{ [v] -> [x] : x > v - {width} }}"))
    below = isl.Set.from_pw_aff(high).apply(isl.Map("{ [v] -> [x] : x <= v }"))
    values = axis.values if first == axis.first else before.intersect(below)
    extent = _between(first, axis.end) if first.isdigit() and first != axis.first else axis.extent
    return replace(axis, first=first, extent=extent, values=values, each=width)


def values_of(order: isl.UnionMap, dimension: int) -> isl.Set:
    """The values of one dimension of a schedule."""
    return alone(isl.Set.from_union_set(order.range()), dimension)


def count(values: isl.Set) -> float:
    """Largest number of values of one dimension, at any sizes."""
    every = values.project_out(isl.dim_type.param, 0, values.dim(isl.dim_type.param))
    low, high = every.dim_min_val(0), every.dim_max_val(0)
    bounded = low.is_int() and high.is_int()
    return high.to_python() - low.to_python() + 1 if bounded else float("inf")


def within(axis: Axis, name: str) -> isl.Set:
    """The values between the ends of an axis, as a parameter of some name."""
    return as_parameters(axis.values, [name])


def ends_of(values: isl.Set) -> tuple[isl.PwAff, isl.PwAff]:
    """The smallest and the largest value; raises `Unwritable`."""
    for each in (values, values.remove_divs(), isl.Set(values.simple_hull())):
        low, high = lowest(each), highest(each)
        if low is not None and high is not None:
            return low.coalesce(), high.coalesce()
    raise Unwritable("How many iterations run at once cannot be computed before the loop.")


# --- Which is x --------------------------------------------------------------------------


def chosen(able: Iterable[int], seen: Sequence[isl.Map]) -> list[int]:
    """The dimensions that are threads, of those that are `able` to, `x` first: along it, neighbours use
    neighbouring elements most. `seen` are the elements that points of the launch access, by access."""
    weights = {k: sum(is_next(each, k) for each in seen) for k in able}
    if not weights:
        return []
    first = max(weights, key=lambda k: (weights[k], k))
    # The outermost of many stay loops of a thread.
    return [first, *(k for k in sorted(weights, reverse=True) if k != first)][:3]


def is_next(seen: isl.Map, dimension: int) -> bool:
    """True if an access goes to the next element where a dimension grows by one."""
    return _goes(seen, dimension, 1)


def is_same(seen: isl.Map, dimension: int) -> bool:
    """True if an access goes to the same element where a dimension grows by one."""
    return _goes(seen, dimension, 0)


def _goes(seen: isl.Map, dimension: int, by: int) -> bool:
    neighbour = further(seen.dim(isl.dim_type.in_), dimension, 1)
    elements = [f"a{k}" for k in range(seen.dim(_AXES_OUT))]
    after = [*elements[:-1], *(f"{last} + {by}" for last in elements[-1:])]
    array = seen.get_tuple_name(_AXES_OUT)
    following = isl.Map(f"{{ {array}[{', '.join(elements)}] -> {array}[{', '.join(after)}] }}")
    return bool(seen.reverse().apply_range(neighbour).apply_range(seen).is_subset(following))
