"""Expressions of Python as CUDA C++ that means the same.

Whole numbers of Python have no limits: what is computed from counters and sizes, which the call has seen to
be small, is written in a type that surely holds it. Those of NumPy keep their type, as far as C lets them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from polylsp.analysis.spelling import PRECEDENCE
from polylsp.codegen.cuda.expressions import (
    DOUBLE_FUNCTIONS,
    UNARY,
    Unwritable,
    Words,
    grouped,
    place_text,
)
from polylsp.codegen.cuda.python_subscripts import negative
from polylsp.codegen.cuda.region import Region
from polylsp.model.program import (
    Binary,
    Call,
    Cast,
    Constant,
    Expr,
    Floating,
    Index,
    Integer,
    Invariant,
    Place,
    Read,
    Select,
    Type,
    Unary,
    Variable,
)

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_SMALL, _LOCAL = 1 << 30, 1 << 40
"""How large counters and sizes are at most, and variables that are whole numbers."""

_INT, _LONG = (1 << 31) - 1, 1 << 62
"""What `int` and `long long` hold."""

_TYPES: dict[Type, str] = {
    Integer(1, False): "bool", Integer(8, True): "signed char", Integer(8, False): "unsigned char",
    Integer(16, True): "short", Integer(16, False): "unsigned short", Integer(32, True): "int",
    Integer(32, False): "unsigned int", Integer(64, True): "long long",
    Integer(64, False): "unsigned long long", Floating(32): "float", Floating(64): "double",
}  # fmt: skip


def is_unlimited(of_type: Type) -> bool:
    """Whether a type is that of Python's own whole numbers."""
    return isinstance(of_type, Integer) and of_type.bits > 64


def exact_words(of_type: Type) -> str | None:
    """The type of an element of NumPy in words that mean the same on each system."""
    return _TYPES.get(of_type)


@dataclass(frozen=True)
class PythonWords:
    """How a region's expressions are written. `small` are the variables (unique names) that the call has seen
    to be small; `lengths` are those that the device has for lengths of arrays, by their spelling."""

    region: Region
    small: frozenset[str]
    lengths: Mapping[str, Variable]

    def text_of(self, value: Expr, words: Words, around: float = 0) -> str:
        """An expression, in parentheses if it binds weaker than what is `around`; raises `Unwritable`."""
        match value:
            case Constant():
                return _constant(value, around)
            case Read(place):
                return grouped(place_text(place, words), 20, around)
            case Invariant(text) if text in self.lengths:
                return words.names[self.lengths[text].name]
            case Unary():
                return self._unary(value, words, around)
            case Cast(operand, of_type):
                return self._cast(operand, of_type, words, around)
            case Select(condition, then, otherwise):
                parts = [self.text_of(each, words, 1) for each in (condition, then, otherwise)]
                return grouped(f"{parts[0]} ? {parts[1]} : {parts[2]}", 0.5, around)
            case Call():
                return self._call(value, words)
            case Binary():
                return self._binary(value, words, around)
            case _:
                raise Unwritable(f"`{words.subject.source(value.site)}` has no value on the device.")

    def assigned_text(self, value: Expr, target: Type, words: Words) -> str:
        """What stands behind `=`: an assignment converts by itself; raises `Unwritable`."""
        if is_unlimited(target) and self.size(value) > _LOCAL:
            raise Unwritable(
                f"`{words.subject.source(value.site)}` may be larger than a GPU's whole numbers."
            )
        if isinstance(value, Cast) and value.type == target and _is_number(value.operand.type):
            value = value.operand
        return self.text_of(value, words)

    def subscript_text(self, step: Index, place: Place, words: Words, around: float) -> str:
        """A subscript of a place, from the start of the array; raises `Unwritable`."""
        sign = negative(self.region, step.subscript, place.site) if step.wraps is not None else "never"
        if step.wraps is None or sign == "never":
            return self.text_of(step.subscript, words, around)
        length, own = self.text_of(step.wraps, words, 9), self.text_of(step.subscript, words, 10)
        moved = f"{length} - {own[1:]}" if own[1:].isdigit() and own[0] == "-" else f"{length} + {own}"
        if sign == "always":
            return grouped(moved, 9, around)
        return f"({own} < 0 ? {moved} : {own})"

    def size(self, value: Expr) -> int:
        """How large a whole number is at most, whatever its sign."""
        match value:
            case Constant(number):
                return abs(int(number))
            case Read(place) if not place.steps:
                return _SMALL if place.variable.name in self.small else _LOCAL
            case Invariant():
                return _SMALL
            case Unary(_, operand) | Cast(operand) if isinstance(operand.type, Integer):
                return self.size(operand)
            case Select(_, then, otherwise) | Binary("min" | "max", then, otherwise):
                return max(self.size(then), self.size(otherwise))
            case Binary("+" | "-", left, right):
                return self.size(left) + self.size(right)
            case Binary("*", left, right):
                return self.size(left) * self.size(right)
            case Binary(operator) if operator in (*_COMPARISONS, "&&", "||"):
                return 1
            case _:
                return 1 << value.type.bits if isinstance(value.type, Integer) else _LONG + 1

    # --- Operators ---------------------------------------------------------------------------

    def _unary(self, value: Unary, words: Words, around: float) -> str:
        if value.operator == "~" or (isinstance(value.type, Integer) and not value.type.signed):
            raise Unwritable(f"`{words.subject.source(value.site)}` may mean something else on the device.")
        inner = self.text_of(value.operand, words, UNARY)
        gap = " " if inner.startswith(value.operator) else ""
        return grouped(f"{value.operator}{gap}{inner}", UNARY, around)

    def _cast(self, operand: Expr, of_type: Type, words: Words, around: float) -> str:
        """A conversion; to Python's own whole numbers there is none."""
        if is_unlimited(of_type) and isinstance(operand.type, Integer):
            return self.text_of(operand, words, around)
        text = _TYPES.get(of_type)
        if text is None or not _is_number(operand.type):
            raise Unwritable(
                f"`{words.subject.source(operand.site)}` has a type that the device does not have."
            )
        return grouped(f"({text}){self.text_of(operand, words, UNARY)}", UNARY, around)

    def _binary(self, value: Binary, words: Words, around: float) -> str:
        operator, shown = value.operator, words.subject.source(value.site)
        if operator in _COMPARISONS:
            return self._comparison(value, words, around)
        if operator in ("&&", "||"):
            own = PRECEDENCE[operator]
            sides = self.text_of(value.left, words, own + 0.5), self.text_of(value.right, words, own + 0.5)
            return grouped(f"{sides[0]} {operator} {sides[1]}", own, around)
        if operator in ("min", "max"):
            return self._extreme(value, words)
        if value.floors or operator not in ("+", "-", "*", "/"):
            raise Unwritable(f"`{shown}` is not computed in the same way on the device.")
        if isinstance(value.type, Floating):
            return self._real(value, words, around)
        return self._whole(value, words, around)

    def _real(self, value: Binary, words: Words, around: float) -> str:
        if value.type not in _TYPES:
            raise Unwritable(
                f"`{words.subject.source(value.site)}` has a type that the device does not have."
            )
        own = PRECEDENCE[value.operator]
        left, right = self._operand(value.left, value.right), self._operand(value.right, value.left)
        sides = self.text_of(left, words, own), self.text_of(right, words, own + 1)
        return grouped(f"{sides[0]} {value.operator} {sides[1]}", own, around)

    def _operand(self, value: Expr, other: Expr) -> Expr:
        """An operand: where the other one makes C convert it, the conversion needs no words."""
        if not isinstance(value, Cast) or not _is_number(value.operand.type):
            return value
        plain = other.operand if isinstance(other, Cast) and isinstance(other.type, Floating) else other
        return value.operand if plain.type == value.type else value

    def _whole(self, value: Binary, words: Words, around: float) -> str:
        """Arithmetic of whole numbers, in a type that holds the result."""
        own, of_type = PRECEDENCE[value.operator], value.type
        assert isinstance(of_type, Integer)
        if of_type.bits <= 32 or not of_type.signed:
            return self._wrapped(value, of_type, words)
        if any(_bare(each).type == Integer(64, False) for each in (value.left, value.right)):
            raise Unwritable(f"`{words.subject.source(value.site)}` mixes types: convert one of them first.")
        elements = any(_is_element(each) for each in (value.left, value.right))
        size = self.size(value)
        if size > _LONG and not elements:
            raise Unwritable(
                f"`{words.subject.source(value.site)}` may be larger than a GPU's whole numbers."
            )
        left = self.text_of(value.left, words, own)
        if size > _INT and not self._is_long(value.left):
            left = f"(long long){self.text_of(value.left, words, UNARY)}"
        right = self.text_of(value.right, words, own + 1)
        return grouped(f"{left} {value.operator} {right}", own, around)

    def _is_long(self, value: Expr) -> bool:
        """Whether the text of a whole number has 64 bits."""
        match value:
            case Read(place):
                return place.type == Integer(64, True) or (
                    not place.steps and place.variable.name not in self.small
                )
            case Cast(operand, of_type) if is_unlimited(of_type):
                return self._is_long(operand)
            case Binary(operator) if operator in ("+", "-", "*"):
                return self.size(value) > _INT
            case _:
                return value.type == Integer(64, True) and not isinstance(value, Constant)

    def _wrapped(self, value: Binary, of_type: Integer, words: Words) -> str:
        """Arithmetic of NumPy's small or unsigned numbers, which wraps around in their own type."""
        for each in (value.left, value.right):
            inner = each.operand if isinstance(each, Cast) else each
            fits = isinstance(inner, Constant) and 0 <= inner.value < 1 << (of_type.bits - 1)
            if inner.type != of_type and not fits:
                raise Unwritable(
                    f"`{words.subject.source(value.site)}` mixes types: convert one of them first."
                )
        own = PRECEDENCE[value.operator]
        sides = self.text_of(_bare(value.left), words, own), self.text_of(_bare(value.right), words, own + 1)
        return f"({_TYPES[of_type]})({sides[0]} {value.operator} {sides[1]})"

    def _comparison(self, value: Binary, words: Words, around: float) -> str:
        """A comparison, which is exact in Python."""
        own = PRECEDENCE[value.operator]
        left, right = value.left, value.right
        if isinstance(left.type, Integer) and isinstance(right.type, Integer):
            left, right = _bare(left), _bare(right)
        texts = [self._compared(each, words, own + 1) for each in (left, right)]
        return grouped(f"{texts[0]} {value.operator} {texts[1]}", own, around)

    def _compared(self, value: Expr, words: Words, around: float) -> str:
        if (
            isinstance(value.type, Integer)
            and not value.type.signed
            and not isinstance(value, (Constant, Invariant))
        ):
            if value.type.bits == 64:
                raise Unwritable(
                    f"`{words.subject.source(value.site)}` is compared: convert it to `int64` first."
                )
            if value.type.bits == 32:
                return f"(long long){self.text_of(value, words, UNARY)}"
        return self.text_of(value, words, around)

    def _extreme(self, value: Binary, words: Words) -> str:
        """Python's `min` and `max`: the first of two, unless the second is beyond it."""
        if isinstance(value.type, Floating) and not words.subject.source(value.site).startswith(
            ("min(", "max(")
        ):
            raise Unwritable(
                f"`{words.subject.source(value.site)}` treats NaN in its own way: use `min` or `max`."
            )
        left, right = value.left, value.right
        if isinstance(value.type, Integer):
            left, right = _bare(left), _bare(right)
        sides = [self._compared(each, words, UNARY) for each in (left, right)]
        sign = ">" if value.operator == "max" else "<"
        return f"({sides[1]} {sign} {sides[0]} ? {sides[1]} : {sides[0]})"

    def _call(self, value: Call, words: Words) -> str:
        """A function of `math` or NumPy on real numbers."""
        known = value.function in DOUBLE_FUNCTIONS - {"fmod", "round", "trunc", "fmin", "fmax"}
        if not known or not isinstance(value.type, Floating):
            raise Unwritable(f"`{words.subject.source(value.site)}` cannot be called on the device.")
        return f"{value.function}({', '.join(self._argument(each, words) for each in value.arguments)})"

    def _argument(self, value: Expr, words: Words) -> str:
        if value.type == Floating(64):
            return self.text_of(value, words)
        return f"(double){self.text_of(value, words, UNARY)}"


def _constant(value: Constant, around: float) -> str:
    """A number; real ones are written so that they are that in C too."""
    number = value.value
    if isinstance(value.type, Floating):
        if not isfinite(number):
            raise Unwritable("A number is not finite: put it into a variable before the loops.")
        text = repr(float(number)) + ("f" if value.type == Floating(32) else "")
        return grouped(text, UNARY if number < 0 else 99, around)
    whole = int(number)
    if abs(whole) > _LONG:
        raise Unwritable(f"{whole} is larger than a GPU's whole numbers.")
    return grouped(f"{whole}{'LL' if abs(whole) > _INT else ''}", UNARY if whole < 0 else 99, around)


def _bare(value: Expr) -> Expr:
    """A whole number without conversions to other types of whole numbers."""
    while (
        isinstance(value, Cast)
        and isinstance(value.type, Integer)
        and isinstance(value.operand.type, Integer)
    ):
        value = value.operand
    return value


def _is_number(of_type: Type) -> bool:
    return isinstance(of_type, (Integer, Floating))


def _is_element(value: Expr) -> bool:
    """Whether a whole number is computed from elements of arrays, whose arithmetic wraps around."""
    match value:
        case Read(place):
            return bool(place.steps)
        case Binary(_, left, right) | Select(_, left, right):
            return _is_element(left) or _is_element(right)
        case Cast(operand) | Unary(_, operand):
            return _is_element(operand)
        case _:
            return False
