"""Data transfers of a device region, and updates where the host uses the data in between.

An array comes in if an element may be read unwritten, and goes out if it is written and live
afterwards; one that goes out only must be written entirely, for all sizes. Once any data go to the
host, every host write goes to the device at once, so both copies agree between any two statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from polylsp.analysis.dependence.conflicts import Conflicts, before
from polylsp.analysis.dependence.privatisation import covered
from polylsp.analysis.scop.objects import overlap_assumptions
from polylsp.emit.c_pragmas import Stretch
from polylsp.emit.footprint import Section, entered, in_each_run, section, touched
from polylsp.emit.source_names import why_not_named
from polylsp.emit.subject import Subject
from polylsp.ir.effects import effects
from polylsp.ir.liveness import live_after_loops
from polylsp.ir.program import Array, Pointer, Site, Variable, within
from polylsp.ir.verdict import Assumption, Parallel
from polylsp.model.action import Declined
from polylsp.model.facts import LoopFacts
from polylsp.poly.scop import Access, Memory, Scop
from polylsp.targets.directives.host_code import Run, effects_names

# --------------------------------------------------------------------------------------------------
# Query about the data of a region, and its result.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Transfer:
    """An array of a device region, as a section. `is_array`: its name stands for its elements, not for a
    pointer to them."""

    name: str
    section: str
    comes_in: bool
    goes_out: bool
    is_array: bool = False


def by_way(
    transfers: tuple[Transfer, ...], words: tuple[str, str, str, str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The sections that move in one way, each with the word of a target for it: for those that only come in,
    that do both, that only go out, and that do neither."""
    ways = ((True, False), (True, True), (False, True), (False, False))
    for word, way in zip(words, ways, strict=True):
        sections = tuple(each.section for each in transfers if (each.comes_in, each.goes_out) == way)
        if sections:
            yield word, sections


@dataclass(frozen=True, slots=True)
class Update:
    """A section that moves in the middle of a region: to the host before the code at `place`, or to the
    device after it."""

    place: Stretch
    to: Literal["host", "device"]
    section: str


@dataclass(frozen=True)
class Data:
    """All that moves for a region, and the assumptions behind it; `uses` are the names that each kernel
    needs, by the ordinal of its loop."""

    transfers: tuple[Transfer, ...]
    updates: tuple[Update, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    uses: Mapping[int, frozenset[str]] = field(default_factory=dict[int, frozenset[str]])


@dataclass(frozen=True)
class Question:
    """Query for the code: loops `roots` run on the device, `runs` on the host, which also reads `headers`
    (unique names) to enter loops; `last` is the loop with which the region ends."""

    subject: Subject
    conflicts: Conflicts
    region: Stretch
    roots: tuple[LoopFacts, ...]
    last: LoopFacts
    runs: tuple[Run, ...] = ()
    headers: frozenset[str] = frozenset()

    @property
    def scop(self) -> Scop:
        """The model of all of it."""
        return self.conflicts.scop


# --------------------------------------------------------------------------------------------------
# Updates of data in the middle of a region, because the host uses them between the loops of the
# device.
#
# The host needs the device's previous writes, and the device the host's. As soon as any data go
# from the device to the host, now or at the end, every write of the host goes to the device at
# once: then the device's copy equals the program's value at every point between two statements, and
# no transfer brings an old value back.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Use:
    """Use of an array of the device by a run of the host. `place`: its statements from the first to the last
    that touch it; `fetched` comes from the device before, `sent` goes there afterwards."""

    run: Run
    place: Stretch
    accesses: tuple[Access, ...]
    fetched: tuple[Access, ...] = ()
    sent: tuple[Access, ...] = ()

    @property
    def writes(self) -> tuple[Access, ...]:
        """Writing accesses."""
        return _writes(self.accesses)


Fills = Callable[[Use], bool]
"""Predicate: a run of the host surely writes all of the section around its writes."""


def uses_of(variable: Variable, host: list[Access], runs: list[Run], conflicts: Conflicts) -> list[Use]:
    """Uses of a variable by each run, given the accesses of the host."""
    found: list[Use] = []
    for run in runs:
        pieces = run.pieces()
        own = [
            (place, access)
            for access in host
            for place in pieces
            if access.memory.variable == variable and place.holds(conflicts.statement(access).site)
        ]
        if own:
            first, last = min(p.site.first for p, _ in own), max(p.site.last for p, _ in own)
            found.append(Use(run, Stretch(Site(first, last), run.around), tuple(a for _, a in own)))
    return found


def settled(
    conflicts: Conflicts, depth: int, device: list[Access], uses: list[Use], goes_out: bool, fills: Fills
) -> list[Use]:
    """The uses of one array, each with its transfers, in a region with `depth` loops of the model around it;
    `goes_out`: the array is copied to the host at the end."""
    written, read = _writes(device), [a for a in device if a.kind == "read"]
    fetching = [_comes_before(conflicts, written, _reads(use.accesses), depth) for use in uses]
    while True:
        exact = goes_out or any(fetching)
        sending = [exact or _comes_before(conflicts, use.writes, read, depth) for use in uses]
        # What is sent is a whole section: the rest of it must be what the device has.
        more = [
            fetches or bool(sends and use.writes and written and not fills(use))
            for use, fetches, sends in zip(uses, fetching, sending, strict=True)
        ]
        if more == fetching:
            return [_moving(*each) for each in zip(uses, fetching, sending, strict=True)]
        fetching = more


def _moving(use: Use, fetches: bool, sends: bool) -> Use:
    return replace(use, fetched=use.accesses if fetches else (), sent=use.writes if sends else ())


def _comes_before(
    conflicts: Conflicts, sources: Iterable[Access], sinks: Iterable[Access], depth: int
) -> bool:
    """True if some of the sources may happen before some of the sinks, at one element."""
    sinks = list(sinks)
    return any(_precedes(conflicts, one, other, depth) for one in sources for other in sinks)


def _precedes(conflicts: Conflicts, source: Access, sink: Access, depth: int) -> bool:
    if source.memory is not sink.memory:
        return True
    pairs = conflicts.same_element(source, sink)
    first, second = conflicts.statement(source), conflicts.statement(sink)
    return not before(pairs, first, second, conflicts.scop, depth).is_empty()


def _writes(accesses: Iterable[Access]) -> tuple[Access, ...]:
    return tuple(a for a in accesses if a.kind == "write")


def _reads(accesses: Iterable[Access]) -> tuple[Access, ...]:
    return tuple(a for a in accesses if a.kind == "read")


# --------------------------------------------------------------------------------------------------
# The sections of arrays that a region, or a place in the middle of one, moves.
# --------------------------------------------------------------------------------------------------


def updates_of(asked: Question, name: str, whole: Section, uses: list[Use]) -> list[Update] | Declined:
    """Transfers where the host uses an array, of which `whole` is on the device; or the reason why it
    cannot."""
    found: list[Update] = []
    for use in uses:
        if not use.run.braced:
            return Declined(
                f"The host uses `{name}` under a condition, between the parallel loops: "
                "it cannot be moved just there."
            )
        directions: tuple[tuple[Literal["host", "device"], tuple[Access, ...]], ...]
        directions = (("host", use.fetched), ("device", use.sent))
        for to, accesses in directions:
            part = joint_section(asked, accesses, use.place) if accesses else None
            if accesses and (part is None or not _is_part(asked, part, whole, use.place)):
                return Declined(
                    f"The host uses `{name}` between the parallel loops, "
                    "and how much of it cannot be written down there."
                )
            if part is not None:
                found.append(Update(use.place, to, part.text))
    return found


def _is_part(asked: Question, part: Section, whole: Section, place: Stretch) -> bool:
    """True if a section at some place is surely a part of the region's."""
    if part.rows is None or whole.rows is None:
        return part.text == whole.text
    return part.rows.intersect_params(entered(asked.subject, asked.scop, place)).is_subset(whole.rows)


def is_filled_by(asked: Question, use: Use) -> bool:
    """True if a run of the host surely writes all of the section around its writes."""
    part = joint_section(asked, use.writes, use.place)
    sure = [a for a in use.writes if asked.conflicts.certain(a)]
    return part is not None and fills(asked, part, sure, use.place)


def joint_section(asked: Question, accesses: Sequence[Access], place: Stretch) -> Section | None:
    """A common section for all members of an array of structures."""
    by_memory: dict[str, list[Access]] = {}
    for access in accesses:
        by_memory.setdefault(access.memory.name, []).append(access)
    parts = [section(asked.subject, asked.scop, each, place) for each in by_memory.values()]
    texts = {part.text for part in parts if part is not None}
    if None in parts or len(texts) != 1:
        return None
    assumed = any(part.assumed for part in parts if part is not None)
    rows = parts[0].rows if parts[0] is not None else None
    return parts[0] if len(parts) == 1 else Section(texts.pop(), None, assumed, rows)


def fills(asked: Question, part: Section, sure: list[Access], place: Stretch) -> bool:
    """True if one run of the code surely writes all of the section, for all sizes."""
    if part.elements is None or not sure:
        return False
    written = in_each_run(asked.subject, asked.scop, touched(asked.scop, sure, place), place)
    return part.elements.intersect_params(entered(asked.subject, asked.scop, place)).is_subset(written)


# --------------------------------------------------------------------------------------------------
# Data transfers: the host's arrays that a device needs, and the device's results that the host
# needs.
#
# An array comes in if some element may be read that the region has not written before, and goes out
# if it is written and needed afterwards. An array that goes out without having come in must be
# written entirely, for all sizes: otherwise elements that were never touched would overwrite the
# host's.
# --------------------------------------------------------------------------------------------------


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
            return f"What the host does with `{name}` between the parallel loops is only partly known."
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
    after = live_after_loops(asked.subject.function)[asked.last.ordinal]
    led = any(a.memory.pointer is not None for a in accesses)
    return variable.name in after or "*" in after or variable.storage != "local" or led


def _is_exposed(conflicts: Conflicts, read: Access, writes: list[Access], depth: int) -> bool:
    """True if a read may see an element that no write of the region, `depth` loops deep, has set."""
    same = [a for a in writes if a.exact and a.memory is read.memory]
    return not covered(conflicts, read, same, depth)
