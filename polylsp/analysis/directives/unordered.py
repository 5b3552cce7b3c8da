"""Conflicts between unordered parts of one phase of a parallel region.

Variables, and elements with constant subscripts, are read off the syntax; arrays are compared by
their access relations. Each finding names the directive that should have separated the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflict, Conflicts, same_iteration
from polylsp.analysis.dependence.witness import meeting
from polylsp.analysis.directives.callee_state import called_accesses
from polylsp.analysis.directives.constructs import is_count
from polylsp.analysis.directives.data_sharing import point_of
from polylsp.analysis.directives.loop_forms import (
    in_next_chunk,
    in_one_thread,
    in_second_chunk,
    numbered_alike,
    numbered_first,
)
from polylsp.analysis.directives.parallel_regions import ParallelRegion, Part, Uniformity, phases, rounds
from polylsp.analysis.directives.races import DataSharing, happens_always, listed, reduced, related
from polylsp.analysis.directives.thread_order import is_guarded
from polylsp.analysis.scop.access_relations import to_scop
from polylsp.analysis.scop.call_effects import with_calls
from polylsp.analysis.scop.obstacles import obstacle
from polylsp.analysis.scop.regions import Nest, start_values
from polylsp.analysis.scop.summaries import Calls
from polylsp.analysis.scop.walk import walk_region
from polylsp.analysis.scop.walk_scope import Scope
from polylsp.analysis.scop.walk_state import Parameters
from polylsp.ir.directive import Directive, Schedule, Unordered, UnorderedKind
from polylsp.ir.effects import effects, walk
from polylsp.ir.liveness import Live
from polylsp.ir.must_execute import always_run, reads_of
from polylsp.ir.program import (
    Assign,
    Block,
    Constant,
    Field,
    Index,
    Loop,
    Place,
    Site,
    Statement,
    Variable,
    within,
)
from polylsp.ir.spelling import spell_place
from polylsp.ir.verdict import AccessPoint, Dependence, DependenceKind, Witness
from polylsp.poly.scop import Access, ScopStatement

ModelOf = Callable[[int], tuple[Nest, Conflicts] | None]
OfThread = Callable[[int, int], Sequence[tuple[Nest, Conflicts]]]
"""Models of the function's nests, in which the thread has a number and its team a size."""

_Loop = tuple[int, ScopStatement]
_Numbering = Callable[[Conflicts, _Loop, _Loop], isl.Map]

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
    if not effects(*first).scalars.isdisjoint(v.name for v in effects(*second).variables):
        return None
    return straight_model(Block((*first, *second)), calls)


def straight_model(both: Block, calls: Calls, live: Live = frozenset()) -> Conflicts | None:
    """The model of code without loops, with the stores to variables that are `live` after it."""
    if obstacle(both, calls) is not None:
        return None
    parameters, own = Parameters(), with_calls(effects(both), calls)
    scope = Scope(parameters, {}, own, isl.Set("{ [] }"), calls=calls)
    start_values(scope, own)
    region = walk_region((both,), scope)
    if region.lost_pointers or region.tainted:
        return None
    return Conflicts(to_scop(region, isl.Set("{ : }"), parameters, Site(0, 0), live))


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
        step = conflicts.scop.loops[around.ordinal].step
        pairs = related(pairs, f"b{once} = a{once} + {step}")
    pairs = same_iteration(pairs, once)
    # Of loops with different numbers of iterations, the pairs of different numbers are easier to understand.
    for alike in (numbered_alike, in_one_thread):
        apart = _in_two_threads(conflicts, pairs, (first[0], ends[0]), (second[0], ends[1]), shared, alike)
        if apart is None:
            return None
        if not apart.is_empty() and happens_always(conflicts, apart.params(), ends, once):
            return Conflict(source, sink, apart, True)
    return None


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
    alike: _Numbering,
) -> isl.Map | None:
    """Of `pairs`, those that two threads may run at once; `None` where schedules do not tell. `alike`: the
    pairs of two loops that one thread runs."""
    loops = [part.loop for part, _ in (first, second)]
    for loop, (_, statement) in zip(loops, (first, second), strict=True):
        if loop is not None and statement.loops[shared : shared + 1] != (loop.ordinal,):
            return None
    kinds = [_schedule(part) for part, _ in (first, second)]
    if "unknown" in kinds:
        return None
    if "any" in kinds or not {"all", "others"}.isdisjoint((first[0].who, second[0].who)):
        return pairs
    own, other = loops
    if own is not None and other is not None:
        return _apart(conflicts, pairs, ((own.ordinal, first[1]), (other.ordinal, second[1])), kinds, alike)
    if any(isinstance(kind, int) for kind in kinds):
        return None
    if first[0].who == "numbered" and other is not None:
        begins = numbered_first(conflicts, other.ordinal, second[1])
        return pairs.intersect_range(begins) if first[0].number else pairs.subtract_range(begins)
    if second[0].who == "numbered" and own is not None:
        begins = numbered_first(conflicts, own.ordinal, first[1])
        return pairs.intersect_domain(begins) if second[0].number else pairs.subtract_domain(begins)
    return pairs


def _apart(
    conflicts: Conflicts, pairs: isl.Map, ends: tuple[_Loop, _Loop], kinds: list[str | int], alike: _Numbering
) -> isl.Map:
    """Of `pairs` of instances in two loops, those that static schedules give to two threads."""
    match kinds:
        case [int() as chunk, int() as other]:
            return pairs.intersect(in_next_chunk(conflicts, *ends, chunk, other))
        case [int() as chunk, _]:
            return pairs.intersect(in_second_chunk(conflicts, *ends, chunk))
        case [_, int() as chunk]:
            return pairs.intersect(in_second_chunk(conflicts, ends[1], ends[0], chunk).reverse())
        case _:
            return pairs.subtract(alike(conflicts, *ends))


def _schedule(part: Part) -> str | int:
    """Distribution of iterations to threads: as `equal` shares in order, in chunks of a fixed size, which is
    the result, to `any` thread, or in an `unknown` way."""
    clauses = part.directive.clauses if part.directive is not None and part.loop is not None else ()
    for clause in clauses:
        if isinstance(clause, Schedule):
            if clause.kind in ("dynamic", "guided"):
                return "any"
            if clause.chunk:
                return int(clause.chunk) if is_count(clause.chunk) and clause.kind == "static" else "unknown"
    return "equal"


def _shared(source: ScopStatement, sink: ScopStatement) -> int:
    """Number of loops around both."""
    count = 0
    while (
        source.loops[count : count + 1] and source.loops[count : count + 1] == sink.loops[count : count + 1]
    ):
        count += 1
    return count


# --------------------------------------------------------------------------------------------------
# Unordered parts of one phase of a parallel region that use the same variable or element, one of
# them writing it. Variables, and elements with constant subscripts, are read off the shape of the
# program; arrays are compared in `unordered_arrays.py`.
# --------------------------------------------------------------------------------------------------


def unordered_findings(
    region: ParallelRegion, model_of: ModelOf, of_thread: OfThread | None
) -> Iterator[tuple[Directive, Unordered]]:
    """Conflicts of parts in a phase, with the directive that should have separated them: one for each.
    `of_thread`: the models of one thread, where the region may be looked at through them."""
    told: set[int] = set()
    uniformity = Uniformity(region)
    for phase in phases(region):
        for first, second in combinations(phase, 2):
            kind, directive = _culprit(region, first, second)
            if kind is None or directive.pragma in told:
                continue
            shown = _scalar_meeting(uniformity, first, second)
            if shown is None and "others" not in (first.who, second.who):
                seen = _of_number(region, first, second, of_thread) or model_of
                shown = array_meeting(region.sharing, first, second, seen)
            if shown is not None:
                told.add(directive.pragma)
                yield directive, Unordered(kind, shown)
    for loop, first, second in _in_next_round(region):
        kind, directive = _late(region, first)
        if directive.pragma in told:
            continue
        shown = None if first is second else _scalar_meeting(uniformity, first, second)
        shown = shown or array_meeting(region.sharing, first, second, model_of, around=loop)
        if shown is not None:
            told.add(directive.pragma)
            yield directive, Unordered(kind, shown)


def _of_number(
    region: ParallelRegion, first: Part, second: Part, of_thread: OfThread | None
) -> ModelOf | None:
    """The models in which a test for the number of a thread holds (`if (omp_get_thread_num() == 0)`), where
    that thread runs one of two parts, and the other one is a loop that is shared out and in which all threads
    use the same values."""
    one, other = (first, second) if first.who == "numbered" else (second, first)
    if of_thread is None or (one.who, other.who) != ("numbered", "shared") or one.directive is not None:
        return None
    whole = effects(*other.statements)
    if any(v.name not in whole.scalars for v in whole.variables & region.own_variables) or whole.calls:
        return None
    models = of_thread(one.number, max(region.team_size or 2, one.number + 1))
    return lambda ordinal: next((pair for pair in models if ordinal in pair[0].scop.loops), None)


def _in_next_round(region: ParallelRegion) -> Iterator[tuple[Loop, Part, Part]]:
    """Parts of a loop around them, and those that a thread gets to in the next round without a barrier."""
    for one in rounds(region):
        for first, second in product(one.last, one.first):
            if "others" in (first.who, second.who):
                continue
            if not first.is_in_order(second):
                yield one.loop, first, second


def _culprit(region: ParallelRegion, first: Part, second: Part) -> tuple[UnorderedKind | None, Directive]:
    """Cause that lets two parts run at once, if there is one."""
    directive = first.directive or region.directive
    kinds = {first.who, second.who}
    if "others" in kinds and (kinds != {"numbered", "others"} or first.number != second.number):
        # One of them may run what another piece has for one thread, or for all together.
        return None, directive
    if first.is_in_order(second):
        # What all threads do in one piece is for `every_thread.py`, unless some wait for others there.
        exclusions = region.sharing.construct.exclusions
        guarded = first.who == "all" and (exclusions(first.site) or exclusions(second.site))
        return "no-barrier" if guarded else None, directive
    if first.directive is not None and first.directive is second.directive:
        return "sections", directive
    return _late(region, first)


def _late(region: ParallelRegion, first: Part) -> tuple[UnorderedKind, Directive]:
    """Cause that lets threads go on before others are done with a part."""
    directive = first.directive or region.directive
    if first.who == "all" or first.directive is None:
        return "no-barrier", region.directive
    return ("master" if first.who == "numbered" else "nowait"), directive


# --- Variables and single elements -------------------------------------------------------


def _scalar_meeting(uniformity: Uniformity, first: Part, second: Part) -> Witness | None:
    """Accesses of one variable, one in each part, that surely happen in two threads with nothing between."""
    region, sinks = uniformity.region, list(_accesses(uniformity, second))
    for location, source in _accesses(uniformity, first):
        for other, sink in sinks:
            is_one = (source.variable, location) == (sink.variable, other)
            if not is_one or "write" not in (source.kind, sink.kind):
                continue
            # Branches that set a variable may set it alike.
            if "others" in (first.who, second.who) and "read" not in (source.kind, sink.kind):
                continue
            if any(
                _is_harmless(uniformity, *pair) for pair in ((first, source, sink), (second, sink, source))
            ):
                continue
            before, after = (region.sharing.construct.exclusions(end.site) for end in (source, sink))
            if before.isdisjoint(after):
                return Witness(Dependence(kind_of(source, sink), source, sink, 0, None, (), True), (), (), ())
    return None


def kind_of(source: AccessPoint, sink: AccessPoint) -> DependenceKind:
    """Kind of the dependence between two accesses, one of which writes."""
    if source.kind == "read":
        return "anti"
    return "flow" if sink.kind == "read" else "output"


def _accesses(uniformity: Uniformity, part: Part) -> Iterator[tuple[str, AccessPoint]]:
    """The variables and elements that a part surely reads or gives a value, with their locations."""
    if part.who == "shared":
        yield from ((each.text, each) for each in _combined(uniformity.region, part))
    for statement in always_run(Block(part.statements), inner_loops=True):
        if isinstance(statement, Assign) and _is_shared(uniformity, statement.target):
            yield _location(statement.target), point_of(statement.target, "write")
        for place, access in called_accesses(statement, uniformity.region.directed):
            if _is_shared(uniformity, place):
                yield access.text, access
        for read in reads_of(statement):
            if _is_shared(uniformity, read.place):
                yield _location(read.place), point_of(read.place, "read")


def _location(place: Place) -> str:
    """The memory location of a place, by its spelling: one for all bit-fields that share it (C11, 3.14)."""
    last = place.steps[-1] if place.steps else None
    if isinstance(last, Field) and last.shares:
        first = min((last, *last.shares), key=lambda each: each.name)
        place = replace(place, steps=(*place.steps[:-1], first))
    return spell_place(place)


def _combined(region: ParallelRegion, part: Part) -> Iterator[AccessPoint]:
    """The variables in which a loop's results are put together at its end."""
    assert part.directive is not None
    names = reduced(part.directive) | listed(part.directive, "lastprivate")
    for statement in always_run(Block(part.statements), inner_loops=True):
        if isinstance(statement, Assign) and not statement.target.steps:
            target = statement.target
            if target.variable.source_name in names and target.variable not in region.own_variables:
                yield point_of(target, "write")


def _is_shared(uniformity: Uniformity, place: Place) -> bool:
    """True if a place is one and the same for all threads, and named so that it is distinguishable from
    others."""
    subscripts = [step.subscript for step in place.steps if isinstance(step, Index)]
    fixed = all(isinstance(subscript, Constant) for subscript in subscripts)
    return fixed and uniformity.is_one_place(place)


def _is_harmless(uniformity: Uniformity, part: Part, access: AccessPoint, other: AccessPoint) -> bool:
    """True if all threads store one value in a variable, each before it continues, none of them atomically or
    in a critical section, and another access is no result that threads combine."""
    if part.who != "all" or access.kind != "write":
        return False
    assigned = [s for s in walk(*part.statements) if isinstance(s, Assign) and s.target.site == access.site]
    same = [s for s in assigned if s.operator is None and uniformity.is_uniform(s.value, memory=True)]
    combined = other.kind == "write" and not uniformity.region.is_plain(other.site)
    return bool(same) and uniformity.region.is_plain(access.site) and not combined
