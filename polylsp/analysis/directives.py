"""Check of the directives of a function: their claims against the dependences.

Possible errors are not reported: a false alarm would cost more than it is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from polylsp.analysis.always import always_run
from polylsp.analysis.budget import Budget, Exhausted
from polylsp.analysis.callee_state import called_accesses
from polylsp.analysis.conditional import conditional_races, conditional_updates
from polylsp.analysis.conflicts import Conflicts
from polylsp.analysis.constructs import Directed, construct_of, runs_in_parallel
from polylsp.analysis.copies import copy_findings
from polylsp.analysis.counters import counter_findings
from polylsp.analysis.data_sharing import DataSharing, listed
from polylsp.analysis.deferred import deferred_finding
from polylsp.analysis.device_data import data_findings
from polylsp.analysis.device_regions import device_region
from polylsp.analysis.effects import walk
from polylsp.analysis.every_thread import every_thread_findings, team_findings
from polylsp.analysis.linear import linear_findings
from polylsp.analysis.mending import lacking
from polylsp.analysis.order import keeps_no_order
from polylsp.analysis.parallel_regions import parallel_region
from polylsp.analysis.races import Racing, calls_in, most_telling, needs_sizes, races, unordered
from polylsp.analysis.regions import Nest
from polylsp.analysis.scalars import LoopScalars
from polylsp.analysis.spelling import spell_place
from polylsp.analysis.summaries import Calls
from polylsp.analysis.tasks import task_race
from polylsp.analysis.unordered import unordered_findings
from polylsp.analysis.verdicts import reassociable
from polylsp.analysis.witness import access_point, witness
from polylsp.model.directive import (
    AnyDirective,
    ConditionalRace,
    DirectiveFacts,
    Finding,
    Lacking,
    Mend,
    Race,
    UnknownDirective,
    Unordered,
)
from polylsp.model.expressions import stripped
from polylsp.model.program import Assign, Constant, Function, Variable, within
from polylsp.model.verdict import AccessPoint, Dependence, Witness

ModelOf = Callable[[int], tuple[Nest, Conflicts] | None]
ScalarsOf = Callable[[Nest, int], LoopScalars]


@dataclass(frozen=True)
class Models:
    """Services of the analysis for the checks of directives: the model of the nest with a loop (ordinal), and
    its conflicts; the classification of a loop's scalars in such a model; the effects of callees. `resident`:
    code of the file elsewhere places data on the device. `serial`: one thread runs the code outside of the
    function's parallel regions."""

    model_of: ModelOf
    scalars_of: ScalarsOf
    calls: Calls
    resident: bool
    budget: Budget
    serial: bool = False


def directive_facts(function: Function, models: Models) -> tuple[DirectiveFacts, ...]:
    """Findings of each directive."""
    directed = Directed(function, models.calls)

    between = _between(directed, models)

    def findings(directive: AnyDirective) -> tuple[Finding, ...]:
        result: list[Finding] = list(between.get(directive.pragma, ()))
        for check in (_of_loops, _of_region, _of_teams, _of_tasks, _of_data):
            found = models.budget.run(lambda c=check: c(directed, directive, models))
            result += [] if isinstance(found, Exhausted) else found
        return tuple(result)

    return tuple(_facts(directed, each, findings(each)) for each in function.directives)


def _of_loops(directed: Directed, directive: AnyDirective, models: Models) -> tuple[Finding, ...]:
    """Findings about the loops that a directive hands out."""
    construct = construct_of(directed, directive)
    model = None if construct is None else models.model_of(construct.loop.ordinal)
    if construct is None:
        return ()
    sharing = DataSharing(directed, construct)
    if model is None or any(model[1].scop.loops[one.ordinal].obstacles for one in construct.loops):
        called = _called_race(sharing, True)
        return () if called is None else (called,)
    called = _called_race(sharing, False)
    nest, conflicts = model
    found = _findings(conflicts, sharing, models.scalars_of(nest, construct.loop.ordinal))
    return found if called is None or any(isinstance(f, Race) for f in found) else (called, *found)


def _called_race(sharing: DataSharing, updates_too: bool) -> Race | ConditionalRace | None:
    """The race of functions that each iteration calls, on a variable with static storage: with each other, or
    with the loop's updates of it, where no model of the loop says so (`updates_too`)."""
    construct, directed = sharing.construct, sharing.directed
    if construct.mode == "lanes" or construct.doacross is not None or construct.orphaned:
        return None
    if not all(keeps_no_order(call, directed.calls) for call in calls_in(construct.loop)):
        return None
    always = list(always_run(construct.loop.body))
    updates = [
        (
            s.target.variable,
            AccessPoint(s.target.variable.source_name, spell_place(s.target), "write", s.target.site),
        )
        for s in always
        if updates_too and isinstance(s, Assign) and s.operator is not None and not s.target.steps
    ]
    for by_data in (False, True):
        called = [pair for s in always for pair in called_accesses(s, directed, by_data)]
        found = [point for variable, point in (*called, *updates) if _is_unguarded(sharing, variable, point)]
        written = next((point for point in found if point.kind == "write"), None)
        if written is not None and by_data:
            return ConditionalRace("two of them update it", written)
        if written is not None:
            # What the call reads first is what the one of another iteration wrote.
            sink = next(p for p in found if (p.variable, p.text) == (written.variable, written.text))
            kind = "flow" if sink.kind == "read" else "output"
            carrier = construct.loop.ordinal
            return Race(Witness(Dependence(kind, written, sink, carrier, None, ("*",), True), (), (), ()))
    return None


def _is_unguarded(sharing: DataSharing, variable: Variable, point: AccessPoint) -> bool:
    """True if threads share a variable with static storage, and nothing keeps them apart."""
    construct = sharing.construct
    if variable.storage not in ("global", "static") or sharing.has_copies(variable, point.site):
        return False
    return not construct.exclusions(point.site) and not construct.in_order(point.site, point.site)


def _of_region(directed: Directed, directive: AnyDirective, models: Models) -> tuple[Finding, ...]:
    """Findings about a parallel region as a whole."""
    region = parallel_region(directed, directive)
    if region is None or region.directive.words != ("parallel",):
        return ()
    return _one_race(dict(reversed(list(every_thread_findings(region)))).values())


def _of_teams(directed: Directed, directive: AnyDirective, models: Models) -> tuple[Finding, ...]:
    """Writes that several teams do at once."""
    del models
    return _one_race(team_findings(directed, directive))


def _of_tasks(directed: Directed, directive: AnyDirective, models: Models) -> tuple[Finding, ...]:
    """Races of tasks that a loop makes, and of a task with the code after it."""
    race = task_race(directed, directive, models.model_of)
    race = race or deferred_finding(directed, directive, models.model_of, models.serial)
    return () if race is None else (race,)


def _between(directed: Directed, models: Models) -> dict[int, list[Unordered]]:
    """Meetings of parts of parallel regions, by the number of the pragma that should keep it apart."""
    result: dict[int, list[Unordered]] = {}
    for directive in directed.function.directives:
        region = parallel_region(directed, directive)
        if region is not None:
            found = models.budget.run(lambda r=region: list(unordered_findings(r, models.model_of)))
            for at, one in () if isinstance(found, Exhausted) else found:
                result.setdefault(at.pragma, []).append(one)
    return result


def _of_data(directed: Directed, directive: AnyDirective, models: Models) -> tuple[Finding, ...]:
    """Findings about the data that a directive moves between host and device."""
    region = device_region(directed, directive, models.model_of, models.resident)
    return () if region is None else tuple(dict(data_findings(region)).values())


def _facts(directed: Directed, directive: AnyDirective, found: tuple[Finding, ...]) -> DirectiveFacts:
    unknown = isinstance(directive, UnknownDirective)
    inside = [
        loop.ordinal
        for loop in directed.loops
        if directive.site is not None and within(loop.site, directive.site)
    ]
    return DirectiveFacts(
        directive.family,
        directive.text if unknown else " ".join(directive.words),
        directive.pragma,
        tuple(loop.ordinal for loop in directed.handed_out(directive)),
        tuple(sorted(inside)),
        runs_in_parallel(directive),
        found,
    )


def _findings(conflicts: Conflicts, sharing: DataSharing, scalars: LoopScalars) -> tuple[Finding, ...]:
    """Findings about a directive: at most one race without a mending clause, and one finding for each
    variable."""
    if sharing.construct.directive.family == "numba":
        return _of_prange(conflicts, sharing, scalars)
    by_variable: dict[str, Finding] = {}
    for racing in races(conflicts, sharing, scalars.known):
        found = _on_memory(conflicts, sharing, scalars, racing)
        if found is not None:
            by_variable.setdefault(racing.memory.variable.name, found)
    if sharing.construct.doacross is not None:
        # Copies and sums are in order where iterations wait for each other.
        return tuple(found for found in _one_race(by_variable.values()) if isinstance(found, Race))
    if sharing.construct.chunk is not None:
        # One thread may run all iterations.
        return _one_race(by_variable.values())
    for name, found in (
        *counter_findings(conflicts, sharing, scalars),
        *copy_findings(conflicts, sharing),
        *linear_findings(sharing, scalars),
        *conditional_updates(conflicts, sharing, scalars),
        *conditional_races(conflicts, sharing),
    ):
        by_variable.setdefault(name, found)
    return _one_race(by_variable.values())


def _of_prange(conflicts: Conflicts, sharing: DataSharing, scalars: LoopScalars) -> tuple[Finding, ...]:
    """The race of a loop over `prange`, which takes no clauses; not that all iterations write one number."""
    numbers = {
        s.target.site
        for s in walk(sharing.construct.loop)
        if isinstance(s, Assign) and s.operator is None and isinstance(stripped(s.value), Constant)
    }
    shared = (
        _on_memory(conflicts, sharing, scalars, one) for one in races(conflicts, sharing, scalars.known)
    )
    copied = (*counter_findings(conflicts, sharing, scalars), *copy_findings(conflicts, sharing))
    for found in (*shared, *(finding for _, finding in copied)):
        if isinstance(found, Race):
            told = found.witness.dependence
            if told.kind != "output" or not numbers.issuperset((told.source.site, told.sink.site)):
                return (found,)
    chosen = dict((*_updated_by_data(conflicts, sharing), *conditional_races(conflicts, sharing)))
    for memory in conflicts.written_in(sharing.construct.loop.ordinal):
        accesses = conflicts.accesses(memory, sharing.construct.loop.ordinal)
        if all(a.kind == "write" and a.site in numbers for a in accesses):
            chosen.pop(memory.variable.name, None)
    # Numba has neither atomic updates nor clauses.
    possible = (replace(each, atomic=False, mend=None) for each in chosen.values())
    return (*possible, *_not_combined(conflicts, sharing, scalars))


def _updated_by_data(conflicts: Conflicts, sharing: DataSharing) -> Iterator[tuple[str, ConditionalRace]]:
    """The elements that iterations update where data says so: threads share them, and none combines them."""
    ordinal = sharing.construct.loop.ordinal
    for memory in conflicts.written_in(ordinal):
        accesses = conflicts.accesses(memory, ordinal)
        if not memory.shape or reassociable(conflicts, accesses, ordinal) is None:
            continue
        carried = islice(conflicts.carried(memory, ordinal), 120)
        if next(unordered(conflicts, sharing, carried, ordinal), None) is not None:
            write = next(a for a in accesses if a.kind == "write")
            yield memory.variable.name, ConditionalRace("two of them update it", access_point(write))


def _not_combined(conflicts: Conflicts, sharing: DataSharing, scalars: LoopScalars) -> Iterator[Lacking]:
    """Extremes that are found with a comparison, which Numba does not recognise: the result of a thread is
    lost."""
    ordinal = sharing.construct.loop.ordinal
    private = listed(sharing.construct.directive, "private")
    for memory in conflicts.written_in(ordinal):
        name = memory.variable.source_name
        if memory.shape or memory.path not in private or not scalars.live(memory.variable.name):
            continue
        accesses = conflicts.accesses(memory, ordinal)
        operator = reassociable(conflicts, accesses, ordinal)
        if operator in ("min", "max"):
            write = access_point(next(a for a in accesses if a.kind == "write"))
            yield Lacking("sum", name, write, Mend(f"{name} = {operator}({name}, …)"))


def _one_race(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """At most one finding that no clause mends, and all others."""
    every = list(found)
    wrong = [f for f in every if not isinstance(f, (Lacking, ConditionalRace))]
    return (*wrong[:1], *(f for f in every if isinstance(f, (Lacking, ConditionalRace))))


def _on_memory(
    conflicts: Conflicts, sharing: DataSharing, scalars: LoopScalars, racing: Racing
) -> Finding | None:
    mended = lacking(conflicts, sharing, scalars, racing)
    is_scalar = racing.memory.dimensions == racing.memory.scoped and racing.memory.pointer is None
    if sharing.construct.mode == "device" and is_scalar and not sharing.is_mapped(racing.memory.variable):
        # Each gang or team starts from a copy: the value of a temporary is lost, invisible to all others.
        needed = mended is not None and mended.kind == "sum" and scalars.live(racing.memory.variable.name)
        return mended if needed else None
    if mended is not None:
        return mended
    telling = most_telling(conflicts, racing.proven, racing.ordinal)
    shown = witness(conflicts, telling, racing.ordinal)
    sized = shown is not None and needs_sizes(conflicts, telling, racing.ordinal)
    return None if shown is None else Race(shown, sized=sized)
