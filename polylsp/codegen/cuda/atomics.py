"""Atomic updates by several threads: for sums whose elements data chooses, as in a histogram, where no thread
can have private sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from polylsp.analysis.effects import walk
from polylsp.codegen.cuda.launch import sets_of
from polylsp.codegen.cuda.leaves import Leaf, Leaves
from polylsp.codegen.cuda.mapping import Kernel
from polylsp.codegen.cuda.sums import sum_of
from polylsp.codegen.cuda.updating import update_of
from polylsp.model.program import Assign, Floating, Site
from polylsp.model.scop import Access


def with_atomics(found: Leaves, seen: Leaves, made: Sequence[Kernel]) -> Leaves | None:
    """The leaves that were `found`, with updates that may come in any order, if of those that were `seen` one
    thread alone makes some; `None` if there are none that a device can make one at a time."""
    alone = {
        each.get_tuple_name()
        for kernel in made
        if not kernel.parallel and sum_of(kernel, seen) is None
        for each in sets_of(kernel.domain)
    }
    updated = {
        access.memory.name
        for leaf, access in seen.shared
        if leaf.name in alone and access.kind == "write" and access.update is not None
    }
    able = frozenset(name for name in updated if _can_be_atomic(found, name))
    return replace(found, atomic=able) if able else None


def _can_be_atomic(found: Leaves, name: str) -> bool:
    """True if a device supports all updates of a memory, and these have one operator."""
    own = [(leaf, a) for leaf, a in found.shared if a.memory.name == name and a.update is not None]
    writes = [(leaf, access) for leaf, access in own if access.kind == "write"]
    return len({a.update for _, a in own}) == 1 and all(_is_able(leaf, access) for leaf, access in writes)


def _is_able(leaf: Leaf, access: Access) -> bool:
    targets = (s for s in walk(*leaf.statements) if isinstance(s, Assign) and s.target.site == access.site)
    return any(update_of(each) is not None for each in targets)


def sites_of(found: Leaves) -> frozenset[Site]:
    """Sites of atomic updates."""
    return frozenset(
        access.site
        for _, access in found.shared
        if access.memory.name in found.atomic and access.update is not None and access.kind == "write"
    )


def rounded(found: Leaves) -> Iterator[str]:
    """Remarks on updates whose order is open."""
    memories = (a.memory for _, a in found.shared if a.memory.name in found.atomic)
    real = dict.fromkeys(m.path for m in memories if isinstance(m.element, Floating))
    for name in real:
        yield f"Threads update `{name}` in any order: sums may differ in their last digits from run to run."
