"""Dependences among leaves to preserve: on memory, and on integers and pointers that have closed forms and
thus no memory in the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polylsp.analysis.conflicts import Conflicts, before
from polylsp.analysis.effects import walk
from polylsp.analysis.induction import own_jumps
from polylsp.analysis.liveness import Live, live_after_loops
from polylsp.analysis.private import covered
from polylsp.analysis.verdicts import assumptions
from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.carried import scalar_dependences
from polylsp.codegen.transform.leaves import End, Leaf, LeafDependence, Leaves, counter, leaf_at
from polylsp.model.action import Declined
from polylsp.model.program import Jump
from polylsp.model.scop import Access, Memory, Scop, ScopStatement

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


def leaves_of(subject: Subject, leaves: Sequence[Leaf]) -> Leaves | Declined:
    """Dependences among leaves that are all of the bodies of the opened loops, or the reason why they are
    undetermined. Loops that follow each other may be opened together; one iteration of those around is
    meant."""
    roots = tuple(dict.fromkeys(leaf.loops[0] for leaf in leaves))
    found = subject.nest(roots[0])
    if found is None or any(root not in found[1].scop.loops for root in roots):
        return Declined("These loops are not understood well enough to be moved.")
    conflicts = Conflicts(found[1].scop)
    opened = sorted({o for leaf in leaves for o in leaf.loops})
    domains = [conflicts.scop.loops[o].domain for o in opened]
    if any(not each.dim(isl.dim_type.set) or each.is_empty() for each in domains):
        return Declined("One of these loops never runs.")
    obstacle = _obstacle(subject, conflicts, roots) or _jumps(subject, opened)
    if obstacle is not None:
        return obstacle
    home = _homes(subject, conflicts.scop, leaves, opened)
    if isinstance(home, Declined):
        return home
    after = live_after_loops(subject.function, ())
    alive = frozenset[str]().union(*(after[root] for root in roots))
    memory = tuple(_memory_dependences(conflicts, leaves, home, alive))
    scalars = scalar_dependences(subject, conflicts.scop, leaves, alive)
    if isinstance(scalars, Declined):
        return scalars
    inside = sorted({o for n in home for o in conflicts.scop.statements[n].loops if o >= opened[0]})
    assumed = dict.fromkeys(a for o in inside for a in assumptions(conflicts, o, set(), moved=True))
    return Leaves(subject, conflicts.scop, tuple(leaves), (*memory, *scalars), tuple(assumed))


def _obstacle(subject: Subject, conflicts: Conflicts, roots: Sequence[int]) -> Declined | None:
    for ordinal, loop in conflicts.scop.loops.items():
        inside = _around(subject, conflicts.scop, ordinal)
        if loop.obstacles and not inside.isdisjoint(roots):
            return Declined(f"These loops cannot be moved: {loop.obstacles[0].message}.")
        # The model has no accesses of `errno` by the functions that set it.
        if loop.thread_bound is not None and not inside.isdisjoint(roots):
            return Declined(f"These loops cannot be moved: {loop.thread_bound.message}.")
    for stray in (access for root in roots for access in conflicts.strays(root)):
        return Declined(f"These loops cannot be moved: `{stray.text}` leaves its declared array.")
    return None


def _around(subject: Subject, scop: Scop, ordinal: int) -> set[int]:
    """A loop and those around it; also one that an array statement is, which is none of the source."""
    if any(each.ordinal == ordinal for each in subject.facts.loops):
        return {ordinal, *(one.ordinal for one in subject.around(ordinal))}
    return {o for s in scop.statements if ordinal in s.loops for o in s.loops[: s.loops.index(ordinal) + 1]}


def _jumps(subject: Subject, opened: Sequence[int]) -> Declined | None:
    """Jumps out of an iteration would go elsewhere if other loops stood around it."""
    for ordinal in opened:
        loop = subject.loop(ordinal)
        leaving = [s for s in walk(loop) if isinstance(s, Jump) and s.kind == "return"]
        for jump in (*own_jumps(loop.body), *leaving):
            line = subject.text.count("\n", 0, subject.span(jump.site).start) + 1
            return Declined(f"The `{jump.kind}` in line {line} keeps the loops around it where they are.")
    return None


def _homes(
    subject: Subject, scop: Scop, leaves: Sequence[Leaf], opened: Sequence[int]
) -> dict[int, int] | Declined:
    """The leaf of each statement of the model."""
    home: dict[int, int] = {}
    counters = {counter(subject, o) for o in opened}
    for number, statement in enumerate(scop.statements):
        if set(opened).isdisjoint(statement.loops):
            continue
        leaf = leaf_at(subject, leaves, statement.site)
        if leaf is not None and set(leaves[leaf].loops) <= set(statement.loops):
            home[number] = leaf
            continue
        others = [a for a in scop.accesses if a.statement == number and a.memory.variable not in counters]
        if others:
            return Declined(f"`{others[0].text}` in the header of a loop may change while the loops run.")
    return home


def _memory_dependences(
    conflicts: Conflicts, leaves: Sequence[Leaf], home: dict[int, int], alive: Live
) -> Iterator[LeafDependence]:
    inside = [a for a in conflicts.scop.accesses if a.statement in home]
    own = {a.memory.name for a in inside if _is_own(conflicts, a.memory, leaves, home, alive)}
    for first in inside:
        for second in inside:
            if first.memory is not second.memory or {first.kind, second.kind} == {"read"}:
                continue
            if first.memory.name in own:
                continue
            a, b = home[first.statement], home[second.statement]
            pairs = _instances(conflicts, first, second, leaves[a], leaves[b])
            if a == b:
                pairs = pairs.subtract(isl.Map.identity(pairs.get_space()))
            if not pairs.is_empty():
                ends = End(first.text, first.site), End(second.text, second.site)
                yield LeafDependence(
                    a, b, pairs, *ends, first.update is not None and first.update == second.update
                )


def _instances(conflicts: Conflicts, first: Access, second: Access, source: Leaf, sink: Leaf) -> isl.Map:
    """The pairs of instances of leaves that the conflict of two accesses joins."""
    one, other = conflicts.statement(first), conflicts.statement(second)
    outer = one.loops.index(source.loops[0])
    pairs = before(conflicts.same_element(first, second), one, other, conflicts.scop, outer)
    pairs = pairs.intersect_params(conflicts.defined())
    pairs = _opened(_opened(pairs, _IN, outer, source, one), _OUT, outer, sink, other)
    return pairs.coalesce()


def _opened(pairs: isl.Map, kind: isl.dim_type, outer: int, leaf: Leaf, statement: ScopStatement) -> isl.Map:
    last = outer + len(leaf.loops)
    pairs = pairs.project_out(kind, last, len(statement.loops) - last).project_out(kind, 0, outer)
    return pairs.reset_tuple_id(kind) if pairs.has_tuple_id(kind) else pairs


def _is_own(
    conflicts: Conflicts, memory: Memory, leaves: Sequence[Leaf], home: dict[int, int], alive: Live
) -> bool:
    """True if each instance of a leaf writes a variable before it reads it, and no later code reads it."""
    variable = memory.variable
    if memory.pointer is not None or memory.fresh or memory.follows_pointers:
        return False
    if variable.name in alive or "*" in alive or variable.escapes or variable.storage in ("global", "static"):
        return False
    inside = [a for a in conflicts.scop.accesses if a.statement in home and a.memory is memory]
    for read in (a for a in inside if a.kind == "read"):
        leaf = leaves[home[read.statement]]
        depth = conflicts.statement(read).loops.index(leaf.loops[-1]) + 1
        same = [a for a in inside if home[a.statement] == home[read.statement]]
        if not covered(conflicts, read, [a for a in same if a.kind == "write" and a.exact], depth):
            return False
    return True
