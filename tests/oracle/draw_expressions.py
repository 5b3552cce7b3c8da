"""Draws expressions: the state of a drawing, and what may be written where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis import strategies as st

from .fitting import plus
from .nests import Binary, Call, Choice, Element, Expr, Linear, Name, Number, Target, Type, Unary

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Array:
    """An array that statements can use: `rank` 0 is a linearised matrix."""

    name: str
    rank: int


@dataclass(slots=True)
class Expressions:
    """The program as drawn so far: what is in scope where the next statement goes."""

    draw: Any
    wild: bool
    type: Type = "double"
    arrays: list[Array] = field(default_factory=list)
    iterators: list[str] = field(default_factory=list)
    scalars: list[str] = field(default_factory=list)
    integers: list[str] = field(default_factory=list)
    small: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    moving: list[str] = field(default_factory=list)
    outer: dict[str, Type] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    features: set[str] = field(default_factory=set)
    aliases: list[tuple[str, str, int]] = field(default_factory=list)
    fresh: int = 0
    guards: int = 0
    loops: int = 0
    in_for: bool = False

    # --- Drawing

    def pick(self, options: Sequence[T]) -> T:
        return self.draw(st.sampled_from(list(options)))

    def chance(self, percent: int) -> bool:
        return self.draw(st.integers(0, 99)) >= 100 - percent

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def new(self, stem: str) -> str:
        self.fresh += 1
        return f"{stem}{self.fresh}"

    def feature(self, name: str) -> None:
        self.features.add(name)

    def scope(self) -> tuple[list[str], list[str], list[Array], list[str]]:
        """Names in scope."""
        return list(self.scalars), list(self.integers), list(self.arrays), list(self.moving)

    def leave(self, saved: tuple[list[str], list[str], list[Array], list[str]]) -> None:
        """Forget what was declared since."""
        self.scalars, self.integers, self.arrays, self.moving = saved

    def subscript(self) -> Expr:
        """An affine subscript (any integer in scope)."""
        if not self.iterators:
            return self.pick([Number(0), Number(1), plus(Name("n"), -1)])
        it, other = Name(self.iterators[-1]), Name(self.pick(self.iterators))
        if self.chance(70):
            return plus(self.pick([it, it, other]), self.pick([0, 0, 0, 0, 0, 1, -1, 2]))
        options: list[Expr] = [
            Number(self.number(0, 2)),
            Binary("-", plus(Name("n"), -1), other),
            plus(Binary("*", Number(2), it), self.number(0, 1)),
            Binary("+", it, other),
            Binary("-", it, other),
            Binary("%", it, Number(self.pick([2, 3]))),
            Binary("/", other, Number(2)),
            Name("n"),
        ]
        options += [Name(name) for name in self.integers if name != "k"]
        return self.pick(options)

    def element(self, subscript: Expr | None = None) -> Target:
        """An array element; `subscript` is its last one, if given."""
        array = self.pick(self.arrays)
        last = self.subscript() if subscript is None else subscript
        if array.rank == 1:
            return Element(array.name, (last,))
        row = (
            self.pick([Name(name) for name in self.iterators] or [Number(0)])
            if self.chance(70)
            else self.subscript()
        )
        if array.rank == 2:
            return Element(array.name, (row, last) if self.chance(80) else (last, row))
        self.feature("linear")
        row = plus(Name("n"), -1) if isinstance(row, Number) else row
        return Linear(array.name, row, Name("m"), last)

    def value(self, depth: int = 1, without: str = "") -> Expr:
        """An expression of the data type; never the scalar `without`."""
        scalars = [name for name in self.scalars if name != without]
        if depth == 0 or self.chance(45):
            kind = self.pick(["element", "element", "element", "number", "scalar", "iterator"])
            if kind == "scalar" and scalars and self.chance(50):
                name = self.pick(scalars)
                self.used.add(name)
                return Name(name)
            if kind == "number":
                return Number(self.number(1, 3), self.type)
            if kind == "iterator" and self.iterators:
                return Name(self.pick(self.iterators))
            if self.wild and self.chance(8):
                self.feature("indirect read")
                return self.element(Element("idx", (self.subscript(),)))
            return self.element()
        left, right = self.value(depth - 1, without), self.value(depth - 1, without)
        if self.chance(8):
            return Choice(self.affine_condition(), left, right)
        if self.type == "double" and self.chance(8):
            return Call("fabs", (left,))
        return Binary(self.pick("+-*"), left, right)

    def affine_condition(self, depth: int = 1) -> Expr:
        if depth and self.chance(25):
            left, right = self.affine_condition(0), self.affine_condition(0)
            return self.pick([Binary("&&", left, right), Binary("||", left, right), Unary("!", left)])
        if not self.iterators:
            return Binary(">", Name("n"), Number(self.number(1, 3)))
        it, other = Name(self.iterators[-1]), Name(self.pick(self.iterators))
        return self.pick(
            [
                Binary(self.pick(["<", "<=", ">", ">=", "==", "!="]), it, Number(self.number(0, 3))),
                Binary(self.pick(["<", ">=", "=="]), it, plus(Name("n"), -self.number(1, 3))),
                Binary(self.pick(["<", "!=", "=="]), other, it),
                Binary("==", Binary("%", it, Number(self.pick([2, 3]))), Number(self.number(0, 1))),
                Binary("<", Binary("+", it, other), Name("n")),
                Binary("!=", Binary("/", it, Number(2)), Number(1)),
            ]
        )
