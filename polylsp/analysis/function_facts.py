"""Facts of a lowered function: loop verdicts, nest bands and transforms, and dataflow.

Flow dependences are value-based, anti and output dependences memory-based (Feautrier, Dataflow
analysis of array and scalar references, 1991; isl's access analysis). Transforms and models are
computed only if `Wanted` includes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TypeVar

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflicts
from polylsp.analysis.dependence.nest_schedules import exposing_transform, source_band
from polylsp.analysis.dependence.scalars import LoopScalars, scalars_of
from polylsp.analysis.dependence.shared_arguments import (
    SharedArgument,
    without_contradictions,
    without_shared_arguments,
)
from polylsp.analysis.dependence.verdicts import verdict, without_copied_pointers
from polylsp.analysis.dependence.witness import dependence, out_of_bounds
from polylsp.analysis.directives.loop_forms import HIDDEN, misfits
from polylsp.analysis.idioms import idioms
from polylsp.analysis.scop.counters import changed_variables, steps_of
from polylsp.analysis.scop.regions import Nest, cut
from polylsp.analysis.scop.single_loops import again, stands_with_others
from polylsp.analysis.scop.summaries import Calls
from polylsp.core.processes import Mishap
from polylsp.ir.directive import DirectiveFacts, Misfit
from polylsp.ir.effects import effects, loops_in, walk
from polylsp.ir.library import LOCK_CALLS, UNORDERED
from polylsp.ir.liveness import Live, results_of_loops
from polylsp.ir.program import Function, Loop, Rejection, Unsupported
from polylsp.ir.verdict import Dependence, Parallel, Sequential, Unknown, Verdict
from polylsp.model.facts import (
    Band,
    FunctionFacts,
    Idiom,
    LoopFacts,
    NestFacts,
    NestModel,
    NestRelations,
    Transform,
)
from polylsp.poly.budget import Budget, Exhausted, coalesced, file_size, over_budget
from polylsp.poly.scop import Scop, dates, schedule_tree


def flow(scop: Scop) -> isl.UnionMap:
    """From each write to the reads that get its value, or may get it."""
    reads, sure, maybe = _accesses(scop)
    order = dates(scop)
    if _has_divisions(reads.union(sure).union(maybe)):
        # isl's analysis finds wrong last writes, or none, beside strides: relations say it too.
        return _last_writes(reads, sure, maybe, order)
    information = isl.UnionAccessInfo.from_sink(reads)
    information = information.set_must_source(sure).set_may_source(maybe)
    try:
        return coalesced(information.set_schedule_map(order).compute_flow().get_may_dependence())
    except isl.Error:
        # isl gives up on some sets ("unbounded optimum"); without operations left, this ends at once too.
        return _last_writes(reads, sure, maybe, order)


def _has_divisions(relation: isl.UnionMap) -> bool:
    divisions: list[int] = []
    relation.foreach_map(lambda m: m.foreach_basic_map(lambda b: divisions.append(b.dim(isl.dim_type.div))))
    return any(divisions)


def _last_writes(
    reads: isl.UnionMap, sure: isl.UnionMap, maybe: isl.UnionMap, order: isl.UnionMap
) -> isl.UnionMap:
    """The writes before each read of the same element, without those that another surely overwrites."""
    before = order.lex_lt_union_map(order)
    writes = sure.union(maybe)
    overwritten = _meet(writes, sure, before).apply_range(_meet(sure, reads, before))
    left = _meet(writes, reads, before).subtract(overwritten)
    return coalesced(left.apply_domain(writes.domain_map()).apply_range(reads.domain_map()))


def _meet(sources: isl.UnionMap, sinks: isl.UnionMap, before: isl.UnionMap) -> isl.UnionMap:
    """`{ [source -> element] -> [sink -> element] }` of the accesses of which the first runs before."""
    same = sources.range_map().apply_range(sinks.range_map().reverse())
    ordered = sources.domain_map().apply_range(before).apply_range(sinks.domain_map().reverse())
    return same.intersect(ordered)


def false_dependences(scop: Scop) -> isl.UnionMap:
    """From each access to the later writes of the same element."""
    reads, sure, maybe = _accesses(scop)
    writes = sure.union(maybe)
    everything = reads.union(writes)
    pairs = everything.apply_range(writes.reverse())
    order = dates(scop)
    return coalesced(pairs.intersect(order.lex_lt_union_map(order)))


def _accesses(scop: Scop) -> tuple[isl.UnionMap, isl.UnionMap, isl.UnionMap]:
    """Reads, sure writes and possible writes."""
    reads, sure, maybe = (isl.UnionMap("{ }") for _ in range(3))
    for access in scop.accesses:
        relation = access.relation.to_union_map()
        if access.kind == "read":
            reads = reads.union(relation)
        elif access.exact and not scop.statements[access.statement].guards:
            sure = sure.union(relation)
        else:
            maybe = maybe.union(relation)
    return reads, sure, maybe


# --------------------------------------------------------------------------------------------------
# Facts of a whole nest: its band, its transform, its model as text.
# --------------------------------------------------------------------------------------------------


T = TypeVar("T")

_MOST_DEPENDENCES = 40


def nest_facts(
    nest: Nest,
    conflicts: Conflicts,
    verdicts: dict[int, Verdict],
    budget: Budget,
    schedules: bool,
    relations: bool,
) -> NestFacts:
    """The facts of a nest; its transform and its model only if `schedules` are wanted, and of that the
    `relations` only if they are too."""
    scop = nest.scop
    asked = _NestsAsked(budget, scop.depth, any(_gave_up(verdict) for verdict in verdicts.values()))
    found = asked.of(lambda: source_band(conflicts, verdicts))
    band = Band(tuple(scop.loops)[:1], False, (False,)) if isinstance(found, Exhausted) else found
    listed = asked.of(lambda: _dependences(conflicts))
    dependences = () if isinstance(listed, Exhausted) else listed
    transform = model = None
    if schedules:
        exposed = asked.of(lambda: exposing_transform(conflicts, verdicts))
        transform = Transform("none-found") if isinstance(exposed, Exhausted) else exposed
        text = asked.of(lambda: _model(scop, relations))
        model = None if isinstance(text, Exhausted) else text
    return NestFacts(scop.site, tuple(scop.loops), band, transform, model, dependences)


@dataclass(slots=True)
class _NestsAsked:
    """Queries about a nest. An interrupted isl may be left in a state that crashes: after that (`gave_up`) no
    further query is run."""

    budget: Budget
    depth: int
    gave_up: bool

    def of(self, work: Callable[[], T]) -> T | Exhausted:
        """An answer, or that there is none."""
        found = Exhausted() if self.gave_up else self.budget.run(work, depth=self.depth)
        self.gave_up = isinstance(found, Exhausted)
        return found


def _gave_up(verdict: Verdict) -> bool:
    return isinstance(verdict, Unknown) and verdict.rejection.code in ("budget", "internal-error")


def _model(scop: Scop, relations: bool) -> NestModel:
    """The polyhedral model in isl's notation."""
    domain = _union([s.domain.to_union_set() for s in scop.statements])
    return NestModel(str(scop.context), str(domain), _relations(scop) if relations else None)


def _relations(scop: Scop) -> NestRelations:
    return NestRelations(
        str(schedule_tree(scop)),
        _nests_accesses(scop, "read", None),
        _nests_accesses(scop, "write", False),
        _nests_accesses(scop, "write", True),
        str(flow(scop)),
        str(false_dependences(scop)),
    )


def _union(parts: list[isl.UnionSet]) -> isl.UnionSet:
    """The union of isl sets."""
    result = isl.UnionSet("{ }")
    for part in parts:
        result = result.union(part)
    return coalesced(result)


def _nests_accesses(scop: Scop, kind: str, certain: bool | None) -> str:
    result = isl.UnionMap("{ }")
    for access in scop.accesses:
        sure = access.exact and not scop.statements[access.statement].guards
        if access.kind == kind and (certain is None or certain == sure):
            result = result.union(access.relation.to_union_map())
    return str(coalesced(result))


def _dependences(conflicts: Conflicts) -> tuple[Dependence, ...]:
    """The conflicts that each loop carries, as the user sees them."""
    found: list[Dependence] = []
    for ordinal in conflicts.scop.loops:
        for memory in conflicts.written_in(ordinal):
            for conflict in conflicts.carried(memory, ordinal):
                found.append(dependence(conflicts, conflict, ordinal))
                if len(found) >= _MOST_DEPENDENCES:
                    return tuple(found)
    return tuple(found)


# --------------------------------------------------------------------------------------------------
# Facts of a lowered function.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wanted:
    """Requested depth of analysis: `schedules` includes transforms and models, `relations` all relations of
    these; `operations` are the isl operations that one loop may take, `functions` is the size of the file
    (`file_size`) among whose functions those of all loops are shared out. `resident`: code of the file
    outside of functions, or around calls, places data on a device. `serial` are the functions of the file
    with tasks that no parallel region calls, `shared` the calls in the file that pass one memory to the
    function twice. `presuming`: loops may rest on branches not being taken."""

    schedules: bool = True
    operations: int = 2_000_000
    resident: bool = False
    serial: frozenset[str] = frozenset()
    shared: tuple[SharedArgument, ...] = ()
    functions: int = file_size(1)
    relations: bool = False
    presuming: bool = True

    @property
    def budget(self) -> Budget:
        """The budget of one function."""
        return Budget(self.operations, self.functions)


def facts(
    function: Function, calls: Calls, wanted: Wanted, keep: Callable[[tuple[Nest, ...]], None] | None = None
) -> FunctionFacts:
    """Verdicts of all loops of a function, and its nests, whose models go to `keep`."""
    started = perf_counter()
    calls = calls.within(function)
    loops = loops_in(function.body)
    after = results_of_loops(function, calls.callees(function))
    live = _needed_after(loops, after)
    modelling, budget = wanted.budget, wanted.budget
    found = cut(function, calls, live, modelling)
    if keep is not None:
        keep(found.nests)
    modelled = perf_counter()
    known: dict[int, Verdict] = {o: Unknown(r) for o, r in found.refused.items()}
    known.update(found.ordered)
    every = [(nest, Conflicts(nest.scop)) for nest in found.nests]
    strays = [rejection for _, conflicts in every for rejection in _out_of_bounds(conflicts, budget)]
    asked = _Asked(after, calls, live, budget)
    verdicts = [
        without_copied_pointers(function, loops, asked.verdicts(nest, conflicts)) for nest, conflicts in every
    ]
    shared, sites = wanted.shared, {loop.ordinal: loop.header for loop in loops}
    if shared:
        verdicts = [
            without_shared_arguments(conflicts, own, shared, sites, budget)
            for (_, conflicts), own in zip(every, verdicts, strict=True)
        ]
    for each in verdicts:
        known.update(each)
    by_models, known = known, _with_conditions(function, _decided_by_names(function, loops, known))
    known = without_contradictions(known, shared, sites) if shared else known
    directives = _directives(function, every, asked, wanted)
    decided = perf_counter()
    # After all verdicts, and with a separate budget: no request waits for them.
    more = wanted.budget
    nests = [
        nest_facts(nest, conflicts, own, more, wanted.schedules, wanted.relations)
        for (nest, conflicts), own in zip(every, verdicts, strict=True)
    ]
    seconds = {
        "model": modelled - started,
        "dependences": decided - modelled,
        "schedule": perf_counter() - decided,
    }
    return FunctionFacts(
        function.name,
        function.name_site,
        _all_facts(function, known, by_models, idioms(function.body)),
        tuple(_of_source(nest, loops) for nest in nests),
        (*function.problems, *dict.fromkeys(strays)),
        tuple(seconds.items()),
        directives,
        modelling.spent + budget.spent + more.spent,
        function.arrays,
    )


def _decided_by_names(function: Function, loops: list[Loop], known: dict[int, Verdict]) -> dict[int, Verdict]:
    """The verdicts, with those that the names alone give loops which are unknown by their models. One that
    rests on functions of unknown effect stays unknown: their purity would help; so does one that rests on
    values, where the model says what would help."""
    by_ordinal, found = {loop.ordinal: loop for loop in loops}, dict(known)
    for ordinal, by_names in function.independent:
        before = known.get(ordinal) or Unknown(_not_reached(by_ordinal[ordinal]))
        by_purity = any(one.kind == "pure-call" for one in by_names.assumptions)
        by_values = any(one.kind == "distinct-values" for one in by_names.assumptions)
        if not isinstance(before, Unknown) or (before.would_help and (by_purity or by_values)):
            continue
        code = before.rejection.code
        # Loops that compute with no numbers in arrays stay silent, and those that whole arrays replace.
        if code != "whole-arrays" and not (code == "generic-iterable" and ordinal in function.aside):
            found[ordinal] = replace(before, would_help=by_names.assumptions) if by_purity else by_names
    found |= {
        ordinal: verdict
        for ordinal, verdict in function.recurrent
        if isinstance(before := found.get(ordinal), Unknown) and before.rejection.code != "whole-arrays"
    }
    return found


def _with_conditions(function: Function, known: dict[int, Verdict]) -> dict[int, Verdict]:
    """The verdicts, with further conditions of those that claim independence, or would under assumptions."""
    found = dict(known)
    for ordinal, condition in function.conditions:
        match found.get(ordinal):
            case Parallel(assumptions=before) as verdict:
                found[ordinal] = replace(verdict, assumptions=(*before, condition))
            case Unknown(would_help=before) as verdict if before:
                found[ordinal] = replace(verdict, would_help=(*before, condition))
            case _:
                pass
    return found


def _out_of_bounds(conflicts: Conflicts, budget: Budget) -> list[Rejection]:
    """The accesses of a nest that certainly leave their declared arrays; not those that take all rows of
    an array for one, by a subscript of the first."""

    def found() -> list[Rejection]:
        strays = [a for a in conflicts.strays() if a.beyond is not None and not a.in_first_row]
        return [out_of_bounds(conflicts, a) for a in strays if conflicts.surely_reached(a)]

    accesses = budget.run(found, share=10, depth=conflicts.scop.depth)
    if isinstance(accesses, Exhausted):
        conflicts.assume_no_strays()
        return []
    return accesses


def _of_source(nest: NestFacts, loops: list[Loop]) -> NestFacts:
    """A nest's facts, with the loops alone that the source has."""
    implied = {loop.ordinal for loop in loops if loop.implied}
    if implied.isdisjoint(nest.loops):
        return nest
    pairs = zip(nest.band.loops, nest.band.coincident, strict=False)
    kept = [(ordinal, coincident) for ordinal, coincident in pairs if ordinal not in implied]
    band = Band(tuple(o for o, _ in kept), nest.band.permutable, tuple(c for _, c in kept))
    return replace(nest, loops=tuple(o for o in nest.loops if o not in implied), band=band)


def nests_of(function: Function, calls: Calls, wanted: Wanted) -> tuple[Nest, ...]:
    """Models of `FunctionFacts.nests`, in the same order."""
    loops = loops_in(function.body)
    live = _needed_after(loops, results_of_loops(function, calls.callees(function)))
    return cut(function, calls.within(function), live, wanted.budget).nests


def _needed_after(loops: list[Loop], after: dict[int, Live]) -> Live:
    """The scalars that some loop changes and that are needed after it."""
    return frozenset(n for loop in loops for n in effects(loop).scalars & after[loop.ordinal])


def given_up(function: Function) -> FunctionFacts:
    """Facts of a function on which the analysis was stopped before."""
    text = "the analysis of this function was stopped at a limit on CPU time or memory"
    advice = "split the function, or raise `polylsp.max_seconds` or `polylsp.max_memory_mb`"
    return _undecided(function, lambda loop: Rejection("budget", loop.header, text, advice))


def failed(function: Function, mishap: Mishap) -> FunctionFacts:
    """Facts of a function whose analysis failed; its problem, which is reported once."""
    why = Rejection(mishap.code, function.name_site, mishap.of("this function"), mishap.advice)
    found = _undecided(function, lambda _: why)
    return replace(found, problems=(*found.problems, why))


def _undecided(function: Function, why: Callable[[Loop], Rejection]) -> FunctionFacts:
    known: dict[int, Verdict] = {loop.ordinal: Unknown(why(loop)) for loop in loops_in(function.body)}
    found = _all_facts(function, known, known, {})
    return FunctionFacts(function.name, function.name_site, found, (), function.problems)


@dataclass(frozen=True, slots=True)
class _Asked:
    """Queries about the loops of a function: the variables live `after` each, the effects of calls, the
    scalars that are `live` after some loop, and the budget for the answers."""

    after: dict[int, Live]
    calls: Calls
    live: Live
    budget: Budget

    def verdicts(self, nest: Nest, conflicts: Conflicts) -> dict[int, Verdict]:
        """Verdicts of a nest's loops; one that could not be decided is tried again alone, where the variables
        of the loops around it are fixed, and those that only statements beside it change. What stands in the
        way there is the closer reason, unless values had to be forgotten for it."""
        result: dict[int, Verdict] = {}
        for ordinal in nest.scop.loops:
            if isinstance(result.get(ordinal), (Parallel, Sequential)):
                continue
            own, was_alone = self.verdict(nest, conflicts, ordinal), ordinal in result
            if isinstance(own, Sequential):
                own = self.counting(nest, ordinal, own) or own
            result[ordinal] = (
                own if ordinal not in result or not isinstance(own, Unknown) else result[ordinal]
            )
            if isinstance(own, Unknown) and not was_alone and stands_with_others(nest, ordinal):
                alone = self.alone(nest, ordinal)
                inner = {} if alone is None else self.verdicts(alone, Conflicts(alone.scop))
                obstructed = bool(nest.scop.loops[ordinal].obstacles) and nest.entries[ordinal].trusted
                for each, found in inner.items():
                    closer = each == ordinal and obstructed and not _gave_up(found)
                    if each not in result or not isinstance(found, Unknown) or closer:
                        result[each] = found
            if isinstance(result[ordinal], Unknown):
                result[ordinal] = self.bounded(nest, ordinal) or result[ordinal]
        return result

    def bounded(self, nest: Nest, ordinal: int) -> Parallel | None:
        """The verdict of a loop where loops in it, whose rounds depend on data, are assumed to be short."""
        loops = nest.scop.loops
        inside = {o for s in nest.scop.statements if ordinal in s.loops for o in s.loops}
        inner = (o for o in inside - {ordinal} if o > ordinal and loops[o].obstacles)
        if loops[ordinal].obstacles or not any(True for _ in inner):
            return None
        return self.parallel(self.alone(nest, ordinal, bounded=True), ordinal)

    def counting(self, nest: Nest, ordinal: int, own: Sequential) -> Parallel | None:
        """The verdict of a loop alone that passes on a counter: loops around it set this to values without
        a closed form, which are fixed in the loop."""
        if not stands_with_others(nest, ordinal):
            return None
        loop = nest.entries[ordinal].loop
        changes = steps_of(loop, self.calls)
        even = {v.source_name for n, v in changed_variables(loop, self.calls).items() if changes.get(n)}
        passes_on = own.witness.dependence.source.variable in even
        return self.parallel(self.alone(nest, ordinal), ordinal) if passes_on else None

    def parallel(self, alone: Nest | None, ordinal: int) -> Parallel | None:
        """The verdict of a loop in its model alone, if there is one and the loop is parallel there."""
        found = None if alone is None else self.verdict(alone, Conflicts(alone.scop), ordinal)
        return found if isinstance(found, Parallel) else None

    def verdict(self, nest: Nest, conflicts: Conflicts, ordinal: int) -> Verdict:
        """The verdict of one loop."""
        loop = nest.entries[ordinal].loop
        scalars = self.scalars(nest, ordinal)
        found = self.budget.run(lambda: verdict(conflicts, ordinal, scalars), depth=nest.scop.depth)
        if isinstance(found, Exhausted):
            return Unknown(over_budget(loop.header, found, self.budget))
        return found

    def scalars(self, nest: Nest, ordinal: int) -> LoopScalars:
        """The scalars of a loop."""
        return scalars_of(nest.entries[ordinal].loop, nest.scop, self.after[ordinal], self.calls)

    def alone(self, nest: Nest, ordinal: int, *, bounded: bool = False) -> Nest | None:
        """The model of one loop by itself, if that is not too much; `bounded` as in `again`."""
        entry = nest.entries[ordinal]
        found = self.budget.run(lambda: again(entry, nest.parameters, self.calls, self.live, bounded=bounded))
        return None if isinstance(found, Exhausted) else found


def _directives(
    function: Function, nests: list[tuple[Nest, Conflicts]], asked: _Asked, wanted: Wanted
) -> tuple[DirectiveFacts, ...]:
    """The facts of the directives, with what is found where the code of directed callees stands in the place
    of their calls."""
    if not function.directives:
        return ()
    found = _directive_facts(function, nests, asked, wanted)
    from polylsp.analysis.directives.directed_calls import with_callees

    expanded = with_callees(function, asked.calls)
    if expanded is None:
        return found
    made, calls = expanded.function, asked.calls.within(expanded.function)
    after = results_of_loops(made, calls.callees(made))
    anew = _Asked(after, calls, _needed_after(loops_in(made.body), after), asked.budget)
    cut_anew = cut(made, calls, anew.live, asked.budget)
    more = _directive_facts(made, [(nest, Conflicts(nest.scop)) for nest in cut_anew.nests], anew, wanted)
    return expanded.with_findings(found, more)


def _directive_facts(
    function: Function, nests: list[tuple[Nest, Conflicts]], asked: _Asked, wanted: Wanted
) -> tuple[DirectiveFacts, ...]:
    """The facts of the directives; a loop that cannot be modelled with those around it is tried alone."""
    # Loaded for who has directives: it is a sixth of all that the analysis loads.
    from polylsp.analysis.directives.directive_checks import Models, directive_facts
    from polylsp.analysis.directives.thread_order import with_locks

    locked = with_locks(function)
    passed_over = UNORDERED if locked is None else UNORDERED | LOCK_CALLS
    known_calls = asked.calls.summaries.keys()
    if any(call.function in passed_over - known_calls for call in effects(function.body).calls):
        # A race has nothing to do with what else is printed or drawn at random.
        asked = replace(asked, calls=replace(asked.calls, passed_over=passed_over))
        cut_anew = cut(function, asked.calls, asked.live, asked.budget)
        nests = [(nest, Conflicts(nest.scop)) for nest in cut_anew.nests]

    def model_of(ordinal: int) -> tuple[Nest, Conflicts] | None:
        known = next((pair for pair in nests if ordinal in pair[0].scop.loops), None)
        if known is None:
            return None
        nest, entry = known[0], known[0].entries[ordinal]
        if not nest.scop.loops[ordinal].obstacles or not entry.frames:
            return known
        alone = asked.alone(nest, ordinal)
        return None if alone is None else (alone, Conflicts(alone.scop))

    def of_thread(number: int, team: int) -> list[tuple[Nest, Conflicts]]:
        cut_anew = cut(function, asked.calls.in_thread(number, team), asked.live, asked.budget)
        return [(nest, Conflicts(nest.scop)) for nest in cut_anew.nests]

    models = Models(
        model_of,
        of_thread,
        asked.scalars,
        asked.calls,
        wanted.resident,
        asked.budget,
        function.name in wanted.serial,
        wanted.shared,
    )
    if locked is None:
        return directive_facts(function, models)
    return tuple(
        replace(each, pragma=pragma)
        for each, pragma in zip(directive_facts(locked[0], models), locked[1], strict=True)
        if pragma >= 0
    )


def _all_facts(
    function: Function, known: dict[int, Verdict], by_models: dict[int, Verdict], named: Mapping[int, Idiom]
) -> tuple[LoopFacts, ...]:
    written = (one for one in loops_in(function.body) if not one.implied)
    loops = sorted(written, key=lambda one: one.ordinal)
    why_not = misfits(function.body)
    return tuple(
        replace(
            _loop_facts(loop, loops, known, why_not.get(loop.ordinal, HIDDEN)),
            checks=loop.ordinal in function.checking or _is_aside(function, loop, known),
            idiom=named.get(loop.ordinal),
            unmodelled=_unmodelled(known.get(loop.ordinal), by_models.get(loop.ordinal)),
        )
        for loop in loops
    )


def _unmodelled(found: Verdict | None, by_model: Verdict | None) -> str:
    """The reason why a loop that is parallel by its names is unknown by its model; empty for others."""
    if isinstance(found, Parallel) and isinstance(by_model, Unknown):
        return by_model.rejection.message
    return ""


def _is_aside(function: Function, loop: Loop, known: dict[int, Verdict]) -> bool:
    """True if a loop does not compute with arrays, and is not parallel under any condition; and if it runs in
    order over values that are no numbers."""
    verdict = known.get(loop.ordinal)
    if isinstance(verdict, Parallel) or (isinstance(verdict, Unknown) and verdict.would_help):
        return False
    unmodelled = [one.rejection.code for one in walk(loop) if isinstance(one, Unsupported)]
    is_generic = bool(unmodelled) and all(code == "generic-iterable" for code in unmodelled)
    return loop.ordinal in function.aside or (isinstance(verdict, Sequential) and is_generic)


def _loop_facts(loop: Loop, loops: list[Loop], known: dict[int, Verdict], misfit: Misfit | None) -> LoopFacts:
    around = [o for o in loops if o is not loop and _encloses(o, loop)]
    parent = max(around, key=lambda o: o.ordinal, default=None)
    return LoopFacts(
        loop.ordinal,
        loop.kind,
        loop.iterator,
        len(around) + 1,
        parent.ordinal if parent else 0,
        loop.header,
        loop.site,
        known.get(loop.ordinal) or Unknown(_not_reached(loop)),
        misfit,
    )


def _encloses(outer: Loop, inner: Loop) -> bool:
    return (
        outer.site.first <= inner.site.first
        and inner.site.last <= outer.site.last
        and outer.ordinal < inner.ordinal
    )


def _not_reached(loop: Loop) -> Rejection:
    text = "this loop stands in code that could not be analysed"
    return Rejection("unsupported-statement", loop.header, text)
