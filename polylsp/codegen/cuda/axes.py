"""The dimensions of a launch that are threads: which they are, and from where to where they go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.codegen.affine import alone, highest, lowest
from polylsp.codegen.cuda.expressions import Unwritable
from polylsp.codegen.cuda.launch import Launch, as_parameters
from polylsp.codegen.cuda.scan import expression

_OUT = isl.dim_type.out


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
    names = [f"d{k}" for k in range(seen.dim(isl.dim_type.in_))]
    moved = [f"{n} + 1" if k == dimension else n for k, n in enumerate(names)]
    neighbour = isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(moved)}] }}")
    elements = [f"a{k}" for k in range(seen.dim(_OUT))]
    after = [*elements[:-1], *(f"{last} + {by}" for last in elements[-1:])]
    array = seen.get_tuple_name(_OUT)
    following = isl.Map(f"{{ {array}[{', '.join(elements)}] -> {array}[{', '.join(after)}] }}")
    return bool(seen.reverse().apply_range(neighbour).apply_range(seen).is_subset(following))
