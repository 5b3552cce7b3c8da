"""Unordered accesses to elements of arrays by two parts of a parallel region in two threads, one of them
writing."""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl

from polylsp.analysis.calls import with_calls
from polylsp.analysis.conflicts import Conflict, Conflicts, same_iteration
from polylsp.analysis.data_sharing import DataSharing
from polylsp.analysis.effects import effects, walk
from polylsp.analysis.logical import numbered_alike, numbered_first
from polylsp.analysis.memory import to_scop
from polylsp.analysis.obstacles import obstacle
from polylsp.analysis.order import is_guarded
from polylsp.analysis.phases import Part
from polylsp.analysis.races import happens_always
from polylsp.analysis.regions import Nest, start_values
from polylsp.analysis.scope import Scope
from polylsp.analysis.state import Parameters
from polylsp.analysis.summaries import Calls
from polylsp.analysis.walk import walk_region
from polylsp.analysis.witness import meeting
from polylsp.model.directive import Schedule
from polylsp.model.program import Block, Loop, Site, Statement, Variable, within
from polylsp.model.scop import Access, ScopStatement
from polylsp.model.verdict import Witness

ModelOf = Callable[[int], tuple[Nest, Conflicts] | None]

_PARAMETER, _IN, _OUT = isl.dim_type.param, isl.dim_type.in_, isl.dim_type.out


def array_meeting(
    sharing: DataSharing,
    first: Part,
    second: Part,
    model_of: ModelOf,
    reaches: Callable[[Variable], bool] = lambda _: True,
    around: Loop | None = None,
) -> Witness | None:
    """Accesses of one element, one in each part, that surely happen in two threads without synchronisation
    between; with a loop `around` them, the second in its next round. `reaches`: both parts use one memory of
    a variable."""
    conflicts = _model(sharing, first, second, model_of)
    if conflicts is None:
        return None
    writers = {a.memory.name for a in conflicts.scop.accesses if a.kind == "write"}
    calls, known = effects(*first.statements, *second.statements).calls, sharing.directed.calls
    plain = [
        a
        for a in conflicts.scop.accesses
        if a.memory.name in writers and not is_guarded(a.site, calls, known)
    ]
    before, after = ([a for a in plain if within(a.site, p.site)] for p in (first, second))
    for source in before:
        for sink in after:
            if source.memory.name != sink.memory.name or "write" not in (source.kind, sink.kind):
                continue
            if not reaches(source.memory.variable):
                continue
            found = _conflict(sharing, conflicts, (first, source), (second, sink), around)
            if found is not None:
                return meeting(conflicts, found)
    return None


def _model(sharing: DataSharing, first: Part, second: Part, model_of: ModelOf) -> Conflicts | None:
    """A model with the accesses of two parts."""
    loops = [s for part in (first, second) for s in walk(*part.statements) if isinstance(s, Loop)]
    if not loops:
        return _straight(first.statements, second.statements, sharing.directed.calls)
    model = model_of(loops[0].ordinal)
    if model is None or any(o not in model[0].scop.loops for o in (one.ordinal for one in loops)):
        return None
    return model[1]


def _straight(first: tuple[Statement, ...], second: tuple[Statement, ...], calls: Calls) -> Conflicts | None:
    """The model of two pieces without loops, of which the second sees no number that the first one sets."""
    both = Block((*first, *second))
    if obstacle(both, calls) is not None:
        return None
    if not effects(*first).scalars.isdisjoint(v.name for v in effects(*second).variables):
        return None
    parameters, own = Parameters(), with_calls(effects(both), calls)
    scope = Scope(parameters, {}, own, isl.Set("{ [] }"), calls=calls)
    start_values(scope, own)
    region = walk_region((both,), scope)
    if region.lost_pointers or region.tainted:
        return None
    return Conflicts(to_scop(region, isl.Set("{ : }"), parameters, Site(0, 0), frozenset()))


def _conflict(
    sharing: DataSharing,
    conflicts: Conflicts,
    first: tuple[Part, Access],
    second: tuple[Part, Access],
    around: Loop | None,
) -> Conflict | None:
    """The pairs of instances in which two accesses surely meet in two threads; `None` where it is not
    sure."""
    (_, source), (_, sink) = first, second
    if not all(_is_known(sharing, conflicts, a) for a in (source, sink)):
        return None
    before, after = (sharing.construct.exclusions(a.site) for a in (source, sink))
    if not before.isdisjoint(after):
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


def _is_known(sharing: DataSharing, conflicts: Conflicts, access: Access) -> bool:
    """True if an access surely happens, to memory that the threads share, at an element that is the same
    in all of them."""
    statement = conflicts.statement(access)
    if not conflicts.certain(access) or sharing.is_out_of_reach(access.memory, access.site):
        return False
    if any(conflicts.scop.loops[o].obstacles for o in statement.loops):
        return False
    for k, name in enumerate(access.relation.get_var_names(_PARAMETER)):
        spelling = conflicts.scop.parameters.get(name or "", name or "")
        own = name in conflicts.scop.derived or sharing.varies(spelling)
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
    """Distribution of iterations to threads: as `equal` shares in order, in `chunks` of a fixed size, or to
    `any` thread."""
    clauses = part.directive.clauses if part.directive is not None and part.loop is not None else ()
    for clause in clauses:
        if isinstance(clause, Schedule):
            if clause.kind in ("dynamic", "guided"):
                return "any"
            return "chunks" if clause.chunk else "equal"
    return "equal"


def _shared(source: ScopStatement, sink: ScopStatement) -> int:
    """Number of loops around both."""
    count = 0
    while (
        source.loops[count : count + 1] and source.loops[count : count + 1] == sink.loops[count : count + 1]
    ):
        count += 1
    return count
