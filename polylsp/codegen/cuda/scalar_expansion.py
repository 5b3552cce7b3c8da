"""Scalar expansion of scalars that each iteration sets anew before it reads them: with an element for each
iteration, the loops in which they add up are opened, too (Padua and Wolfe, CACM 1986). A thread has its copy
in registers; where several kernels use them, they are an array on the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import islpy as isl

from polylsp.analysis.effects import effects, walk
from polylsp.codegen.affine import alone
from polylsp.codegen.cuda.axes import chosen, count
from polylsp.codegen.cuda.expansion import courses_of, in_each, outermost
from polylsp.codegen.cuda.launch import launch_of
from polylsp.codegen.cuda.leaves import Expanded, Leaf, Leaves, leaves_of
from polylsp.codegen.cuda.mapping import Kernel
from polylsp.codegen.cuda.references import Reference, references
from polylsp.codegen.cuda.region import Region, declared_in
from polylsp.codegen.cuda.registers import Kept, kept
from polylsp.codegen.cuda.renaming import with_formers
from polylsp.model.action import Declined
from polylsp.model.program import Floating, Loop
from polylsp.model.scop import Access, Memory


def scalar_expanded(region: Region, found: Leaves, without: frozenset[str] = frozenset()) -> Leaves | None:
    """The leaves with an element for each iteration of the scalars that their loops use, if there are any but
    those that it shall be `without` (unique names)."""
    scalars = _scalars(region, found) - without
    other = leaves_of(region, scalars) if scalars else None
    if other is None or isinstance(other, Declined):
        return None
    memories: dict[tuple[str, str], Memory] = {}
    around = {number: leaf for leaf in found.leaves for number in leaf.numbers}
    shared = tuple(
        (leaf, _own(access, around[access.statement], memories))
        if access.memory.variable.name in scalars
        else (leaf, access)
        for leaf, access in other.shared
    )
    made = replace(other, shared=shared, opened=found.opened, private=scalars)
    return with_formers(made, found.formers)


def _own(access: Access, whole: Leaf, memories: dict[tuple[str, str], Memory]) -> Access:
    """An access to a scalar as one to the element of its iteration of the loops around a leaf."""
    scalar, depth = access.memory, len(whole.loops)
    fresh = replace(scalar, name=f"{scalar.name}__{whole.name}", dimensions=depth, shape=("[]",) * depth)
    memory = memories.setdefault((scalar.name, whole.name), fresh)
    return in_each(access, Expanded(memory, whole.loops, (), ()))


def _scalars(region: Region, found: Leaves) -> frozenset[str]:
    """Scalars (unique names) that leaves set, and use in their loops; each leaf has a private copy."""
    by_name = {v.name: v for v in region.subject.variables}
    outside = {v.name for leaf in found.leaves if not leaf.loops for v in effects(*leaf.statements).variables}
    used = {name for leaf in found.leaves for name in _in_loops(leaf)} - found.kept - outside
    return frozenset(n for n in used if n in by_name and isinstance(by_name[n].type, Floating))


def _in_loops(leaf: Leaf) -> frozenset[str]:
    """The scalars that a leaf sets and that its loops use, but for those of the loops alone."""
    loops = [s for s in walk(*leaf.statements) if isinstance(s, Loop)]
    if not loops:
        return frozenset()
    inside = frozenset(v.name for v in effects(*loops).variables) - declared_in(loops)
    counters = {v.name for loop in loops for v in effects(loop.step).variables}
    return (effects(*leaf.statements).scalars & inside) - counters


# --- Where they are ----------------------------------------------------------------------


def placed(
    region: Region, found: Leaves, kernels: Sequence[Kernel], expands: bool
) -> Leaves | frozenset[str]:
    """Leaves with a place for each private scalar: registers where each thread of the `kernels` has a copy,
    else, if it `expands`, an array on the device; or the scalars for which there is no place."""
    elsewhere = found.private - _in_registers(region, found, kernels)
    arrays = {name: _array(region, found, name) if expands else None for name in sorted(elsewhere)}
    made = tuple(each for each in arrays.values() if each is not None)
    if len(made) < len(arrays):
        return frozenset(name for name, each in arrays.items() if each is None)
    return replace(found, private=found.private - elsewhere, expanded=(*found.expanded, *made))


def _in_registers(region: Region, found: Leaves, kernels: Sequence[Kernel]) -> frozenset[str]:
    """Private scalars of which each thread of some kernels has a register copy."""
    left = set(found.private)
    for kernel in kernels:
        launch = launch_of(kernel, region.context, {}, found.private)
        seen = references(launch, region.scop, found.shared)
        private = [each for each in seen if each.access.memory.variable.name in left]
        threads = chosen(range(kernel.parallel), [each.seen for each in seen])
        held = kept(launch, threads, private)
        left -= {r.access.memory.variable.name for r in private if not all_kept([r], held)}
    return frozenset(left)


def all_kept(private: Sequence[Reference], held: Sequence[Kept]) -> bool:
    """True if registers that are never loaded cover all memories of the references."""
    own = {each.memory.name for each in held if not each.loads}
    return all(each.access.memory.name in own for each in private)


_SHORT = 32
"""Iterations of a loop below which a thread runs it faster than a warp."""


def _array(region: Region, found: Leaves, name: str) -> Expanded | None:
    """An array on the device for a scalar of one leaf, which has no more dimensions than another array."""
    own = [(leaf, a) for leaf, a in found.shared if a.memory.variable.name == name]
    source = own[0][1].memory.variable.source_name
    alike = sum(v.source_name == source for v in region.subject.variables)
    if alike > 1 or any(a.memory is not own[0][1].memory for _, a in own):
        return None
    memory, loops = own[0][1].memory, own[0][0].loops[: own[0][1].memory.dimensions]
    largest = max(a.memory.dimensions for _, a in found.shared if a.memory.variable.name not in found.private)
    domains = [leaf.domain.reset_tuple_id() for leaf, _ in own]
    inner = [alone(d, k) for d in domains for k in range(len(loops), d.dim(isl.dim_type.set))]
    if len(loops) > largest or any(count(each) < _SHORT for each in inner):
        return None
    outer = [outermost(domain, len(loops)) for domain in domains]
    courses = courses_of(region, reduce(isl.Set.union, outer))
    return Expanded(memory, loops, courses, ()) if courses else None
