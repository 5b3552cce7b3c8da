"""Data movement of private copies, and the one clause that repairs a directive.

Reports a copy that lacks the value from before the loop, that of the previous iteration, or the
copy back after the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflict, Conflicts
from polylsp.analysis.dependence.privatisation import (
    last_iteration_leaves,
    last_iteration_writes_all,
    may_have_copy,
)
from polylsp.analysis.dependence.scalars import LoopScalars
from polylsp.analysis.dependence.verdicts import reassociable
from polylsp.analysis.dependence.witness import access_point, value_based, witness
from polylsp.analysis.directives.loop_forms import counter_of
from polylsp.analysis.directives.races import DataSharing, Racing, calls_in, is_unconditional, listed, reduced
from polylsp.ir.directive import (
    Finding,
    Lacking,
    Mend,
    NotLast,
    OtherOperator,
    Race,
    ReductionClause,
    Sharing,
)
from polylsp.ir.effects import declared_in, effects, nodes, walk
from polylsp.ir.must_execute import always_assigned, always_read, first_read_after, names
from polylsp.ir.program import (
    AddressOf,
    Array,
    Assign,
    Call,
    Expr,
    Floating,
    Loop,
    Read,
    Select,
    Site,
    Statement,
    Variable,
    is_whole_array,
    stripped,
    subexpressions,
    within,
)
from polylsp.ir.spelling import spell_place
from polylsp.ir.verdict import AccessPoint, ReductionOperator
from polylsp.poly.scop import Memory, without_name

# --------------------------------------------------------------------------------------------------
# The one clause that makes a directive right, where there is one.
# --------------------------------------------------------------------------------------------------


def lacking(
    conflicts: Conflicts, sharing: DataSharing, scalars: LoopScalars, racing: Racing
) -> Lacking | None:
    """The clause whose absence lets iterations race on a memory; `None` where no clause helps."""
    variable = racing.memory.variable
    if sharing.construct.directive.family == "numba":
        return None  # It takes no clauses.
    if sharing.is_shared_by_clause(variable.source_name) or variable.storage == "static":
        return None  # Another clause names it, or it may be declared in the loop, where no clause sees it.
    called = {call.site for call in calls_in(sharing.construct.loop)}
    accesses = conflicts.accesses(racing.memory, racing.ordinal)
    if any(access.site in called for access in accesses):
        return None  # A function that is called sees the variable itself, whatever copies there are.
    operator = reassociable(conflicts, accesses, racing.ordinal)
    write = next(a for a in accesses if a.kind == "write")
    if operator is not None:
        # Several threads that set a truth value alike are no error in practice.
        if all(a.kind == "write" for a in accesses) or not can_be_reduced(racing.memory, sharing):
            return None
        return Lacking("sum", variable.source_name, access_point(write), summing(operator, variable))
    kind = _copy(conflicts, sharing, scalars, racing)
    if kind is None:
        return None
    mend = lasting(conflicts, sharing, variable) if kind == "lastprivate" else None
    mend = mend or Mend(f"{kind}({variable.source_name})")
    return Lacking("temporary", variable.source_name, access_point(write), mend)


def lasting(conflicts: Conflicts, sharing: DataSharing, variable: Variable) -> Mend:
    """The clause for a variable whose last value is needed after the loop. One that has a value before is
    firstprivate too where the loop may not set it: compilers copy it back all the same."""
    name, words = variable.source_name, sharing.construct.directive.words
    takes_both = "for" in words and "distribute" not in words
    if takes_both and _may_have_value(sharing, variable) and _may_not_set(conflicts, sharing, variable):
        return Mend(f"firstprivate({name}) lastprivate({name})")
    return Mend(f"lastprivate({name})")


def _may_have_value(sharing: DataSharing, variable: Variable) -> bool:
    """True if the variable may have been set when the loop begins."""
    if variable.storage != "local" or isinstance(variable.type, Array) or variable.escapes:
        return True
    loop, directed = sharing.construct.loop, sharing.directed
    declared = [each.site for each in directed.declared if each.variable == variable]
    # In the iteration before of a loop around, unless the variable lives for one of these alone.
    again = [
        each.site
        for each in directed.loops
        if within(loop.site, each.site) and each != loop and not any(within(d, each.site) for d in declared)
    ]
    sites = [
        s.site
        for s in walk(directed.function.body)
        if isinstance(s, Assign) and s.target.variable == variable
    ]
    return any(site.first < loop.site.first or any(within(site, o) for o in again) for site in sites)


def _may_not_set(conflicts: Conflicts, sharing: DataSharing, variable: Variable) -> bool:
    """True if there may be no iteration that sets a variable when the loops of the directive begin."""
    loops, dims = conflicts.scop.loops, isl.dim_type.set
    handed = sharing.construct.loops
    depth = loops[handed[-1].ordinal].domain.dim(dims) - len(handed)
    sets = _setting(conflicts, handed[-1].ordinal, variable)
    runs = reduce(isl.Set.union, (_outer(each, depth) for each in sets)) if sets else None
    if runs is None or depth == 0:
        return runs is None or not conflicts.defined().is_subset(runs.params())
    around = [each.ordinal for each in sharing.directed.loops if within(handed[0].site, each.site)]
    begins = [loops[o].domain for o in around if o in loops and loops[o].domain.dim(dims) == depth]
    return len(begins) != 1 or not _outer(begins[0], depth).is_subset(runs)


def _setting(conflicts: Conflicts, ordinal: int, variable: Variable) -> list[isl.Set]:
    """Iterations of a loop in which a variable is surely set; all, if it is no memory of the model."""
    scop = conflicts.scop
    inside = [a for a in scop.accesses if ordinal in scop.statements[a.statement].loops]
    writes = [a for a in inside if a.memory.path == variable.source_name and a.kind == "write"]
    if not writes:
        return [scop.loops[ordinal].domain]
    return [scop.statements[a.statement].domain for a in writes if scop.certain(a)]


def _outer(domain: isl.Set, depth: int) -> isl.Set:
    """The values of the first iterators."""
    return without_name(domain.project_out(isl.dim_type.set, depth, domain.dim(isl.dim_type.set) - depth))


def summing(operator: ReductionOperator, variable: Variable, out_of: str = "") -> Mend:
    """The reduction clause that a variable needs."""
    name = variable.source_name
    return Mend(f"reduction({operator}:{name})", name if out_of else "", out_of)


def can_be_reduced(memory: Memory, sharing: DataSharing) -> bool:
    """True if a reduction clause can name the reduced memory: a scalar, or in OpenMP a whole array."""
    variable = memory.variable
    if memory.pointer is not None or memory.path != variable.source_name:
        return False
    directive = sharing.construct.directive
    if directive.words == ("distribute",) or variable.source_name in reduced(directive):
        return False
    is_array = memory.dimensions > memory.scoped
    return not is_array or (directive.family == "omp" and is_whole_array(variable))


def _copy(conflicts: Conflicts, sharing: DataSharing, scalars: LoopScalars, racing: Racing) -> str | None:
    """Data-sharing clause for a copy per thread that separates the iterations."""
    memory, ordinal = racing.memory, racing.ordinal
    if memory.path != memory.variable.source_name or not may_have_copy(conflicts, memory, ordinal):
        return None
    if not scalars.live(memory.variable.name):
        return "private"
    if can_be_lastprivate(sharing) and last_iteration_writes_all(conflicts, memory, ordinal):
        return "lastprivate"
    return None


def can_be_lastprivate(sharing: DataSharing) -> bool:
    """True if the directive takes the clause `lastprivate` for any variable."""
    directive = sharing.construct.directive
    return directive.family == "omp" and directive.words[-1] != "loop"


# --------------------------------------------------------------------------------------------------
# Missing data movement of private copies: the value from before the loop, the value of the
# iteration before, or the copy back to the variable after the loop.
# --------------------------------------------------------------------------------------------------


_COMPARABLE = {"+": "+", "-": "+", "*": "*", "min": "min", "max": "max"}


def copy_findings(conflicts: Conflicts, sharing: DataSharing) -> Iterator[tuple[str, Finding]]:
    """Findings about the variables that the construct's clauses privatise, by unique name."""
    construct = sharing.construct
    copies = {k: listed(construct.directive, k) for k in ("private", "firstprivate", "lastprivate")}
    for variable in _outer_variables(construct.loop):
        name = variable.source_name
        clauses = [kind for kind, held in copies.items() if name in held]
        if clauses:
            found = _without_start(sharing, variable) if clauses == ["private"] else None
            found = found or _passed_on(conflicts, sharing, variable, clauses)
        else:
            found = _misused_sum(conflicts, sharing, variable)
        found = found or _without_end(conflicts, sharing, variable) or _not_last(conflicts, sharing, variable)
        if found is not None:
            yield variable.name, found


# --- Before and after the loop -----------------------------------------------------------


def _without_start(sharing: DataSharing, variable: Variable) -> Finding | None:
    """A private copy that is read though nothing in the loop gives it a value."""
    loop = sharing.construct.loop
    if _is_set(loop, variable):
        return None
    read = always_read(loop.body, variable)
    if read is None or any(d.site is not None for d in sharing.construct.inside):
        return None
    name = variable.source_name
    return Lacking("start", name, _point(read), Mend(f"firstprivate({name})", name, "private"))


def _without_end(conflicts: Conflicts, sharing: DataSharing, variable: Variable) -> Finding | None:
    """A privatised variable that is read after the loop, though the loop set only its copies."""
    construct, name = sharing.construct, variable.source_name
    private = name in listed(construct.directive, "private")
    is_counter = variable == counter_of(construct.loop)
    if construct.mode != "threads" or construct.region is not None or construct.orphaned:
        return None
    # Numba has no clause that says which iteration's value is left.
    is_open = construct.directive.family == "numba"
    if not (private or is_counter) or variable.storage != "local":
        return None
    if not is_open and (not can_be_lastprivate(sharing) or _is_set_before(sharing, variable)):
        return None
    if name in listed(construct.directive, "lastprivate") | listed(construct.directive, "linear"):
        return None
    read = first_read_after(sharing.function, construct.loop, variable)
    if read is None or read.place.steps:
        return None
    if not is_counter and not _last_sets(conflicts, construct.loop, variable):
        return None
    moved = (name, "private") if private else ("", "")
    return Lacking("end", name, _point(read), Mend(f"lastprivate({name})", *moved))


def _not_last(conflicts: Conflicts, sharing: DataSharing, variable: Variable) -> Finding | None:
    """A variable whose value is read after the loop, of which a clause hands on that of an iteration which
    does not set it."""
    construct, name = sharing.construct, variable.source_name
    clauses = (c for c in construct.directive.clauses if isinstance(c, Sharing) and not c.conditional)
    handed_on = {item.name for c in clauses if c.kind == "lastprivate" for item in c.items}
    if name not in handed_on or len(construct.loops) != 1:
        return None
    read = first_read_after(sharing.function, construct.loop, variable)
    memory = _memory(conflicts, construct.loop, variable)
    if read is None or read.place.steps or memory is None:
        return None
    if not last_iteration_leaves(conflicts, memory, construct.loop.ordinal):
        return None
    write = next(a for a in conflicts.accesses(memory, construct.loop.ordinal) if a.kind == "write")
    return NotLast(name, access_point(write))


def _last_sets(conflicts: Conflicts, loop: Loop, variable: Variable) -> bool:
    """True if the last iteration surely sets the variable."""
    memory = _memory(conflicts, loop, variable)
    if memory is None:
        return always_assigned(loop.body, variable) is not None
    return last_iteration_writes_all(conflicts, memory, loop.ordinal)


def _is_set_before(sharing: DataSharing, variable: Variable) -> bool:
    """True if the variable may have a value when the loop begins."""
    loop = sharing.construct.loop
    for each in walk(sharing.function.body):
        if isinstance(each, Assign) and each.target.variable == variable and _precedes(each.site, loop):
            return True
    return _is_addressed(sharing.function.body, variable)


def _precedes(site: Site, loop: Loop) -> bool:
    return site.first < loop.site.first


def _is_set(loop: Loop, variable: Variable) -> bool:
    """True if the loop may give the variable a value."""
    if variable.name in effects(loop).scalars:
        return True
    if any(isinstance(s, Assign) and s.target.variable == variable for s in walk(loop)):
        return True
    return _is_addressed(loop, variable)


def _is_addressed(part: Statement, variable: Variable) -> bool:
    """True if a part of the program takes the variable's address, to set it by that perhaps."""
    named = (n for s in walk(part) for n in nodes(s))
    return any(isinstance(n, AddressOf) and n.place.variable == variable for n in named)


# --- From one iteration to the next --------------------------------------------------------


def _passed_on(
    conflicts: Conflicts, sharing: DataSharing, variable: Variable, clauses: Sequence[str]
) -> Finding | None:
    """A variable with a copy per thread, by some clauses, of which an iteration needs the value that the one
    before left, or a sum whose parts are lost after the loop."""
    loop, starts = sharing.construct.loop, "firstprivate" in clauses
    memory = _memory(conflicts, loop, variable)
    if memory is None:
        return None
    accesses = conflicts.accesses(memory, loop.ordinal)
    carried = [c for c in conflicts.carried(memory, loop.ordinal) if conflicts.possible(c.relation)]
    flows = list(_value_flows(conflicts, carried, loop.ordinal))
    if any(sharing.construct.exclusions(c.sink.site) for c in flows):
        return None
    operator = reassociable(conflicts, accesses, loop.ordinal)
    if operator is not None and len(clauses) == 1 and can_be_reduced(memory, sharing):
        # Copies that begin with the value are right for a sum that nothing reads.
        lost = flows if not starts else first_read_after(sharing.function, loop, variable) is not None
        if not lost or all(a.kind == "write" for a in accesses):
            return None
        write = access_point(next(a for a in accesses if a.kind == "write"))
        return Lacking("sum", variable.source_name, write, summing(operator, variable, clauses[0]))
    if not flows or (starts and operator is None and _is_stream(loop, variable)):
        return None
    shown = witness(conflicts, flows[0], loop.ordinal)
    return None if shown is None else Race(shown, copied=True)


def _is_stream(loop: Loop, variable: Variable) -> bool:
    """True for a variable that is computed from its value before, as the state of a generator of random
    numbers, of which threads may have one each."""
    assigned = [s for s in walk(loop) if isinstance(s, Assign)]
    if any(s.operator is not None and s.target.variable == variable for s in assigned):
        return True
    feeding: set[Variable] = set()
    while True:
        values = (s.value for s in assigned if s.target.variable in feeding | {variable})
        more = {n.place.variable for v in values for n in subexpressions(v) if isinstance(n, Read)}
        if more <= feeding:
            return variable in feeding
        feeding |= more


def _misused_sum(conflicts: Conflicts, sharing: DataSharing, variable: Variable) -> Finding | None:
    """A variable of a reduction clause that the loop updates in another way, or reads in between."""
    loop = sharing.construct.loop
    stated = _stated(sharing, variable)
    memory = _memory(conflicts, loop, variable)
    if not stated or memory is None or memory.path != variable.source_name:
        return None
    carried = [c for c in conflicts.carried(memory, loop.ordinal) if conflicts.possible(c.relation)]
    operator = reassociable(conflicts, conflicts.accesses(memory, loop.ordinal), loop.ordinal)
    if operator is not None:
        return _other_operator(conflicts, memory, loop, stated, operator)
    if not any(_value_flows(conflicts, carried, loop.ordinal)):
        return None
    for conflict in (c for c in carried if c.kind == "flow" and c.sink.update is None and c.certain):
        excluded = bool(sharing.construct.exclusions(conflict.sink.site))
        if excluded or _may_be_update(loop, variable, conflict):
            continue
        if is_unconditional(conflicts, conflict, loop.ordinal):
            shown = witness(conflicts, conflict, loop.ordinal)
            return None if shown is None else Race(shown, copied=True)
    return None


def _may_be_update(loop: Loop, variable: Variable, flow: Conflict) -> bool:
    """True if the read at the end of a flow belongs to an update of a form that is not understood: of an
    element, by a call or a choice, or rounded each time, or in a function that is given the address."""
    if any(within(flow.sink.site, call.site) for call in calls_in(loop)):
        return True
    if _is_held(loop, variable, flow.sink.site):
        return True
    for statement in walk(loop):
        if isinstance(statement, Assign) and statement.target.variable == variable:
            inside = statement.site.first <= flow.sink.site.first <= statement.site.last
            parts = subexpressions(statement.value)
            chosen = any(isinstance(n, (Call, Select)) for n in parts)
            plain = isinstance(variable.type, Floating) and not chosen
            if inside and not plain:
                return True
    return False


def _is_held(loop: Loop, variable: Variable, read: Site) -> bool:
    """True if the value read goes into another variable, which may be added to and is written back: an update
    in several statements."""
    assigns = [s for s in walk(loop) if isinstance(s, Assign)]
    held = {s.target.variable.name for s in assigns if _is_read_of(s.value, variable.name, read)}
    back = (stripped(s.value) for s in assigns if s.target.variable == variable)
    return any(isinstance(value, Read) and value.place.variable.name in held for value in back)


def _is_read_of(value: Expr, name: str, site: Site) -> bool:
    value = stripped(value)
    return isinstance(value, Read) and value.place.variable.name == name and within(value.place.site, site)


def _other_operator(
    conflicts: Conflicts, memory: Memory, loop: Loop, stated: str, operator: ReductionOperator
) -> OtherOperator | None:
    computed = _COMPARABLE.get(operator)
    if stated not in _COMPARABLE or computed is None or _COMPARABLE[stated] == computed:
        return None
    write = next(a for a in conflicts.accesses(memory, loop.ordinal) if a.kind == "write")
    return OtherOperator(memory.variable.source_name, stated, operator, access_point(write))


def _stated(sharing: DataSharing, variable: Variable) -> str:
    """The operator of the reduction clause that names the variable, if one does."""
    name = variable.source_name
    clauses = (c for c in sharing.construct.directive.clauses if isinstance(c, ReductionClause))
    return next((c.operator for c in clauses if name in {item.name for item in c.items}), "")


def _value_flows(conflicts: Conflicts, carried: list[Conflict], ordinal: int) -> Iterator[Conflict]:
    """Of the conflicts, those in which a value is surely passed on to a later iteration."""
    for conflict in carried:
        if conflict.kind == "flow" and conflict.certain:
            passed = value_based(conflicts, conflict, ordinal)
            if not passed.is_empty():
                found = Conflict(conflict.source, conflict.sink, passed, True)
                if is_unconditional(conflicts, found, ordinal):
                    yield found


# --- Variables ---------------------------------------------------------------------------


def _outer_variables(loop: Loop) -> list[Variable]:
    """The variables that the loop names and that live outside of it, but for those of one name."""
    own = declared_in(loop.body)
    found = [v for v in effects(loop).variables if v not in own and names(loop, v)]
    known = [v.source_name for v in found]
    return sorted((v for v in found if known.count(v.source_name) == 1), key=lambda v: v.name)


def _memory(conflicts: Conflicts, loop: Loop, variable: Variable) -> Memory | None:
    """The memory in which the variable itself lies, if the loop writes it."""
    for memory in conflicts.written_in(loop.ordinal):
        if memory.variable == variable and memory.pointer is None and not memory.follows_pointers:
            return memory
    return None


def _point(read: Read) -> AccessPoint:
    return AccessPoint(read.place.variable.source_name, spell_place(read.place), "read", read.place.site)
