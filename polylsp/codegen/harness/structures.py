"""Arrays of structures: which numbers are in each, as far as a function uses them."""

from __future__ import annotations

from typing import Literal

from polylsp.analysis.effects import places_in
from polylsp.codegen.harness.members import type_name
from polylsp.codegen.harness.numbers import declared
from polylsp.codegen.subject import Subject
from polylsp.model.measurement import Member
from polylsp.model.program import (
    Array,
    Field,
    Floating,
    Index,
    Integer,
    Place,
    Pointer,
    Struct,
    Type,
    Variable,
)

_MOST_FIELDS, _LONGEST = 32, 63
"""Limits of `runtime/driver.c` on fields and names."""


def fields(subject: Subject, variable: Variable) -> tuple[Member, ...]:
    """The numbers in the structures of an array; none where it is used as something else too."""
    found: dict[str, Member] = {}
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


def _member(place: Place) -> Member | None:
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
    return Member(name, kind_of(of_type), _bytes(of_type.bits), length)


def kind_of(of_type: Integer | Floating) -> Literal["f", "i", "u", "b"]:
    """Kind of the numbers of a type. The one bit of `_Bool` is a truth value."""
    if isinstance(of_type, Floating):
        return "f"
    return "b" if of_type.bits == 1 else "i" if of_type.signed else "u"


def _bytes(bits: int) -> int:
    return 16 if bits == 80 else max(1, bits // 8)


def size_of(found: tuple[Member, ...]) -> int:
    """The bytes of a structure, or a little less."""
    return sum(each.size * each.length for each in found)


def is_of_structures(of_type: Type) -> bool:
    """True for an array of structures, or a pointer to one."""
    inner = of_type.to if isinstance(of_type, Pointer) else of_type
    while isinstance(inner, Array):
        inner = inner.element
    return isinstance(inner, Struct) and not inner.union and isinstance(of_type, (Pointer, Array))
