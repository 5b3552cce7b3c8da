"""Integers and pointers that a construct's loop sets and that the model knows in closed form, so that they
are no memory in it; shared by its threads they are no less a race.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from polylsp.analysis.always import all_always_assigned, always_run
from polylsp.analysis.conflicts import Conflicts
from polylsp.analysis.data_sharing import DataSharing, listed
from polylsp.analysis.effects import loops_in, nodes, walk
from polylsp.analysis.linear import counting, places_copies
from polylsp.analysis.mending import can_be_lastprivate, lasting, summing
from polylsp.analysis.order import keeps_no_order
from polylsp.analysis.races import calls_in, loops_surely_run
from polylsp.analysis.scalars import LoopScalars
from polylsp.analysis.witness import first_iterations
from polylsp.model.directive import Finding, Lacking, Mend, Race
from polylsp.model.program import Assign, Declare, Loop, Read, Variable, within
from polylsp.model.verdict import AccessPoint, Dependence, Witness


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


def _carried(
    loop: Loop,
    assign: Assign,
    found: tuple[_Iteration, _Iteration, _Iteration],
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
    own = {s.variable for s in walk(loop.body) if isinstance(s, Declare)}
    found = {
        s.target.variable
        for s in walk(loop.body)
        if isinstance(s, Assign) and not s.target.steps and s.target.variable not in own
    }
    names = [v.source_name for v in found]
    return sorted((v for v in found if names.count(v.source_name) == 1), key=lambda v: v.name)
