"""Register promotion of array elements that a single thread uses repeatedly (Verdoolaege et al., TACO 2013,
section 6.3).

No two threads of a launch depend on each other: an element that a thread writes concerns no other one. So it
may stay in a register while the thread runs all, or a part, of its work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.codegen.cuda.launch import Launch, onto
from polylsp.codegen.cuda.references import Reference, is_plain
from polylsp.codegen.cuda.segments import varies
from polylsp.model.scop import Memory

_IN = isl.dim_type.in_


@dataclass(frozen=True, eq=False)
class Kept:
    """An element in a register for each value of the threads' dimensions: `element` is `{ [values] ->
    A[element] }`. `loads`: its value before the launch may be read, or is not surely overwritten."""

    memory: Memory
    element: isl.Map
    loads: bool
    references: tuple[Reference, ...]


def kept(launch: Launch, threads: Sequence[int], found: Sequence[Reference]) -> list[Kept]:
    """Elements that threads have in registers while they run the leaves of some references, given the
    threads' dimensions."""
    by_name: dict[str, list[Reference]] = {}
    for each in found:
        by_name.setdefault(each.access.memory.name, []).append(each)
    left = [k for k in range(launch.length) if k not in threads]
    groups = [_changing(own) for own in by_name.values()]
    return [
        made
        for own in groups
        if threads and own and is_plain(own[0].access.memory)
        if _accumulates(left, own) or own[0].access.memory.variable.name in launch.private
        for made in _kept(launch, threads, own)
    ]


def _changing(found: Sequence[Reference]) -> list[Reference]:
    """Of the references to an array, those to elements that a launch changes: the others are as they were
    before it, and stay where they are."""
    written = isl.Set.empty(found[0].seen.range().get_space())
    for each in found:
        if each.access.kind == "write":
            written = written.union(each.seen.range())
    own = [each for each in found if not each.seen.range().is_disjoint(written)]
    sites = {each.access.site for each in own}
    # A statement in several parts is written once.
    return own if all(each in own or each.access.site not in sites for each in found) else list(found)


def _accumulates(left: Sequence[int], own: Sequence[Reference]) -> bool:
    """True if an element that is written is used in more than one iteration of a loop."""
    return any(varies(each.order, k) for each in own for k in left)


def _kept(launch: Launch, threads: Sequence[int], own: Sequence[Reference]) -> Iterator[Kept]:
    points = onto(threads, launch.length)
    element = own[0].seen.apply_domain(points)
    for each in own[1:]:
        element = element.union(each.seen.apply_domain(points))
    element = element.coalesce()
    if element.is_single_valued() and element.is_injective():
        yield Kept(own[0].access.memory, element, _loads(points, element, own), tuple(own))


def _loads(points: isl.Map, element: isl.Map, own: Sequence[Reference]) -> bool:
    """True if the value before the launch matters."""
    writes = isl.Map.empty(own[0].seen.get_space())
    for each in own:
        if each.access.kind == "write" and each.access.exact and each.sure:
            writes = writes.union(each.seen)
    if not element.is_subset(writes.apply_domain(points)):
        return True
    later = isl.Map.lex_lt(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, writes.dim(_IN)))
    # What was written at an earlier point of the same thread, which has that element to itself.
    known = later.reverse().apply_range(writes)
    reads = (each.seen for each in own if each.access.kind == "read")
    return not all(each.is_subset(known) for each in reads)
