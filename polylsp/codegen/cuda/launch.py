"""Launch of a kernel, at some values of the host's counters, and sets of points of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.codegen.cuda.mapping import Kernel

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


def as_parameters(values: isl.Set, names: Sequence[str]) -> isl.Set:
    """A set with all its dimensions turned into parameters of these names."""
    at = values.dim(_PARAM)
    moved = values.move_dims(_PARAM, at, _SET, 0, values.dim(_SET))
    for number, name in enumerate(names):
        moved = moved.set_dim_name(_PARAM, at + number, name)
    return moved.params()


def atoms(prefix: str, names: Sequence[str]) -> dict[str, str]:
    """Texts for numbered parameters."""
    return {f"{prefix}{number}": name for number, name in enumerate(names)}


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
