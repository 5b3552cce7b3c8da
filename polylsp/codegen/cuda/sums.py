"""Reduction kernels, whose instances all add to one element: their threads can add in any order.

Each thread has a private sum, those of a block meet in shared memory, and a second kernel adds the sums of
the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.codegen.cuda.combining import Combining, function_of
from polylsp.codegen.cuda.launch import maps_of
from polylsp.codegen.cuda.leaves import Leaf, Leaves
from polylsp.codegen.cuda.mapping import Kernel
from polylsp.codegen.cuda.references import is_plain
from polylsp.codegen.cuda.schedule import of_leaf
from polylsp.codegen.cuda.segments import varies
from polylsp.model.scop import Access, Memory


@dataclass(frozen=True, eq=False)
class Sum:
    """Reduction of a kernel: all accesses to `memory` in it are part of such an update. `element` is `{
    [counters of the host] -> A[element] }`; `loops` are dimensions with several values. In launches that are
    `idle` no term is added."""

    memory: Memory
    combining: Combining
    accesses: tuple[Access, ...]
    element: isl.Map
    loops: tuple[int, ...]
    idle: isl.Set


def sum_of(kernel: Kernel, found: Leaves) -> Sum | None:
    """Reduction of a kernel of one thread, if that is all of it."""
    orders = list(maps_of(kernel.schedule.intersect_domain(kernel.domain)))
    if kernel.parallel or len(orders) != 1:
        return None
    (order,) = orders
    leaf = next(each for each in found.leaves if each.name == order.get_tuple_name(isl.dim_type.in_))
    loops = tuple(k for k in range(order.dim(isl.dim_type.out)) if varies(order, k))
    own = updates(leaf, found)
    if not loops or not own:
        return None
    launches = kernel.outer.intersect_domain(kernel.domain).reverse()
    element = _element(launches, leaf, own)
    if own[0].update is None or not element.is_single_valued():
        return None
    idle = isl.Set.from_union_set(launches.domain()).subtract(element.domain())
    return Sum(own[0].memory, Combining(own[0].update, function_of(leaf)), own, element, loops, idle)


def updates(leaf: Leaf, found: Leaves) -> tuple[Access, ...]:
    """The accesses of a leaf's updates, if it has no other writes and the memory no other accesses in it."""
    own = [access for one, access in found.shared if one is leaf]
    written = [access for access in own if access.kind == "write"]
    if not written or written[0].update is None:
        return ()
    memory = written[0].memory
    to_it = tuple(access for access in own if access.memory is memory)
    alike = all(each.memory is memory for each in written)
    alike = alike and all(each.update == written[0].update for each in to_it)
    return to_it if alike and (is_plain(memory) or not memory.shape) else ()


def _element(launches: isl.UnionMap, leaf: Leaf, updates: Sequence[Access]) -> isl.Map:
    result = isl.UnionMap("{ }")
    for each in updates:
        result = result.union(launches.apply_range(of_leaf(leaf, each.relation).to_union_map()))
    return isl.Map.from_union_map(result)
