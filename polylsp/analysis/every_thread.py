"""Code of a parallel region that every thread runs, and that writes shared variables."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.analysis.always import always_run, names
from polylsp.analysis.callee_state import called_accesses
from polylsp.analysis.constructs import Directed, is_restrained
from polylsp.analysis.data_sharing import brought_back, copied_by
from polylsp.analysis.effects import nodes, walk
from polylsp.analysis.host_uses import statements_after
from polylsp.analysis.liveness import exposed
from polylsp.analysis.parallel_regions import ParallelRegion, statements_at
from polylsp.analysis.spelling import spell_place
from polylsp.analysis.task_data import leaves_to_chance
from polylsp.analysis.uniform import Uniformity
from polylsp.model.directive import (
    AnyDirective,
    EveryThread,
    Finding,
    Lacking,
    Mend,
    Sharing,
    UnknownDirective,
)
from polylsp.model.expressions import stripped
from polylsp.model.program import (
    AddressOf,
    Assign,
    Block,
    Constant,
    Field,
    Loop,
    Place,
    Pointer,
    Read,
    Site,
    Statement,
    Variable,
    within,
)
from polylsp.model.verdict import AccessPoint

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
        for variable, point in (each for each in accesses if region.is_plain(each[1].site)):
            place = Place(variable, (), variable.type, point.site)
            updated = any(v == variable and p.kind == "read" for v, p in accesses)
            if point.kind == "write" and updated and uniformity.is_one_place(place):
                yield variable.name, EveryThread(point, False)


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
    return all(d.words == ("simd",) or (d.words in _MADE and leaves_to_chance(d)) for d in holding)


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
