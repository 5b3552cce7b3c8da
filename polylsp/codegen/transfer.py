"""What a device needs of the host's arrays, and the host of the device's results.

An array comes in if some element may be read that the region has not written before, and goes out if
it is written and needed afterwards. What goes out without having come in must be written
entirely, whatever the sizes: else elements that were never touched would overwrite the host's.
"""

from __future__ import annotations

from dataclasses import dataclass

from polylsp.analysis.conflicts import Conflicts
from polylsp.analysis.liveness import live_after_loops
from polylsp.analysis.private import covered
from polylsp.codegen.footprint import Section, section, touched
from polylsp.codegen.subject import Subject
from polylsp.model.action import Declined
from polylsp.model.facts import LoopFacts
from polylsp.model.program import Variable
from polylsp.model.scop import Access, Scop
from polylsp.model.verdict import Parallel


@dataclass(frozen=True, slots=True)
class Transfer:
    """An array of a device region, as a section."""

    name: str
    section: str
    comes_in: bool
    goes_out: bool


def transfers(
    subject: Subject, region: LoopFacts, roots: tuple[LoopFacts, ...]
) -> tuple[Transfer, ...] | Declined:
    """The arrays that `roots` use on the device, moved once around all of `region`."""
    found = subject.nest(region.ordinal)
    if found is None:
        return Declined("What this loop accesses is not known in full.")
    scop = found[1].scop
    copied = {name for root in roots for name in _with_clauses(root)}
    conflicts = Conflicts(scop)
    result: list[Transfer] = []
    for variable, accesses in _arrays(scop, roots).items():
        if variable.source_name in copied:
            continue
        one = _transfer(subject, conflicts, region, variable, accesses)
        if isinstance(one, Declined):
            return one
        result.append(one)
    return tuple(sorted(result, key=lambda each: each.name))


def _with_clauses(root: LoopFacts) -> set[str]:
    """The variables that other clauses of its directive are about."""
    if not isinstance(root.verdict, Parallel):
        return set()
    scalars = {each.variable for each in root.verdict.reductions if not each.is_array}
    return {*root.verdict.private, *root.verdict.lastprivate, *scalars}


def _arrays(scop: Scop, roots: tuple[LoopFacts, ...]) -> dict[Variable, list[Access]]:
    """The accesses to what is moved, by variable; variables that live inside a root have none."""
    result: dict[Variable, list[Access]] = {}
    for access in scop.accesses:
        loops = scop.statements[access.statement].loops
        for root in roots:
            if root.ordinal in loops and access.memory.scoped <= loops.index(root.ordinal):
                result.setdefault(access.memory.variable, []).append(access)
    return {v: a for v, a in result.items() if _is_moved(a)}


def _is_moved(accesses: list[Access]) -> bool:
    """A scalar that is only read is handed over as a value; whatever else must be moved."""
    return any("[]" in a.memory.shape or a.kind == "write" for a in accesses)


def _transfer(
    subject: Subject, conflicts: Conflicts, region: LoopFacts, variable: Variable, accesses: list[Access]
) -> Transfer | Declined:
    name = variable.source_name
    if all("[]" not in a.memory.shape for a in accesses):
        return Transfer(name, name, True, True)
    part = _section(subject, conflicts.scop, accesses, region)
    if part is None:
        return Declined(f"How much of `{name}` a device needs cannot be written down before the loop.")
    depth = conflicts.statement(accesses[0]).loops.index(region.ordinal)
    writes = [a for a in accesses if a.kind == "write"]
    sure = [a for a in writes if conflicts.certain(a)]
    exposed = any(_comes_before(conflicts, a, writes, depth) for a in accesses if a.kind == "read")
    after = live_after_loops(subject.function, ())[region.ordinal]
    needed = variable.name in after or "*" in after or variable.storage != "local" or bool(_led(accesses))
    out = bool(writes) and needed
    return Transfer(name, part.text, exposed or (out and not _fills(conflicts.scop, part, sure, region)), out)


def _comes_before(conflicts: Conflicts, read: Access, writes: list[Access], depth: int) -> bool:
    """Whether a read may want an element that no write of the region, `depth` loops deep, gave a value."""
    same = [a for a in writes if a.exact and a.memory is read.memory]
    return not covered(conflicts, read, same, depth)


def _led(accesses: list[Access]) -> bool:
    """Whether a pointer leads to the array, so that others may read it."""
    return any(a.memory.pointer is not None for a in accesses)


def _section(subject: Subject, scop: Scop, accesses: list[Access], region: LoopFacts) -> Section | None:
    """One section for all members of an array of structures."""
    by_memory: dict[str, list[Access]] = {}
    for access in accesses:
        by_memory.setdefault(access.memory.name, []).append(access)
    parts = [section(subject, scop, each, region) for each in by_memory.values()]
    texts = {part.text for part in parts if part is not None}
    if None in parts or len(texts) != 1:
        return None
    return parts[0] if len(parts) == 1 else Section(texts.pop(), None)


def _fills(scop: Scop, part: Section, sure: list[Access], region: LoopFacts) -> bool:
    """Whether one run of the region surely writes all of the section, for all values of the parameters."""
    if part.elements is None or not sure:
        return False
    return part.elements.is_subset(touched(scop, sure, region.ordinal))
