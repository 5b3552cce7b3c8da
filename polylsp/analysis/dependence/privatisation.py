"""Privatisable memories: every read in an iteration sees a value that the same iteration wrote before (array
privatisation by data flow, after Feautrier 1988 and Tu and Padua 1993).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import takewhile

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflicts, before, same_iteration
from polylsp.ir.program import Site, constant_extents
from polylsp.poly.scop import (
    Access,
    ByAddress,
    ByCallee,
    Guard,
    Memory,
    Scop,
    ScopStatement,
    iterations,
    last,
)


def may_have_copy(conflicts: Conflicts, memory: Memory, ordinal: int) -> bool:
    """True if each iteration of the loop can work on a private copy: no iteration needs a value that another
    one left in the variable, and all accesses of the loop would reach the copy."""
    return needs_no_value(conflicts, memory, ordinal) and not beyond_copies(
        conflicts, memory.variable.name, ordinal
    )


def beyond_copies(conflicts: Conflicts, name: str, ordinal: int) -> list[tuple[ByCallee | ByAddress, Site]]:
    """The uses of a variable (its unique name) in a loop that would not reach the copy of an iteration, and
    their places: by called functions, and through addresses that were taken outside of the iteration."""
    scop = conflicts.scop
    inside = (a for a in scop.accesses if ordinal in conflicts.statement(a).loops)
    uses = [(a.reached, a.site) for a in inside if a.memory.variable.name == name]
    read = (r for r in scop.address_reads if r.variable == name and ordinal in r.loops)
    uses += [(r.reached, r.site) for r in read]
    return [
        (reached, site) for reached, site in uses if reached is not None and _misses_copy(reached, ordinal)
    ]


def _misses_copy(reached: ByCallee | ByAddress, ordinal: int) -> bool:
    match reached:
        case ByCallee():
            return True
        case ByAddress(_, loops):
            return ordinal not in loops


def needs_no_value(conflicts: Conflicts, memory: Memory, ordinal: int) -> bool:
    """True if the memory is a variable that a directive can privatise, and an iteration of the loop reads
    only elements that it wrote. The target of a pointer is no such variable, nor is one member of a structure
    whose other members are needed from before."""
    if memory.pointer is not None or memory.fresh or memory.follows_pointers:
        return False
    found = {memory.name: memory}
    if memory.path != memory.variable.source_name:
        found |= {
            a.memory.name: a.memory
            for a in conflicts.scop.accesses
            if a.memory.variable.name == memory.variable.name and ordinal in conflicts.statement(a).loops
        }
    return all(covered_in_iteration(conflicts, m, ordinal) for m in found.values())


def is_copied(memory: Memory, copied: Collection[str]) -> bool:
    """True if a memory is that of a variable which each iteration has a copy of; the target of a pointer
    stays shared."""
    behind = memory.pointer is not None or memory.follows_pointers
    return not behind and memory.variable.source_name in copied


def covered_in_iteration(
    conflicts: Conflicts, memory: Memory, ordinal: int, values: isl.Set | None = None
) -> bool:
    """True if each read of `memory` in the loop is preceded, in the same iteration of the loop and whenever
    it runs, by a write of the element read; with `values`, at these values of the parameters."""
    accesses = conflicts.accesses(memory, ordinal)
    reads = [a for a in accesses if a.kind == "read"]
    writes = [a for a in accesses if a.kind == "write" and a.exact]
    if values is not None:
        reads = [replace(a, relation=a.relation.intersect_params(values)) for a in reads]
    return all(
        covered(conflicts, read, writes, conflicts.statement(read).loops.index(ordinal) + 1) for read in reads
    )


def covered(conflicts: Conflicts, read: Access, writes: list[Access], depth: int) -> bool:
    """True if writes in the same iteration of the outer `depth` loops precede all of `read`."""
    scop, sink = conflicts.scop, conflicts.statement(read)
    missing = read.relation
    for write in writes:
        source = conflicts.statement(write)
        pairs = before(conflicts.same_element(write, read), source, sink, scop, depth)
        pairs = surely_before(pairs, source, sink, scop)
        if pairs is None or pairs.is_empty():
            continue
        # Elements read by instances that some earlier write of this access precedes: the write
        # names one element for each instance, so it is enough to intersect with what it wrote.
        reached = pairs.reverse().apply_range(write.relation)
        missing = missing.subtract(reached)
        if missing.is_empty():
            return True
    return bool(missing.is_empty())


def surely_before(pairs: isl.Map, source: ScopStatement, sink: ScopStatement, scop: Scop) -> isl.Map | None:
    """Of `pairs`, those in which the source surely runs if the sink does; `None` if that can't be."""
    for guard in source.guards:
        if guard not in sink.guards:
            return None
        pairs = _same_evaluation(pairs, guard, source, scop)
    return pairs


def _same_evaluation(pairs: isl.Map, guard: Guard, source: ScopStatement, scop: Scop) -> isl.Map:
    if guard.kind == "if":
        return same_iteration(pairs, guard.depth)
    last = guard.depth - 1
    pairs = same_iteration(pairs, last)
    order = pairs.order_le if scop.loops[source.loops[last]].direction > 0 else pairs.order_ge
    return order(isl.dim_type.in_, last, isl.dim_type.out, last)


def never_exposed(conflicts: Conflicts, read: Access) -> bool:
    """True if each element that `read` reads was written before, in the nest and whenever it runs."""
    accesses = [a for a in conflicts.scop.accesses if a.memory is read.memory]
    writes = [a for a in accesses if a.kind == "write" and a.exact]
    return covered(conflicts, read, writes, 0)


def unused_elsewhere(conflicts: Conflicts, memory: Memory, ordinal: int) -> bool:
    """True if a variable is used in the nest alone, and each read outside of a loop sees a value that was
    written outside of it, with no run of the loop between the two: the write and the read are in the same
    iteration of the loops that the read shares with the loop, and on the same side of it in their bodies."""
    name, scop = memory.variable.name, conflicts.scop
    inside = next((s for s in scop.statements if ordinal in s.loops), None)
    if name not in scop.enclosed or inside is None:
        return False
    loops = inside.loops[: inside.loops.index(ordinal) + 1]

    def side(access: Access) -> tuple[int, bool]:
        """Number of the loops around the loop that are around an access too; True if it comes before."""
        statement = conflicts.statement(access)
        pairs = zip(statement.loops, loops, strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        return shared, statement.position[shared] < inside.position[shared]

    of_variable = (a for a in scop.accesses if a.memory.variable.name == name)
    outside = [a for a in of_variable if ordinal not in conflicts.statement(a).loops]
    writes = [a for a in outside if a.kind == "write" and a.exact]
    return all(
        covered(
            conflicts,
            read,
            [w for w in writes if side(w) == side(read) and w.memory is read.memory],
            side(read)[0],
        )
        for read in outside
        if read.kind == "read"
    )


def last_iteration_writes_all(conflicts: Conflicts, memory: Memory, ordinal: int) -> bool:
    """True if the last iteration of the loop surely writes each element that any iteration writes: then the
    final values are those of that iteration's copy."""
    if memory.dimensions > memory.scoped and not _writes_whole_object(conflicts, memory, ordinal):
        return False
    writes = [a for a in conflicts.accesses(memory, ordinal) if a.kind == "write"]
    everything, final = _in_all_and_last(conflicts, writes, ordinal)
    return bool(everything.is_subset(final))


def last_iteration_leaves(conflicts: Conflicts, memory: Memory, ordinal: int) -> bool:
    """True if earlier iterations write elements that the last iteration surely does not write, wherever there
    is more than one."""
    writes = [a for a in conflicts.accesses(memory, ordinal) if a.kind == "write"]
    if not writes or not all(conflicts.certain(a) for a in writes):
        return False
    everything, final = _in_all_and_last(conflicts, writes, ordinal)
    every = iterations(conflicts.scop, ordinal)
    several = every.subtract(last(every, conflicts.scop.loops[ordinal].direction)).domain()
    several = several.intersect_params(conflicts.defined())
    left = everything.subtract(final).domain()
    return not several.is_empty() and several.to_union_set().is_subset(left)


def _in_all_and_last(
    conflicts: Conflicts, writes: Sequence[Access], ordinal: int
) -> tuple[isl.UnionMap, isl.UnionMap]:
    """`{ [outer iterators] -> A[x] }`: may-writes of one run of the loop, and must-writes of its last
    iteration."""
    scop = conflicts.scop
    everything, final = isl.UnionMap("{ }"), isl.UnionMap("{ }")
    final_ones = last(iterations(scop, ordinal), scop.loops[ordinal].direction)
    for access in writes:
        everything = everything.union(_by_outer(conflicts, access, ordinal, None).to_union_map())
        if conflicts.certain(access):
            final = final.union(_by_outer(conflicts, access, ordinal, final_ones).to_union_map())
    return everything, final


def _by_outer(conflicts: Conflicts, access: Access, ordinal: int, only: isl.Map | None) -> isl.Map:
    """`{ [outer iterators] -> A[x] }`: footprint of the access in one run of the loop, or in its last
    iteration."""
    statement = conflicts.statement(access)
    depth = statement.loops.index(ordinal)
    relation = access.relation
    if only is not None:
        chosen = isl.Set.universe(statement.domain.get_space())
        wanted = only.wrap().flatten()
        wanted = wanted.add_dims(isl.dim_type.set, statement.domain.dim(isl.dim_type.set) - depth - 1)
        chosen = chosen.intersect(wanted.set_tuple_name(statement.name))
        relation = relation.intersect_domain(chosen)
    relation = relation.project_out(isl.dim_type.in_, depth, relation.dim(isl.dim_type.in_) - depth)
    return relation.reset_tuple_id(isl.dim_type.in_) if relation.has_tuple_id(isl.dim_type.in_) else relation


def _writes_whole_object(conflicts: Conflicts, memory: Memory, ordinal: int) -> bool:
    """True if each run of the loop surely writes all of an array: a copy of less would lose the rest."""
    whole = _whole(memory)
    if whole is None:
        return False
    domain = conflicts.scop.loops[ordinal].domain
    runs = domain.project_out(isl.dim_type.set, domain.dim(isl.dim_type.set) - 1, 1)
    whole = whole.align_params(runs.get_space())
    missing = isl.Map.from_domain_and_range(runs.align_params(whole.get_space()), whole)
    for access in conflicts.accesses(memory, ordinal):
        if access.kind == "write" and conflicts.certain(access):
            missing = missing.subtract(_by_outer(conflicts, access, ordinal, None))
    return bool(missing.is_empty())


def _whole(memory: Memory) -> isl.Set | None:
    """All elements of an array whose extents are constants, or whose name gets new ones."""
    extents = constant_extents(memory.variable.type)
    if extents is None:
        return memory.whole
    if len(extents) != memory.dimensions or memory.scoped:
        return None
    names = ", ".join(f"x{k}" for k in range(len(extents)))
    bounds = " and ".join(f"0 <= x{k} < {n}" for k, n in enumerate(extents))
    return isl.Set(f"{{ {memory.name}[{names}] : {bounds} }}")
