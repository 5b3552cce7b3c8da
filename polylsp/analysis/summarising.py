"""Summary of a function: the reads and writes of a call, for the analysis of its callers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflicts
from polylsp.analysis.dependence.privatisation import never_exposed
from polylsp.analysis.directives.callee_state import (
    as_callers_see,
    carried_integer,
    integers_set,
    integers_updated,
    state_of,
)
from polylsp.analysis.scop.access_relations import to_scop
from polylsp.analysis.scop.call_effects import allocates, manages_memory, with_calls
from polylsp.analysis.scop.evaluation import value_of
from polylsp.analysis.scop.objects import is_of_function
from polylsp.analysis.scop.obstacles import obstacle, ordered_by_parameter, ordered_call
from polylsp.analysis.scop.paths import Region, invariant_place
from polylsp.analysis.scop.regions import start_values
from polylsp.analysis.scop.summaries import (
    Calls,
    NoSummary,
    Summary,
    SummaryAccess,
    changes_integer,
    function_passed,
)
from polylsp.analysis.scop.thread_storage import library_variables_set, thread_variables_of
from polylsp.analysis.scop.untaken import MOST_PRESUMPTIONS, firm_obstacle, only_reports, without_reports
from polylsp.analysis.scop.walk import walk_region
from polylsp.analysis.scop.walk_scope import COARSE, FULL, Detail, Scope
from polylsp.analysis.scop.walk_state import Member, Parameters
from polylsp.core.query import digest
from polylsp.ir.effects import effects, nodes, places_in, walk
from polylsp.ir.pointer_flow import pointer_flow
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Assume,
    Binary,
    Block,
    Call,
    Cast,
    Constant,
    Expr,
    Field,
    Function,
    Index,
    Integer,
    Jump,
    Pointer,
    Presumption,
    Read,
    Rejection,
    Site,
    Struct,
    Unary,
    Variable,
    stripped,
    subexpressions,
)
from polylsp.ir.spelling import is_zero
from polylsp.poly.budget import Exhausted, budgeted, coalesced
from polylsp.poly.scop import Access, Addresses, Scop

_OPERATIONS = 500_000

_MANY = 32
"""Accesses of a summary from which on those to one object are put together."""

_PIECES = 4
"""Convex pieces of the elements that such an access may have; beyond that, it may be any element."""


def callees(function: Function) -> tuple[str, ...]:
    """The names of the functions called, not counting pure ones, and of those that are arguments of calls, in
    order of appearance."""
    found = (
        name
        for call in effects(function.body).calls
        for name in (call.function, *map(function_passed, call.arguments))
    )
    return tuple(dict.fromkeys(name for name in found if name is not None))


def summarise(function: Function, calls: Calls, key: str) -> Summary | NoSummary:
    """The summary of a function, or why there is none. `key` stands for the function and for the summaries of
    its callees: code has sets in it, which have no order that another process would repeat."""
    calls = calls.within(function)
    found, state = _summary(function, calls), state_of(function, calls)
    body = _directed_body(function, calls) if function.directives or calls.bodies else None
    code = "" if body is None else key
    if isinstance(found, NoSummary):
        keeps = function.unreadable or _keeps_addresses(function, calls)
        carried = carried_integer(function, calls)
        return replace(found, state=state, keeps=keeps, carried=carried, body=body, code=code)
    return replace(found, state=state, body=body, key=digest(found.key, state, code))


def _directed_body(function: Function, calls: Calls) -> Function | None:
    # Loaded for who has directives.
    from polylsp.analysis.directives.directed_calls import directed_body

    return directed_body(function, calls)


def _summary(function: Function, calls: Calls) -> Summary | NoSummary:
    if function.unreadable:
        return NoSummary(function.name, "it does not parse")
    found = obstacle(function.body, calls)
    if found is not None:
        made = without_reports(function.body, calls)
        if not isinstance(made, Block):
            called = ordered_call(function.body, calls)
            name = "" if called is None else calls.ordered.get(called.function, called.function)
            stream = -1
            if not name:
                name, stream = ordered_by_parameter(function, calls) or (name, stream)
            reason = firm_obstacle(function.body, calls) or found
            reports = only_reports(function, calls)
            why, blamed = _because(function, reason, calls)
            return NoSummary(function.name, why, None, reports, name, stream=stream, blamed=blamed)
        function = replace(function, body=made)
    changed = integers_set(function) - integers_updated(function).keys()
    if changed:
        return NoSummary(function.name, changes_integer(min(v.source_name for v in changed)))
    for detail in (FULL, COARSE):
        made = budgeted(_OPERATIONS, lambda given=detail: _summarise(function, calls, given))
        if not isinstance(made, Exhausted):
            return made
    return NoSummary(function.name, "its analysis took too long")


def _because(function: Function, reason: Rejection, calls: Calls) -> tuple[str, str]:
    """The reason why a function has no summary, and the called function that it is about, if it is one."""
    called = (call.function for call in effects(function.body).calls if call.site == reason.site)
    name = next(called, "")
    if name == function.name:
        return "it calls itself", ""
    if name not in calls.refused:
        return reason.message, ""
    return calls.refused[name], calls.blamed.get(name, name)


def _summarise(function: Function, calls: Calls, detail: Detail) -> Summary | NoSummary:
    flow = pointer_flow(function, calls.callees(function).borrowing)
    parameters = Parameters(addresses=Addresses(flow=flow))
    own = with_calls(effects(function.body), calls)
    scope = Scope(parameters, {}, own, isl.Set("{ [] }"), calls=calls, detail=detail)
    integers = tuple(k for k, v in enumerate(function.parameters) if isinstance(v.type, Integer))
    names = _argument_names(function, scope, integers)
    start_values(scope, own)
    region = walk_region((function.body,), scope)
    lost = any(frame.obstacles and _pointer_obstacle(frame.obstacles) for frame in region.frames.values())
    if lost or region.lost_pointers or region.tainted:
        return NoSummary(function.name, "it uses a pointer that cannot be followed")
    if scope.recast:
        return NoSummary(function.name, "it sees a structure as another one")
    scop = to_scop(region, isl.Set("{ : }"), parameters, Site(0, 0), frozenset())
    accesses = _accesses(function, scop, names, scope)
    if isinstance(accesses, str):
        return NoSummary(function.name, accesses)
    of_loops = (a for loop in scop.loops.values() for a in loop.assumptions)
    presumed = _presumed(function, scope)
    refused = scope.refused or [p.otherwise for p in presumed[MOST_PRESUMPTIONS:]]
    if refused:
        return NoSummary(function.name, refused[0].message)
    every = dict.fromkeys((*scope.assumed, *of_loops))
    assumptions = tuple(a for a in every if a.kind != "not-taken")
    returns = _returned(function)
    called = [s for s in (calls.summaries.get(c.function) for c in own.calls) if s is not None]
    directed = bool(function.directives) or any(s.directed for s in called)
    keeps = _keeps_addresses(function, calls)
    counters = _counters(function, called)
    threads = thread_variables_of(function, calls), library_variables_set(function, calls)
    fresh = _returns_allocation(function, calls)
    seen_as = tuple(sorted(set(_seen_as(function, region))))
    facts = (accesses, returns, assumptions, directed, counters, keeps, threads, presumed, fresh, seen_as)
    return Summary(
        function.name,
        digest(facts),
        function.parameters,
        integers,
        tuple(accesses),
        returns,
        assumptions,
        directed,
        counters=counters,
        keeps=keeps,
        per_thread=threads[0],
        sets=threads[1],
        presumed=presumed,
        allocates=fresh,
        seen_as=seen_as,
    )


def _accesses(
    function: Function, scop: Scop, names: tuple[str, ...], scope: Scope
) -> list[SummaryAccess] | str:
    """The accesses of a function as its callers see them, or the reason why they are not known."""
    conflicts = Conflicts(scop)
    accesses: list[SummaryAccess] = []
    for access in scop.accesses:
        made = _access(access, function, conflicts, names, scope)
        if isinstance(made, str):
            return f"it uses {made}"
        if made is not None and made not in accesses:
            accesses.append(made)
    accesses += _updates(function, names)
    if len(accesses) > _MANY:
        accesses = _united(accesses)
    return accesses if len(accesses) <= _MANY else f"it accesses more than {_MANY} different objects"


def _seen_as(function: Function, region: Region) -> Iterator[tuple[int, str]]:
    """The structures that accesses see behind parameters which are pointers to something else."""
    numbers = {v.name: (k, v.type) for k, v in enumerate(function.parameters)}
    for path in (access.path for statement in region.statements for access in statement.accesses):
        number, of_type = numbers.get(path.base.name, (-1, None))
        members = ((k, step.of) for k, step in enumerate(path.steps) if isinstance(step, Member))
        first, of = next(members, (0, ""))
        if not of or not isinstance(of_type, Pointer) or any(k <= first for k in path.followed):
            continue
        if not isinstance(of_type.to, Struct) or of_type.to.name != of:
            yield number, of


def _presumed(function: Function, scope: Scope) -> tuple[Presumption, ...]:
    """Presumptions of the function as its callers see them: each names the function, and is decided by
    parameters."""
    own = frozenset(v.name for v in function.parameters)
    found: dict[Presumption, None] = {}
    for each in scope.presumed:
        text = f"`{function.name}` may not be called in any order: {each.otherwise.message}"
        otherwise = Rejection(each.otherwise.code, function.name_site, text)
        within = each.function or function.name
        decided_by = tuple(name for name in each.decided_by if name in own)
        found[replace(each, function=within, otherwise=otherwise, decided_by=decided_by)] = None
    return tuple(found)


def _united(accesses: list[SummaryAccess]) -> list[SummaryAccess]:
    """Merge the accesses of a kind to one object. Otherwise, functions that call others twice each would
    double their number from one to the next."""
    found: dict[SummaryAccess, list[SummaryAccess]] = {}
    for access in accesses:
        found.setdefault(replace(access, region="", exact=True), []).append(access)
    result: list[SummaryAccess] = []
    for kind, each in found.items():
        region = isl.Map(each[0].region)
        for other in each[1:]:
            region = region.union(isl.Map(other.region))
        region = coalesced(region)
        exact = all(access.exact for access in each)
        if region.n_basic_map() > _PIECES:
            region, exact = isl.Map.universe(region.get_space()), False
        result.append(replace(kind, region=str(region), exact=exact))
    return result


def _keeps_addresses(function: Function, calls: Calls) -> bool:
    """True if the function, or one of the project that it calls, stores pointers where others may find
    them."""
    targets = (s.target for s in walk(function.body) if isinstance(s, Assign))
    stored = (t for t in targets if t.steps or t.variable.storage in ("global", "static", "cell"))
    found = any(isinstance(t.type, (Pointer, Struct)) for t in stored)
    return found or any(c.function in calls.keeping for c in effects(function.body).calls)


def _counters(function: Function, called: Iterable[Summary]) -> tuple[Variable, ...]:
    """The integers and pointers with static storage that the function or a callee names: their reads are no
    accesses of the model."""
    own = {v for v in effects(function.body).variables if v.storage in ("global", "cell") and not v.const}
    updated = integers_updated(function).keys()
    named = {v.source_name: v for v in own - updated if isinstance(v.type, (Integer, Pointer))}
    named |= {v.source_name: v for one in called for v in one.counters}
    return tuple(named[name] for name in sorted(named))


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


def _updates(function: Function, names: tuple[str, ...]) -> Iterator[SummaryAccess]:
    """The accesses of integers with static storage that a function updates by a reduction."""
    region = f"{{ [{', '.join(names)}] -> [] }}"
    updated = integers_updated(function)
    for variable in sorted(updated, key=lambda v: v.name):
        shared, operator = as_callers_see(variable, function), updated[variable]
        for kind in ("read", "write"):
            yield SummaryAccess(-1, shared, (), kind, variable.type, region, False, operator)


def _access(
    access: Access, function: Function, conflicts: Conflicts, names: tuple[str, ...], scope: Scope
) -> SummaryAccess | str | None:
    """The access as its callers see it; `None` if they don't; a reason if that can't be said."""
    memory = access.memory
    variable = memory.variable
    if access.kind == "read" and never_exposed(conflicts, access):
        return None
    if variable.storage == "local":
        return None if not memory.follows_pointers and memory.pointer is None else "unknown memory"
    way: tuple[str, ...] = ()
    if variable.storage == "parameter":
        if memory.pointer is None and not memory.follows_pointers:
            # A copy of what the caller has.
            return None
        number = [v.name for v in function.parameters].index(variable.name)
        way = _way(access)
        if memory.follows_pointers and (
            not (way or memory.pointer is not None) or _sets_pointers(conflicts, variable)
        ):
            return "memory behind pointers"
        if way and memory.recast:
            # Callers cannot tell in which type the pointer there counts.
            return "memory behind pointers as another type"
    else:
        number = -1
        if memory.pointer is not None and not (memory.from_entry and variable.storage == "global"):
            return "a global pointer"
        if memory.follows_pointers:
            return "memory behind pointers"
    passed = way.count("[]")
    region, exact = _region(access, names, memory.dimensions == memory.shape.count("[]"), passed)
    subscript = None if exact or number < 0 else _subscript(access, function, way, scope)
    from_end = subscript is not None and subscript.wraps is not None
    if subscript is not None:
        always = access.relation.domain().params().plain_is_universe()
        exact = always and not conflicts.scop.statements[access.statement].loops
    certain = exact and conflicts.certain(access)
    variable = as_callers_see(variable, function)
    update = access.update if _only_updated(access, conflicts) else None
    return SummaryAccess(
        number,
        variable,
        memory.shape,
        access.kind,
        memory.element,
        region,
        certain,
        update,
        way,
        subscript.subscript if subscript is not None else None,
        memory.bytewise,
        from_end,
        tuple(sorted(step for step in memory.followed if step > len(way))),
    )


def _only_updated(access: Access, conflicts: Conflicts) -> bool:
    """True if a number with static storage or behind a parameter is used for one reduction alone: a function
    that returns it, too, shows the order of the updates."""
    own = (a for a in conflicts.scop.accesses if a.memory.name == access.memory.name)
    is_number = access.memory.variable.storage != "parameter" or access.memory.shape == ("[]",)
    return is_number and all(a.update == access.update for a in own)


def _way(access: Access) -> tuple[str, ...]:
    """The steps from a parameter to the last pointer found in memory that is the same for all elements of the
    access: a member of a structure, or of one that a pointer leads to (`p->x[i]`, `p->q->x[i]`), or what a
    parameter points to (`(*p)[i]`)."""
    memory = access.memory
    if memory.dimensions > memory.shape.count("[]") and not (memory.strides or memory.inner_strides):
        return ()
    elements = access.relation.range()
    for step in sorted(memory.followed, reverse=True):
        way = memory.shape[:step]
        subscripts = range(way.count("[]"))
        if all(elements.plain_get_val_if_fixed(isl.dim_type.set, k).is_zero() for k in subscripts):
            return way
    return ()


def _subscript(access: Access, function: Function, way: tuple[str, ...], scope: Scope) -> Index | None:
    """Subscript of the element that a pointer leads to, as an expression of the parameters and of the
    integers in them or reached through them; `None` where there is none, or where these may change before,
    even if the memory that the function writes does not overlap them."""
    if len(access.memory.shape) != len(way) + 1:
        return None
    named, rank = (p for p in places_in(function.body) if p.site == access.site), len(access.memory.shape)
    lasts = {p.steps[-1] for p in named if p.variable == access.memory.variable and len(p.steps) == rank}
    last = next(iter(lasts)) if len(lasts) == 1 else None
    if not isinstance(last, Index):
        return None
    changed = effects(function.body)
    written = changed.scalars | {v.name for v in changed.variables if v.escapes}
    stored = any(isinstance(place.type, (Pointer, Struct)) for place in changed.places)
    for node in subexpressions(last.subscript):
        match node:
            case Read(place):
                of_parameter = place.variable in function.parameters and place.variable.name not in written
                led = all(isinstance(step, Field) or is_zero(step.subscript) for step in place.steps)
                if not (of_parameter and led):
                    return None
                steady = not (stored or changed.calls) and invariant_place(place, scope, value_of) is not None
                if place.steps and not steady:
                    return None
            case Constant() | Unary() | Binary() | Cast():
                pass
            case _:
                return None
    return last


def _sets_pointers(conflicts: Conflicts, parameter: Variable) -> bool:
    """True if a function stores pointers elsewhere than in other variables of its own: one that it finds in a
    parameter, or in memory behind it, may not be the caller's."""
    written = (a.memory for a in conflicts.scop.accesses if a.kind == "write")
    storing = [each for each in written if isinstance(each.element, (Pointer, Struct))]
    # What a static variable holds may be known to callers, too.
    return any(
        each.variable == parameter or not is_of_function(each) or each.variable.storage == "static"
        for each in storing
    )


def _region(access: Access, names: tuple[str, ...], plain: bool, passed: int) -> tuple[str, bool]:
    """`{ [integer arguments] -> [x] }`: the elements accessed by a call, without the first `passed`
    subscripts."""
    rank = access.memory.shape.count("[]") - passed
    if not plain:
        inputs = ", ".join(names)
        outputs = ", ".join(f"x{k}" for k in range(rank))
        return f"{{ [{inputs}] -> [{outputs}] }}", False
    elements = access.relation.range()
    elements = isl.Set.reset_tuple_id(elements).project_out(isl.dim_type.set, 0, passed)
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


def _returns_allocation(function: Function, calls: Calls) -> bool:
    """True if a function returns NULL, or memory that it allocated and to which it leaves no other pointer:
    one in a local variable that is only followed, compared, returned, and released."""
    returned = [s.value for s in walk(function.body) if isinstance(s, Jump) and s.kind == "return"]
    if not returned or any(value is None for value in returned):
        return False
    found = [stripped(value) for value in returned if value is not None]
    held = {v.place.variable for v in found if isinstance(v, Read) and not v.place.steps}
    rest = [v for v in found if not (isinstance(v, Read) and v.place.variable in held and not v.place.steps)]
    if not all(allocates(v, calls) or isinstance(v, Constant) for v in rest):
        return False
    if any(v.storage != "local" or v.escapes or not isinstance(v.type, Pointer) for v in held):
        return False
    sources = [s for s in walk(function.body) if isinstance(s, Assign)]
    set_there = {s.target.variable for s in sources if not s.target.steps and allocates(s.value, calls)}
    if not (held <= set_there and (held or any(allocates(v, calls) for v in rest))):
        return False
    for assign in sources:
        value = stripped(assign.value)
        own = not assign.target.steps and assign.target.variable in held
        fresh = assign.operator is None and (allocates(value, calls) or isinstance(value, Constant))
        if (own and not fresh) or (isinstance(assign.target.type, Pointer) and _names(assign.value, held)):
            return False
    every = (n for s in walk(function.body) for n in nodes(s) if isinstance(n, Call))
    return not any(
        _names(argument, held) and not (manages_memory(call, calls) or call.pure)
        for call in every
        for argument in call.arguments
        if isinstance(argument.type, Pointer)
    )


def _names(value: Expr, variables: set[Variable]) -> bool:
    """True if a value is computed from one of some pointers, rather than from what these lead to."""
    inside = (n for n in subexpressions(value) if isinstance(n, (Read, AddressOf)))
    return any(n.place.variable in variables and isinstance(n.type, Pointer) for n in inside)


def _returned(function: Function) -> Expr | None:
    """The value of a function that does nothing but return an expression."""
    statements = [s for s in function.body.statements if not isinstance(s, Assume)]
    if len(statements) != 1 or not isinstance(statements[0], Jump) or statements[0].kind != "return":
        return None
    return statements[0].value
