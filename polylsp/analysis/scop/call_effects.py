"""Accesses of calls, by summaries of the callees."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

import islpy as isl

from polylsp.analysis.scop.evaluation import declared_extents, value_of
from polylsp.analysis.scop.inlining import with_arguments
from polylsp.analysis.scop.paths import (
    CallRegion,
    Path,
    RawAccess,
    Region,
    beyond_object,
    is_scalar_storage,
    no_overlap,
    object_to_pointer_seen,
    path_text,
    pointer_in,
    reached_by_address,
    resolve_pointer,
    seen_as,
    sets_pointers,
)
from polylsp.analysis.scop.summaries import Calls, Summary, SummaryAccess
from polylsp.analysis.scop.symbolic_value import ZERO, Poly
from polylsp.analysis.scop.walk_scope import Scope, may_lead_to, unknown_value
from polylsp.analysis.scop.walk_state import ANYWHERE, At, Base, Member, Opaque, PointerValue, anything
from polylsp.ir.effects import Effects, counts_iterations, effects, element_of
from polylsp.ir.library import ALLOCATING, RELEASING
from polylsp.ir.program import (
    UNTAGGED,
    AddressOf,
    Binary,
    Call,
    Cast,
    Constant,
    Expr,
    Field,
    Floating,
    Index,
    Integer,
    OtherType,
    Place,
    Pointer,
    Presumption,
    Read,
    Rejection,
    Statement,
    Struct,
    Type,
    Variable,
    stripped,
    subexpressions,
)
from polylsp.ir.spelling import spell
from polylsp.ir.verdict import Assumption
from polylsp.poly.scop import ByCallee, Reached


def is_known(call: Call, calls: Calls) -> bool:
    """True if a call can be modelled: it is pure or passed over, allocates or releases memory, or there is a
    matching summary."""
    if call.pure or call.reads_memory or call.function in calls.passed_over - calls.refused.keys():
        return True
    if manages_memory(call, calls):
        return True
    summary = calls.of(call)
    return summary is not None and len(summary.parameters) == len(call.arguments)


def manages_memory(call: Call, calls: Calls) -> bool:
    """True for a call of the library that allocates memory or releases it."""
    is_own = call.function in calls.summaries or call.function in calls.refused
    return not is_own and call.function in ALLOCATING | {RELEASING}


def allocates(value: Expr, calls: Calls) -> bool:
    """True if a value is that of a call which returns memory that nothing else leads to."""
    call = stripped(value)
    if not isinstance(call, Call):
        return False
    summary = calls.summaries.get(call.function)
    if summary is not None:
        return summary.allocates
    return call.function in ALLOCATING and call.function not in calls.refused


def is_quiet(call: Call, calls: Calls) -> bool:
    """True if a call writes nothing, by its summary."""
    summary = calls.of(call)
    known = summary is not None and all(access.kind == "read" for access in summary.accesses)
    return call.pure or call.reads_memory or known


def is_null(argument: Expr) -> bool:
    """True for a null pointer constant: a callee accesses nothing through it (C11 6.5.3.2p4)."""
    value = stripped(argument)
    return isinstance(argument.type, Pointer) and isinstance(value, Constant) and value.value == 0


def with_calls(own: Effects, calls: Calls) -> Effects:
    """The effects of statements, with the writes of callees through their arguments."""
    places = [p for call in own.calls for p in _written_by(call, calls, own)]
    return replace(own, places=(*own.places, *places)) if places else own


def changed_by_calls(statement: Statement, calls: Calls) -> dict[str, Variable]:
    """The integer variables (by unique name) whose addresses a statement passes to functions that may write
    there."""
    own = effects(statement)
    written = (p.variable for call in own.calls for p in _written_by(call, calls, own))
    return {v.name: v for v in written if isinstance(v.type, Integer)}


def call_accesses(call: Call, scope: Scope, region: Region) -> list[RawAccess]:
    """The accesses of one call."""
    summary = scope.calls.of(call)
    if manages_memory(call, scope.calls) and call.function not in scope.calls.passed_over:
        return [] if call.function in ALLOCATING else _released(call, scope)
    if summary is None:
        passed_over = call.function in scope.calls.passed_over
        known = (read for read in _read_through(call, scope) if not isinstance(read, Opaque))
        return list(known) if passed_over else _read_by_pure(call, scope)
    null = {number for number, argument in enumerate(call.arguments) if is_null(argument)}
    _rest_on_callee(call, summary, scope, null)
    known = tuple(_integers_passed(call, summary, scope))
    found = list(_counters_named(call, summary, scope))
    for access in summary.accesses:
        if access.parameter in null:
            continue
        start = _start(call, access, scope)
        if isinstance(start, Opaque):
            scope.object_to(start)
            continue
        path = _path(start, access)
        if access.followed and (sets_pointers(scope.effects) or _is_sole(start) or _is_own_storage(start)):
            scope.object_to(_lost(call, access))
            continue
        elements: CallRegion | None = CallRegion(isl.Map(access.region), known)
        exact = access.exact
        if access.subscript is not None:
            single = _single(path, access.subscript, access.from_end, call, summary, scope)
            path, elements, exact = (single, None, exact) if single is not None else (path, elements, False)
        if _is_own_storage(start):
            if access.kind == "write" and access.parameter >= 0:
                _overwrite(start.base.variable, _pointer(call, access), call, scope, region)
            if access.kind == "read":
                object_to_pointer_seen(path.base, call.site, scope)
        if _is_sole(start) or (_is_own_storage(start) and not start.steps):
            inside = _in_object(path, start, access, call)
            if isinstance(inside, Opaque):
                scope.object_to(inside)
                continue
            behind = inside.shape[max(len(start.steps) - 1, 0) :]
            within = _within_object(isl.Map(access.region), bool(start.steps))
            if "[]" in behind and within is not None and access.subscript is None:
                begins = tuple(At(ZERO) if isinstance(s, At) else s for s in inside.steps[-len(behind) :])
                steps = (*inside.steps[: len(inside.steps) - len(behind)], *begins)
                path, elements = replace(inside, steps=steps), CallRegion(within, known)
            else:
                always = not isl.Map(access.region).involves_dims(isl.dim_type.in_, 0, len(known))
                path, elements, exact = inside, None, exact and "[]" not in behind and always
        made = _made(call, access, path, exact, elements)
        made.extents = declared_extents(path.base, path.steps, scope)
        found.append(made)
    return found


def _rest_on_callee(call: Call, summary: Summary, scope: Scope, null: Collection[int]) -> None:
    """Rest on what a callee rests on, in terms of the arguments, of which some (by number) are null."""
    owner, _, method = call.function.rpartition(".")
    if owner and not method.startswith("__"):
        # What the class of an object makes of a method of `self` may stand in a file that is not read.
        words = f"`{call.function}` is not overridden in another file"
        scope.assume(Assumption("other", (call.function,), words))
    for assumption in summary.assumptions:
        for own in _of_arguments(assumption, call, summary, scope):
            scope.assume(own)
    for presumed in summary.presumed:
        _presume(call, presumed, summary, scope)
    for number, name in summary.seen_as:
        if number not in null:
            _object_to_other_type(call.arguments[number], name, scope)


def _made(
    call: Call, access: SummaryAccess, path: Path, exact: bool, elements: CallRegion | None
) -> RawAccess:
    """The access of a call at a path of the caller."""
    pointer = _pointer(call, access) if access.parameter >= 0 else None
    text = spell(pointer) if pointer is not None else access.variable.source_name
    site = call.arguments[access.parameter].site if pointer is not None else call.site
    update = access.update if pointer is None or _is_address_of_number(call, access) else None
    of_type = _type_seen(call, access)
    made = RawAccess(path, access.kind, site, of_type, path.base.variable, text, exact, update, elements)
    made.reached = _reached(call, access, path)
    made.bytewise = access.bytewise
    made.called = True
    given = pointer.type if pointer is not None else None
    if isinstance(given, Pointer) and isinstance(given.to, Struct):
        made.passed_as = given.to.name
    return made


def _type_seen(call: Call, access: SummaryAccess) -> Type:
    """Type of the elements that a call accesses: behind a `void *`, which a callee can only release, that of
    the elements which the caller has there."""
    is_untyped = access.type == OtherType("void") and access.parameter >= 0
    seen = element_of(stripped(_pointer(call, access)).type) if is_untyped else None
    return access.type if seen is None else seen


def _of_arguments(
    assumption: Assumption, call: Call, summary: Summary, scope: Scope
) -> tuple[Assumption, ...]:
    """The assumption that the memories behind two parameters do not overlap, as one on arguments; nothing
    where these are numbers of objects that certainly differ. Any other assumption stays as the callee has
    it."""
    if assumption.kind != "no-overlap":
        return (assumption,)
    numbers = {
        v.source_name: k
        for k, v in enumerate(summary.parameters)
        if isinstance(element_of(v.type), (Integer, Floating))
    }
    given = [call.arguments[numbers[name]] for name in assumption.subjects if name in numbers]
    if any(map(is_null, given)):
        return ()
    if len(given) != 2:
        here = no_overlap(*(_of_caller(name, call, summary) for name in assumption.subjects))
        if _is_part(*here.subjects):
            text = f"`{call.function}` gets `{here.subjects[0]}` twice, and writes there"
            scope.refuse(Rejection("may-alias", call.site, text))
        return (here,)
    first, second = (resolve_pointer(each, scope, value_of) for each in given)
    if isinstance(first, Opaque) or isinstance(second, Opaque) or first.base.name == second.base.name:
        return (assumption,)
    if _never_meet(first, second, scope) or _never_meet(second, first, scope):
        return ()
    texts = (path_text(each.base, Path(each.base, each.steps).shape) for each in (first, second))
    return (no_overlap(*texts),)


def _of_caller(name: str, call: Call, summary: Summary) -> str:
    """A memory behind a parameter (`m->data`) as the caller spells it (`image.data`), if it has a name
    there."""
    parameter, member, rest = name.partition("->")
    given = (a for v, a in zip(summary.parameters, call.arguments, strict=True) if v.source_name == parameter)
    match next(given, None):
        case Read(Place(steps=())) as argument:
            return f"{spell(argument)}{member}{rest}"
        case AddressOf(Place(steps=())) as argument if member:
            return f"{argument.place.variable.source_name}.{rest}"
        case _:
            return name


def _is_part(whole: str, part: str) -> bool:
    """True if a memory is the other one, or a member of it, by their spelling."""
    return part == whole or part.startswith((f"{whole}->", f"{whole}."))


def _never_meet(pointer: PointerValue, target: PointerValue, scope: Scope) -> bool:
    """True if a pointer never leads to the scalar that is the other one's target."""
    if pointer.followed or not _is_own_storage(target):
        return False
    if is_scalar_storage(pointer.base) or pointer.base.fresh:
        return pointer.base.name != target.base.name
    return not may_lead_to(pointer.base.variable, target.base.variable, scope)


def _integers_passed(call: Call, summary: Summary, scope: Scope) -> Iterator[Poly | None]:
    """Values of the integer arguments of a call, `None` for unknown ones, and those that choose no elements:
    their conversions are no concern."""
    regions = [isl.Map(access.region) for access in summary.accesses if access.region]
    for position, number in enumerate(summary.integers):
        if not any(region.involves_dims(isl.dim_type.in_, position, 1) for region in regions):
            yield None
            continue
        argument = call.arguments[number]
        value = value_of(_as_size(argument) if number in summary.sizes else argument, scope)
        yield value if isinstance(value, Poly) else None


def _as_size(argument: Expr) -> Expr:
    """A size of an object in signed arithmetic: an object has less than 2**63 bytes, so that what would have
    wrapped around is no size, and the sums and products of others are those of their unconverted parts."""
    if argument.type != Integer(64, False):
        return argument
    match argument:
        case Cast(operand, _, site) if isinstance(operand.type, Integer):
            return Cast(_as_size(operand), Integer(64, True), site)
        case Binary("+" | "-" | "*", left, right):
            first, second = _as_size(left), _as_size(right)
            return replace(argument, left=first, right=second, type=Integer(64, True))
        case Constant(value) if isinstance(value, int) and value < 1 << 63:
            return replace(argument, type=Integer(64, True))
        case _:
            return argument


def _released(call: Call, scope: Scope) -> list[RawAccess]:
    """The access of `free`: no use of the memory may come after it, as after a write of all of it."""
    pointer = stripped(call.arguments[0])
    if not isinstance(pointer.type, Pointer) or is_null(pointer):
        return []
    start = resolve_pointer(pointer, scope, value_of)
    if isinstance(start, Opaque):
        scope.object_to(start)
        return []
    steps = (*start.steps[:-1], At(anything(call.site)))
    path = Path(start.base, steps, start.followed, False, start.taken, bool(start.followed), start.recast)
    made = RawAccess(
        path, "write", pointer.site, pointer.type.to, start.base.variable, spell(pointer), exact=False
    )
    made.reached = _by_argument(pointer, path)
    return [made]


def _presume(call: Call, presumed: Presumption, summary: Summary, scope: Scope) -> None:
    """Rest on the callee's presumption about a branch, unless arguments decide it that count iterations, or
    are constants. The `decided_by` of the presumption are variables of the caller from here on."""
    given = {v.name: a for v, a in zip(summary.parameters, call.arguments, strict=True)}
    behind: set[str] = set()
    for name in presumed.decided_by:
        argument = given[name]
        value = value_of(argument, scope) if isinstance(argument.type, Integer) else None
        known = isinstance(value, Poly)
        if known and (value.as_constant is not None or value.symbols & {*scope.dimensions}):
            scope.refuse(replace(presumed.otherwise, site=call.site))
            return
        if not known and scope.frames and counts_iterations(argument, scope.frames[0].loop):
            scope.refuse(replace(presumed.otherwise, site=call.site))
            return
        behind |= {n.place.variable.name for n in subexpressions(argument) if isinstance(n, Read)}
    otherwise = replace(presumed.otherwise, site=call.site)
    decided_by = tuple(sorted(behind))
    here = replace(presumed, otherwise=otherwise, site=call.site, decided_by=decided_by, guard="")
    scope.presume(here, in_callee=True)


def _single(
    path: Path, subscript: Expr, from_end: bool, call: Call, summary: Summary, scope: Scope
) -> Path | None:
    """The path to the one element at a subscript that the callee computes from its arguments; `None` where it
    may count from the end of an array."""
    given = {v.name: a for v, a in zip(summary.parameters, call.arguments, strict=True)}
    expression = with_arguments(subscript, given)
    first = path.steps[-1] if path.steps else None
    if expression is None or not isinstance(first, At) or not isinstance(first.index, Poly):
        return None
    value = value_of(expression, scope)
    if not isinstance(value, Poly) or (from_end and not scope.never_negative(value)):
        return None
    return replace(path, steps=(*path.steps[:-1], At(first.index + value)))


def _in_object(path: Path, start: PointerValue, access: SummaryAccess, call: Call) -> Path | Opaque:
    """The path into one object, a variable that the callee names or the target of a pointer, from that
    pointer: without its step, and with any element of arrays that the object holds. Unknown where the callee
    goes beyond a member, to others; beyond a variable there is nothing that the nest names."""
    number = len(start.steps) - 1
    if number > 0:
        first = isl.Map(access.region).range().plain_get_val_if_fixed(isl.dim_type.set, 0)
        inside = not first.is_nan() and first.is_zero() and path.steps[number] == At(ZERO)
        if access.subscript is not None or not inside:
            return beyond_object(call.site, None)
    every = At(anything(call.site))
    behind = tuple(every if isinstance(s, At) else s for s in path.steps[number + 1 :])
    return replace(path, steps=(*path.steps[: max(number, 0)], *behind))


def _within_object(region: isl.Map, led: bool) -> isl.Map | None:
    """The elements of arrays in one object, without the step to that object where a pointer `led` there;
    `None` where the pointer goes on to others."""
    if not led:
        return region
    if region.dim(isl.dim_type.out) < 2:
        return None
    first = region.range().plain_get_val_if_fixed(isl.dim_type.set, 0)
    return region.project_out(isl.dim_type.out, 0, 1) if not first.is_nan() and first.is_zero() else None


def _is_sole(start: PointerValue) -> bool:
    """True if a pointer leads to one object that is no element of an array."""
    return bool(start.steps) and isinstance(start.steps[-1], At) and start.steps[-1].sole


def _overwrite(variable: Variable, pointer: Expr, call: Call, scope: Scope, region: Region) -> None:
    """Forget the value of a variable that a call writes through an address. Where this is not that of the
    variable in the argument itself, the syntax of loops around does not show that they change it."""
    shown = any(root.place.variable == variable for root in _roots(pointer))
    if isinstance(variable.type, Integer) and shown:
        place = Place(variable, (), variable.type, call.site)
        key = ("called", variable.name, call.site)
        scope.environment[variable.name] = (
            unknown_value(place, len(scope.frames))
            if scope.frames
            else scope.parameters.computed(key, variable.source_name, variable.type)
        )
    elif isinstance(variable.type, (Integer, Pointer)):
        text = f"`{variable.source_name}` is changed by the call of `{call.function}`"
        region.tainted.append(Rejection("pointer-arithmetic", call.site, text))


def _read_by_pure(call: Call, scope: Scope) -> list[RawAccess]:
    """Reads of a function that writes nothing: all that it can reach, which is the targets of its arguments,
    and globals. Targets of other pointers are assumed not to be among it."""
    for argument in call.arguments:
        if isinstance(argument.type, Struct):
            text = f"`{call.function}` may read what pointers in `{spell(argument)}` lead to"
            scope.object_to(Opaque(ANYWHERE, Rejection("may-alias", argument.site, text)))
    found: list[RawAccess] = []
    for read in _read_through(call, scope):
        if isinstance(read, Opaque):
            scope.object_to(read)
        else:
            found.append(read)
    found += _globals_read(call, scope)
    for place in scope.effects.places:
        variable = place.variable
        if variable.storage in ("global", "static") and not isinstance(variable.type, Pointer):
            path = Path(Base(variable.name, variable), ())
            found.append(_named_by(call, path, place.type))
        elif variable.storage != "local" or variable.escapes:
            text = f"`{call.function}` does not read what `{variable.source_name}` points to"
            scope.assume(Assumption("other", (call.function, variable.source_name), text))
    return found


def _read_through(call: Call, scope: Scope) -> Iterator[RawAccess | Opaque]:
    """The reads through the pointers that are arguments of a call."""
    for argument in call.arguments:
        if not isinstance(argument.type, Pointer):
            continue
        start = resolve_pointer(argument, scope, value_of)
        if isinstance(start, Opaque):
            yield start
            continue
        every = () if _is_sole(start) else (At(anything(argument.site)),)
        steps = (*start.steps[:-1], *every)
        path = Path(start.base, steps, start.followed, taken=start.taken, loaded=bool(start.followed))
        made = RawAccess(
            path, "read", argument.site, argument.type.to, start.base.variable, spell(argument), False
        )
        made.reached = _by_argument(argument, path)
        yield made


def _globals_read(call: Call, scope: Scope) -> list[RawAccess]:
    """The reads of numbers that are global variables, and that the nest changes."""
    changed = [v for v in scope.effects.variables if v.name in scope.effects.scalars]
    outside = [v for v in changed if v.storage in ("global", "static")]
    return [
        _named_by(call, Path(Base(v.name, v), ()), v.type)
        for v in sorted(outside, key=lambda v: v.name)
        if not isinstance(v.type, Pointer)
    ]


def _counters_named(call: Call, summary: Summary, scope: Scope) -> Iterator[RawAccess]:
    """The reads of integers and pointers with static storage that the nest changes."""
    for each in summary.counters:
        variable = scope.calls.as_named_here(each, scope.effects.variables)
        if variable.name in scope.effects.scalars:
            yield _named_by(call, Path(Base(variable.name, variable), ()), variable.type, True)


def _named_by(call: Call, path: Path, of_type: Type, certain: bool = False) -> RawAccess:
    """The read of a global that a called function may name."""
    variable, reached = path.base.variable, ByCallee(call.function, certain)
    text = variable.source_name
    return RawAccess(path, "read", call.site, of_type, variable, text, False, reached=reached)


def _reached(call: Call, access: SummaryAccess, path: Path) -> Reached:
    if access.parameter < 0:
        return ByCallee(call.function)
    return _by_argument(_pointer(call, access), path)


def _by_argument(argument: Expr, path: Path) -> Reached:
    """The address in an argument; an address that the argument itself takes is that of the copy."""
    pointers = (n.place.variable for n in subexpressions(argument) if isinstance(n, Read))
    return reached_by_address(
        path, next((v for v in pointers if isinstance(v.type, Pointer)), path.base.variable)
    )


def _start(call: Call, access: SummaryAccess, scope: Scope) -> PointerValue | Opaque:
    if access.parameter < 0:
        variable = scope.calls.as_named_here(access.variable, scope.effects.variables)
        if isinstance(variable.type, Pointer):
            # A function with a summary sets no such pointer, so that it has the value that it has here.
            return _as_accessed(pointer_in(variable, scope), variable.type, access, call, scope)
        return PointerValue(Base(variable.name, variable), ())
    pointer = _pointer(call, access)
    if access.way and pointer is call.arguments[access.parameter]:
        return _lost(call, access)
    return _as_accessed(resolve_pointer(pointer, scope, value_of), pointer.type, access, call, scope)


def _as_accessed(
    start: PointerValue | Opaque, of_type: Type, access: SummaryAccess, call: Call, scope: Scope
) -> PointerValue | Opaque:
    """The target of a pointer whose numbers a callee may access as those of another type: than those of its
    parameter, or, where that is a `void *`, than those of the argument."""
    declared = element_of(access.variable.type)
    seen = declared if isinstance(declared, (Integer, Floating)) else element_of(of_type)
    if access.shape != ("[]",) or not isinstance(access.type, (Integer, Floating)):
        return start
    if not isinstance(seen, (Integer, Floating, OtherType)):
        return start
    return seen_as(start, seen, access.type, call.site, scope)


def _object_to_other_type(argument: Expr, name: str, scope: Scope) -> None:
    """Reject a call that sees structures of some name where the caller has a pointer to elements of another
    size; a `void *` that the caller was given has none."""
    given = stripped(argument)
    of_type = given.type.to if isinstance(given.type, Pointer) else None
    # Each function has names of its own for structures without a tag.
    is_same = isinstance(of_type, Struct) and of_type.name == name and not name.startswith(UNTAGGED)
    is_passed_on = isinstance(given, Read) and not given.place.steps and isinstance(of_type, OtherType)
    if not is_same and not is_passed_on:
        text = f"`{spell(argument)}` is used as values of two types"
        rejection = Rejection("may-alias", argument.site, text, "use one type for the memory")
        scope.object_to(Opaque(ANYWHERE, rejection))


def _lost(call: Call, access: SummaryAccess) -> Opaque:
    """The target of pointers found in memory that the callee follows, and that may change."""
    pointer = _pointer(call, access)
    text = f"where the pointers in `{spell(pointer)}` lead cannot be told"
    return Opaque(ANYWHERE, Rejection("pointer-arithmetic", pointer.site, text, "give it a name"))


def _is_own_storage(start: PointerValue) -> bool:
    """True if a pointer leads to the storage of a variable itself, and not through a pointer in it."""
    return is_scalar_storage(start.base) and not start.followed


def _pointer(call: Call, access: SummaryAccess) -> Expr:
    """Pointer to the memory of an access: an argument, or a pointer found on the way from it, if the argument
    is a variable, a part of one or the address of one."""
    argument = call.arguments[access.parameter]
    if not access.way or not isinstance(argument, (Read, AddressOf)):
        return argument
    way = _steps(access.way, call)
    if isinstance(way[-1], Field):
        way = (*way[:-1], replace(way[-1], type=Pointer(access.type)))
    # `(&p)->x` is `p.x`.
    more = way[1:] if isinstance(argument, AddressOf) else way
    place = argument.place
    return Read(Place(place.variable, (*place.steps, *more), Pointer(access.type), place.site))


def _is_address_of_number(call: Call, access: SummaryAccess) -> bool:
    """True if a callee reaches a number by an argument that is its address, so that it updates the copy of a
    variable that a loop's reduction has."""
    argument = call.arguments[access.parameter]
    return isinstance(argument, AddressOf) and not argument.place.steps and argument.place.type == access.type


def _path(start: PointerValue, access: SummaryAccess) -> Path:
    """The path with the first subscript where the pointer points and zeros beyond."""
    steps = start.steps
    shape = access.shape[len(access.way) :]
    rest = shape[1:] if steps else shape
    more = tuple(At(ZERO) if s == "[]" else Member(s[1:]) for s in rest)
    before = len(steps) + len(rest) - len(access.shape)
    followed = start.followed | {before + step for step in access.followed}
    return Path(start.base, (*steps, *more), followed, False, start.taken, bool(followed), start.recast)


def _written_by(call: Call, calls: Calls, own: Effects) -> Iterator[Place]:
    summary = calls.of(call)
    for access in summary.accesses if summary is not None else ():
        if access.kind != "write":
            continue
        if access.parameter < 0:
            variable = calls.as_named_here(access.variable, own.variables)
            yield Place(variable, (_somewhere(call),), access.type, call.site)
            continue
        pointer = _pointer(call, access)
        way = access.way if pointer is not call.arguments[access.parameter] else ()
        more = _steps(access.shape[len(way) :], call)
        for root in _roots(pointer):
            # Of `&p`, which members these are is left open.
            beyond = more if isinstance(root, Read) else more[:1]
            yield Place(root.place.variable, (*root.place.steps, *beyond), access.type, call.site)


def _steps(shape: tuple[str, ...], call: Call) -> tuple[Index | Field, ...]:
    """Steps of a shape in the source, with some subscripts."""
    return tuple(_somewhere(call) if step == "[]" else Field(step[1:]) for step in shape)


def _somewhere(call: Call) -> Index:
    return Index(Constant(0, Integer(32, True), call.site))


def _roots(argument: Expr) -> Iterator[Read | AddressOf]:
    """The variables, by their values or addresses, from which a pointer argument is computed."""
    for node in subexpressions(argument):
        if isinstance(node, AddressOf) or (isinstance(node, Read) and isinstance(node.type, Pointer)):
            yield node
