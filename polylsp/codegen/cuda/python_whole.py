"""Integers of Python on a device: their largest values, and their types."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from polylsp.codegen.cuda.expressions import UNARY, Unwritable, grouped
from polylsp.model.program import (
    Binary,
    Cast,
    Constant,
    Expr,
    Floating,
    Integer,
    Invariant,
    Read,
    Select,
    Type,
    Unary,
)

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
SMALL, LOCAL = 1 << 30, 1 << 40
"""Largest values of counters and sizes, and of variables that are integers."""

INT, LONG = (1 << 31) - 1, 1 << 62
"""Largest values that `int` and `long long` hold."""

TYPES: dict[Type, str] = {
    Integer(1, False): "bool", Integer(8, True): "signed char", Integer(8, False): "unsigned char",
    Integer(16, True): "short", Integer(16, False): "unsigned short", Integer(32, True): "int",
    Integer(32, False): "unsigned int", Integer(64, True): "long long",
    Integer(64, False): "unsigned long long", Floating(32): "float", Floating(64): "double",
}  # fmt: skip


def is_unlimited(of_type: Type) -> bool:
    """True for the type of Python's unlimited integers."""
    return isinstance(of_type, Integer) and of_type.bits > 64


def exact_words(of_type: Type) -> str | None:
    """The type of an element of NumPy in words that mean the same on each system."""
    return TYPES.get(of_type)


@dataclass(frozen=True)
class Sizes:
    """Bounds of integers, given the variables (unique names) that a call has checked to be `small`."""

    small: frozenset[str]

    def size(self, value: Expr) -> int:
        """Largest absolute value of an integer."""
        match value:
            case Constant(number):
                return abs(int(number))
            case Read(place) if not place.steps:
                return SMALL if place.variable.name in self.small else LOCAL
            case Invariant():
                return SMALL
            case Unary(_, operand) | Cast(operand) if isinstance(operand.type, Integer):
                return self.size(operand)
            case Select(_, then, otherwise) | Binary("min" | "max", then, otherwise):
                return max(self.size(then), self.size(otherwise))
            case Binary("+" | "-", left, right):
                return self.size(left) + self.size(right)
            case Binary("*", left, right):
                return self.size(left) * self.size(right)
            case Binary(operator) if operator in (*COMPARISONS, "&&", "||"):
                return 1
            case _:
                return 1 << value.type.bits if isinstance(value.type, Integer) else LONG + 1

    def is_long(self, value: Expr) -> bool:
        """True if the text of an integer has 64 bits."""
        match value:
            case Read(place):
                return place.type == Integer(64, True) or (
                    not place.steps and place.variable.name not in self.small
                )
            case Cast(operand, of_type) if is_unlimited(of_type):
                return self.is_long(operand)
            case Binary(operator) if operator in ("+", "-", "*"):
                return self.size(value) > INT
            case _:
                return value.type == Integer(64, True) and not isinstance(value, Constant)


def constant_text(value: Constant, around: float) -> str:
    """A number; real ones are written so that they are that in C too."""
    number = value.value
    if isinstance(value.type, Floating):
        if not isfinite(number):
            raise Unwritable("A number is not finite: put it into a variable before the loops.")
        text = repr(float(number)) + ("f" if value.type == Floating(32) else "")
        return grouped(text, UNARY if number < 0 else 99, around)
    whole = int(number)
    if abs(whole) > LONG:
        raise Unwritable(f"{whole} is larger than a GPU's whole numbers.")
    return grouped(f"{whole}{'LL' if abs(whole) > INT else ''}", UNARY if whole < 0 else 99, around)


def is_number(of_type: Type) -> bool:
    """True for types of numbers."""
    return isinstance(of_type, (Integer, Floating))


def is_element(value: Expr) -> bool:
    """True if an integer is computed from elements of arrays, whose arithmetic wraps around."""
    match value:
        case Read(place):
            return bool(place.steps)
        case Binary(_, left, right) | Select(_, left, right):
            return is_element(left) or is_element(right)
        case Cast(operand) | Unary(_, operand):
            return is_element(operand)
        case _:
            return False
