"""Names in scope while a program is compiled, and what each of them stands for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..looping import Code
from ..machine import Machine
from ..nests import Expr, Function, Program, Structure, Type
from ..paths import Reached, Shape
from ..values import Value

Typed = tuple[Code, Type]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name in scope: its place in the frame and its kind. A `pointer` is a variable, which contains its
    target; that of any other array is fixed."""

    index: int
    type: Type
    array: bool
    pointer: bool = False
    structure: str = ""
    rows: bool = False


@dataclass(slots=True)
class Frame:
    """The names of the function that is being compiled, and the size of its frame."""

    function: Function
    scopes: list[dict[str, Symbol]]
    size: int


@dataclass(slots=True)
class Scopes(ABC):
    """The names of a program, and of the function of it that is being compiled."""

    program: Program
    functions: dict[str, Callable[[Machine, list[Any]], Value]] = field(default_factory=dict)
    signatures: dict[str, Function] = field(default_factory=dict)
    frame: Frame = field(init=False)

    @abstractmethod
    def expression(self, e: Expr) -> Typed:
        """Code for a value, and its type."""

    def declare(self, name: str, type: Type, array: bool, *others: Any) -> int:
        index = self.frame.size
        self.frame.size += 1
        self.frame.scopes[-1][name] = Symbol(index, type, array, *others)
        return index

    def find(self, name: str) -> Symbol:
        for scope in reversed(self.frame.scopes):
            if name in scope:
                return scope[name]
        raise AssertionError(f"unknown name {name}")

    def structure(self, name: str) -> Structure:
        return next(s for s in self.program.structures if s.name == name)

    def root(self, name: str) -> Reached:
        """Entity that the first name of a path stands for."""
        symbol = self.find(name)
        index = symbol.index
        shape = Shape("structure" if symbol.structure else "number", symbol.type, symbol.structure)
        shape = Shape("pointer", symbol.type, to=shape) if symbol.rows else shape
        if symbol.array:
            return Reached(Shape("pointer", symbol.type, to=shape), name, value=lambda m: m.env[index])
        return Reached(shape, name, place=lambda m: (m.env[index], (0,)))
