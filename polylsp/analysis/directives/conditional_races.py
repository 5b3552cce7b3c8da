"""Races that depend on data or on the caller, and shared writes by every thread.

Covers conditional reductions (`if (a[i] > m) m = a[i];`: without the clause right only if at most
one update happens), elements selected by an index array, distances that are parameters, and
device variables that every team writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflict, Conflicts
from polylsp.analysis.dependence.scalars import LoopScalars
from polylsp.analysis.dependence.verdicts import reassociable
from polylsp.analysis.dependence.witness import access_point
from polylsp.analysis.directives.callee_state import called_accesses
from polylsp.analysis.directives.clause_repair import can_be_reduced, lacking, summing
from polylsp.analysis.directives.constructs import Directed, is_restrained
from polylsp.analysis.directives.data_sharing import at_once, leaves_to_chance
from polylsp.analysis.directives.parallel_regions import ParallelRegion, Uniformity, statements_at
from polylsp.analysis.directives.races import (
    DataSharing,
    Racing,
    brought_back,
    calls_in,
    copied_by,
    distance_parameters,
    is_unconditional,
    unordered,
)
from polylsp.analysis.directives.thread_order import keeps_no_order
from polylsp.analysis.scop.variable_uses import statements_after
from polylsp.ir.directive import (
    AnyDirective,
    ConditionalRace,
    EveryThread,
    Finding,
    Lacking,
    Mend,
    Sharing,
    UnknownDirective,
)
from polylsp.ir.effects import effects, nodes, walk
from polylsp.ir.liveness import exposed
from polylsp.ir.must_execute import always_run, names
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Binary,
    Block,
    Call,
    Cast,
    Constant,
    Expr,
    Field,
    If,
    Integer,
    Jump,
    Loop,
    Place,
    Pointer,
    Read,
    Site,
    Statement,
    Variable,
    stripped,
    subexpressions,
    subscripts,
    within,
)
from polylsp.ir.spelling import spell_place
from polylsp.ir.verdict import AccessPoint
from polylsp.poly.scop import Access, Memory, without_name

# --------------------------------------------------------------------------------------------------
# Races that data or the caller decide on: sums and extremes that iterations update where their data
# says so (`if (a[i] > m) m = a[i];`: no single update is certain, but a directive without the
# clause is right only if there is at most one), elements that an index array chooses, and distances
# that are parameters.
# --------------------------------------------------------------------------------------------------


_MOST = 120


def conditional_updates(
    conflicts: Conflicts, sharing: DataSharing, scalars: LoopScalars
) -> Iterator[tuple[str, Finding]]:
    """The reductions whose clause is missing, by unique name."""
    construct = sharing.construct
    ordering = any(not keeps_no_order(c, sharing.directed.calls) for c in calls_in(construct.loop))
    if construct.mode != "threads" or construct.inside or ordering:
        return
    if _depends_on_the_thread(sharing):
        return
    for memory in conflicts.written_in(construct.loop.ordinal):
        if _is_shared_scalar(sharing, memory) and _happens_by_data(conflicts, construct.loop, memory):
            found = lacking(conflicts, sharing, scalars, Racing(memory, construct.loop.ordinal, ()))
            if found is not None and found.kind == "sum":
                yield memory.variable.name, found


def _is_shared_scalar(sharing: DataSharing, memory: Memory) -> bool:
    if memory.shape or memory.pointer is not None or memory.path != memory.variable.source_name:
        return False
    return not sharing.is_out_of_reach(memory, sharing.construct.loop.site)


def _happens_by_data(conflicts: Conflicts, loop: Loop, memory: Memory) -> bool:
    """True if iterations only update a variable by one operator, under conditions on the data of each
    iteration, and are numerous for all parameter values."""
    accesses = conflicts.accesses(memory, loop.ordinal)
    operator = reassociable(conflicts, accesses, loop.ordinal)
    guards = [guard for access in accesses for guard in conflicts.statement(access).guards]
    if operator is None or any(each.update != operator for each in accesses):
        return False
    if any(guard.kind != "if" for guard in guards) or not _reads_data(loop, memory.variable):
        return False
    carried = (each for each in conflicts.carried(memory, loop.ordinal) if not each.certain)
    return any(is_unconditional(conflicts, each, loop.ordinal) for each in carried)


def _reads_data(loop: Loop, variable: Variable) -> bool:
    """True if all conditions that guard an assignment read data that vary over the iterations."""
    deciding = [s for s in walk(loop.body) if isinstance(s, If) and _decides(s, variable)]
    changing = effects(loop).scalars - {variable.name}
    return all(_changes(each.condition, changing) for each in deciding)


def _decides(choice: If, variable: Variable) -> bool:
    inside = list(walk(choice.then, choice.otherwise))
    assigned = any(isinstance(s, Assign) and s.target.variable == variable for s in inside)
    return assigned or any(isinstance(s, Jump) for s in inside)


def _changes(value: Expr, changing: frozenset[str]) -> bool:
    """True if an expression reads a variable among some, or an element at a subscript that does."""
    for node in subexpressions(value):
        if isinstance(node, Read):
            if node.place.variable.name in changing and not node.place.steps:
                return True
            if any(_changes(each, changing) for each in subscripts(node.place)):
                return True
    return False


def _depends_on_the_thread(sharing: DataSharing) -> bool:
    """True if the loop reads thread-private values from before it, or branches on what a call such as
    `omp_get_thread_num` returns."""
    loop = sharing.construct.loop
    own = _from_calls(loop)
    if any(_is_from_call(s.condition, own) for s in walk(loop.body) if isinstance(s, If)):
        return True
    changing = effects(loop).scalars
    outside = {
        node.place.variable
        for statement in walk(loop)
        for node in nodes(statement)
        if isinstance(node, Read) and node.place.variable.name not in changing
    }
    return any(sharing.varies(v.source_name) or sharing.has_copies(v, loop.site) for v in outside)


def _from_calls(loop: Loop) -> frozenset[str]:
    """The variables (unique names) that the loop computes from results of calls with hidden inputs, among
    which the number of the thread may be."""
    assigned = [s for s in walk(loop.body) if isinstance(s, Assign) and not s.target.steps]
    found = frozenset[str]()
    while True:
        more = {s.target.variable.name for s in assigned if _is_from_call(s.value, found)}
        if more <= found:
            return found
        found |= more


def _is_from_call(value: Expr, found: frozenset[str]) -> bool:
    return any(
        not node.pure
        if isinstance(node, Call)
        else isinstance(node, Read) and node.place.variable.name in found
        for node in subexpressions(value)
    )


# --- Races under a condition -------------------------------------------------------------

_ATOMIC = {"+", "*", "&", "|", "^"}


def conditional_races(conflicts: Conflicts, sharing: DataSharing) -> Iterator[tuple[str, ConditionalRace]]:
    """The races that need repeated values in an index array, or a loop that runs more often than a distance
    which is a parameter; one for each variable, by unique name."""
    seen: set[str] = set()
    for loop in sharing.construct.loops:
        for memory in conflicts.written_in(loop.ordinal):
            if memory.name in seen:
                continue
            carried = islice(conflicts.carried(memory, loop.ordinal), _MOST)
            for conflict in unordered(conflicts, sharing, carried, loop.ordinal):
                found = _chosen_by_data(conflicts, sharing, conflict, loop) if memory.shape else None
                found = found or _set_by_data(conflicts, sharing, conflict, loop)
                found = found or _set_twice_by_data(conflicts, sharing, conflict, loop)
                found = found or _gathered(conflicts, conflict, loop)
                found = found or _at_a_distance(conflicts, conflict, loop)
                found = found or _on_input(conflicts, sharing, conflict, loop)
                if found is not None:
                    seen.add(memory.name)
                    yield memory.variable.name, found
                    break


def _chosen_by_data(
    conflicts: Conflicts, sharing: DataSharing, conflict: Conflict, loop: Loop
) -> ConditionalRace | None:
    """The race on an element that data choose, as `h[idx[i]] += 1` does."""
    write = conflict.source if conflict.source.kind == "write" else conflict.sink
    if not write.indirect or write.kind != "write" or _is_handed_out(sharing, write, loop):
        return None
    own, written = _from_calls(loop), _written_subscripts(loop, write)
    if any(_is_from_call(subscript, own) for subscript in written):
        return None
    if conflict.source.site == conflict.sink.site and any(_counts_on(loop, s) for s in written):
        return None
    read = {n.place.variable for s in written for n in subexpressions(s) if isinstance(n, Read)}
    if any(sharing.varies(v.source_name) and v.name not in effects(loop).scalars for v in read):
        return None  # Each thread has elements of its own, as of its number.
    repeated = _index_array(loop, write)
    condition = (
        f"`{repeated}` has repeated values" if repeated else f"`{write.text}` is one element in two of them"
    )
    operator = reassociable(conflicts, conflicts.accesses(write.memory, loop.ordinal), loop.ordinal)
    is_sum = operator is not None and sharing.construct.mode != "lanes"
    clause = operator is not None and can_be_reduced(write.memory, sharing)
    mend = summing(operator, write.memory.variable) if clause and operator is not None else None
    return ConditionalRace(condition, access_point(write), is_sum and operator in _ATOMIC, mend)


def _is_handed_out(sharing: DataSharing, write: Access, loop: Loop) -> bool:
    """True if a subscript is a number that one thread at a time takes, as from a counter: iterations then
    have distinct numbers."""
    assigned = [s for s in walk(loop.body) if isinstance(s, Assign)]
    return any(
        sharing.construct.exclusions(source.site)
        for assign in assigned
        if assign.target.site == write.site
        for subscript in map(stripped, subscripts(assign.target))
        if isinstance(subscript, Read)
        for source in assigned
        if source.target.variable == subscript.place.variable
    )


def _written_subscripts(loop: Loop, write: Access) -> list[Expr]:
    assigned = (s for s in walk(loop.body) if isinstance(s, Assign) and s.target.site == write.site)
    return [subscript for assign in assigned for subscript in subscripts(assign.target)]


def _counts_on(loop: Loop, subscript: Expr) -> bool:
    """True for the sum of a loop's counter with values that no iteration changes, which is another number in
    each iteration; it may be in a variable that the iteration sets once."""
    counters = {s.target.variable for s in walk(loop.step) if isinstance(s, Assign) and not s.target.steps}
    changing, value = effects(loop.body).scalars, stripped(subscript)
    if isinstance(value, Read) and not value.place.steps and value.place.variable not in counters:
        assigned = (s for s in walk(loop.body) if isinstance(s, Assign))
        sources = [s for s in assigned if s.target.variable == value.place.variable and not s.target.steps]
        if len(sources) != 1 or sources[0].operator is not None:
            return False
        value = sources[0].value
    counted = 0
    for node in subexpressions(value):
        if not isinstance(node.type, Integer) or node.type.bits < 32:
            return False
        match node:
            case Read(place=Place(variable=variable, steps=())) if variable in counters:
                counted += variable.name not in changing
            case Read(place=Place(variable=variable, steps=())) if variable.name not in changing:
                pass
            case Binary(operator="+" | "-") | Constant() | Cast():
                pass
            case _:
                return False
    return counted == 1 and len(counters) == 1


def _index_array(loop: Loop, write: Access) -> str:
    """The array whose elements are subscripts of the written element; empty if there is none."""
    assigned = [s for s in walk(loop.body) if isinstance(s, Assign)]
    for assign in assigned:
        if assign.target.site != write.site:
            continue
        for subscript in map(stripped, subscripts(assign.target)):
            sources = [subscript]
            if isinstance(subscript, Read) and not subscript.place.steps:
                variable = subscript.place.variable
                sources = [stripped(a.value) for a in assigned if a.target.variable == variable]
            if len(sources) == 1 and isinstance(sources[0], Read) and sources[0].place.steps:
                return sources[0].place.variable.source_name
    return ""


def _set_by_data(
    conflicts: Conflicts, sharing: DataSharing, conflict: Conflict, loop: Loop
) -> ConditionalRace | None:
    """The race on a variable, or an element, that one iteration surely reads and that others set where data
    says so."""
    ends = (conflict.source, conflict.sink)
    write = next(end for end in ends if end.kind == "write")
    read = next((end for end in ends if end.kind == "read"), None)
    is_element = bool(write.memory.shape) or write.memory.pointer is not None
    # An inexact write of one known element depends on the condition of a choice.
    unknown = is_element and (write.indirect or not (write.exact or write.relation.is_single_valued()))
    if read is None or unknown:
        return None
    in_threads = sharing.construct.mode == "threads" or sharing.is_mapped(write.memory.variable)
    by_data = bool(conflicts.statement(write).guards) or not write.exact
    if not in_threads or not conflicts.certain(read) or not by_data:
        return None
    assigned = [s for s in walk(loop.body) if isinstance(s, Assign) and s.target.site == write.site]
    same = any(s.operator is None and isinstance(stripped(s.value), Constant) for s in assigned)
    if same or not is_unconditional(conflicts, conflict, loop.ordinal):
        return None
    if is_element and _is_of_one_iteration(conflicts, conflict, write, loop):
        return None  # That may be the one for which the condition never holds, as on a diagonal.
    return ConditionalRace("any of them sets it", access_point(write))


def _is_of_one_iteration(conflicts: Conflicts, conflict: Conflict, end: Access, loop: Loop) -> bool:
    """True if an end of a conflict lies in one iteration of a loop alone, for each of those around it."""
    pairs = conflict.relation
    instances = pairs.domain() if end is conflict.source else pairs.range()
    depth = conflicts.statement(end).loops.index(loop.ordinal)
    inner = instances.dim(isl.dim_type.set) - depth - 1
    outer = isl.Map.from_range(without_name(instances).project_out(isl.dim_type.set, depth + 1, inner))
    return bool(outer.move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, depth).is_single_valued())


def _set_twice_by_data(
    conflicts: Conflicts, sharing: DataSharing, conflict: Conflict, loop: Loop
) -> ConditionalRace | None:
    """The race on a scalar that several iterations may write, each under a condition on its own data."""
    write, memory = conflict.source, conflict.source.memory
    if conflict.kind != "output" or conflict.sink.site != write.site or sharing.construct.mode != "threads":
        return None
    ordered = any(not keeps_no_order(call, sharing.directed.calls) for call in calls_in(loop))
    if ordered or sharing.construct.inside or not _is_shared_scalar(sharing, memory):
        return None
    guards = conflicts.statement(write).guards
    assigned = [s for s in walk(loop.body) if isinstance(s, Assign) and s.target.site == write.site]
    same = not assigned or any(isinstance(stripped(s.value), Constant) for s in assigned)
    if same or not guards or any(guard.kind != "if" for guard in guards):
        return None
    if not _reads_data(loop, memory.variable) or _depends_on_the_thread(sharing):
        return None
    if not is_unconditional(conflicts, conflict, loop.ordinal):
        return None
    return ConditionalRace("two of them set it", access_point(write))


def _gathered(conflicts: Conflicts, conflict: Conflict, loop: Loop) -> ConditionalRace | None:
    """The race of a read at a subscript from data (`a[i] = a[idx[i]]`) with another iteration's write."""
    ends = (conflict.source, conflict.sink)
    write = next(end for end in ends if end.kind == "write")
    read = next((end for end in ends if end.kind == "read"), None)
    if read is None or not read.indirect or write.indirect or not conflicts.certain(write):
        return None
    if read.memory != write.memory or conflicts.statement(read).guards:
        return None
    # A write elsewhere (`a[i + 3000]`) may be meant to be where no subscript of the data leads.
    if not _is_own_element(conflicts, write, loop):
        return None
    if not is_unconditional(conflicts, conflict, loop.ordinal):
        return None
    return ConditionalRace("another one writes it", access_point(read))


def _is_own_element(conflicts: Conflicts, write: Access, loop: Loop) -> bool:
    """True if the first subscript of a write is the loop's iterator."""
    depth = conflicts.statement(write).loops.index(loop.ordinal)
    relation = write.relation
    if not relation.dim(isl.dim_type.out):
        return False
    equal = isl.Map.universe(relation.get_space()).equate(isl.dim_type.in_, depth, isl.dim_type.out, 0)
    return bool(relation.is_subset(equal))


def _on_input(
    conflicts: Conflicts, sharing: DataSharing, conflict: Conflict, loop: Loop
) -> ConditionalRace | None:
    """The race of iterations that use one element where a condition on inputs holds in both."""
    if not conflict.if_input or conflict.kind != "flow" or sharing.construct.mode != "threads":
        return None
    if conflict.started or not is_unconditional(conflicts, conflict, loop.ordinal):
        return None
    return ConditionalRace(f"{conflict.if_input} in two of them", access_point(conflict.source))


def _at_a_distance(conflicts: Conflicts, conflict: Conflict, loop: Loop) -> ConditionalRace | None:
    """The race of iterations that lie as far apart as a parameter says (`a[i + k]`)."""
    named = distance_parameters(conflicts, conflict, loop.ordinal) if conflict.certain else frozenset[str]()
    if len(named) != 1:
        return None
    (name,) = named
    shown = conflicts.scop.parameters.get(name, name)
    condition = f"`{shown}` is not 0 and the loop runs more than `|{shown}|` times"
    return ConditionalRace(condition, access_point(conflict.sink))


# --------------------------------------------------------------------------------------------------
# Code of a parallel region that every thread runs, and that writes shared variables.
# --------------------------------------------------------------------------------------------------


_MADE = (("task",), ("taskloop",))
_SUMS = {"+": "+", "-": "+", "*": "*", "&": "&", "|": "|", "^": "^"}


def every_thread_findings(region: ParallelRegion) -> Iterator[tuple[str, Finding]]:
    """Writes of several threads at once, by unique name of the variable."""
    uniformity = Uniformity(region)
    for assign, in_loop in _run_by_all(region):
        if not uniformity.is_one_place(assign.target):
            continue
        same_value = assign.operator is None and uniformity.is_uniform(assign.value, memory=True)
        if same_value and not in_loop:
            continue  # Threads that all store one value do no harm, though C gives no promise for it.
        mended = _mended(region, assign) if region.is_plain(assign.site) else None
        yield assign.target.variable.name, mended or EveryThread(_point(assign), in_loop)
    for statement in always_run(region.body, inner_loops=True):
        accesses = list(called_accesses(statement, region.directed))
        read = {(place.variable, point.text) for place, point in accesses if point.kind == "read"}
        for place, point in (each for each in accesses if region.is_plain(each[1].site)):
            updated = point.kind == "write" and (place.variable, point.text) in read
            if updated and uniformity.is_one_place(place):
                yield place.variable.name, EveryThread(point, False)


def team_findings(directed: Directed, directive: AnyDirective) -> Iterator[EveryThread]:
    """Writes of every team of a region to a variable that a device has once: critical sections and locks
    hold back threads of one team alone (OpenMP 5.2, 15.2 and 18.9)."""
    if isinstance(directive, UnknownDirective) or directive.site is None or directive.words[-1] != "teams":
        return
    if is_restrained(directive):
        return
    mapped = frozenset[str]().union(*(brought_back(d) for d in directed.holding(directive.site)))
    body = Block(tuple(statements_at(directed.function.body, directive.site)))
    for assign in always_run(body, inner_loops=True):
        if not isinstance(assign, Assign) or not _is_fixed(assign.target):
            continue
        name = assign.target.variable.source_name
        inside = [d for d in directed.holding(assign.site) if within(d.site or assign.site, directive.site)]
        spread = any(not {"distribute", "loop", "atomic"}.isdisjoint(d.words) for d in inside)
        copied = any(name in copied_by(d) for d in inside)
        same = assign.operator is None and isinstance(stripped(assign.value), Constant)
        if name in mapped and not (spread or copied or same):
            yield EveryThread(_point(assign), False)


def _is_fixed(place: Place) -> bool:
    """True if a place is a variable, or an element of an array that numbers name."""
    fixed = all(isinstance(s, Field) or isinstance(s.subscript, Constant) for s in place.steps)
    return fixed and not (place.steps and isinstance(place.variable.type, Pointer))


def _run_by_all(region: ParallelRegion) -> Iterator[tuple[Assign, bool]]:
    """The assignments that every thread surely runs, if its loops run, and whether they stand in loops."""
    loops = [s.site for s in walk(region.body) if isinstance(s, Loop)]
    for statement in always_run(region.body, inner_loops=True):
        own: tuple[Statement, ...] = (statement,)
        if isinstance(statement, Loop):
            own = (*statement.prologue.statements, *statement.step.statements)
        for each in own:
            if isinstance(each, Assign) and _is_run_by_each(region, each.site):
                yield each, isinstance(statement, Loop) or any(within(each.site, loop) for loop in loops)


def _is_run_by_each(region: ParallelRegion, site: Site) -> bool:
    """True if every thread of a region runs the code at a site, or a task of its own that does."""
    holding = list(region.holding(site))
    made = any(d.words in _MADE for d in holding)
    alone = {("simd",), ("taskgroup",)} if made else {("simd",)}  # A thread waits for its own tasks alone.
    return all(d.words in alone or (d.words in _MADE and leaves_to_chance(at_once(d) or d)) for d in holding)


def _mended(region: ParallelRegion, assign: Assign) -> Lacking | None:
    """The clause that keeps the threads apart, for a scalar."""
    variable, own = assign.target.variable, region.directive
    if (
        assign.target.steps
        or variable.storage not in ("local", "parameter")
        or _is_addressed(region, variable)
    ):
        return None
    if variable.source_name in {i.name for c in own.clauses if isinstance(c, Sharing) for i in c.items}:
        return None
    operator = _summed(region, variable)
    name = variable.source_name
    if operator is not None:
        return Lacking("each-sum", name, _point(assign), Mend(f"reduction({operator}:{name})"))
    if _is_temporary(region, variable):
        return Lacking("each", name, _point(assign), Mend(f"private({name})"))
    return None


def _summed(region: ParallelRegion, variable: Variable) -> str | None:
    """The operator with which the region updates a variable, if it does nothing else with it."""
    found: set[str | None] = set()
    for statement in walk(region.body):
        if isinstance(statement, Assign) and statement.target.variable == variable:
            found.add(_SUMS.get(statement.operator or ""))
            found |= {None} if _reads(statement, variable) or not region.is_plain(statement.site) else set()
        elif not isinstance(statement, (Block, Loop)) and _reads(statement, variable):
            return None
    return found.pop() if len(found) == 1 and not _counts(region, variable) else None


def _counts(region: ParallelRegion, variable: Variable) -> bool:
    """True if a loop of the region goes by the variable."""
    loops = [s for s in walk(region.body) if isinstance(s, Loop)]
    return any(_reads(loop, variable) for loop in loops)


def _is_temporary(region: ParallelRegion, variable: Variable) -> bool:
    """True if the region surely assigns the variable before it reads it, and the value is dead afterwards."""
    body = region.directed.function.body
    later = statements_after(body.statements, region.site, variable)
    if not later.to_the_end or variable.name in exposed(later.statements):
        return False
    for statement in always_run(region.body):
        if isinstance(statement, Assign) and statement.target.variable == variable:
            return statement.operator is None and not _reads(statement, variable)
        if names(statement, variable):
            return False
    return False


def _reads(statement: Statement, variable: Variable) -> bool:
    """True if a statement itself reads a variable, not counting its update in place."""
    return any(isinstance(n, (Read, AddressOf)) and n.place.variable == variable for n in nodes(statement))


def _is_addressed(region: ParallelRegion, variable: Variable) -> bool:
    named = (n for s in walk(region.directed.function.body) for n in nodes(s))
    return variable.escapes or any(isinstance(n, AddressOf) and n.place.variable == variable for n in named)


def _point(assign: Assign) -> AccessPoint:
    name = assign.target.variable.source_name
    return AccessPoint(name, spell_place(assign.target), "write", assign.target.site)
