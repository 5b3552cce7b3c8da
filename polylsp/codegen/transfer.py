"""Data transfers: the host's arrays that a device needs, and the device's results that the host needs.

An array comes in if some element may be read that the region has not written before, and goes out if it is
written and needed afterwards. An array that goes out without having come in must be written entirely, for all
sizes: otherwise elements that were never touched would overwrite the host's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from polylsp.analysis.aliases import overlap_assumptions
from polylsp.analysis.conflicts import Conflicts
from polylsp.analysis.effects import effects
from polylsp.analysis.liveness import live_after_loops
from polylsp.analysis.private import covered
from polylsp.codegen.coherence import settled, uses_of
from polylsp.codegen.footprint import Section
from polylsp.codegen.host import effects_names
from polylsp.codegen.moving import Data, Question, Transfer, Update
from polylsp.codegen.naming import why_not_named
from polylsp.codegen.updates import fills, is_filled_by, joint_section, updates_of
from polylsp.model.action import Declined
from polylsp.model.facts import LoopFacts
from polylsp.model.program import Array, Pointer, Variable, within
from polylsp.model.scop import Access, Memory
from polylsp.model.verdict import Assumption, Parallel


def moved(asked: Question) -> Data | Declined:
    """The arrays that the device uses, and the host's uses of them in between."""
    on_device = _on_device(asked)
    inside = {id(a) for own in on_device.values() for a in own}
    host = [a for a in asked.region.accesses(asked.scop) if id(a) not in inside and not _in_root(asked, a)]
    transfers: list[Transfer] = []
    updates: list[Update] = []
    assumed: list[Assumption] = []
    for variable, accesses in on_device.items():
        hidden = why_not_named(asked.subject, asked.region, variable, accesses) or _unseen(
            asked, variable, accesses, host
        )
        one = Declined(hidden) if hidden else array_data(asked, variable, accesses, host)
        if isinstance(one, Declined):
            return one
        transfers += one.transfers
        updates += one.updates
        assumed += one.assumptions
    shared = [a for own in on_device.values() for a in own]
    ordered = tuple(sorted(transfers, key=lambda each: each.name))
    return Data(ordered, tuple(updates), (*assumed, *_apart(asked, shared, host)), _uses(asked, shared))


def _uses(asked: Question, shared: list[Access]) -> dict[int, frozenset[str]]:
    return {
        root.ordinal: frozenset(
            a.memory.variable.source_name
            for a in shared
            if root.ordinal in asked.scop.statements[a.statement].loops
        )
        for root in asked.roots
    }


# --- Which variables ---------------------------------------------------------------------


def _on_device(asked: Question) -> dict[Variable, list[Access]]:
    """The accesses to transferred memory, by variable; variables that live inside a root have none, nor do
    those that other clauses of its directive are about."""
    result: dict[Variable, list[Access]] = {}
    for root in asked.roots:
        own = _with_clauses(root)
        for access in asked.scop.accesses:
            loops = asked.scop.statements[access.statement].loops
            if root.ordinal not in loops or access.memory.scoped > loops.index(root.ordinal):
                continue
            if access.memory.variable.source_name not in own:
                result.setdefault(access.memory.variable, []).append(access)
    return {v: a for v, a in result.items() if _is_moved(a)}


def _with_clauses(root: LoopFacts) -> set[str]:
    """The variables that other clauses of its directive are about."""
    if not isinstance(root.verdict, Parallel):
        return set()
    scalars = {each.variable for each in root.verdict.reductions if not each.is_array}
    return {*root.verdict.private, *root.verdict.lastprivate, *scalars}


def _is_moved(accesses: list[Access]) -> bool:
    """True for memory that must be transferred: a scalar that is only read is passed as a value."""
    return any("[]" in a.memory.shape or a.kind == "write" for a in accesses)


def _in_root(asked: Question, access: Access) -> bool:
    loops = asked.scop.statements[access.statement].loops
    return any(root.ordinal in loops for root in asked.roots)


def _unseen(asked: Question, variable: Variable, device: list[Access], host: list[Access]) -> str:
    """Reason why the host's accesses are undetermined: it names the variable where the model has no access of
    it."""
    name = variable.source_name
    if variable.name in asked.headers and _is_read_by_headers(asked, variable, device):
        return f"The host reads `{name}` to enter a loop, and the device changes it: copy that value first."
    for run in asked.runs:
        seen = uses_of(variable, host, [run], asked.conflicts)
        called = effects(*run.statements).calls
        if called and seen:
            return (
                f"`{called[0].function}` is called between the parallel loops, and `{name}` is used there: "
                "such a function may use the device itself."
            )
        if variable.name in effects_names(*run.statements) and not seen:
            return f"What the host does with `{name}` between the parallel loops is not known in full."
    return ""


def _is_read_by_headers(asked: Question, variable: Variable, device: list[Access]) -> bool:
    """True if the device may change what the host reads to enter a loop: of a structure, a member that
    headers do not name is another one."""
    changed = {a.memory.name for a in device if a.kind == "write"}
    headers = [loop.header for loop in asked.subject.facts.loops if asked.region.holds(loop.site)]
    own = [a for a in asked.scop.accesses if a.memory.variable == variable and a.kind == "read"]
    read = {a.memory.name for a in own if any(within(a.site, each) for each in headers)}
    is_structure = all(any(step != "[]" for step in a.memory.shape) for a in own)
    return bool(changed & read if read and is_structure else changed)


def _apart(asked: Question, device: list[Access], host: list[Access]) -> tuple[Assumption, ...]:
    """No-overlap assumptions, since the device has a copy of each array."""
    if len(asked.roots) == 1 and not asked.runs:
        return ()
    written = _memories(a for a in (*device, *host) if a.kind == "write")
    on_device, everywhere = _memories(device), _memories((*device, *host))
    names = {memory.name for memory in on_device}
    found = [
        assumption
        for one in written
        for other in (everywhere if one.name in names else on_device)
        for assumption in overlap_assumptions([one], [other], set())
    ]
    return tuple(dict.fromkeys(found))


def _memories(accesses: Iterable[Access]) -> list[Memory]:
    return list({a.memory.name: a.memory for a in accesses}.values())


# --- One of them -------------------------------------------------------------------------


def array_data(
    asked: Question, variable: Variable, device: list[Access], host: list[Access]
) -> Data | Declined:
    """Transfers of one variable, given all accesses of the device and the host to it in the region."""
    name = variable.source_name
    uses = uses_of(variable, host, list(asked.runs), asked.conflicts)
    if all("[]" not in a.memory.shape for a in device):
        if uses:
            return Declined(
                f"The host uses `{name}` between the parallel loops, and the device changes it: "
                "use a variable of its own in one of them."
            )
        return Data((Transfer(name, name, True, True),))
    writes = [a for a in device if a.kind == "write"]
    out = bool(writes) and _is_needed(asked, variable, device)
    depth = asked.region.depth(asked.scop)
    uses = settled(asked.conflicts, depth, device, uses, out, lambda use: is_filled_by(asked, use))
    moving = [use for use in uses if use.fetched or use.sent]
    synchronised = [a for use in moving for a in (*use.fetched, *use.sent)]
    part = joint_section(asked, [*device, *synchronised], asked.region)
    if part is None:
        return unknown_extent(variable)
    updates = updates_of(asked, name, part, moving)
    if isinstance(updates, Declined):
        return updates
    known = [*writes, *(a for use in moving for a in use.sent)]
    sure = [a for a in known if asked.conflicts.certain(a)]
    exposed = any(_is_exposed(asked.conflicts, a, known, depth) for a in device if a.kind == "read")
    partly = out and not fills(asked, part, sure, asked.region)
    comes_in = exposed or partly or any(use.fetched for use in moving)
    is_array = isinstance(variable.type, Array) and variable.storage != "parameter"
    return Data(
        (Transfer(name, part.text, comes_in, out, is_array),), tuple(updates), tuple(_within(name, part))
    )


def unknown_extent(variable: Variable) -> Declined:
    """Refusal to move an array whose used extent is undetermined."""
    name = variable.source_name
    advice = f": declare it with its size, as `{name}[n]`" if isinstance(variable.type, Pointer) else ""
    reason = f"How much of `{name}` a device needs cannot be written down before the loop{advice}."
    return Declined(reason, unsized=name)


def _within(name: str, part: Section) -> Iterator[Assumption]:
    if part.assumed:
        yield Assumption("in-bounds", (name,), f"all of `{part.text}` is inside the array")


def _is_needed(asked: Question, variable: Variable, accesses: list[Access]) -> bool:
    """True if the array may be read after the region."""
    after = live_after_loops(asked.subject.function, ())[asked.last.ordinal]
    led = any(a.memory.pointer is not None for a in accesses)
    return variable.name in after or "*" in after or variable.storage != "local" or led


def _is_exposed(conflicts: Conflicts, read: Access, writes: list[Access], depth: int) -> bool:
    """True if a read may see an element that no write of the region, `depth` loops deep, has set."""
    same = [a for a in writes if a.exact and a.memory is read.memory]
    return not covered(conflicts, read, same, depth)
