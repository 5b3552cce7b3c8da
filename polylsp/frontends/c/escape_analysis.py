"""Escape analysis: variables whose addresses an unknown pointer may reach."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from polylsp.frontends.c.lowering_context import Context
from polylsp.ir.program import (
    AddressOf,
    Array,
    Binary,
    Call,
    Cast,
    Expr,
    Field,
    Place,
    Pointer,
    Read,
    Select,
    Struct,
    Type,
    Variable,
)


def store(context: Context, target: Place, value: Expr) -> None:
    """Follow a stored value through a local pointer; any other store lets it escape."""
    if not isinstance(value.type, Pointer):
        return
    sources = _sources(context, value)
    if target.steps or target.variable.storage != "local" or not isinstance(target.type, Pointer):
        context.leaked |= sources
        return
    context.flows.setdefault(target.variable.name, set()).update(sources)
    # A scalar is accessed by its name alone: any pointer to it counts.
    context.leaked |= {s for s in sources if s.startswith("&") and s in context.scalars}


def give(context: Context, value: Expr) -> None:
    """A value is passed to code that may keep it."""
    if isinstance(value.type, Pointer | Struct):
        context.leaked |= _sources(context, value)


def initialise_static(context: Context, init: Any) -> tuple[str, ...]:
    """Record the addresses in the initialiser of an object with static storage: they get away at once. The
    variables of which these are, by their names in the source."""
    found: set[str] = set()
    pending: list[Any] = [init]
    while pending:
        node = pending.pop()
        named = context.lookup(node.name) if isinstance(node, c_ast.ID) else None
        if isinstance(named, Variable):
            context.leaked.add("&" + named.name)
            found.add(named.source_name)
        pending += [child for _, child in node.children()] if node is not None else []
    return tuple(sorted(found))


def escaped(context: Context) -> frozenset[str]:
    """The unique names of the variables whose address got away."""
    reached: set[str] = set()
    pending = list(context.leaked)
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            # An unknown pointer to `p` reaches the targets of `p` as well.
            pending.extend(context.flows.get(name.removeprefix("&"), ()))
    return frozenset(name[1:] for name in reached if name.startswith("&"))


def _sources(context: Context, value: Expr) -> set[str]:
    """Variables whose addresses (`&x`) or values (`p`) a pointer value is computed from."""
    match value:
        case AddressOf(place=place):
            if _through_pointer(context, place):
                return set()
            if not isinstance(place.type, Array | Struct) and not place.steps:
                context.scalars.add("&" + place.variable.name)
            return {"&" + place.variable.name}
        case Read(place=place) if not place.steps:
            return {place.variable.name}
        case Binary(left=left, right=right):
            return _sources(context, left) | _sources(context, right)
        case Select(then=then, otherwise=otherwise):
            return _sources(context, then) | _sources(context, otherwise)
        case Cast(operand=operand):
            return _sources(context, operand)
        case Call(arguments=arguments):
            return set[str]().union(*(_sources(context, a) for a in arguments))
        case _:
            return set()


def _through_pointer(context: Context, place: Place) -> bool:
    """True if the place lies in the target of a pointer, rather than in the variable."""
    type: Type = place.variable.type
    if isinstance(type, Array) and place.variable.storage == "parameter" and place.steps:
        return True
    for step in place.steps:
        match type:
            case Array():
                type = type.element
            case Struct(name=name) if isinstance(step, Field):
                type = next((m.type for m in context.structs.get(name, ()) if m.name == step.name), type)
            case _:
                return True
    return False
