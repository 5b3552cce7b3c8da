"""Scalars that each iteration sets anew before it reads them: with an element for each iteration, the loops
in which they add up are opened, too (scalar expansion; Padua and Wolfe, CACM 1986). A thread has its own in
registers; where several kernels use them, they are an array on the device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import islpy as isl

from polylsp.analysis.effects import effects, walk
from polylsp.codegen.affine import alone
from polylsp.codegen.cuda.axes import chosen, count
from polylsp.codegen.cuda.expansion import extents_of, in_each, outermost
from polylsp.codegen.cuda.launch import launch_of
from polylsp.codegen.cuda.leaves import Expanded, Leaf, Leaves, leaves_of
from polylsp.codegen.cuda.mapping import Kernel
from polylsp.codegen.cuda.references import Reference, references
from polylsp.codegen.cuda.region import Region, declared_in
from polylsp.codegen.cuda.registers import Kept, kept
from polylsp.model.action import Declined
from polylsp.model.program import Floating, Loop
from polylsp.model.scop import Access


def scalar_expanded(region: Region, found: Leaves) -> Leaves | None:
    """The leaves with an element for each iteration of the scalars that their loops use, if there are any."""
    scalars = _scalars(region, found)
    other = leaves_of(region, frozenset(scalars)) if scalars else None
    if other is None or isinstance(other, Declined):
        return None
    made = {name: _expanded(other, name, loops) for name, loops in scalars.items()}
    if any(each is None for each in made.values()):
        return None
    shared = tuple((leaf, _own(access, made)) for leaf, access in other.shared)
    return replace(other, shared=shared, opened=found.opened, private=frozenset(scalars))


def _own(access: Access, made: dict[str, Expanded | None]) -> Access:
    one = made.get(access.memory.variable.name)
    return in_each(access, one) if one is not None else access


def _scalars(region: Region, found: Leaves) -> dict[str, tuple[int, ...]]:
    """The numbers (unique names) that one leaf sets, and uses in its own loops, with the loops around it."""
    by_name = {v.name: v for v in region.subject.variables}
    sources = Counter(v.source_name for v in region.subject.variables)
    users = Counter(v.name for leaf in found.leaves for v in effects(*leaf.statements).variables)
    return {
        name: leaf.loops
        for leaf in found.leaves
        for name in sorted(_in_loops(leaf) - found.kept)
        if leaf.loops and users[name] == 1 and name in by_name
        if isinstance(by_name[name].type, Floating) and sources[by_name[name].source_name] == 1
    }


def _in_loops(leaf: Leaf) -> frozenset[str]:
    """The scalars that a leaf sets and that its loops use, but for those of the loops alone."""
    loops = [s for s in walk(*leaf.statements) if isinstance(s, Loop)]
    if not loops:
        return frozenset()
    inside = frozenset(v.name for v in effects(*loops).variables) - declared_in(loops)
    counters = {v.name for loop in loops for v in effects(loop.step).variables}
    return (effects(*leaf.statements).scalars & inside) - counters


def _expanded(found: Leaves, name: str, loops: tuple[int, ...]) -> Expanded | None:
    """The scalar with the loops as dimensions."""
    own = tuple(a for _, a in found.shared if a.memory.variable.name == name)
    if not own or any(a.memory is not own[0].memory for a in own):
        return None
    memory = replace(own[0].memory, dimensions=len(loops), shape=("[]",) * len(loops))
    return Expanded(memory, loops, (), own)


# --- Where they are ----------------------------------------------------------------------


def placed(region: Region, found: Leaves, kernels: Sequence[Kernel], expands: bool) -> Leaves | None:
    """The leaves with a place for each private scalar: registers where each thread of the `kernels` has its
    own, else, if it `expands`, an array on the device; `None` where there is none."""
    elsewhere = found.private - _in_registers(region, found, kernels)
    arrays = [_array(region, found, name) for name in sorted(elsewhere)]
    if (elsewhere and not expands) or any(each is None for each in arrays):
        return None
    made = tuple(each for each in arrays if each is not None)
    return replace(found, private=found.private - elsewhere, expanded=(*found.expanded, *made))


def _in_registers(region: Region, found: Leaves, kernels: Sequence[Kernel]) -> frozenset[str]:
    """The private scalars of which each thread of some kernels keeps its own."""
    left = set(found.private)
    for kernel in kernels:
        launch = launch_of(kernel, region.context, {})
        seen = references(launch, region.scop, found.shared)
        private = [each for each in seen if each.access.memory.variable.name in left]
        threads = chosen(range(kernel.parallel), [each.seen for each in seen])
        held = kept(launch, threads, private)
        left -= {r.access.memory.variable.name for r in private if not all_kept([r], held)}
    return frozenset(left)


def all_kept(private: Sequence[Reference], held: Sequence[Kept]) -> bool:
    """Whether what is kept, and never loaded, is all that references see."""
    own = {each.memory.name for each in held if not each.loads}
    return all(each.access.memory.name in own for each in private)


_SHORT = 32
"""Iterations of a loop below which a thread runs it faster than a warp."""


def _array(region: Region, found: Leaves, name: str) -> Expanded | None:
    """An array on the device for a scalar, which has no more dimensions than another array."""
    own = [(leaf, a) for leaf, a in found.shared if a.memory.variable.name == name]
    memory, loops = own[0][1].memory, own[0][0].loops[: own[0][1].memory.dimensions]
    largest = max(a.memory.dimensions for _, a in found.shared if a.memory.variable.name not in found.private)
    domains = [leaf.domain.reset_tuple_id() for leaf, _ in own]
    inner = [alone(d, k) for d in domains for k in range(len(loops), d.dim(isl.dim_type.set))]
    if len(loops) > largest or any(count(each) < _SHORT for each in inner):
        return None
    outer = [outermost(domain, len(loops)) for domain in domains]
    extents = extents_of(region, reduce(isl.Set.union, outer), is_whole=False)
    return Expanded(memory, loops, tuple(extents), ()) if extents else None
