"""Elements of arrays that two parts of a parallel region use in two threads, one of them writing: nothing
keeps these in order."""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl

from polylsp.analysis.conflicts import Conflict, Conflicts, same_iteration
from polylsp.analysis.constructs import within
from polylsp.analysis.effects import walk
from polylsp.analysis.logical import numbered_alike, numbered_first
from polylsp.analysis.parallel_regions import ParallelRegion
from polylsp.analysis.phases import Part
from polylsp.analysis.races import happens_always
from polylsp.analysis.regions import Nest
from polylsp.analysis.witness import meeting
from polylsp.model.directive import Schedule
from polylsp.model.program import Loop
from polylsp.model.scop import Access, ScopStatement
from polylsp.model.verdict import Witness

ModelOf = Callable[[int], tuple[Nest, Conflicts] | None]

_PARAMETER, _IN, _OUT = isl.dim_type.param, isl.dim_type.in_, isl.dim_type.out


def array_meeting(
    region: ParallelRegion, first: Part, second: Part, model_of: ModelOf, around: Loop | None = None
) -> Witness | None:
    """Accesses of one element, one in each part, that surely happen in two threads with nothing between;
    the second in the next round of the loop `around` them, if that is asked."""
    loops = [s for part in (first, second) for s in walk(*part.statements) if isinstance(s, Loop)]
    model = model_of(loops[0].ordinal) if loops else None
    if model is None or any(o not in model[0].scop.loops for o in (one.ordinal for one in loops)):
        return None
    conflicts = model[1]
    writers = {a.memory.name for a in conflicts.scop.accesses if a.kind == "write"}
    before, after = (
        [a for a in conflicts.scop.accesses if within(a.site, p.site) and a.memory.name in writers]
        for p in (first, second)
    )
    for source in before:
        for sink in after:
            if source.memory.name != sink.memory.name or "write" not in (source.kind, sink.kind):
                continue
            found = _conflict(region, conflicts, (first, source), (second, sink), around)
            if found is not None:
                return meeting(conflicts, found)
    return None


def _conflict(
    region: ParallelRegion,
    conflicts: Conflicts,
    first: tuple[Part, Access],
    second: tuple[Part, Access],
    around: Loop | None,
) -> Conflict | None:
    """The pairs of instances in which two accesses surely meet in two threads; `None` where it is not
    sure."""
    (_, source), (_, sink) = first, second
    if not all(_is_known(region, conflicts, a) for a in (source, sink)):
        return None
    excluded = [region.sharing.construct.exclusion(a.site) for a in (source, sink)]
    if None not in excluded and excluded[0] == excluded[1]:
        return None
    ends = conflicts.statement(source), conflicts.statement(sink)
    shared = once = _shared(*ends)
    pairs = conflicts.same_element(source, sink)
    if around is not None:
        if around.ordinal not in ends[0].loops[:shared]:
            return None
        once = ends[0].loops.index(around.ordinal)
        shared = once + 1
        pairs = _next_round(pairs, once, conflicts.scop.loops[around.ordinal].step)
    pairs = same_iteration(pairs, once)
    apart = _in_two_threads(conflicts, pairs, (first[0], ends[0]), (second[0], ends[1]), shared)
    if apart is None or apart.is_empty():
        return None
    always = happens_always(conflicts, apart.params(), ends, once)
    return Conflict(source, sink, apart, True) if always else None


def _next_round(pairs: isl.Map, depth: int, step: int) -> isl.Map:
    """Of `pairs`, those of which the second is one round later in the loop at `depth`."""
    ins, outs = (
        [f"{letter}{k}" for k in range(pairs.dim(kind))] for letter, kind in (("a", _IN), ("b", _OUT))
    )
    later = isl.Map(
        f"{{ [{', '.join(ins)}] -> [{', '.join(outs)}] : {outs[depth]} = {ins[depth]} + {step} }}"
    )
    for kind in (_IN, _OUT):
        later = later.set_tuple_name(kind, pairs.get_tuple_name(kind))
    return pairs.intersect(later)


def _is_known(region: ParallelRegion, conflicts: Conflicts, access: Access) -> bool:
    """Whether an access surely happens, to memory that the threads share, at an element that is the same
    in all of them."""
    statement = conflicts.statement(access)
    if not conflicts.certain(access) or region.sharing.is_out_of_reach(access.memory, access.site):
        return False
    if any(conflicts.scop.loops[o].obstacles for o in statement.loops):
        return False
    for k, name in enumerate(access.relation.get_var_names(_PARAMETER)):
        spelling = conflicts.scop.parameters.get(name or "", name or "")
        own = name in conflicts.scop.derived or region.sharing.varies(spelling)
        if own and access.relation.involves_dims(_PARAMETER, k, 1):
            return False
    return True


def _in_two_threads(
    conflicts: Conflicts,
    pairs: isl.Map,
    first: tuple[Part, ScopStatement],
    second: tuple[Part, ScopStatement],
    shared: int,
) -> isl.Map | None:
    """Of `pairs`, those that two threads may run at once; `None` where schedules do not tell."""
    loops = [part.loop for part, _ in (first, second)]
    for loop, (_, statement) in zip(loops, (first, second), strict=True):
        if loop is not None and statement.loops[shared : shared + 1] != (loop.ordinal,):
            return None
    kinds = [_schedule(part) for part, _ in (first, second)]
    if "chunks" in kinds:
        return None
    if "any" in kinds or None in (first[0].directive, second[0].directive):
        return pairs
    if loops[0] is not None and loops[1] is not None:
        ends = (loops[0].ordinal, first[1]), (loops[1].ordinal, second[1])
        return pairs.subtract(numbered_alike(conflicts, *ends))
    if first[0].who == "first" and loops[1] is not None:
        return pairs.subtract_range(numbered_first(conflicts, loops[1].ordinal, second[1]))
    if second[0].who == "first" and loops[0] is not None:
        return pairs.subtract_domain(numbered_first(conflicts, loops[0].ordinal, first[1]))
    return pairs


def _schedule(part: Part) -> str:
    """How a loop's iterations go to threads: as `equal` shares in order, in `chunks` of a fixed size, or to
    `any` thread."""
    clauses = part.directive.clauses if part.directive is not None and part.loop is not None else ()
    for clause in clauses:
        if isinstance(clause, Schedule):
            if clause.kind in ("dynamic", "guided"):
                return "any"
            return "chunks" if clause.chunk else "equal"
    return "equal"


def _shared(source: ScopStatement, sink: ScopStatement) -> int:
    """How many loops stand around both."""
    count = 0
    while (
        source.loops[count : count + 1] and source.loops[count : count + 1] == sink.loops[count : count + 1]
    ):
        count += 1
    return count
