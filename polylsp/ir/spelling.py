"""Expressions as text, for names of parameters and for messages; unique names of variables."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from polylsp.ir.program import (
    AddressOf,
    Array,
    Binary,
    Call,
    Cast,
    Constant,
    Expr,
    Field,
    Index,
    Integer,
    Invariant,
    Place,
    Pointer,
    Read,
    Select,
    Type,
    Unary,
)

PRECEDENCE = {
    "*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8, "<": 7, "<=": 7, ">": 7, ">=": 7,
    "==": 6, "!=": 6, "&": 5, "^": 4, "|": 3, "&&": 2, "||": 1,
}  # fmt: skip


_FROM_END = re.compile(r"max\(\(([^?:]+) < 0 \? [^?:]+ \+ \1 : \1\), 0\)")
"""A bound of a slice of Python, as the number of an element."""
_INTEGERS = {
    (1, False): "_Bool", (8, True): "signed char", (8, False): "unsigned char", (16, True): "short",
    (16, False): "unsigned short", (32, True): "int", (32, False): "unsigned", (64, True): "long",
    (64, False): "unsigned long",
}  # fmt: skip


def integer_words(of_type: Integer) -> str | None:
    """The type as C spells it; `None` for Python's integers."""
    return _INTEGERS.get((of_type.bits, of_type.signed))


def spell_value(expression: Expr) -> str:
    """As `spell`, with a conversion around all of it, unless any count that is not negative is the same
    before and after it."""
    match expression:
        case Cast(operand, Integer() as to) if not _holds(to, operand.type):
            words, text = integer_words(to), spell_value(operand)
            if words is None:
                return f"int({text})"
            atomic = isinstance(operand, (Read, Constant, Call))
            return f"({words}){text}" if atomic else f"({words})({text})"
        case Cast(operand):
            return spell_value(operand)
        case _:
            return spell(expression)


def _holds(to: Integer, of_type: Type) -> bool:
    """True if a type represents all non-negative values of another, except in the sign bit."""
    return isinstance(of_type, Integer) and of_type.bits <= to.bits


def spell(expression: Expr, around: int = 0) -> str:
    """An expression in C's notation, with the fewest parentheses; conversions are left out."""
    match expression:
        case Constant(value):
            return str(value)
        case Invariant(text):
            return text
        case Read(place):
            return spell_place(place)
        case AddressOf(place):
            return _address(place)
        case Unary(operator, operand):
            return f"{operator}{spell(operand, 11)}"
        case Cast(operand):
            return spell(operand, around)
        case Select(condition, then, otherwise):
            return f"({spell(condition)} ? {spell(then)} : {spell(otherwise)})"
        case Call(function, (number,)) if function.endswith('"'):
            return f"{function}[{spell(number)}]"
        case Call("is True" | "is False" | "is None" as function, (operand,)):
            return f"{spell(operand, 11)} {function}"
        case Call("in ()", (operand, *members)):
            return f"{spell(operand, 11)} in ({', '.join(spell(one) for one in members)})"
        case Call(function, arguments):
            return f"{function}({', '.join(spell(a) for a in arguments)})"
        case Binary("min" | "max" as operator, left, right):
            return f"{operator}({spell(left)}, {spell(right)})"
        case Binary(operator, left, right):
            own = PRECEDENCE[operator]
            shown = "//" if operator == "/" and expression.floors else operator
            text = f"{spell(left, own)} {shown} {spell(right, own + 1)}"
            return f"({text})" if own < around else text


def readable(text: str) -> str:
    """The text of an access for a message, with bounds of slices as they are in the source."""
    return _FROM_END.sub(r"\1", text)


def spell_place(place: Place) -> str:
    """A place in C's notation."""
    text = place.variable.source_name
    steps = list(place.steps)
    of_type = place.variable.type
    for position, step in enumerate(steps):
        if isinstance(step, Field):
            text += f".{step.name}"
        elif _is_arrow(of_type, step, steps[position + 1 :]):
            text = f"{text}->"
        elif position == 0 and isinstance(of_type, Pointer) and is_zero(step.subscript) and len(steps) == 1:
            text = f"*{text}"
        elif step.joined:
            text = f"{text[:-1]}, {spell(step.subscript)}]"
        else:
            text = f"{text}[{spell(step.subscript)}]"
        of_type = _inside(of_type, step)
    return text.replace("->.", "->")


def _inside(of_type: Type | None, step: Index | Field) -> Type | None:
    """Type of the target of a step; `None` where it is unresolved."""
    match step, of_type:
        case Field(_, found), _:
            return found
        case _, Pointer(found) | Array(found):
            return found
        case _:
            return None


def _is_arrow(of_type: object, step: Index, rest: list[Index | Field]) -> bool:
    return (
        isinstance(of_type, Pointer) and is_zero(step.subscript) and bool(rest) and isinstance(rest[0], Field)
    )


def is_zero(value: Expr) -> bool:
    """True for the number 0."""
    return isinstance(value, Constant) and value.value == 0


def _address(place: Place) -> str:
    if place.steps and isinstance(place.steps[-1], Index) and is_zero(place.steps[-1].subscript):
        return spell_place(Place(place.variable, place.steps[:-1], place.type, place.site))
    return f"&{spell_place(place)}"


@dataclass(slots=True, kw_only=True)
class UniqueNames:
    """Number of times that each name was given so far."""

    _used: dict[str, int] = field(default_factory=dict[str, int], init=False)

    def unique(self, name: str) -> str:
        """`name`, or `name@2` and so on if the function used it before."""
        count = self._used.get(name, 0) + 1
        self._used[name] = count
        return name if count == 1 else f"{name}@{count}"

    def unused(self, stem: str) -> str:
        """`stem@@1` and so on: a name for a temporary, which no variable of the user has."""
        count = self._used.get(stem + "@@", 0) + 1
        self._used[stem + "@@"] = count
        return f"{stem}@@{count}"
