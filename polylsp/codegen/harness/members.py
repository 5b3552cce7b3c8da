"""Structures that a parameter points at, taken apart: each member that the function uses is a number or a
separate memory, by its spelling (`g->u`), also where pointers in structures lead to it (`s->grid->u`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from polylsp.analysis.effects import places_in
from polylsp.codegen.subject import Subject
from polylsp.model.program import (
    Constant,
    Field,
    Index,
    Place,
    Pointer,
    Struct,
    Type,
    Variable,
)

_QUALIFIER = r"(?:const|volatile|register)\s+"


@dataclass(frozen=True, slots=True)
class Member:
    """A member, as a separate variable: its name is how it is spelled, its type the member's."""

    variable: Variable
    is_written: bool


def is_structure(of_type: Type) -> bool:
    """True for a pointer to a structure."""
    return isinstance(of_type, Pointer) and isinstance(of_type.to, Struct) and not of_type.to.union


def members(subject: Subject, parameter: Variable) -> tuple[Member, ...] | None:
    """The members of a parameter's target; `None` where it is used as more than one structure, or as a
    whole."""
    own = subject.effects
    found: dict[str, Type] = {}
    for place in places_in(subject.function.body):
        if place.variable != parameter:
            continue
        spelled = spelling(place)
        of_type = _type(place) if spelled is not None else None
        if spelled is None or of_type is None:
            return None
        found[spelled] = of_type
    if parameter.name in own.scalars or not found:
        return None
    changed = {spelling(place) for place in own.places}
    return tuple(
        Member(Variable(name, name, found[name], "parameter"), name in changed) for name in sorted(found)
    )


def is_member(variable: Variable) -> bool:
    """True if a variable stands for a member."""
    return "->" in variable.name


def is_led_to(variable: Variable) -> bool:
    """True if a variable stands for the target of a pointer member, or for a member of it."""
    return structures_of(variable.name) > 1 or (is_member(variable) and isinstance(variable.type, Pointer))


def structures_of(name: str) -> int:
    """Number of structures on the way to a member, by its spelling."""
    return name.count("->")


def changes_pointer(subject: Subject, member: Member) -> bool:
    """True if the function may change a pointer that is a member."""
    return any(
        isinstance(place.type, Pointer) and spelling(place) == member.variable.name
        for place in subject.effects.places
    )


def spelling(place: Place) -> str | None:
    """Spelling of the member that a place is, or is in; `None` if it is no member of a variable's target."""
    fields = list(_fields(place))
    if not fields or not fields[0][1]:
        return None
    named = "".join(f"{'->' if is_led else '.'}{each.name}" for each, is_led in fields)
    return place.variable.source_name + named


def type_name(subject: Subject, parameter: Variable) -> str | None:
    """The structure that a parameter points at, as its declaration spells it."""
    header = subject.text[subject.start : subject.start + subject.ends[-1]].partition("{")[0]
    before_name = r"(?:\s*\*[\s\w]*|\s+)"
    named = rf"{before_name}\b{parameter.source_name}\b"
    found = re.search(rf"[(,]\s*(?:{_QUALIFIER})*((?:struct\s+)?\w+)(?:\s+const)?{named}", header)
    return found[1] if found is not None else None


def _is_first(step: Index | Field) -> bool:
    return isinstance(step, Index) and isinstance(step.subscript, Constant) and step.subscript.value == 0


def _fields(place: Place) -> Iterator[tuple[Field, bool]]:
    """The members that a place is in, from the outermost one on, and whether a pointer to a structure leads
    to each."""
    is_led, of_type = False, place.variable.type
    for step in place.steps:
        if isinstance(step, Field) and (of_type is None or isinstance(of_type, Struct)):
            yield step, is_led
            is_led, of_type = False, step.type
        elif of_type is not None and is_structure(of_type) and _is_first(step):
            assert isinstance(of_type, Pointer)
            is_led, of_type = True, of_type.to
        else:
            return


def _type(place: Place) -> Type | None:
    """Type of the member; `None` if it is a structure, whose members are not distinguished."""
    of_type = list(_fields(place))[-1][0].type
    return None if isinstance(of_type, Struct) else of_type
