"""Checks of a function's directives against its dependences, and of scalars without memory.

Possible errors are not reported: a false alarm would cost more than it is worth. Integers and
pointers that the model has in closed form are no memory in it, but race all the same if shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice

from polylsp.analysis.dependence.conflicts import Conflicts
from polylsp.analysis.dependence.scalars import LoopScalars
from polylsp.analysis.dependence.shared_arguments import SharedArgument, as_in_call
from polylsp.analysis.dependence.verdicts import reassociable
from polylsp.analysis.dependence.witness import access_point, first_iterations, witness
from polylsp.analysis.directives.called_races import called_race
from polylsp.analysis.directives.clause_repair import (
    can_be_lastprivate,
    copy_findings,
    lacking,
    lasting,
    summing,
)
from polylsp.analysis.directives.conditional_races import (
    conditional_races,
    conditional_updates,
    every_thread_findings,
    team_findings,
)
from polylsp.analysis.directives.constructs import Directed, construct_of, runs_in_parallel
from polylsp.analysis.directives.device_regions import data_findings, device_region, short_copies
from polylsp.analysis.directives.linear_variables import counting, linear_findings, places_copies
from polylsp.analysis.directives.loop_forms import miscounted
from polylsp.analysis.directives.parallel_regions import ParallelRegion, parallel_region
from polylsp.analysis.directives.races import (
    DataSharing,
    Racing,
    calls_in,
    listed,
    loops_surely_run,
    most_telling,
    needs_sizes,
    races,
    unordered,
)
from polylsp.analysis.directives.tasks import deferred_finding, lost_result, task_race
from polylsp.analysis.directives.thread_blocks import block_finding, goes_by_number
from polylsp.analysis.directives.thread_order import keeps_no_order
from polylsp.analysis.directives.unordered import OfThread, unordered_findings
from polylsp.analysis.scop.regions import Nest
from polylsp.analysis.scop.summaries import Calls
from polylsp.ir.directive import (
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
from polylsp.ir.effects import declared_in, loops_in, nodes, walk
from polylsp.ir.must_execute import all_always_assigned, always_run
from polylsp.ir.program import (
    Assign,
    Constant,
    Function,
    Loop,
    Read,
    Variable,
    stripped,
    within,
)
from polylsp.ir.verdict import AccessPoint, Dependence, Witness
from polylsp.poly.budget import Budget, Exhausted

# --------------------------------------------------------------------------------------------------
# Integers and pointers that a construct's loop sets and that the model knows in closed form, so
# that they are no memory in it; shared by its threads they are no less a race.
# --------------------------------------------------------------------------------------------------


def counter_findings(
    conflicts: Conflicts, sharing: DataSharing, scalars: LoopScalars
) -> Iterator[tuple[str, Finding]]:
    """Findings about such variables, by unique name."""
    loop = sharing.construct.loop
    found = None if scalars.obstacle is not None else first_iterations(conflicts, loop.ordinal)
    if found is None:
        return
    for variable in _set_in(loop):
        # Whether inner loops run is a query to isl, run only where nothing outside of them is found.
        every = chain(_always_set(sharing, variable), _set_in_inner_loops(conflicts, sharing, variable))
        assigns = list(every)
        assign = next((each for each in assigns if not sharing.construct.exclusions(each.site)), None)
        if assign is None:
            read = _read_beside(sharing, variable, assigns)
            if read is not None:
                yield variable.name, _carried(loop, assigns[0], found, False, read)
            continue
        private = variable.source_name in listed(sharing.construct.directive, "private")
        if not private and sharing.has_copies(variable, assign.site):
            mend = places_copies(sharing, variable)
            if mend is not None:
                yield variable.name, Lacking("count", variable.source_name, _point(assign, "write"), mend)
            continue
        one = _finding(conflicts, sharing, scalars, variable, assign, "private" if private else "")
        counts = variable.source_name in {i.variable for i in scalars.inductions}
        if one is not None:
            yield variable.name, one
        elif counts and sharing.construct.mode == "threads":
            mend = counting(sharing, variable, "private" if private else "")
            counted = mend and Lacking("count", variable.source_name, _point(assign, "write"), mend)
            yield variable.name, counted or _carried(loop, assign, found, private)
        elif (race := _of_shared(sharing, scalars, assign, found)) is not None:
            yield variable.name, race


def _always_set(sharing: DataSharing, variable: Variable) -> Iterator[Assign]:
    for loop in sharing.construct.loops:
        yield from all_always_assigned(loop.body, variable)


def _set_in_inner_loops(conflicts: Conflicts, sharing: DataSharing, variable: Variable) -> Iterator[Assign]:
    """The assignments in inner loops that surely run, if they run often enough."""
    outer = sharing.construct.loop
    for statement in always_run(outer.body, inner_loops=True):
        if (
            not isinstance(statement, Assign)
            or statement.target.steps
            or statement.target.variable != variable
        ):
            continue
        around = [each for each in loops_in(outer.body) if within(statement.site, each.site)]
        # What a `for` does first belongs to the loop around it.
        own = [each for each in around if not within(statement.site, each.header)]
        if own and loops_surely_run(conflicts, outer.ordinal, own[-1].ordinal):
            yield statement


def _finding(
    conflicts: Conflicts,
    sharing: DataSharing,
    scalars: LoopScalars,
    variable: Variable,
    assign: Assign,
    out_of: str,
) -> Finding | None:
    """The clause that the variable needs, if one helps."""
    name, mode = variable.source_name, sharing.construct.mode
    point = _point(assign, "write")
    if sharing.is_shared_by_clause(name) or variable.storage == "static":
        return None
    if name in scalars.counters:
        return Lacking("sum", name, point, summing("+", variable, out_of))
    if out_of or mode != "threads" or name in {i.variable for i in scalars.inductions}:
        return None
    if name in scalars.private:
        return Lacking("temporary", name, point, Mend(f"private({name})"))
    if name in scalars.lastprivate and can_be_lastprivate(sharing):
        return Lacking("temporary", name, point, lasting(conflicts, sharing, variable))
    return None


_Iteration = tuple[tuple[str, int], ...]
_Iterations = tuple[_Iteration, _Iteration, _Iteration]


def _of_shared(sharing: DataSharing, scalars: LoopScalars, assign: Assign, found: _Iterations) -> Race | None:
    """The race on a variable that a clause `shared` names, so that no other clause can, and that each
    iteration updates or overwrites."""
    construct, name = sharing.construct, assign.target.variable.source_name
    if name not in listed(construct.directive, "shared") or construct.mode != "threads" or construct.doacross:
        return None
    if name in scalars.counters:
        return _carried(construct.loop, assign, found, False)
    same = assign.operator is None and isinstance(stripped(assign.value), Constant)
    if same or name not in {*scalars.private, *scalars.lastprivate}:
        return None
    point = _point(assign, "write")
    dependence = Dependence("output", point, point, construct.loop.ordinal, 1, ("<",), True)
    return Race(Witness(dependence, *found))


def _carried(
    loop: Loop,
    assign: Assign,
    found: _Iterations,
    copied: bool,
    read: AccessPoint | None = None,
) -> Race:
    """Each iteration goes on from where the one before it left the variable, in a `read` or the update."""
    source, sink = _point(assign, "write"), read or _point(assign, "read")
    dependence = Dependence("flow", source, sink, loop.ordinal, 1, ("<",), True)
    first, second, parameters = found
    return Race(Witness(dependence, first, second, parameters), copied)


def _read_beside(sharing: DataSharing, variable: Variable, assigns: list[Assign]) -> AccessPoint | None:
    """A read of a shared variable that each iteration makes outside of the atomic or critical regions that
    update the variable."""
    construct = sharing.construct
    if not assigns or construct.mode != "threads" or sharing.has_copies(variable, assigns[0].site):
        return None
    if not all(keeps_no_order(call, sharing.directed.calls) for call in calls_in(construct.loop)):
        return None
    held = construct.exclusions(assigns[0].site)
    for statement in always_run(construct.loop.body):
        for node in nodes(statement) if not isinstance(statement, Loop) else ():
            if not isinstance(node, Read) or node.place.variable != variable or node.place.steps:
                continue
            site = node.place.site
            if held.isdisjoint(construct.exclusions(site)) and not construct.in_order(site, site):
                return AccessPoint(variable.source_name, variable.source_name, "read", site)
    return None


def _point(assign: Assign, kind: str) -> AccessPoint:
    name = assign.target.variable.source_name
    return AccessPoint(name, name, "write" if kind == "write" else "read", assign.target.site)


def _set_in(loop: Loop) -> list[Variable]:
    """The variables that the body sets and that live outside of it, but for those of one name."""
    own = declared_in(loop.body)
    found = {
        s.target.variable
        for s in walk(loop.body)
        if isinstance(s, Assign) and not s.target.steps and s.target.variable not in own
    }
    names = [v.source_name for v in found]
    return sorted((v for v in found if names.count(v.source_name) == 1), key=lambda v: v.name)


# --------------------------------------------------------------------------------------------------
# Check of the directives of a function: their claims against the dependences.
#
# Possible errors are not reported: a false alarm would cost more than it is worth.
# --------------------------------------------------------------------------------------------------


ModelOf = Callable[[int], tuple[Nest, Conflicts] | None]
ScalarsOf = Callable[[Nest, int], LoopScalars]


@dataclass(frozen=True)
class Models:
    """Services of the analysis for the checks of directives: the model of the nest with a loop (ordinal), and
    its conflicts; the classification of a loop's scalars in such a model; the effects of callees. `resident`:
    code of the file elsewhere places data on the device. `serial`: one thread runs the code outside of the
    function's parallel regions. `of_thread`: the models of all nests for one thread of a team. `shared` are
    the calls in the file that pass one memory to the function twice."""

    model_of: ModelOf
    of_thread: OfThread
    scalars_of: ScalarsOf
    calls: Calls
    resident: bool
    budget: Budget
    serial: bool = False
    shared: tuple[SharedArgument, ...] = ()


def directive_facts(function: Function, models: Models) -> tuple[DirectiveFacts, ...]:
    """Findings of each directive."""
    directed = Directed(function, models.calls)

    between = _between(directed, models)

    def findings(directive: AnyDirective) -> tuple[Finding, ...]:
        result: list[Finding] = list(between.get(directive.pragma, ()))
        for check in (_of_loops, partial(_of_region, between), _of_teams, _of_tasks, _of_data):
            found = models.budget.run(lambda c=check: c(directed, directive, models))
            result += [] if isinstance(found, Exhausted) else found
        return tuple(result)

    return tuple(_facts(directed, each, findings(each)) for each in function.directives)


def _of_loops(directed: Directed, directive: AnyDirective, models: Models) -> tuple[Finding, ...]:
    """Findings about the loops that a directive hands out."""
    counted = () if directive.family == "numba" else directed.handed_out(directive)
    wrong = next(filter(None, map(miscounted, counted)), None)
    if wrong is not None:
        return (wrong,)
    construct = construct_of(directed, directive)
    model = None if construct is None else models.model_of(construct.loop.ordinal)
    if construct is None or (construct.orphaned and models.serial):
        return ()
    sharing = DataSharing(directed, construct)
    if model is None or any(model[1].scop.loops[one.ordinal].obstacles for one in construct.loops):
        called = called_race(sharing, True)
        return () if called is None else (called,)
    called = called_race(sharing, False)
    nest, conflicts = model
    scalars = models.scalars_of(nest, construct.loop.ordinal)
    found = _findings(nest, conflicts, sharing, scalars)
    if any(isinstance(f, Race) for f in found):
        return found
    called = called or next(_in_calls(conflicts, sharing, scalars, models.shared), None)
    return found if called is None else (called, *found)


def _in_calls(
    conflicts: Conflicts, sharing: DataSharing, scalars: LoopScalars, shared: Sequence[SharedArgument]
) -> Iterator[Race]:
    """The races in calls that pass one memory to two parameters."""
    for call in shared:
        as_one = as_in_call(conflicts, call)
        if as_one is None:
            continue
        for racing in races(as_one, sharing, scalars.known):
            found = _on_memory(as_one, sharing, scalars, racing)
            if isinstance(found, Race):
                yield replace(found, called=call.sentence)


def _of_region(
    between: Mapping[int, list[Unordered]], directed: Directed, directive: AnyDirective, models: Models
) -> tuple[Finding, ...]:
    """Findings about a parallel region as a whole."""
    region = parallel_region(directed, directive)
    if region is None or region.directive.words != ("parallel",):
        return ()
    found = _one_race(dict(reversed(list(every_thread_findings(region)))).values())
    blocks = block_finding(region, models.of_thread) if not found else None
    is_told = blocks is not None and blocks.kind == "no-barrier" and _is_told(region, between)
    return found if blocks is None or is_told else (blocks,)


def _is_told(region: ParallelRegion, between: Mapping[int, list[Unordered]]) -> bool:
    """True if a missing barrier is reported for a region, or for a directive in it."""
    return any(each.pragma in between for each in (region.directive, *region.inside))


def _of_teams(directed: Directed, directive: AnyDirective, models: Models) -> tuple[Finding, ...]:
    """Writes that several teams do at once."""
    del models
    return _one_race(team_findings(directed, directive))


def _of_tasks(directed: Directed, directive: AnyDirective, models: Models) -> tuple[Finding, ...]:
    """Races of tasks that a loop makes, and of a task with the code after it."""
    race = task_race(directed, directive, models.model_of)
    race = race or deferred_finding(directed, directive, models.model_of, models.serial)
    found = race or lost_result(directed, directive)
    return () if found is None else (found,)


def _between(directed: Directed, models: Models) -> dict[int, list[Unordered]]:
    """Meetings of parts of parallel regions, by the number of the pragma that should keep it apart."""
    result: dict[int, list[Unordered]] = {}
    for directive in directed.function.directives:
        region = parallel_region(directed, directive)
        if region is not None:
            of_thread = models.of_thread if goes_by_number(region) else None
            checked = partial(unordered_findings, region, models.model_of, of_thread)
            found = models.budget.run(lambda check=checked: list(check()))
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


def _findings(
    nest: Nest, conflicts: Conflicts, sharing: DataSharing, scalars: LoopScalars
) -> tuple[Finding, ...]:
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
        *short_copies(nest, conflicts, sharing),
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
    left = (found for _, found in copied if isinstance(found, Lacking) and found.kind == "end")
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
    return (*possible, *left, *_not_combined(conflicts, sharing, scalars))


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
        search = next((s for s in scalars.searches if s.variables[0] == memory.variable), None)
        if search is not None and any(scalars.live(v.name) for v in search.variables):
            write = access_point(next(a for a in conflicts.accesses(memory, ordinal) if a.kind == "write"))
            found = search.carried[0].target.variable.source_name
            yield Lacking("sum", name, write, Mend(f"{found} = np.arg{search.operator}(…)"))
            continue
        if memory.shape or memory.path not in private or not scalars.live(memory.variable.name):
            continue
        accesses = conflicts.accesses(memory, ordinal)
        operator = reassociable(conflicts, accesses, ordinal)
        if operator in ("min", "max"):
            write = access_point(next(a for a in accesses if a.kind == "write"))
            yield Lacking("sum", name, write, Mend(f"{name} = {operator}({name}, …)"))


def _one_race(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings to report for a loop: every missing clause, and the first race that no clause removes."""
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
