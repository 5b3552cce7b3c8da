"""Expressions of Python as CUDA C++ with the same semantics.

Python's integers are unlimited: values computed from counters and sizes, which the call checks to
be small, get a type that surely represents them. NumPy's integers preserve their type, as far as C
allows. Negative subscripts count from the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite, isnan
from typing import Literal

import islpy as isl

from polylsp.ir.program import (
    COMPARISONS,
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
    Site,
    Type,
    Unary,
    Variable,
    bare,
    within,
)
from polylsp.ir.spelling import PRECEDENCE
from polylsp.poly.scop import ScopStatement
from polylsp.schedule.statement_leaves import counter
from polylsp.targets.gpu.cuda_expressions import (
    DOUBLE_FUNCTIONS,
    UNARY,
    Helper,
    Unwritable,
    Words,
    given,
    grouped,
    place_text,
)
from polylsp.targets.gpu.region import Region

Sign = Literal["never", "always", "sometimes"]


def negative(region: Region | None, subscript: Expr, site: Site) -> Sign:
    """Sign of the subscript of an element at a site of a region: always, never or sometimes negative."""
    if region is None:
        return "sometimes"
    found: set[Sign] = {_negative_in(region, each, subscript) for each in _statements(region, site)}
    return found.pop() if len(found) == 1 else "sometimes"


def _statements(region: Region, site: Site) -> Iterator[ScopStatement]:
    return (each for each in region.scop.statements if within(site, each.site))


def _negative_in(region: Region, statement: ScopStatement, subscript: Expr) -> Sign:
    # What goes on as long as a condition holds has a dimension, and no variable that counts it.
    counted = [(k, o) for k, o in enumerate(statement.loops) if region.subject.loop(o).step.statements]
    names = {counter(region.subject, o).name: f"d{k}" for k, o in counted}
    parameters = {text: name for name, text in region.scop.parameters.items()}
    text = _linear(subscript, names, parameters)
    if text is None:
        return "sometimes"
    dimensions = ", ".join(f"d{k}" for k in range(len(statement.loops)))
    listed = ", ".join(sorted(parameters.values()))
    below = isl.Set(f"[{listed}] -> {{ [{dimensions}] : {text} < 0 }}")
    domain = statement.domain.reset_tuple_id() if statement.domain.has_tuple_id() else statement.domain
    domain = domain.intersect_params(region.context)
    if domain.intersect(below).is_empty():
        return "never"
    return "always" if domain.is_subset(below) else "sometimes"


def _linear(value: Expr, names: dict[str, str], parameters: dict[str, str]) -> str | None:
    """A sum in isl's notation; `None` where it is none, or has names that isl does not have."""
    match value:
        case Constant(int() as number):
            return str(number)
        case Read(place) if not place.steps:
            variable = place.variable
            return names.get(variable.name) or parameters.get(variable.source_name)
        case Invariant(text):
            return parameters.get(text)
        case Cast(operand) if isinstance(operand.type, Integer):
            return _linear(operand, names, parameters)
        case Unary("-", operand):
            inner = _linear(operand, names, parameters)
            return None if inner is None else f"-({inner})"
        case Binary("+" | "-" as operator, left, right):
            sides = _linear(left, names, parameters), _linear(right, names, parameters)
            return None if None in sides else f"({sides[0]} {operator} ({sides[1]}))"
        case Binary("*", Constant(int() as number), other) | Binary("*", other, Constant(int() as number)):
            inner = _linear(other, names, parameters)
            return None if inner is None else f"{number}*({inner})"
        case _:
            return None


# --------------------------------------------------------------------------------------------------
# Integers of Python on a device: their largest values, and their types.
# --------------------------------------------------------------------------------------------------


SMALL, LOCAL = 1 << 30, 1 << 40
"""Largest values of counters and sizes, and of variables that are integers."""

INT, LONG = (1 << 31) - 1, (1 << 63) - 1
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
    """Bounds of integers, given the variables, and arrays for their elements, (unique names) that a call has
    checked to be `small`, and those of what functions of the file return (`results`, by name)."""

    small: frozenset[str]
    results: Mapping[str, int] = field(default_factory=dict[str, int])

    def size(self, value: Expr) -> int:
        """Largest absolute value of an integer."""
        match value:
            case Constant(number):
                return abs(int(number))
            case Read(place) if place.variable.name in self.small:
                return SMALL
            case Read(place) if not place.steps:
                return LOCAL
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
            case Binary("/", left, _, floors=True):
                return self.size(left)
            case Binary("%", _, right, floors=True):
                return self.size(right)
            case Call("abs", (operand,)):
                return self.size(operand)
            case Call(function) if function in self.results:
                return self.results[function]
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
            case Call():
                return True
            case Binary(operator) if operator in ("+", "-", "*"):
                return self.size(value) > INT
            case _:
                return value.type == Integer(64, True) and not isinstance(value, Constant)


def constant_text(value: Constant, around: float) -> str:
    """A number; real ones are written so that they are that in C too."""
    number = value.value
    if isinstance(value.type, Floating):
        if not isfinite(number):
            bits = "7ff8" if isnan(number) else "7ff0" if number > 0 else "fff0"
            narrow = "(float)" if value.type == Floating(32) else ""
            return f"{narrow}__longlong_as_double(0x{bits}000000000000LL)"
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


_DEVICE_NAMES = {
    "abs": "fabs", "absolute": "fabs", "power": "pow", "float_power": "pow", "arcsin": "asin",
    "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh",
}  # fmt: skip
"""The names on a device of NumPy's functions of real numbers, where they have others."""
_OTHERWISE = frozenset(("fmod", "round", "fmin", "fmax", "fdim"))
"""Functions of a device that treat some numbers in another way than Python's of the same name."""
_TESTS = frozenset(("isnan", "isinf", "isfinite"))

# --------------------------------------------------------------------------------------------------
# Expressions of Python as CUDA C++ with the same semantics.
#
# Whole numbers of Python have no limits: values computed from counters and sizes, which the call
# has checked to be small, are written in a type that surely holds them. Those of NumPy preserve
# their type, as far as C allows.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PythonWords:
    """Writer of the expressions of a region, or of a function that it calls (`None`), in Python's semantics.
    `sizes` bounds the integers; `lengths` are the device's variables for lengths of arrays, by their
    spelling."""

    region: Region | None
    sizes: Sizes
    lengths: Mapping[str, Variable]

    def text_of(self, value: Expr, words: Words, around: float = 0) -> str:
        """An expression, in parentheses if it binds weaker than the text `around`; raises `Unwritable`."""
        match value:
            case Constant():
                return constant_text(value, around)
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
        """Right-hand side of an assignment, which converts implicitly; raises `Unwritable`."""
        if is_unlimited(target) and self.sizes.size(value) > LOCAL:
            self._refuse(value, words)
        if isinstance(value, Cast) and value.type == target and is_number(value.operand.type):
            value = value.operand
        return self.text_of(value, words)

    def _refuse(self, value: Expr, words: Words) -> None:
        raise Unwritable(f"`{words.subject.source(value.site)}` may be larger than a GPU's whole numbers.")

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

    # --- Operators ---------------------------------------------------------------------------

    def _unary(self, value: Unary, words: Words, around: float) -> str:
        if value.operator == "~" or (isinstance(value.type, Integer) and not value.type.signed):
            raise Unwritable(f"`{words.subject.source(value.site)}` may mean something else on the device.")
        inner = self.text_of(value.operand, words, UNARY)
        gap = " " if inner.startswith(value.operator) else ""
        return grouped(f"{value.operator}{gap}{inner}", UNARY, around)

    def _cast(self, operand: Expr, of_type: Type, words: Words, around: float) -> str:
        """A conversion; to Python's unlimited integers there is none."""
        if is_unlimited(of_type) and isinstance(operand.type, Integer):
            return self.text_of(operand, words, around)
        text = TYPES.get(of_type)
        if text is None or not is_number(operand.type):
            raise Unwritable(
                f"`{words.subject.source(operand.site)}` has a type that the device does not have."
            )
        return grouped(f"({text}){self.text_of(operand, words, UNARY)}", UNARY, around)

    def _binary(self, value: Binary, words: Words, around: float) -> str:
        operator, shown = value.operator, words.subject.source(value.site)
        if operator in COMPARISONS:
            return self._comparison(value, words, around)
        if operator in ("&&", "||"):
            own = PRECEDENCE[operator]
            sides = self.text_of(value.left, words, own + 0.5), self.text_of(value.right, words, own + 0.5)
            return grouped(f"{sides[0]} {operator} {sides[1]}", own, around)
        if operator in ("min", "max"):
            return self._extreme(value, words)
        if value.floors and isinstance(value.type, Integer):
            return self._floored(value, words, around)
        if value.floors or operator not in ("+", "-", "*", "/"):
            raise Unwritable(f"`{shown}` is not computed in the same way on the device.")
        if isinstance(value.type, Floating):
            return self._real(value, words, around)
        return self._whole(value, words, around)

    def _real(self, value: Binary, words: Words, around: float) -> str:
        if value.type not in TYPES:
            raise Unwritable(
                f"`{words.subject.source(value.site)}` has a type that the device does not have."
            )
        own = PRECEDENCE[value.operator]
        left, right = self._operand(value.left, value.right), self._operand(value.right, value.left)
        sides = self.text_of(left, words, own), self.text_of(right, words, own + 1)
        return grouped(f"{sides[0]} {value.operator} {sides[1]}", own, around)

    def _operand(self, value: Expr, other: Expr) -> Expr:
        """An operand: where the other one makes C convert it, the conversion needs no words."""
        if not isinstance(value, Cast) or not is_number(value.operand.type):
            return value
        plain = other.operand if isinstance(other, Cast) and isinstance(other.type, Floating) else other
        return value.operand if plain.type == value.type else value

    def _whole(self, value: Binary, words: Words, around: float) -> str:
        """Arithmetic of whole numbers, in a type that holds the result."""
        own, of_type = PRECEDENCE[value.operator], value.type
        assert isinstance(of_type, Integer)
        if of_type.bits <= 32 or not of_type.signed:
            return self._wrapped(value, of_type, words)
        if any(bare(each).type == Integer(64, False) for each in (value.left, value.right)):
            raise Unwritable(f"`{words.subject.source(value.site)}` mixes types: convert one of them first.")
        elements = any(is_element(each) for each in (value.left, value.right))
        size = self.sizes.size(value)
        if size > LONG and not elements:
            self._refuse(value, words)
        left = self.text_of(value.left, words, own)
        if size > INT and not self.sizes.is_long(value.left):
            left = f"(long long){self.text_of(value.left, words, UNARY)}"
        right = self.text_of(value.right, words, own + 1)
        return grouped(f"{left} {value.operator} {right}", own, around)

    def _floored(self, value: Binary, words: Words, around: float) -> str:
        """`//` and `%` of a whole number by a positive one: C rounds towards zero."""
        left, right, own = value.left, bare(value.right), PRECEDENCE[value.operator]
        if isinstance(right, Constant):
            is_positive = right.value > 0
        else:
            less = Binary("-", right, Constant(1, right.type, right.site), right.type, right.site)
            is_positive = not is_element(right) and negative(self.region, less, value.site) == "never"
        plain = isinstance(value.type, Integer) and value.type.bits >= 64 and value.type.signed
        if not (is_positive and self.sizes.size(right) <= SMALL and plain):
            shown = words.subject.source(value.site)
            raise Unwritable(f"`{shown}` is not computed in the same way on the device.")
        by = self.text_of(right, words, 20)
        if negative(self.region, left, value.site) == "never":
            return grouped(f"{self.text_of(left, words, own)} {value.operator} {by}", own, around)
        text = self.text_of(left, words, 20)
        if value.operator == "%":
            return f"(({text} % {by} + {by}) % {by})"
        rest = str(int(right.value) - 1) if isinstance(right, Constant) else f"{by} - 1"
        return f"({text} < 0 ? -(({rest} - {text}) / {by}) : {text} / {by})"

    def _wrapped(self, value: Binary, of_type: Integer, words: Words) -> str:
        """Arithmetic of NumPy's small or unsigned numbers, which wraps around in their type."""
        for each in (value.left, value.right):
            inner = each.operand if isinstance(each, Cast) else each
            fits = isinstance(inner, Constant) and 0 <= inner.value < 1 << (of_type.bits - 1)
            if inner.type != of_type and not fits:
                raise Unwritable(
                    f"`{words.subject.source(value.site)}` mixes types: convert one of them first."
                )
        own = PRECEDENCE[value.operator]
        sides = self.text_of(bare(value.left), words, own), self.text_of(bare(value.right), words, own + 1)
        return f"({TYPES[of_type]})({sides[0]} {value.operator} {sides[1]})"

    def _comparison(self, value: Binary, words: Words, around: float) -> str:
        """A comparison, which is exact in Python."""
        own = PRECEDENCE[value.operator]
        left, right = value.left, value.right
        if isinstance(left.type, Integer) and isinstance(right.type, Integer):
            left, right = bare(left), bare(right)
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
            left, right = bare(left), bare(right)
        sides = [self._compared(each, words, UNARY) for each in (left, right)]
        sign = ">" if value.operator == "max" else "<"
        return f"({sides[1]} {sign} {sides[0]} ? {sides[1]} : {sides[0]})"

    def _call(self, value: Call, words: Words) -> str:
        """A function of the file, or one of `math` or NumPy on numbers."""
        if value.function in words.helpers and not value.pure:
            return self._helped(value, words.helpers[value.function], words)
        if value.function == "abs" and isinstance(value.type, Integer):
            text = self.text_of(value.arguments[0], words, 20)
            return f"({text} < 0 ? -{text} : {text})"
        name = _DEVICE_NAMES.get(value.function, value.function)
        real = isinstance(value.type, Floating) and name in DOUBLE_FUNCTIONS - _OTHERWISE
        if not real and not (name in _TESTS and len(value.arguments) == 1):
            raise Unwritable(f"`{words.subject.source(value.site)}` cannot be called on the device.")
        return f"{name}({', '.join(self._argument(each, words) for each in value.arguments)})"

    def _helped(self, value: Call, helper: Helper, words: Words) -> str:
        """A call of a function's copy on the device."""
        texts: list[str] = []
        for (each, of_type), parameter in zip(given(value, helper), helper.function.parameters, strict=True):
            exact = each.operand if isinstance(each, Cast) else each
            whole = isinstance(exact.type, Integer) and not isinstance(exact, Constant)
            if whole and isinstance(of_type, Floating):
                shown, name = words.subject.source(exact.site), parameter.source_name
                raise Unwritable(
                    f"`{value.function}` takes `{name}` for a floating-point number, and `{shown}` is a "
                    f"whole number: annotate `{name}` as `int`, or pass `float({shown})`."
                )
            texts.append(self.assigned_text(each, of_type, words))
        return f"{helper.name}({', '.join(texts)})"

    def _argument(self, value: Expr, words: Words) -> str:
        if value.type == Floating(64):
            return self.text_of(value, words)
        return f"(double){self.text_of(value, words, UNARY)}"
