"""Kinds (static types) of Python values, and the results of operators on them.

A kind is determined without running the program: numbers, arrays with rank and element type,
tuples, instances of classes of the file, `None`, or another kind by its noun phrase.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Union

from polylsp.ir.program import Floating, Integer

INT = Integer(128, True)
"""A Python `int`: wider than any type of an array's elements, it has no limits and never overflows."""
NATURAL = Integer(127, False)
"""A length: an `int` that is never negative. It converts to `INT` without a change of value."""
INT64 = Integer(64, True)
BOOL = Integer(1, False)
DOUBLE = Floating(64)
COMPLEX = Floating(128)
MOST_DIMENSIONS = 64
"""Of an array, in NumPy."""

NumberType = Union[Integer, Floating]


@dataclass(frozen=True, slots=True)
class Number:
    """A number, Python's or NumPy's; truth values count as whole numbers."""

    type: NumberType


@dataclass(frozen=True, slots=True)
class Array:
    """An `ndarray` with `rank` dimensions. `assumed`: nothing tells the type of its elements; `guessed`:
    nothing tells how many dimensions it has. `lists`: it is a list instead, of lists where it has more than
    one dimension, whose elements are used one by one."""

    element: NumberType
    rank: int
    assumed: bool = False
    guessed: bool = False
    lists: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple of a fixed length."""

    items: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of a class of the file."""

    name: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """`None`."""


@dataclass(frozen=True, slots=True)
class Other:
    """Any other kind; `what` is a noun phrase for it ("a list")."""

    what: str


Kind = Union[Number, Array, Items, Instance, Nothing, Other]

WHOLE = Number(INT)
REAL = Number(DOUBLE)
UNKNOWN = Other("of a type that is not known")
MIXED = Other("different things at different times")
GENERATOR = Other("a generator of random numbers")
ITERATOR = Other("an iterator")
"""Values that are used up where they are read."""
OF_SUBCLASS = Other("of a class that may store in a way of its own")
"""Arrays of a class that is derived from `ndarray`, and what is computed from them."""
DEFAULTDICT = Other("a defaultdict")
"""A dictionary that stores an element where one is read that it does not have."""


def is_whole(kind: Kind | None) -> bool:
    """True for a whole number."""
    return isinstance(kind, Number) and kind.type not in (DOUBLE, COMPLEX)


def wider(left: NumberType, right: NumberType) -> NumberType:
    """The type of a result of arithmetic."""
    if isinstance(left, Floating) or isinstance(right, Floating):
        return Floating(max(one.bits for one in (left, right) if isinstance(one, Floating)))
    if left.signed and right.signed:
        return left if left.bits >= right.bits else right
    # NumPy keeps its type beside a plain `int`, so that unsigned elements wrap around.
    narrow = [one for one in (left, right) if one != INT]
    return max(narrow, key=lambda one: one.bits) if narrow and BOOL not in narrow else INT


def joined(left: Kind | None, right: Kind | None) -> Kind | None:
    """Join of two kinds of a name; `None` is undetermined so far."""
    if left is None or right is None or left == right:
        return left if right is None else right
    match left, right:
        case Number(a), Number(b):
            return Number(wider(a, b))
        case Array(a, rank, one, lists=listed), Array(b, other, two, lists=others) if (
            rank == other and listed == others
        ):
            return Array(wider(a, b), rank, one or two if a != b else one and two, lists=listed)
        case Items(a), Items(b) if len(a) == len(b):
            parts = tuple(joined(x, y) or UNKNOWN for x, y in zip(a, b, strict=True))
            return Items(parts)
        case (Array() as array, Nothing()) | (Nothing(), Array() as array) if not array.lists:
            # Nothing is done with the elements of `None`.
            return array
        case _:
            return MIXED


def combined(left: Kind | None, right: Kind | None) -> Kind | None:
    """The result of elementwise arithmetic on two values."""
    if any(isinstance(one, Array) and one.lists for one in (left, right)):
        return UNKNOWN
    if OF_SUBCLASS in (left, right):
        return OF_SUBCLASS
    match left, right:
        case (None, _) | (_, None):
            return None
        case Number(a), Number(b):
            return Number(wider(a, b))
        case Array(a, rank), Array(b, other):
            return Array(wider(a, b), max(rank, other))
        case (Array(a, rank), Number(b)) | (Number(b), Array(a, rank)):
            # A Python number does not widen an array of its kind.
            return Array(a if isinstance(a, Floating) and b in (INT, DOUBLE) else wider(a, b), rank)
        case _:
            return UNKNOWN


OBJECTS = frozenset(("object", "object_", "O", "tuple", "list", "dict", "set"))
"""Types of elements that are objects."""
_OF_STRINGS = re.compile(r"(str|bytes|unicode|string)_?|[USaV]\d*")
ARRAY_OF_OBJECTS, ARRAY_OF_STRINGS = Other("an array of objects"), Other("an array of strings")
"""Arrays of NumPy that hold no numbers."""


def array_without_numbers(name: str) -> Kind | None:
    """Kind of an array by the name of its elements' type, if these are no numbers."""
    if name in OBJECTS:
        return ARRAY_OF_OBJECTS
    return ARRAY_OF_STRINGS if _OF_STRINGS.fullmatch(name) else None


def array_of(element: str, rank: int) -> Kind:
    """Kind of an array by the name of its elements' type; of numbers, if nothing is known of that."""
    return array_without_numbers(element) or Array(DTYPES.get(element, DOUBLE), rank, element not in DTYPES)


DTYPES: dict[str, NumberType] = {
    "float": DOUBLE, "float64": DOUBLE, "double": DOUBLE, "f8": DOUBLE, "d": DOUBLE, "float_": DOUBLE,
    "float32": Floating(32), "single": Floating(32), "f4": Floating(32), "f": Floating(32),
    "float16": Floating(16), "half": Floating(16), "f2": Floating(16), "longdouble": Floating(80),
    "complex": COMPLEX, "complex128": COMPLEX, "c16": COMPLEX, "complex64": COMPLEX, "c8": COMPLEX,
    "int": INT64, "int64": INT64, "i8": INT64, "int_": INT64, "intp": INT64, "long": INT64, "longlong": INT64,
    "int32": Integer(32, True), "i4": Integer(32, True), "intc": Integer(32, True),
    "int16": Integer(16, True), "i2": Integer(16, True), "int8": Integer(8, True), "i1": Integer(8, True),
    "uint64": Integer(64, False), "u8": Integer(64, False), "uint": Integer(64, False),
    "uint32": Integer(32, False), "u4": Integer(32, False), "uint16": Integer(16, False),
    "u2": Integer(16, False), "uint8": Integer(8, False), "u1": Integer(8, False),
    "uintp": Integer(64, False), "bool": BOOL, "bool_": BOOL, "b1": BOOL, "boolean": BOOL,
}  # fmt: skip
"""Element types by the names that NumPy, Numba and Python have for them."""


def element_type(of_type: NumberType) -> NumberType:
    """The type of an array's elements that hold such numbers."""
    return INT64 if of_type == INT else of_type


def dtype_name(of_type: NumberType) -> str:
    """A type's name in NumPy."""
    if of_type == COMPLEX:
        return "complex128"
    if of_type == BOOL:
        return "bool"
    if isinstance(of_type, Floating):
        return f"float{of_type.bits}"
    return f"{'int' if of_type.signed else 'uint'}{of_type.bits}"


# --------------------------------------------------------------------------------------------------
# The results of operators.
# --------------------------------------------------------------------------------------------------


def either(found: list[Kind | None]) -> Kind | None:
    """Kind of a value that is one of several."""
    result = found[0]
    for one in found[1:]:
        result = joined(result, one)
    return result


def arithmetic(operator: ast.operator, left: Kind | None, right: Kind | None) -> Kind | None:
    """The result of an operator."""
    if isinstance(operator, ast.MatMult):
        return product(left, right)
    if isinstance(operator, ast.Add) and left == right == Other("a list"):
        return left
    result = combined(left, right)
    if isinstance(operator, ast.Div):
        match result:
            case Number(of_type) if not isinstance(of_type, Floating):
                return REAL
            case Array(element, rank) if not isinstance(element, Floating):
                return Array(DOUBLE, rank)
            case _:
                pass
    if isinstance(operator, ast.Pow) and result == WHOLE:
        return Number(INT)
    return result


def product(left: Kind | None, right: Kind | None) -> Kind | None:
    """The result of `left @ right`."""
    match combined(left, right):
        case Array(element):
            ranks = (getattr(left, "rank", 0), getattr(right, "rank", 0))
            result = {(1, 1): 0, (2, 1): 1, (1, 2): 1, (2, 2): 2}.get(ranks)
            if result is None:
                return UNKNOWN
            return Array(element, result) if result else Number(element)
        case None:
            return None
        case _:
            return UNKNOWN
