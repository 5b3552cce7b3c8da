"""C arithmetic: integers with their wrap-around, and two stand-ins for `double`.

`EXACT` computes doubles in the field of integers modulo a prime: sums and products may be
reassociated without rounding, and different computations give different values. `FLOATING`
computes as a machine does (to compare with a compiler).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from tests.oracle.nests import Type

PRIME = (1 << 61) - 1
BITS: dict[str, int] = {"int": 32, "unsigned": 32, "long": 64}
RANK: dict[str, int] = {"int": 0, "unsigned": 1, "long": 2, "double": 3}

Value = Any


class Undefined(Exception):
    """The program does what C leaves undefined, or does not end: nothing can be said of this run."""


def common(left: Type, right: Type) -> Type:
    """The type to which the usual arithmetic conversions bring two operands."""
    return left if RANK[left] >= RANK[right] else right


def centred(value: int) -> int:
    """The representative of a field element that is nearest to zero."""
    value %= PRIME
    return value - PRIME if value > PRIME // 2 else value


def wrapped(value: int, type: Type) -> int:
    """The value that an integer type of this width keeps of a value."""
    bits = BITS[type]
    value &= (1 << bits) - 1
    return value - (1 << bits) if type != "unsigned" and value >> (bits - 1) else value


def fits(value: int, type: Type) -> bool:
    """True if a signed type represents the value."""
    half = 1 << (BITS[type] - 1)
    return -half <= value < half


def truncated_division(a: int, b: int) -> int:
    """C's `/` on integers."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def integer(operator: str, a: int, b: int) -> int:
    """An integer operator before its result is fitted to a type; `//` and `mod` are Python's."""
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/" | "%":
            if b == 0:
                raise Undefined("division by zero")
            quotient = truncated_division(a, b)
            return quotient if operator == "/" else a - b * quotient
        case "//" | "mod":
            if b == 0:
                raise Undefined("division by zero")
            return a // b if operator == "//" else a % b
        case "&":
            return a & b
        case "|":
            return a | b
        case "^":
            return a ^ b
        case _:
            raise AssertionError(operator)


class Exact:
    """Doubles as elements of a prime field, ordered by their representatives nearest to zero."""

    @staticmethod
    def convert(value: int) -> Value:
        return centred(value)

    @staticmethod
    def compute(operator: str, a: Value, b: Value) -> Value:
        match operator:
            case "+":
                return centred(a + b)
            case "-":
                return centred(a - b)
            case "*":
                return centred(a * b)
            case "/":
                if b == 0:
                    raise Undefined("division by zero")
                return centred(a * pow(b, PRIME - 2, PRIME))
            case _:
                raise AssertionError(operator)

    functions: ClassVar[dict[str, Callable[..., Value]]] = {
        "fabs": abs,
        "fmax": max,
        "fmin": min,
        "sqrt": lambda x: centred(x * x * x + 7),
        "exp": lambda x: centred(x * x + 5),
    }

    @staticmethod
    def initial(random: int) -> Value:
        return random % 19 - 9 if random % 3 else centred(random * 0x9E3779B97F4A7C15)


class Floating:
    """Doubles as the machine has them."""

    @staticmethod
    def convert(value: int) -> Value:
        return float(value)

    @staticmethod
    def compute(operator: str, a: Value, b: Value) -> Value:
        match operator:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b
            case "/":
                if b == 0:
                    raise Undefined("division by zero")
                return a / b
            case _:
                raise AssertionError(operator)

    functions: ClassVar[dict[str, Callable[..., Value]]] = {
        "fabs": abs,
        "fmax": max,
        "fmin": min,
        "sqrt": math.sqrt,
        "exp": math.exp,
    }

    @staticmethod
    def initial(random: int) -> Value:
        return (random % 37 - 18) / 2


Arithmetic = type[Exact] | type[Floating]

COMPARE: dict[str, Callable[[Value, Value], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
