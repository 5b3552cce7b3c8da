"""What a call of a function reads and writes, so that its callers can be analysed."""

from __future__ import annotations

from hashlib import blake2b

import islpy as isl

from polylsp.analysis.budget import Exhausted, budgeted
from polylsp.analysis.calls import with_calls
from polylsp.analysis.conflicts import Conflicts
from polylsp.analysis.effects import effects, walk
from polylsp.analysis.memory import to_scop
from polylsp.analysis.obstacles import obstacle
from polylsp.analysis.private import never_exposed
from polylsp.analysis.regions import start_values
from polylsp.analysis.scope import Scope
from polylsp.analysis.state import Parameters
from polylsp.analysis.summaries import Calls, NoSummary, Summary, SummaryAccess
from polylsp.analysis.walk import walk_region
from polylsp.model.program import Assign, Expr, Function, Integer, Jump, Pointer, Site
from polylsp.model.rejection import Rejection
from polylsp.model.scop import Access

_OPERATIONS = 500_000


def callees(function: Function) -> tuple[str, ...]:
    """The names of the functions called, not counting pure ones, in order of appearance."""
    return tuple(dict.fromkeys(c.function for c in effects(function.body).calls))


def summarise(function: Function, calls: Calls) -> Summary | NoSummary:
    """The summary of a function, or why there is none."""
    if any(problem.code != "wrong-pragma" for problem in function.problems):
        return NoSummary(function.name, "it does not parse")
    found = obstacle(function.body, calls)
    if found is not None:
        return NoSummary(function.name, found.message)
    if _sets_global_integers(function):
        return NoSummary(function.name, "it changes a global integer or pointer")
    made = budgeted(_OPERATIONS, lambda: _summarise(function, calls))
    return NoSummary(function.name, "its analysis took too long") if isinstance(made, Exhausted) else made


def _summarise(function: Function, calls: Calls) -> Summary | NoSummary:
    parameters = Parameters()
    own = with_calls(effects(function.body), calls)
    scope = Scope(parameters, {}, own, isl.Set("{ [] }"), calls=calls)
    integers = tuple(k for k, v in enumerate(function.parameters) if isinstance(v.type, Integer))
    names = _argument_names(function, scope, integers)
    start_values(scope, own)
    region = walk_region((function.body,), scope)
    lost = any(frame.obstacles and _pointer_obstacle(frame.obstacles) for frame in region.frames.values())
    if lost or region.lost_pointers or region.tainted:
        return NoSummary(function.name, "it uses a pointer that cannot be followed")
    scop = to_scop(region, isl.Set("{ : }"), parameters, Site(0, 0), frozenset())
    conflicts = Conflicts(scop)
    accesses: list[SummaryAccess] = []
    for access in scop.accesses:
        made = _access(access, function, conflicts, names)
        if isinstance(made, str):
            return NoSummary(function.name, f"it uses {made}")
        if made is not None and made not in accesses:
            accesses.append(made)
    assumptions = tuple(dict.fromkeys(a for loop in scop.loops.values() for a in loop.assumptions))
    returns = _returned(function)
    called = (calls.summaries.get(c.function) for c in own.calls)
    directed = bool(function.directives) or any(s is not None and s.directed for s in called)
    key = blake2b(repr((accesses, returns, assumptions, directed)).encode(), digest_size=12).hexdigest()
    return Summary(
        function.name, key, function.parameters, integers, tuple(accesses), returns, assumptions, directed
    )


def _pointer_obstacle(obstacles: list[Rejection]) -> bool:
    return any(o.code in ("pointer-arithmetic", "may-alias") for o in obstacles)


def _argument_names(function: Function, scope: Scope, integers: tuple[int, ...]) -> tuple[str, ...]:
    """The isl names of the values of the integer parameters."""
    names: list[str] = []
    for k in integers:
        variable = function.parameters[k]
        symbol = scope.parameters.symbol(
            ("entry", variable.name), variable.source_name, variable.type, f"arg_{k}"
        )
        names.append(next(iter(symbol.symbols)))
    return tuple(names)


def _sets_global_integers(function: Function) -> bool:
    """Whether the function changes a global integer or pointer, whose value callers rely on."""
    return any(
        isinstance(s, Assign)
        and not s.target.steps
        and s.target.variable.storage in ("global", "static", "cell")
        and isinstance(s.target.type, (Integer, Pointer))
        for s in walk(function.body)
    )


def _access(
    access: Access, function: Function, conflicts: Conflicts, names: tuple[str, ...]
) -> SummaryAccess | str | None:
    """The access as its callers see it; `None` if they don't; a reason if that can't be said."""
    memory = access.memory
    variable = memory.variable
    if access.kind == "read" and never_exposed(conflicts, access):
        return None
    if variable.storage == "local":
        return None if not memory.follows_pointers and memory.pointer is None else "unknown memory"
    behind = memory.follows_pointers
    if variable.storage == "parameter":
        if memory.pointer is None and not behind:
            # A copy of what the caller has.
            return None
        # A structure that was copied leads where the caller's does.
        behind = behind and (memory.pointer is not None or memory.shape.count("[]") > 1)
        number = [v.name for v in function.parameters].index(variable.name)
    else:
        number = -1
        if memory.pointer is not None:
            return "a global pointer"
    if behind:
        return "memory behind pointers"
    region, exact = _region(access, names, memory.dimensions == memory.shape.count("[]"))
    certain = exact and conflicts.certain(access)
    return SummaryAccess(number, variable, memory.shape, access.kind, memory.element, region, certain)


def _region(access: Access, names: tuple[str, ...], plain: bool) -> tuple[str, bool]:
    """`{ [integer arguments] -> [x] }`: the elements accessed by a call."""
    rank = access.memory.shape.count("[]")
    if not plain:
        inputs = ", ".join(names)
        outputs = ", ".join(f"x{k}" for k in range(rank))
        return f"{{ [{inputs}] -> [{outputs}] }}", False
    elements = access.relation.range()
    elements = isl.Set.reset_tuple_id(elements)
    result = isl.Map.from_range(elements)
    exact = True
    for name in names:
        at = result.find_dim_by_name(isl.dim_type.param, name)
        position = result.dim(isl.dim_type.in_)
        if at < 0:
            result = result.add_dims(isl.dim_type.in_, 1)
        else:
            result = result.move_dims(isl.dim_type.in_, position, isl.dim_type.param, at, 1)
    others = result.dim(isl.dim_type.param)
    if others:
        exact = not result.involves_dims(isl.dim_type.param, 0, others)
        result = result.project_out(isl.dim_type.param, 0, others)
    return str(result), exact


def _returned(function: Function) -> Expr | None:
    """The value of a function that does nothing but return an expression."""
    statements = function.body.statements
    if len(statements) != 1 or not isinstance(statements[0], Jump) or statements[0].kind != "return":
        return None
    return statements[0].value
