"""What calls access, by summaries of the functions called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import islpy as isl

from polylsp.analysis.effects import Effects
from polylsp.analysis.evaluate import declared_extents, value_of
from polylsp.analysis.paths import Path, is_scalar_storage, resolve_pointer
from polylsp.analysis.raw import CallRegion, RawAccess, Region
from polylsp.analysis.scope import Scope
from polylsp.analysis.spelling import spell
from polylsp.analysis.state import ANYWHERE, At, Base, Member, Opaque, PointerValue, anything
from polylsp.analysis.summaries import Calls, SummaryAccess
from polylsp.analysis.value import ZERO, Poly
from polylsp.model.program import (
    AddressOf,
    Call,
    Constant,
    Expr,
    Field,
    Index,
    Integer,
    Place,
    Pointer,
    Read,
    Struct,
    Variable,
)
from polylsp.model.rejection import Rejection
from polylsp.model.verdict import Assumption


def is_known(call: Call, calls: Calls) -> bool:
    """Whether a call can be modelled: it is pure, or there is a summary that fits it."""
    if call.pure or call.reads_memory:
        return True
    summary = calls.summaries.get(call.function)
    return summary is not None and len(summary.parameters) == len(call.arguments)


def with_calls(own: Effects, calls: Calls) -> Effects:
    """The effects of statements, with what the functions called write through their arguments."""
    places = [p for call in own.calls for p in _written_by(call, calls)]
    return replace(own, places=(*own.places, *places)) if places else own


def call_accesses(call: Call, scope: Scope, region: Region) -> list[RawAccess]:
    """The accesses of one call."""
    if call.function not in scope.calls.summaries:
        return _read_by_pure(call, scope)
    summary = scope.calls.summaries[call.function]
    for assumption in summary.assumptions:
        scope.assume(assumption)
    values = tuple(value_of(call.arguments[k], scope) for k in summary.integers)
    known = tuple(v if isinstance(v, Poly) else None for v in values)
    found: list[RawAccess] = []
    for access in summary.accesses:
        start = _start(call, access, scope)
        if isinstance(start, Opaque):
            scope.object_to(start)
            continue
        path = _path(start, access.shape[len(access.members) :])
        elements: CallRegion | None = CallRegion(isl.Map(access.region), known)
        exact = access.exact
        if _is_own_storage(start):
            _taint(start.base, access.kind, call, region)
            path, elements = Path(start.base, path.steps[1:]), None
            always = not isl.Map(access.region).involves_dims(isl.dim_type.in_, 0, len(known))
            exact = exact and not path.steps and always
        text = (
            spell(call.arguments[access.parameter]) if access.parameter >= 0 else access.variable.source_name
        )
        site = call.arguments[access.parameter].site if access.parameter >= 0 else call.site
        made = RawAccess(
            path, access.kind, site, access.type, path.base.variable, text, exact, None, elements
        )
        made.extents = declared_extents(path.base, path.steps, scope)
        found.append(made)
    return found


def _taint(base: Base, kind: str, call: Call, region: Region) -> None:
    if kind == "write" and isinstance(base.variable.type, (Integer, Pointer)):
        text = f"`{base.variable.source_name}` is changed by the call of `{call.function}`"
        region.tainted.append(Rejection("pointer-arithmetic", call.site, text))


def _read_by_pure(call: Call, scope: Scope) -> list[RawAccess]:
    """A function that is only known to write nothing may read all that it can reach: what its arguments
    point at, and globals; what other pointers lead to is assumed not to be among it."""
    found: list[RawAccess] = []
    for argument in call.arguments:
        if isinstance(argument.type, Struct):
            text = f"`{call.function}` may read what pointers in `{spell(argument)}` lead to"
            scope.object_to(Opaque(ANYWHERE, Rejection("may-alias", argument.site, text)))
        if not isinstance(argument.type, Pointer):
            continue
        start = resolve_pointer(argument, scope, value_of)
        if isinstance(start, Opaque):
            scope.object_to(start)
            continue
        every = () if _is_own_storage(start) else (At(anything(argument.site)),)
        path = Path(start.base, (*start.steps[:-1], *every), start.followed)
        found.append(
            RawAccess(
                path, "read", argument.site, argument.type.to, start.base.variable, spell(argument), False
            )
        )
    found += _globals_read(call, scope)
    for place in scope.effects.places:
        variable = place.variable
        if variable.storage in ("global", "static") and not isinstance(variable.type, Pointer):
            path = Path(Base(variable.name, variable), ())
            found.append(
                RawAccess(path, "read", call.site, place.type, variable, variable.source_name, False)
            )
        elif variable.storage != "local" or variable.escapes:
            text = f"`{call.function}` does not read what `{variable.source_name}` points to"
            scope.assume(Assumption("other", (call.function, variable.source_name), text))
    return found


def _globals_read(call: Call, scope: Scope) -> list[RawAccess]:
    """The reads of numbers that are global variables, and that the nest changes."""
    changed = [v for v in scope.effects.variables if v.name in scope.effects.scalars]
    outside = [v for v in changed if v.storage in ("global", "static")]
    return [
        RawAccess(Path(Base(v.name, v), ()), "read", call.site, v.type, v, v.source_name, False)
        for v in sorted(outside, key=lambda v: v.name)
        if not isinstance(v.type, Pointer)
    ]


def _start(call: Call, access: SummaryAccess, scope: Scope) -> PointerValue | Opaque:
    if access.parameter < 0:
        return PointerValue(Base(access.variable.name, access.variable), ())
    pointer = _pointer(call, access)
    if access.members and not isinstance(pointer, Read):
        text = f"where the pointers in `{spell(pointer)}` lead cannot be told"
        return Opaque(ANYWHERE, Rejection("pointer-arithmetic", pointer.site, text, "give it a name"))
    return resolve_pointer(pointer, scope, value_of)


def _is_own_storage(start: PointerValue) -> bool:
    """Whether a pointer leads to a variable itself, and to nothing that a pointer in it leads to."""
    return is_scalar_storage(start.base) and not start.followed


def _pointer(call: Call, access: SummaryAccess) -> Expr:
    """What leads to the memory: an argument, or a member of the structure that one is."""
    argument = call.arguments[access.parameter]
    if not access.members or not isinstance(argument, Read):
        return argument
    place = argument.place
    steps = (*place.steps, *(Field(name) for name in access.members))
    return Read(Place(place.variable, steps, Pointer(access.type), place.site))


def _path(start: PointerValue, shape: tuple[str, ...]) -> Path:
    """The path with the first subscript where the pointer points and zeros beyond."""
    steps = start.steps
    rest = shape[1:] if steps else shape
    more = tuple(At(ZERO) if s == "[]" else Member(s[1:]) for s in rest)
    return Path(start.base, (*steps, *more), start.followed)


def _written_by(call: Call, calls: Calls) -> Iterator[Place]:
    summary = calls.summaries.get(call.function)
    for access in summary.accesses if summary is not None else ():
        if access.kind != "write":
            continue
        if access.parameter < 0:
            yield Place(access.variable, (_somewhere(call),), access.type, call.site)
            continue
        for variable, steps in _roots(_pointer(call, access)):
            yield Place(variable, (*steps, _somewhere(call)), access.type, call.site)


def _somewhere(call: Call) -> Index:
    return Index(Constant(0, Integer(32, True), call.site))


def _roots(argument: Expr) -> Iterator[tuple[Variable, tuple[Index | Field, ...]]]:
    """The variables from which a pointer argument is computed."""
    from polylsp.analysis.effects import subexpressions

    for node in subexpressions(argument):
        if isinstance(node, (AddressOf, Read)) and (
            isinstance(node, AddressOf) or isinstance(node.type, Pointer)
        ):
            yield node.place.variable, node.place.steps
