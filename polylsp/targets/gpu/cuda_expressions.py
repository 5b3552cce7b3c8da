"""Expressions of the program as CUDA C++ with the semantics of C, and atomic updates.

Code without a form on the device raises `Unwritable`, with a sentence for the user; it never leaves
the package. Atomic updates: CUDA C++ Programming Guide, "Atomic Functions".
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from polylsp.emit.c_text import plain_words
from polylsp.emit.subject import Subject
from polylsp.ir.induction import additive
from polylsp.ir.program import (
    AddressOf,
    Array,
    Assign,
    Binary,
    Call,
    Cast,
    Complex,
    Constant,
    Expr,
    Field,
    Floating,
    Function,
    Index,
    Integer,
    Invariant,
    Place,
    Pointer,
    Read,
    Select,
    Site,
    Type,
    Unary,
    stripped,
)
from polylsp.ir.spelling import PRECEDENCE
from polylsp.ir.verdict import ReductionOperator


class Unwritable(Exception):
    """Something that has no place on the device; the sentence is for a person. It never leaves `cuda`."""


@dataclass(frozen=True, eq=False)
class Helper:
    """A function of the file on the device: its `name` there, the function, and the `lines` of its copy. It
    writes through those of its parameters that are `written` (by number). In Python the whole numbers that it
    returns have at most the absolute value `largest`."""

    name: str
    function: Function
    lines: tuple[str, ...]
    written: frozenset[int]
    largest: int = 0


@dataclass(frozen=True, slots=True)
class Atomic:
    """Update by an `operator` of elements of a type, which several threads may make of one."""

    operator: ReductionOperator
    element: Type


@dataclass(frozen=True, eq=False)
class Words:
    """Names on the device: variables by unique name, and for arrays the extents of all dimensions but the
    first. Scalars in `pointed` are accessed through a pointer; places of `elsewhere` (by site) are replaced
    by variables of a kernel; `before` are leading subscripts of expanded arrays. `exact` writes expressions
    of a language whose numbers are not C's. Those that are `narrow` (unique names) are `int`s, whatever their
    type on the host; those that are the `strides` of rows have the type `index`, which is wide enough for the
    number of any element. Places that are `atomic` (by site) are updated atomically; those in `formers` (by
    site) are elements of another array, by unique name. `helpers` are the functions of the
    file with a copy on the device, by name; `returns` is the type of such a function while its statements are
    written."""

    subject: Subject
    names: Mapping[str, str]
    extents: Mapping[str, tuple[str, ...]]
    pointed: frozenset[str]
    elsewhere: Mapping[Site, str] = field(default_factory=dict[Site, str])
    before: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    exact: Exact | None = None
    narrow: frozenset[str] = frozenset()
    strides: frozenset[str] = frozenset()
    index: str = ""
    atomic: Mapping[Site, Atomic] = field(default_factory=dict[Site, "Atomic"])
    formers: Mapping[Site, str] = field(default_factory=dict[Site, str])
    helpers: Mapping[str, Helper] = field(default_factory=dict[str, Helper])
    returns: Type | None = None


class Exact(Protocol):
    """Writer of expressions that differ from C's semantics."""

    def text_of(self, value: Expr, words: Words, around: float) -> str:
        """An expression, in parentheses if it binds weaker than the text `around`; raises `Unwritable`."""
        ...

    def subscript_text(self, step: Index, place: Place, words: Words, around: float) -> str:
        """A subscript of a place; raises `Unwritable`."""
        ...

    def assigned_text(self, value: Expr, target: Type, words: Words) -> str:
        """Right-hand side of an assignment; raises `Unwritable`."""
        ...


_LITERAL = re.compile(r"-?(0[xX][0-9a-fA-F]+|\d+\.?\d*([eE][-+]?\d+)?|\.\d+([eE][-+]?\d+)?)[uUlLfF]*")
UNARY = 11
"""Binding strength of a prefix operator."""

DOUBLE_FUNCTIONS = frozenset((
    "sqrt", "fabs", "exp", "exp2", "log", "log2", "log10", "pow", "sin", "cos", "tan", "asin", "acos",
    "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "floor", "ceil", "round", "rint",
    "trunc", "fmin", "fmax", "fmod", "fdim", "hypot", "cbrt", "erf", "erfc", "expm1", "log1p", "copysign",
))  # fmt: skip
"""The functions of `math.h` that a device has, and that compute real numbers."""
_ROUNDING = frozenset(("lround", "llround", "lrint", "llrint"))
"""Functions of `math.h` that round to integers, and that a device has."""
INTEGER_FUNCTIONS: Mapping[str, Type] = {
    "abs": Integer(32, True),
    "labs": Integer(64, True),
    "llabs": Integer(64, True),
}
"""The functions of `stdlib.h` that a device has, with the type of their argument."""


def text_of(value: Expr, words: Words, around: float = 0) -> str:
    """An expression, in parentheses if it binds weaker than the text `around`; raises `Unwritable`."""
    if words.exact is not None:
        return words.exact.text_of(value, words, around)
    match value:
        case Constant():
            return _constant(value, words)
        case Read(place):
            return place_text(place, words)
        case Unary(operator, operand):
            inner = text_of(operand, words, UNARY)
            gap = " " if inner.startswith(operator) else ""
            return grouped(f"{operator}{gap}{inner}", UNARY, around)
        case Cast(operand, of_type):
            return grouped(f"({_words_of(of_type)}){text_of(operand, words, UNARY)}", UNARY, around)
        case Select(condition, then, otherwise):
            parts = text_of(condition, words, 1), text_of(then, words, 1), text_of(otherwise, words, 1)
            return grouped(f"{parts[0]} ? {parts[1]} : {parts[2]}", 0.5, around)
        case Call():
            return _call(value, words)
        case Binary():
            return _binary(value, words, around)
        case Invariant(text):
            raise Unwritable(f"`{text}` has no value on the device: put it into a variable first.")
        case AddressOf(place):
            raise Unwritable(f"The address of `{place.variable.source_name}` is the host's.")


def place_text(place: Place, words: Words) -> str:
    """A variable, or an element of an array in row-major layout."""
    if place.site in words.elsewhere:
        return words.elsewhere[place.site]
    name = words.names[words.formers.get(place.site, place.variable.name)]
    before = words.before.get(place.variable.name, ())
    if not place.steps and not before:
        return f"*{name}" if place.variable.name in words.pointed else name
    inner = words.extents.get(place.variable.name)
    subscripts = [s for s in place.steps if not isinstance(s, Field)]
    if inner is None and not before and len(subscripts) == len(place.steps) == _own_dimensions(place):
        return name + "".join(f"[{_subscript(s, place, words, 0)}]" for s in subscripts)
    count = len(before) + len(subscripts)
    if inner is None or len(subscripts) != len(place.steps) or count != len(inner) + 1:
        raise Unwritable(f"`{place.variable.source_name}` is no array of numbers here.")
    around = [10 if inner else 0, *(PRECEDENCE["+"] for _ in inner)][len(before) :]
    own = [_subscript(s, place, words, a) for s, a in zip(subscripts, around, strict=True)]
    return element_text(name, inner, [*before, *own])


def _own_dimensions(place: Place) -> int:
    """Number of dimensions of an array that one iteration declares; -1 for other variables."""
    count, of_type = 0, place.variable.type
    while isinstance(of_type, Array):
        count, of_type = count + 1, of_type.element
    plain = isinstance(of_type, (Integer, Floating)) and place.variable.storage == "local"
    return count if count and plain else -1


def _subscript(step: Index, place: Place, words: Words, around: float) -> str:
    if words.exact is not None:
        return words.exact.subscript_text(step, place, words, around)
    return text_of(step.subscript, words, around)


def element_text(name: str, inner: Sequence[str], subscripts: Sequence[str]) -> str:
    """An element of an array in row-major layout; the first of several subscripts can be multiplied, the
    others added."""
    text = subscripts[0]
    for number, (extent, column) in enumerate(zip(inner, subscripts[1:], strict=True)):
        row = text if not number or _is_word(text) else f"({text})"
        text = " + ".join(part for part in (_times(row, extent), column) if part != "0") or "0"
    return f"{name}[{text}]"


def _times(row: str, extent: str) -> str:
    return "0" if row == "0" else f"{row} * {extent if _is_word(extent) else f'({extent})'}"


def _is_word(text: str) -> bool:
    return text.isalnum() or text.isidentifier()


def assigned_text(value: Expr, target: Type, words: Words) -> str:
    """Right-hand side of an assignment, which converts implicitly."""
    if words.exact is not None:
        return words.exact.assigned_text(value, target, words)
    if isinstance(value, Cast) and value.type == target and _converts_alike(value.operand, target):
        return text_of(value.operand, words)
    return text_of(value, words)


def _converts_alike(value: Expr, target: Type) -> bool:
    return isinstance(value.type, (Integer, Floating)) and isinstance(target, (Integer, Floating))


def grouped(text: str, own: float, around: float) -> str:
    """A text in parentheses if it binds weaker than the text `around`."""
    return f"({text})" if own < around else text


def _binary(value: Binary, words: Words, around: float) -> str:
    operator, left, right = value.operator, value.left, value.right
    if operator in ("min", "max"):
        raise Unwritable(f"`{words.subject.source(value.site)}` has no spelling on the device.")
    if isinstance(value.type, Pointer):
        text = words.subject.source(value.site)
        raise Unwritable(f"`{text}` is a pointer of the host: index the array itself.")
    if isinstance(value.type, Complex) or isinstance(left.type, Complex):
        text = words.subject.source(value.site)
        raise Unwritable(f"`{text}` is complex, which kernels cannot compute with: write its parts out.")
    if value.floors or not isinstance(left.type, (Integer, Floating)):
        raise Unwritable(f"`{words.subject.source(value.site)}` is not a computation with numbers.")
    own = PRECEDENCE[operator]
    # In `(double)i / n` both are converted, one of them because the other one is.
    second = _is_converted(right, left, words)
    first = not second and _is_converted(left, right, words)
    texts = (
        _operand(left, words, _needed(operator, left, own), first),
        _operand(right, words, _needed(operator, right, own + 1), second),
    )
    return grouped(f"{texts[0]} {operator} {texts[1]}", own, around)


def _needed(operator: str, operand: Expr, own: int) -> int:
    """Required binding strength of an operand: compilers warn of a shift, and of an operation on bits, with
    an operand of another operator without parentheses."""
    inner = stripped(operand)
    mixed = isinstance(inner, Binary) and inner.operator != operator
    return UNARY if mixed and operator in ("<<", ">>", "&", "|", "^") else own


def _operand(value: Expr, words: Words, around: int, converted: bool) -> str:
    """An operand: where the other one makes C convert it, the conversion needs no words."""
    bare = value.operand if converted and isinstance(value, Cast) else value
    return text_of(bare, words, around)


def _is_converted(value: Expr, other: Expr, words: Words) -> bool:
    """True for an operand that C converts as written, where the other operand keeps its type in the text."""
    return isinstance(value, Cast) and value.type == natural(other, words) and _widens(value, words)


def _widens(value: Cast, words: Words) -> bool:
    before, after = natural(value.operand, words), value.type
    if isinstance(after, Floating):
        return isinstance(before, Integer) or (isinstance(before, Floating) and before.bits <= after.bits)
    return before == after


def natural(value: Expr, words: Words) -> Type:
    """The type that the text of an expression has."""
    if not isinstance(value, Constant):
        return value.type
    text = _literal(value, words)
    if isinstance(value.type, Floating) and text is not None:
        if text[-1] in "fF" and not text.lower().startswith("0x"):
            return Floating(32)
        return Floating(64) if any(c in text for c in ".eE") else Integer(32, True)
    return value.type


def _literal(value: Constant, words: Words) -> str | None:
    """Text of a number as in the source, if it is a literal."""
    text = words.subject.source(value.site)
    return text if _LITERAL.fullmatch(text) else None


def _constant(value: Constant, words: Words) -> str:
    text = _literal(value, words)
    if text is not None:
        return text
    if isinstance(value.type, Integer):
        return grouped(f"{value.value}{_suffix(value.type)}", 0 if value.value < 0 else 99, 1)
    number = float(value.value)
    if not math.isfinite(number):
        raise Unwritable(f"`{words.subject.source(value.site)}` cannot be written for the device.")
    text = repr(number) + ("f" if value.type == Floating(32) else "")
    return f"({text})" if number < 0 else text


def _suffix(of_type: Integer) -> str:
    return ("" if of_type.signed else "u") + ("L" if of_type.bits > 32 else "")


def _call(value: Call, words: Words) -> str:
    """A function of `math.h`; C++ has several of each name, so that the type of an argument matters."""
    name = value.function
    if name in words.helpers and not value.pure:
        return _helper_call(value, words.helpers[name], words)
    if name.endswith('"'):
        return f"{name}[{_converted(value.arguments[0], value.arguments[0].type, words)}]"
    device = DOUBLE_FUNCTIONS | _ROUNDING
    bits = 64 if name in device else 32 if name.endswith("f") and name[:-1] in device else 0
    if name in INTEGER_FUNCTIONS:
        own = INTEGER_FUNCTIONS[name]
        return f"{name}({', '.join(_converted(each, own, words) for each in value.arguments)})"
    if not bits:
        raise Unwritable(f"`{name}` cannot be called on the device: write its statements out.")
    arguments = [_converted(each, Floating(bits), words) for each in value.arguments]
    return f"{name}({', '.join(arguments)})"


def _helper_call(value: Call, helper: Helper, words: Words) -> str:
    arguments = [
        _handed(each, words) if isinstance(of_type, (Array, Pointer)) else _converted(each, of_type, words)
        for each, of_type in given(value, helper)
    ]
    return f"{helper.name}({', '.join(arguments)})"


def given(value: Call, helper: Helper) -> list[tuple[Expr, Type]]:
    """The arguments of a call of a helper, with the types of its parameters; raises `Unwritable`."""
    parameters = helper.function.parameters
    if len(parameters) != len(value.arguments):
        raise Unwritable(f"`{value.function}` is called with another number of arguments than it has.")
    return [(each, v.type) for each, v in zip(value.arguments, parameters, strict=True)]


def _handed(value: Expr, words: Words) -> str:
    """The address of an element, or of the first one, that a helper is given."""
    bare = stripped(value)
    place = bare.place if isinstance(bare, (AddressOf, Read)) else None
    known = place is not None and place.variable.name in words.extents
    if place is None or not known or place.site in words.elsewhere or place.site in words.formers:
        raise Unwritable(f"The address `{words.subject.source(value.site)}` is the host's.")
    if not place.steps and place.variable.name not in words.before:
        return words.names[place.variable.name]
    return f"&{place_text(place, words)}"


def _converted(value: Expr, of_type: Type, words: Words) -> str:
    if natural(value, words) == of_type:
        return text_of(value, words)
    return f"({_words_of(of_type)}){text_of(value, words, UNARY)}"


def _words_of(of_type: Type) -> str:
    text = plain_words(of_type) if not isinstance(of_type, Floating) or of_type.bits <= 64 else None
    if isinstance(of_type, Complex):
        raise Unwritable("The loop computes with complex numbers: write their parts out for kernels.")
    if text is None:
        raise Unwritable("A value has a type that the device does not have.")
    return "bool" if text == "_Bool" else text


# --------------------------------------------------------------------------------------------------
# Updates that a device makes one at a time (CUDA C++ Programming Guide, "Atomic Functions").
# --------------------------------------------------------------------------------------------------


_BITS = {"&": "atomicAnd", "|": "atomicOr", "^": "atomicXor"}


@dataclass(frozen=True, slots=True)
class Update:
    """An update by a `function` with a `value`, which is taken away where the `sign` says so. The function is
    one for elements of type `words`, if that is not theirs."""

    function: str
    value: Expr
    sign: int
    words: str


def update_of(assign: Assign, operator: ReductionOperator) -> Update | None:
    """An assignment as an update by an operator that a device has."""
    of_type, added = assign.target.type, additive(assign)
    if operator in EXTREMES:
        return _extremum(assign, operator)
    if isinstance(of_type, Floating):
        return Update("atomicAdd", *added, "") if added is not None and of_type.bits in (32, 64) else None
    if not isinstance(of_type, Integer) or of_type.bits not in (32, 64):
        return None
    words = "unsigned long long" if of_type.bits == 64 else ""
    if assign.operator in _BITS:
        return Update(_BITS[assign.operator], assign.value, 1, words)
    if added is None or not isinstance(added[0].type, Integer):
        return None
    return Update("atomicAdd", *added, words)


EXTREMES: Mapping[ReductionOperator, str] = {"min": "atomicMin", "max": "atomicMax"}


def _extremum(assign: Assign, operator: ReductionOperator) -> Update | None:
    """An extremum of an element and what is assigned to it: where that was chosen between the element and
    another value, the element has only come nearer to the extremum since."""
    match assign.target.type:
        case Integer(bits=32):
            return Update(EXTREMES[operator], assign.value, 1, "")
        case Integer(bits=64, signed=signed):
            words = "long long" if signed else "unsigned long long"
            return Update(EXTREMES[operator], assign.value, 1, words)
        case Floating(bits=32 | 64) as element:
            return Update(_extremum_name(Atomic(operator, element)), assign.value, 1, "")
        case _:
            return None


def _extremum_name(update: Atomic) -> str:
    return f"{EXTREMES[update.operator]}_{plain_words(update.element)}"


def extremum_lines(update: Atomic) -> tuple[str, ...]:
    """The function for an extremum of floating-point elements, which CUDA lacks (CUDA C++ Programming Guide,
    "Atomic Functions", by compare and swap)."""
    words, sign = plain_words(update.element), "<" if update.operator == "min" else ">"
    is_double = update.element == Floating(64)
    bits = "unsigned long long" if is_double else "unsigned int"
    value_of = "__longlong_as_double" if is_double else "__uint_as_float"
    bits_of = "__double_as_longlong" if is_double else "__float_as_uint"
    return (
        f"static __device__ void {_extremum_name(update)}({words} *element, {words} value)",
        "{",
        f"    {bits} *place = ({bits} *)element, seen = *place, before;",
        "    do {",
        "        before = seen;",
        f"        if (!(value {sign} {value_of}(before)))",
        "            return;",
        f"        seen = atomicCAS(place, before, ({bits}){bits_of}(value));",
        "    } while (seen != before);",
        "}",
    )


def update_text(assign: Assign, words: Words) -> str:
    """The call that makes an update; raises `Unwritable`."""
    update = update_of(assign, words.atomic[assign.target.site].operator)
    if update is None:
        line = words.subject.line_number(assign.site)
        raise Unwritable(f"The update in line {line} cannot be made by several threads.")
    target = place_text(assign.target, words)
    address = target[1:] if target.startswith("*") else f"&{target}"
    if update.sign < 0:
        value = f"-{text_of(update.value, words, UNARY)}"
    else:
        value = assigned_text(update.value, assign.target.type, words)
    if not update.words:
        return f"{update.function}({address}, {value})"
    return f"{update.function}(({update.words} *){address}, ({update.words})({value}))"
