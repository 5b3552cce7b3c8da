"""Memories that variables lead to, to be generated."""

from __future__ import annotations

from dataclasses import replace

from polylsp.analysis.effects import walk
from polylsp.codegen.harness.members import Member, changes_pointer
from polylsp.codegen.harness.structures import element_type, fields, is_of_structures, kind_of, size_of
from polylsp.codegen.subject import Subject
from polylsp.model.extents import constant_extents
from polylsp.model.measurement import MemoryPlan, NoPlan
from polylsp.model.program import (
    Array,
    Declare,
    Floating,
    Integer,
    Pointer,
    Struct,
    Type,
    Unsupported,
    Variable,
)

_MOST_LEVELS = 4
_ADVICE = "Measure a function whose arrays hold numbers."


def memory_of(subject: Subject, variable: Variable, definite: frozenset[str]) -> MemoryPlan | NoPlan:
    """Memory that a variable leads to, or the reason why it cannot be generated. `definite` are the names of
    matrices that have to be positive definite."""
    levels, name = pointers_of(variable.type), variable.source_name
    element = element_of(levels[-1])
    is_global = variable.storage == "global"
    if len(levels) > 1 and (
        is_global or len(levels) > _MOST_LEVELS or _changes_pointers(subject, variable, len(levels))
    ):
        return NoPlan(f"`{name}` holds pointers that may change: data for that cannot be made up. {_ADVICE}")
    if is_of_structures(variable.type) and (made := _of_structures(subject, variable)) is not None:
        return made
    if not isinstance(element, (Integer, Floating)):
        return NoPlan(f"`{name}` {_reason(element)}: data for that cannot be made up. {_ADVICE}")
    if is_global and isinstance(variable.type, Array) and constant_extents(variable.type) is None:
        return NoPlan(f"How many elements `{name}` has is not known in this file.")
    whole = isinstance(element, Integer)
    is_array = isinstance(variable.type, (Array, Pointer))
    fill = (
        "positive-definite"
        if name in definite
        else "random"
        if is_array and not (is_global and whole)
        else "kept"
    )
    return MemoryPlan(
        name,
        kind_of(element),
        16 if element.bits == 80 else max(1, element.bits // 8),
        is_global,
        is_global or is_written(subject, variable),
        fill,
        levels=len(levels),
    )


def _of_structures(subject: Subject, variable: Variable) -> MemoryPlan | None:
    """An array of structures, if all that the function uses of these are numbers."""
    found, name = fields(subject, variable), element_type(subject, variable)
    is_global = variable.storage == "global"
    if not found or name is None:
        return None
    return MemoryPlan(
        variable.source_name,
        "s",
        size_of(found),
        is_global,
        is_global or is_written(subject, variable),
        "kept" if is_global and any(each.kind != "f" for each in found) else "random",
        structure=name,
        members=found,
    )


def pointers_of(of_type: Type) -> tuple[Type, ...]:
    """A type, and those of the pointers that it points at, the last of which is no pointer to pointers."""
    inner = of_type.to if isinstance(of_type, Pointer) else None
    return (of_type, *pointers_of(inner)) if isinstance(inner, Pointer) else (of_type,)


def _changes_pointers(subject: Subject, variable: Variable, levels: int) -> bool:
    """True if the function may change a pointer that others lead to."""
    places = [place for place in subject.effects.places if place.variable == variable]
    return (
        levels > _MOST_LEVELS
        or bool(subject.effects.calls)
        or any(len(place.steps) < levels for place in places)
    )


def _reason(element: Type) -> str:
    match element:
        case Struct():
            return "holds structures"
        case Pointer():
            return "holds pointers"
        case _:
            return "holds neither whole nor real numbers"


def is_written(subject: Subject, parameter: Variable) -> bool:
    """True if the function may write to the target of a parameter: directly, or in a way that is not analysed
    here."""
    own = subject.effects
    pointers = {v.name for v in subject.function.parameters if isinstance(v.type, (Array, Pointer))}
    if own.calls or pointers & own.scalars or any(place.variable == parameter for place in own.places):
        return True
    return any(
        isinstance(s, Unsupported) or (isinstance(s, Declare) and isinstance(s.variable.type, Pointer))
        for s in walk(subject.function.body)
    )


def member_of(subject: Subject, member: Member, definite: frozenset[str]) -> MemoryPlan | NoPlan:
    """Memory that a member points to, or the member itself."""
    variable = member.variable
    if not isinstance(variable.type, Pointer):
        made = memory_of(subject, replace(variable, storage="global"), definite)
    elif changes_pointer(subject, member) or isinstance(variable.type.to, Pointer):
        return NoPlan(
            f"`{variable.name}` may come to point elsewhere: data for that cannot be made up. {_ADVICE}"
        )
    else:
        made = memory_of(subject, variable, definite)
    return made if isinstance(made, NoPlan) else replace(made, written=member.is_written or made.written)


def element_of(of_type: Type) -> Type:
    """Element type of an array, or of the target of a pointer."""
    if isinstance(of_type, Pointer):
        of_type = of_type.to
    while isinstance(of_type, Array):
        of_type = of_type.element
    return of_type
