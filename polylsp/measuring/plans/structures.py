"""Structure parameters, flattened to the members that a function uses, and arrays of structures.

Each used member is a number or a separate memory, by its spelling (`g->u`, `s->grid->u`). Also
evaluates integer expressions at given parameter values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from polylsp.emit.subject import Subject
from polylsp.ir.effects import places_in
from polylsp.ir.program import (
    Array,
    Binary,
    Cast,
    Constant,
    Expr,
    Field,
    Floating,
    Index,
    Integer,
    Place,
    Pointer,
    Read,
    Struct,
    Type,
    Unary,
    Variable,
)
from polylsp.model.measurement import Member as MeasurementMember

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


# --------------------------------------------------------------------------------------------------
# Evaluation of expressions for given values of the function's parameters.
# --------------------------------------------------------------------------------------------------


def evaluated(value: Expr, sizes: Mapping[str, int]) -> int | None:
    """The whole number that an expression is, given the parameters by name; `None` if that is not enough."""
    match value:
        case Constant(int() as number):
            return number
        case Read(place) if not place.steps and place.variable.storage == "parameter":
            return sizes.get(place.variable.source_name)
        case Cast(operand):
            return evaluated(operand, sizes)
        case Unary("-", operand):
            inner = evaluated(operand, sizes)
            return None if inner is None else -inner
        case Binary(operator, left, right) if operator in _OPERATORS:
            one, other = evaluated(left, sizes), evaluated(right, sizes)
            return None if one is None or other is None else _OPERATORS[operator](one, other)
        case _:
            return None


def row(of_type: Type, sizes: Mapping[str, int]) -> tuple[int, ...] | None:
    """Strides of each subscript of an array or a pointer, in elements, outermost first; `None` if an inner
    extent is unknown."""
    inner = (
        of_type.to
        if isinstance(of_type, Pointer)
        else of_type.element
        if isinstance(of_type, Array)
        else None
    )
    if not isinstance(inner, Array):
        return (1,)
    extent = evaluated(inner.extent, sizes) if inner.extent is not None else None
    rest = row(inner, sizes)
    return None if extent is None or rest is None else (extent * rest[0], *rest)


def declared(of_type: Type, sizes: Mapping[str, int]) -> int | None:
    """The elements that a declaration speaks of, if it says how many."""
    if not isinstance(of_type, Array) or of_type.extent is None:
        return None
    outermost, steps = evaluated(of_type.extent, sizes), row(of_type, sizes)
    return None if outermost is None or steps is None else max(0, outermost) * steps[0]


def _quotient(one: int, other: int) -> int:
    """C's division, towards zero; of a division by zero, anything."""
    return abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1) if other else 0


_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "/": _quotient,
    "min": min,
    "max": max,
}


# --------------------------------------------------------------------------------------------------
# Arrays of structures: which numbers are in each, as far as a function uses them.
# --------------------------------------------------------------------------------------------------


_MOST_FIELDS, _LONGEST = 32, 63
"""Limits of `measuring/driver.c` on fields and names."""


def fields(subject: Subject, variable: Variable) -> tuple[MeasurementMember, ...]:
    """The numbers in the structures of an array; none where it is used as something else too."""
    found: dict[str, MeasurementMember] = {}
    for place in places_in(subject.function.body):
        if place.variable != variable:
            continue
        made = _member(place)
        if made is None:
            return ()
        found[made.name] = made
    fits = len(found) <= _MOST_FIELDS and all(len(name) <= _LONGEST for name in found)
    return tuple(found[name] for name in sorted(found)) if fits else ()


def element_type(subject: Subject, variable: Variable) -> str | None:
    """The type of the structures, as C spells it."""
    if variable.storage == "global":
        subscripts, inner = "", variable.type
        while isinstance(inner, Array):
            subscripts, inner = f"{subscripts}[0]", inner.element
        return f"__typeof__({variable.source_name}{subscripts})"
    return type_name(subject, variable)


def _member(place: Place) -> MeasurementMember | None:
    """The field that a place is in: subscripts, then fields, then subscripts of the last one."""
    kinds = "".join("[" if isinstance(each, Index) else "." for each in place.steps)
    named = [each for each in place.steps if isinstance(each, Field)]
    if not named or set(kinds.strip("[")) != {"."}:
        return None
    of_type = named[-1].type
    length = declared(of_type, {}) or 1 if isinstance(of_type, Array) else 1
    while isinstance(of_type, Array):
        of_type = of_type.element
    name = ".".join(each.name for each in named)
    if isinstance(of_type, Integer) and of_type.bits not in (1, 8, 16, 32, 64):
        return None  # Bits of a byte have no address.
    if not isinstance(of_type, (Integer, Floating)):
        return None
    return MeasurementMember(name, kind_of(of_type), _bytes(of_type.bits), length)


def kind_of(of_type: Integer | Floating) -> Literal["f", "i", "u", "b"]:
    """Kind of the numbers of a type. The one bit of `_Bool` is a truth value."""
    if isinstance(of_type, Floating):
        return "f"
    return "b" if of_type.bits == 1 else "i" if of_type.signed else "u"


def _bytes(bits: int) -> int:
    return 16 if bits == 80 else max(1, bits // 8)


def size_of(found: tuple[MeasurementMember, ...]) -> int:
    """The bytes of a structure, or a little less."""
    return sum(each.size * each.length for each in found)


def is_of_structures(of_type: Type) -> bool:
    """True for an array of structures, or a pointer to one."""
    inner = of_type.to if isinstance(of_type, Pointer) else of_type
    while isinstance(inner, Array):
        inner = inner.element
    return isinstance(inner, Struct) and not inner.union and isinstance(of_type, (Pointer, Array))
