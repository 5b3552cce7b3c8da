"""Data races: two iterations that run at once use one element, one of them writes it, surely so and at
whatever values the parameters have, as long as the loops run often enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import islpy as isl

from polylsp.analysis.conflicts import Conflict, Conflicts
from polylsp.analysis.constructs import Construct, within
from polylsp.analysis.data_sharing import DataSharing
from polylsp.analysis.effects import nodes, walk
from polylsp.analysis.order import keeps_no_order
from polylsp.analysis.witness import value_based
from polylsp.model.program import Call, Loop
from polylsp.model.scop import Access, Memory, ScopStatement

_PARAMETER, _IN, _OUT = isl.dim_type.param, isl.dim_type.in_, isl.dim_type.out

# Of more conflicts on one memory than these the rest is not looked at: one that is proven is enough.
_MOST = 120

_OFTEN = (8, 4, 2, 1)
"""How often a loop has to run for a race to count: a distance that a caller may keep to is no proof."""


@dataclass(frozen=True)
class Racing:
    """A memory on which iterations race: the loop (ordinal) whose iterations they are, and the
    conflicts that are a race."""

    memory: Memory
    ordinal: int
    proven: tuple[Conflict, ...]


def races(conflicts: Conflicts, sharing: DataSharing, known: frozenset[str]) -> Iterator[Racing]:
    """The memories on which iterations race, each once, but for the scalars (unique names) whose values
    are `known` in closed form."""
    construct = sharing.construct
    seen: set[str] = set()
    for loop in construct.loops:
        for memory in conflicts.written_in(loop.ordinal):
            if memory.name in seen or (memory.variable.name in known and not memory.shape):
                continue
            carried = islice(conflicts.carried(memory, loop.ordinal), _MOST)
            proven = tuple(proven_races(conflicts, sharing, carried, loop.ordinal))
            if proven:
                seen.add(memory.name)
                yield Racing(memory, loop.ordinal, proven)


def proven_races(
    conflicts: Conflicts, sharing: DataSharing, carried: Iterable[Conflict], ordinal: int
) -> Iterator[Conflict]:
    """Of the conflicts that a loop carries, those that are a race, with the pairs that run at once."""
    calls = calls_in(sharing.construct.loop)
    for conflict in carried:
        ends = (conflict.source, conflict.sink)
        if not conflict.certain or any(_is_hidden(sharing, e, calls) for e in ends):
            continue
        if any(sharing.is_out_of_reach(e.memory, e.site) for e in ends):
            continue
        excluded = [sharing.construct.exclusion(e.site) for e in ends]
        if None not in excluded and excluded[0] == excluded[1]:
            continue
        if sharing.construct.in_order(conflict.source.site, conflict.sink.site):
            continue
        at_once = _at_once(conflicts, sharing.construct, conflict, ordinal)
        if at_once is None or any(_differs_by_thread(conflicts, sharing, e) for e in ends):
            continue
        if is_unconditional(conflicts, at_once, ordinal):
            yield at_once


def most_telling(conflicts: Conflicts, proven: tuple[Conflict, ...], ordinal: int) -> Conflict:
    """A value that is passed on, before a mere reuse of memory."""
    for conflict in proven:
        if conflict.kind == "flow":
            passed = value_based(conflicts, conflict, ordinal)
            if not passed.is_empty():
                return Conflict(conflict.source, conflict.sink, passed, True)
    return next((c for c in proven if c.kind == "anti"), proven[0])


def is_unconditional(conflicts: Conflicts, conflict: Conflict, ordinal: int) -> bool:
    """Whether the two ends meet at all parameter values at which the loops around them run often and no
    access leaves its array."""
    ends = (conflicts.statement(conflict.source), conflicts.statement(conflict.sink))
    outer = ends[0].loops.index(ordinal)
    return happens_always(conflicts, conflict.relation.params(), ends, outer)


def happens_always(
    conflicts: Conflicts, where: isl.Set, statements: Iterable[ScopStatement], outer: int
) -> bool:
    """Whether `where` has all parameter values at which the loops around the statements run often; the
    `outer` first of these need but one iteration."""
    often = conflicts.defined(hints=True)
    for statement in statements:
        for depth, one in enumerate(statement.loops):
            often = often.intersect(_runs_often(conflicts, one, depth < outer))
    # Code that never runs so often, but outside of what its arrays hold, proves nothing.
    return not often.is_empty() and bool(often.is_subset(where))


def loops_surely_run(conflicts: Conflicts, outer: int, inner: int) -> bool:
    """Whether two iterations of loop `outer` come to an iteration of loop `inner` inside of it, at all
    parameter values at which these loops run often."""
    scop = conflicts.scop
    around = next((s.loops for s in scop.statements if outer in s.loops and inner in s.loops), None)
    if around is None:
        return False
    first, last = around.index(outer), around.index(inner)
    chain = around[first : last + 1]
    if any(scop.loops[one].obstacles for one in chain):
        return False
    reached = scop.loops[inner].domain.project_out(isl.dim_type.set, first + 1, last - first)
    often = conflicts.defined(hints=True).intersect(scop.loops[outer].domain.params())
    for one in chain:
        often = often.intersect(_runs_often(conflicts, one, False))
    return not often.is_empty() and bool(often.is_subset(_apart(reached, first, 1)))


def _runs_often(conflicts: Conflicts, one: int, once: bool) -> isl.Set:
    """The parameter values at which a loop has many iterations, or as many as it ever has; or only one."""
    domain = conflicts.scop.loops[one].domain
    depth = domain.dim(isl.dim_type.set) - 1
    if once:
        return domain.params()
    step = abs(conflicts.scop.loops[one].step)
    found = domain.params()
    for count in _OFTEN:
        found = _apart(domain, depth, (count - 1) * step)
        if not found.is_empty():
            break
    return found


def _apart(domain: isl.Set, depth: int, least: int) -> isl.Set:
    """The parameter values at which two iterations of the innermost loop lie so far apart."""
    ins, outs = ([f"{letter}{k}" for k in range(depth + 1)] for letter in "ab")
    same = [f"{a} = {b}" for a, b in zip(ins[:-1], outs[:-1], strict=True)]
    formula = " and ".join([*same, f"{outs[-1]} - {ins[-1]} >= {least}"])
    pairs = isl.Map(f"{{ [{', '.join(ins)}] -> [{', '.join(outs)}] : {formula} }}")
    bare = domain.reset_tuple_id() if domain.has_tuple_id() else domain
    return pairs.intersect_domain(bare).intersect_range(bare).params()


def calls_in(loop: Loop) -> list[Call]:
    """The calls in a loop that are more than a value of their arguments."""
    return [n for s in walk(loop) for n in nodes(s) if isinstance(n, Call) and not n.pure]


def _is_hidden(sharing: DataSharing, access: Access, calls: list[Call]) -> bool:
    """Whether an access happens in a function that may keep threads in order, in step with other lanes, or
    to a variable of that function's own, of which each thread may have one."""
    around = [call for call in calls if within(access.site, call.site)]
    if not around:
        return False
    if sharing.construct.mode == "lanes" or access.memory.variable.storage == "static":
        return True
    return not all(keeps_no_order(call, sharing.directed.calls) for call in around)


def _differs_by_thread(conflicts: Conflicts, sharing: DataSharing, access: Access) -> bool:
    """Whether the element depends on what each thread has for itself before the loop."""
    relation = access.relation.gist_domain(conflicts.statement(access).domain)
    for k, name in enumerate(relation.get_var_names(_PARAMETER)):
        spelling = conflicts.scop.parameters.get(name or "", name or "")
        if not relation.involves_dims(_PARAMETER, k, 1):
            continue
        worked_out = sharing.is_region and name in conflicts.scop.derived
        if worked_out or sharing.varies(spelling):
            return True
    return False


# --- Lanes -------------------------------------------------------------------------------


def _at_once(conflicts: Conflicts, construct: Construct, conflict: Conflict, ordinal: int) -> Conflict | None:
    """The pairs of a conflict that the construct does not keep in order."""
    if construct.doacross is not None:
        depth = conflicts.statement(conflict.source).loops.index(ordinal)
        sites = conflict.source.site, conflict.sink.site
        pairs = construct.doacross.unordered(conflict.relation, depth, *sites)
        return None if pairs.is_empty() else Conflict(conflict.source, conflict.sink, pairs, conflict.certain)
    if construct.mode != "lanes":
        return conflict
    source, sink = conflicts.statement(conflict.source), conflicts.statement(conflict.sink)
    depth = source.loops.index(ordinal) + 1
    if len(source.loops) > depth or len(sink.loops) > depth:
        return None
    # Lanes go through the statements in step: what comes later in the text happens later in all of them.
    later = sink.position[depth:] > source.position[depth:]
    same = source is sink and conflict.kind != "flow"
    if (
        later
        or same
        or (conflict.source.memory.dimensions == conflict.source.memory.scoped and source is not sink)
    ):
        return None
    near = conflict.relation
    if construct.safelen is not None:
        near = _nearer(near, depth - 1, construct.safelen * abs(conflicts.scop.loops[ordinal].step))
    return None if near.is_empty() else Conflict(conflict.source, conflict.sink, near, conflict.certain)


def _nearer(pairs: isl.Map, depth: int, limit: int) -> isl.Map:
    """Of `pairs`, those whose iterators at `depth` are less than `limit` apart."""
    ins, outs = (
        [f"{letter}{k}" for k in range(pairs.dim(kind))] for letter, kind in (("a", _IN), ("b", _OUT))
    )
    low = f"{outs[depth]} - {ins[depth]} < {limit} and {ins[depth]} - {outs[depth]} < {limit}"
    near = isl.Map(f"{{ [{', '.join(ins)}] -> [{', '.join(outs)}] : {low} }}")
    near = near.set_tuple_name(_IN, pairs.get_tuple_name(_IN)).set_tuple_name(
        _OUT, pairs.get_tuple_name(_OUT)
    )
    return pairs.intersect(near)
