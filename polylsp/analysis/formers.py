"""Anti-dependent reads, removable by array renaming: they see only values from before the loop, and could
read a copy of these (Cytron and Ferrante, What's in a name?, ICPP 1987)."""

from __future__ import annotations

from collections.abc import Collection

from polylsp.analysis.conflicts import Conflict, Conflicts, before
from polylsp.model.scop import Access

Reads = tuple[tuple[str, str], ...]
"""Reads as they are written, each with its array."""


def former_reads(conflicts: Conflicts, obstacles: list[Conflict], ordinal: int) -> Reads:
    """Anti-dependent reads that array renaming can serve from copies taken before the loop, if only later
    writes stand in their way; `obstacles` are all obstacles of the loop."""
    reads = {id(c.source): c.source for c in obstacles if c.kind == "anti"}.values()
    if any(c.kind != "anti" for c in obstacles):
        return ()
    if not all(_sees_former(conflicts, read, ordinal) for read in reads):
        return ()
    return tuple(dict.fromkeys((read.text, read.memory.path) for read in reads))


def former_accesses(conflicts: Conflicts, ordinal: int, reads: Collection[tuple[str, str]]) -> list[Access]:
    """The accesses in a loop that belong to some reads, by their spelling, and see only values from before
    it."""
    return [
        access
        for access in conflicts.scop.accesses
        if access.kind == "read"
        and ordinal in conflicts.statement(access).loops
        and (access.text, access.memory.path) in reads
        and _sees_former(conflicts, access, ordinal)
    ]


def _sees_former(conflicts: Conflicts, read: Access, ordinal: int) -> bool:
    """True if a read sees no value that the loop has written."""
    writes = [a for a in conflicts.accesses(read.memory, ordinal) if a.kind == "write"]
    if not read.memory.shape or any(write.site == read.site for write in writes):
        return False
    sink, values = conflicts.statement(read), conflicts.defined()
    depth = sink.loops.index(ordinal)
    pairs = (
        before(conflicts.same_element(write, read), conflicts.statement(write), sink, conflicts.scop, depth)
        for write in writes
    )
    return all(each.intersect_params(values).is_empty() for each in pairs)
