"""From conflicts to a verdict: what a loop carries, what a copy per iteration removes, what may be
reassociated, and on what all this rests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

import islpy as isl

from polylsp.analysis.aliases import overlap_assumptions
from polylsp.analysis.conflicts import Conflict, Conflicts
from polylsp.analysis.formers import former_reads
from polylsp.analysis.private import is_copied, last_iteration_writes_all, may_have_copy
from polylsp.analysis.scalars import LoopScalars
from polylsp.analysis.spelling import spell
from polylsp.analysis.witness import dependence, value_based, witness
from polylsp.model.program import Array
from polylsp.model.rejection import Rejection
from polylsp.model.scop import Access, Memory
from polylsp.model.verdict import (
    Assumption,
    Parallel,
    Reduction,
    ReductionOperator,
    Sequential,
    Unknown,
    Verdict,
)

# Of more conflicts on one memory than these the rest is not looked at: they are all reasons for the same.
_MOST = 120


def verdict(conflicts: Conflicts, ordinal: int, scalars: LoopScalars) -> Verdict:
    """What is known of one loop of a nest."""
    loop = conflicts.scop.loops[ordinal]
    if loop.obstacles:
        return Unknown(loop.obstacles[0])
    if scalars.obstacle is not None:
        return Unknown(scalars.obstacle)
    found = _Findings()
    for memory in conflicts.written_in(ordinal):
        if memory.variable.name in scalars.known and not memory.shape:
            continue
        _classify(conflicts, memory, ordinal, scalars, found)
    if found.obstacles:
        return _obstructed(conflicts, ordinal, found.obstacles, scalars)
    return _parallel(conflicts, ordinal, scalars, found)


@dataclass
class _Findings:
    """What was found for the memories that a loop writes."""

    private: list[str] = field(default_factory=list)
    lastprivate: list[str] = field(default_factory=list)
    reductions: list[Reduction] = field(default_factory=list)
    obstacles: list[Conflict] = field(default_factory=list)
    sizes: list[Assumption] = field(default_factory=list)


def _classify(
    conflicts: Conflicts, memory: Memory, ordinal: int, scalars: LoopScalars, found: _Findings
) -> None:
    accesses = conflicts.accesses(memory, ordinal)
    if not conflicts.meet(accesses, accesses, ordinal):
        return
    name = memory.variable.source_name
    update = reassociable(conflicts, accesses, ordinal)
    if update is not None:
        found.reductions.append(Reduction(update, memory.path, memory.dimensions > memory.scoped))
        return
    if may_have_copy(conflicts, memory, ordinal):
        if not scalars.live(memory.variable.name):
            found.private.append(name)
            return
        if last_iteration_writes_all(conflicts, memory, ordinal):
            found.lastprivate.append(name)
            return
    carried = possible(list(islice(conflicts.carried(memory, ordinal), _MOST)), conflicts.defined())
    obstacles = possible(carried, conflicts.defined(hints=True))
    found.obstacles += obstacles
    for conflict in carried:
        if conflict not in obstacles:
            texts, left = conflicts.counted(conflict.relation.params())
            found.sizes += [_not_negative(text) for text in texts]
            found.sizes += [_declared_size(m) for m in conflicts.beyond_hints(left)]


def reassociable(conflicts: Conflicts, accesses: list[Access], ordinal: int) -> ReductionOperator | None:
    """The operator of updates among which all conflicts are, if they are all updates of one kind."""
    updates: set[ReductionOperator] = {a.update for a in accesses if a.update is not None}
    for update in sorted(updates):
        others = [a for a in accesses if a.update != update]
        if not conflicts.meet(others, accesses, ordinal) and not conflicts.meet(accesses, others, ordinal):
            return update
    return None


def possible(carried: list[Conflict], values: isl.Set) -> list[Conflict]:
    """The conflicts that there are at some of these values of parameters."""
    return [c for c in carried if not c.relation.intersect_params(values).is_empty()]


def _declared_size(memory: Memory) -> Assumption:
    of_type, name = memory.variable.type, memory.variable.source_name
    extent = spell(of_type.extent) if isinstance(of_type, Array) and of_type.extent is not None else ""
    text = f"the first subscript of `{name}` stays below the declared `{extent}`"
    return Assumption("in-bounds", (name, extent), text)


def _not_negative(text: str) -> Assumption:
    return Assumption("in-bounds", (text,), f"`{text}` is not negative")


def _parallel(conflicts: Conflicts, ordinal: int, scalars: LoopScalars, found: _Findings) -> Parallel:
    inductions = tuple(sorted(scalars.inductions, key=lambda i: i.variable))
    counters = [Reduction("+", name) for name in scalars.counters]
    reductions = {r.variable: r for r in (*found.reductions, *counters) if r.variable not in scalars.closed}
    last = {*found.lastprivate, *scalars.lastprivate} - reductions.keys()
    private = {*found.private, *scalars.private} - last - reductions.keys()
    return Parallel(
        (*assumptions(conflicts, ordinal, private | last), *dict.fromkeys(found.sizes)),
        tuple(sorted(private)),
        tuple(sorted(last)),
        tuple(reductions.values()),
        inductions,
    )


def assumptions(conflicts: Conflicts, ordinal: int, copied: set[str]) -> tuple[Assumption, ...]:
    """What the verdict of a loop rests on."""
    scop = conflicts.scop
    accessed = {
        a.memory.name: a.memory
        for a in scop.accesses
        if ordinal in conflicts.statement(a).loops and not is_copied(a.memory, copied)
    }
    written = [m for m in conflicts.written_in(ordinal) if m.name in accessed]
    rows = {m.name for m in written if m.follows_pointers and _rows_differ(conflicts, m, ordinal)}
    around = {o for s in scop.statements if ordinal in s.loops for o in s.loops[: s.loops.index(ordinal)]}
    outer = [a for o in sorted(around) for a in scop.loops[o].assumptions if a.kind == "no-wrap"]
    own = scop.loops[ordinal].assumptions
    overlaps = overlap_assumptions(written, list(accessed.values()), rows)
    found = [*scop.inherited, *outer, *own, *overlaps]
    return tuple(dict.fromkeys(found))


def _rows_differ(conflicts: Conflicts, memory: Memory, ordinal: int) -> bool:
    """Whether the loop reaches a memory by more than one pointer."""
    accesses = conflicts.accesses(memory, ordinal)
    depth = conflicts.statement(accesses[0]).loops.index(ordinal)
    inner = {
        conflicts.scop.loops[o].dimension for a in accesses for o in conflicts.statement(a).loops[depth:]
    }
    return len({a.row for a in accesses}) > 1 or any(not a.row_dimensions.isdisjoint(inner) for a in accesses)


# --- What stands in the way --------------------------------------------------------------


def _obstructed(
    conflicts: Conflicts, ordinal: int, obstacles: list[Conflict], scalars: LoopScalars
) -> Verdict:
    proven = _proven(conflicts, [c for c in obstacles if c.certain], ordinal)
    carried = tuple(dependence(conflicts, c, ordinal) for c in _most_telling(obstacles))
    shown = None if proven is None else witness(conflicts, proven, ordinal)
    if shown is not None:
        former = former_reads(conflicts, obstacles, ordinal) if len(obstacles) < _MOST else ()
        return Sequential(shown, carried, former)
    return Unknown(_doubt(conflicts, obstacles[0]), _would_help(conflicts, obstacles, ordinal), carried)


def _rests_on_inputs(conflicts: Conflicts, conflict: Conflict) -> bool:
    """Whether the two ends meet whatever the values that the function computed before, or that are
    products of others: what is not known of these could keep the ends apart."""
    scop = conflicts.scop
    free = scop.derived | scop.products.keys()
    if not free:
        return True
    source, sink = conflicts.statement(conflict.source), conflicts.statement(conflict.sink)
    meeting = conflict.relation.gist_domain(source.domain).gist_range(sink.domain)
    names = [n or "" for n in meeting.get_var_names(isl.dim_type.param)]
    return not any(meeting.involves_dims(isl.dim_type.param, k, 1) for k, n in enumerate(names) if n in free)


def _proven(conflicts: Conflicts, certain: list[Conflict], ordinal: int) -> Conflict | None:
    """The most telling sure conflict: a value that is passed on, before a mere reuse of memory."""
    for conflict in certain:
        if conflict.kind == "flow" and _rests_on_inputs(conflicts, conflict):
            passed = value_based(conflicts, conflict, ordinal)
            if not passed.intersect_params(conflicts.defined(hints=True)).is_empty():
                return Conflict(conflict.source, conflict.sink, passed, True)
    reuses = sorted((c for c in certain if c.kind != "flow"), key=lambda c: c.kind != "anti")
    return next((c for c in reuses if _rests_on_inputs(conflicts, c)), None)


def _most_telling(obstacles: list[Conflict]) -> list[Conflict]:
    order = {"flow": 0, "anti": 1, "output": 2}
    return sorted(obstacles, key=lambda c: (not c.certain, order[c.kind]))[:8]


def _doubt(conflicts: Conflicts, conflict: Conflict) -> Rejection:
    """Why a possible conflict could not be decided."""
    write = conflict.source if conflict.source.kind == "write" else conflict.sink
    for access in (write, conflict.source, conflict.sink):
        if access.indirect:
            text = f"which element `{access.text}` is depends on data, so two iterations may use the same one"
            return Rejection("non-affine-subscript", access.site, text, "")
    for access in (write, conflict.source, conflict.sink):
        if conflicts.statement(access).guards:
            word = "written" if access.kind == "write" else "read"
            text = f"whether `{access.text}` is {word} depends on data"
            # An element of an array, or of a structure, cannot be declared anew.
            own = f"if each iteration uses its own `{access.memory.path}`, declare it inside the loop"
            advice = "" if access.memory.shape else own
            return Rejection("non-affine-condition", access.site, text, advice)
    text = f"`{write.text}` may be the same element in two iterations"
    return Rejection("non-affine-subscript", write.site, text, "")


def _would_help(conflicts: Conflicts, obstacles: list[Conflict], ordinal: int) -> tuple[Assumption, ...]:
    """That an index array has no repeated value, where nothing else is in the way."""
    texts = {a.text for c in obstacles for a in (c.source, c.sink)}
    writes = [c.source for c in obstacles if c.source.kind == "write" and c.source.indirect]
    if len(texts) != 1 or not writes:
        return ()
    index = _index_read(conflicts, writes[0])
    if index is None:
        return ()
    if not conflicts.order(conflicts.same_element(index, index), index, index, ordinal).is_empty():
        return ()
    name = index.memory.path
    return (Assumption("distinct-values", (name,), f"`{name}` has no repeated value"),)


def _index_read(conflicts: Conflicts, access: Access) -> Access | None:
    """The one array element that tells which element an indirect access uses."""
    inside = [
        a
        for a in conflicts.scop.accesses
        if a.statement == access.statement
        and a.kind == "read"
        and a is not access
        and a.memory is not access.memory
        and access.site.first <= a.site.first <= a.site.last <= access.site.last
    ]
    distinct = {a.text: a for a in inside}
    return next(iter(distinct.values())) if len(distinct) == 1 else None
