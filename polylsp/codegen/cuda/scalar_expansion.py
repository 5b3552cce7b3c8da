"""Scalars that each iteration sets anew before it reads them: with an element for each iteration, the loops
in which they add up are opened, too (scalar expansion; Padua and Wolfe, CACM 1986). A thread has these in
registers: where it cannot, they stay as they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from polylsp.analysis.effects import effects, walk
from polylsp.codegen.cuda.axes import chosen
from polylsp.codegen.cuda.expansion import in_each
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


# --- Can threads have them? --------------------------------------------------------------


def in_registers(region: Region, found: Leaves, kernels: tuple[Kernel, ...]) -> bool:
    """Whether each thread of some kernels has its elements of private scalars in registers."""
    for kernel in kernels:
        launch = launch_of(kernel, region.context, {})
        seen = references(launch, region.scop, found.shared)
        private = [each for each in seen if each.access.memory.variable.name in found.private]
        if not private:
            continue
        threads = chosen(range(kernel.parallel), [each.seen for each in seen])
        if not all_kept(private, kept(launch, threads, private)):
            return False
    return True


def all_kept(private: Sequence[Reference], held: Sequence[Kept]) -> bool:
    """Whether what is kept, and never loaded, is all that references see."""
    own = {each.memory.name for each in held if not each.loads}
    return all(each.access.memory.name in own for each in private)
