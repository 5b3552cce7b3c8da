"""C's types on a machine with 64-bit pointers and `long` (LP64): sizes, promotions, conversions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polylsp.frontends.c.lower.context import Member
from polylsp.model.program import (
    Array,
    Constant,
    Floating,
    Integer,
    OtherType,
    Pointer,
    Struct,
    Type,
)

BOOL = Integer(1, False)
CHAR = Integer(8, True)
INT = Integer(32, True)
UNSIGNED = Integer(32, False)
LONG = Integer(64, True)
SIZE = Integer(64, False)
DOUBLE = Floating(64)
VOID = OtherType("void")


def basic(names: Sequence[str]) -> Type:
    """The type that type specifiers such as `unsigned long int` spell."""
    words = set(names)
    if "_Complex" in words or words & {"_Decimal32", "_Decimal64", "_Decimal128"}:
        return OtherType(" ".join(names))
    if "double" in words:
        return Floating(80 if "long" in words else 64)
    if "float" in words:
        return Floating(32)
    if "void" in words:
        return VOID
    if "_Bool" in words or "bool" in words:
        return BOOL
    signed = "unsigned" not in words
    if "char" in words:
        return Integer(8, signed)
    if "short" in words:
        return Integer(16, signed)
    if "__int128" in words:
        return Integer(128, signed)
    return Integer(64 if "long" in words else 32, signed)


def promote(type: Type) -> Type:
    """The type of an operand after the integer promotions."""
    if isinstance(type, Integer) and (type.bits < 32):
        return INT
    return type


def common(left: Type, right: Type) -> Type:
    """The common type of two arithmetic operands (C11 6.3.1.8)."""
    if isinstance(left, Floating) or isinstance(right, Floating):
        bits = [t.bits for t in (left, right) if isinstance(t, Floating)]
        return Floating(max(bits))
    left, right = promote(left), promote(right)
    if not isinstance(left, Integer) or not isinstance(right, Integer):
        return left
    bits = max(left.bits, right.bits)
    # An unsigned type of the greatest rank wins; a wider signed one holds all its values.
    signed = not any(not t.signed and t.bits == bits for t in (left, right))
    return Integer(bits, signed)


def is_arithmetic(type: Type) -> bool:
    """True if arithmetic is defined on values of the type."""
    return isinstance(type, Integer | Floating)


def wrapped(value: int, type: Integer) -> int:
    """An integer as the type holds it."""
    if type == BOOL:
        return int(value != 0)
    value &= (1 << type.bits) - 1
    if type.signed and value >> (type.bits - 1):
        value -= 1 << type.bits
    return value


def size(type: Type, structs: Mapping[str, tuple[Member, ...]]) -> int | None:
    """`sizeof` in bytes; `None` where it is not constant or undetermined."""
    match type:
        case Integer(bits=bits):
            return max(1, (bits + 7) // 8)
        case Floating(bits=bits):
            return 16 if bits > 64 else bits // 8
        case Pointer():
            return 8
        case Array(element=element, extent=Constant(value=count)):
            each = size(element, structs)
            return None if each is None else each * int(count)
        case Array():
            return None
        case Struct():
            return _struct_size(type, structs)
        case OtherType():
            return 1 if type.name == "void" else None


def alignment(type: Type, structs: Mapping[str, tuple[Member, ...]]) -> int:
    """Alignment in bytes of a type with a constant size."""
    match type:
        case Array(element=element):
            return alignment(element, structs)
        case Struct(name=name):
            return max((alignment(m.type, structs) for m in structs.get(name, ())), default=1)
        case _:
            return size(type, structs) or 1


def offset_of(struct: Struct, name: str, structs: Mapping[str, tuple[Member, ...]]) -> int | None:
    """Offset of a member in its structure, in bytes."""
    offset = 0
    for member in structs.get(struct.name, ()):
        width = size(member.type, structs)
        if width is None or member.bit_field:
            return None
        offset = _aligned(offset, alignment(member.type, structs))
        if member.name == name:
            return 0 if struct.union else offset
        offset += width
    return None


def _struct_size(struct: Struct, structs: Mapping[str, tuple[Member, ...]]) -> int | None:
    members = structs.get(struct.name)
    if members is None or any(m.bit_field for m in members):
        return None
    offset = 0
    for member in members:
        width = size(member.type, structs)
        if width is None:
            return None
        if struct.union:
            offset = max(offset, width)
        else:
            offset = _aligned(offset, alignment(member.type, structs)) + width
    return _aligned(offset, alignment(struct, structs))


def _aligned(offset: int, to: int) -> int:
    return (offset + to - 1) // to * to


def spelling(type: Type) -> str:
    """A type as C would spell it, for a message."""
    match type:
        case Integer(bits=bits, signed=signed):
            word = {1: "_Bool", 8: "char", 16: "short", 32: "int", 64: "long"}.get(bits, f"int{bits}")
            return word if signed or bits == 1 else f"unsigned {word}"
        case Floating(bits=bits):
            return {16: "_Float16", 32: "float", 64: "double"}.get(bits, "long double")
        case Pointer(to=to):
            return f"{spelling(to)} *"
        case Array(element=element):
            return f"{spelling(element)}[]"
        case Struct(name=name, union=union):
            return f"{'union' if union else 'struct'} {name}"
        case OtherType(name=name):
            return name
