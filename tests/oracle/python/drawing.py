"""The programs that are drawn for C, as far as Python can say them, and array statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

from hypothesis import strategies as st

from .. import drawing
from ..draw_expressions import Array
from ..fitting import plus
from ..nests import (
    Assign,
    Binary,
    Declare,
    Element,
    Exchange,
    Expr,
    If,
    Name,
    Number,
    Program,
    Slice,
    Statement,
    Sum,
)
from .rewriting import pythonic

MADE = 8
"""The length of the arrays whose names get new ones."""


def whole_made(name: str) -> Element:
    """All of an array that the program creates."""
    return Element(name, (Slice(Number(0), Number(MADE)),))


def affine_programs() -> st.SearchStrategy[Program]:
    """Programs of which every loop can be decided."""
    return drawing.drawn(False, Programs, pythonic)


def programs() -> st.SearchStrategy[Program]:
    """Programs with anything in them."""
    return drawing.drawn(True, Programs, pythonic)


@dataclass(frozen=True, slots=True)
class Window:
    """The bounds that a dimension's slices have, but for a shift."""

    start: Expr
    stop: Expr
    step: int

    def shifted(self, by: int) -> Slice:
        """A slice that is as long."""
        return Slice(plus(self.start, by), plus(self.stop, by), self.step)


class Programs(drawing.Programs):
    """Programs with array statements among the others, and subscripts that count from the end."""

    only_arrays = True
    with_whole: bool = False
    with_exchanges: bool = False
    made: tuple[Array, ...] = ()

    def program(self) -> Program:
        self.with_whole = self.chance(50)
        self.with_exchanges = self.chance(20)
        self.made = (Array("v", 1), Array("z", 1))[: self.pick([0, 0, 0, 1, 2])]
        program = self.with_made(super().program())
        if self.chance(25):
            program = replace(program, features=program.features | {"object"})
        plain = program.features.isdisjoint(("array statement", "mask", "object", "exchange", "made anew"))
        if plain and self.chance(25):
            return replace(program, features=program.features | {"lists"})
        if self.chance(40) and "exchange" not in self.features:
            program = replace(program, features=program.features | {"views"})
        if not self.features.isdisjoint(("alias", "exchange")) or not self.chance(30):
            return program
        return replace(program, wraps=True, features=program.features | {"negative subscripts"})

    def with_made(self, program: Program) -> Program:
        """The program with arrays that get new ones as it runs: created at its start."""
        if not self.made:
            return program
        self.feature("made anew")
        kernel = program.kernel
        if self.chance(30):
            self.feature("second names")
        declared = [Declare(self.type, one.name, (1,)) for one in self.made]
        first = [Assign(whole_made(one.name), Number(0, self.type)) for one in self.made]
        kernel = replace(kernel, body=(*declared, *first, *kernel.body))
        return replace(
            program, functions=(*program.functions[:-1], kernel), features=frozenset(self.features)
        )

    def nest_list(self, top: bool = False) -> list[Statement]:
        body = super().nest_list(top)
        return [*body, *self.made_use()] if top and self.made and self.chance(50) else body

    def anew(self) -> list[Statement]:
        """`v = z + 2.0`, where `v` gets a new array, `v[i] = 1.0` or `a[i] = v[i]`."""
        name = self.pick(self.made).name
        if self.with_exchanges and len(self.made) > 1 and self.chance(20):
            self.feature("exchange")
            return [Exchange("v", "z")]
        kind = self.pick(["new", "new", "store", "use", "use"])
        if kind == "use":
            return self.made_use()
        if kind == "store":
            return [Assign(self.made_element(name), self.value(), self.pick(["", "", "+"]))]
        arrays = [*self.made, *(array for array in self.arrays if array.rank == 1)]
        window = Window(Number(0), Number(MADE), 1)
        value = self.value(0) if self.chance(20) else self.parts(arrays, [window])
        return [Assign(whole_made(name), value)]

    def made_use(self) -> list[Statement]:
        element = self.made_element(self.pick(self.made).name)
        return [Assign(self.element(), Binary(self.pick("+-*"), element, self.value(0)))]

    def made_element(self, name: str) -> Element:
        subscripts: list[Expr] = [Number(self.number(0, MADE - 1))]
        for iterator in self.iterators:
            subscripts += [Name(iterator), Name(iterator), plus(Name(iterator), 1)]
        return Element(name, (self.pick(subscripts),))

    def statement(self) -> list[Statement]:
        if self.made and self.chance(35):
            return self.anew()
        if self.with_exchanges and self.chance(20):
            return self.exchange()
        kinds: list[Callable[[], list[Statement]]] = [super().statement, self.whole, self.sum, self.masked]
        return kinds[self.pick([0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3]) if self.with_whole else 0]()

    def exchange(self) -> list[Statement]:
        """`a, b = b, a`."""
        pairs = [p for p in combinations(self.arrays, 2) if p[0].rank == p[1].rank > 0]
        if not pairs:
            return self.simple()
        self.feature("exchange")
        one, other = self.pick(pairs)
        return [Exchange(one.name, other.name)]

    def window(self) -> Window:
        n = Name(self.pick(["n", "m"]))
        low: list[Expr] = [Number(0), Number(1), Number(2)]
        high: list[Expr] = [n, n, plus(n, -1), plus(n, 1), Number(4)]
        if self.iterators:
            it = Name(self.pick(self.iterators))
            low += [it, plus(it, 1)]
            high += [it, plus(it, 1), plus(it, 3)]
        return Window(self.pick(low), self.pick(high), self.pick([1, 1, 1, 2]))

    def whole(self) -> list[Statement]:
        """`a[1:n] = b[0:n - 1] + 2.0`, on slices of one dimension or two."""
        arrays = [array for array in self.arrays if array.rank > 0]
        if not arrays:
            return self.simple()
        self.feature("array statement")
        windows = [self.window() for _ in range(max(array.rank for array in arrays))]
        array = self.pick(arrays)
        target = self.part(array, windows if self.chance(60) else windows[-1:])
        shape = windows[-sum(isinstance(s, Slice) for s in target.subscripts) :]
        statement = Assign(target, self.parts(arrays, shape), self.pick(["", "", "", "+", "-", "*"]))
        return [If(self.affine_condition(), (statement,))] if self.chance(10) else [statement]

    def masked(self) -> list[Statement]:
        """`a[1:n][b[0:n - 1] > 2.0] = 1.0`."""
        arrays = [array for array in self.arrays if array.rank > 0]
        if not arrays:
            return self.simple()
        self.feature("mask")
        rank = self.pick(arrays).rank
        arrays = [array for array in arrays if array.rank == rank]
        windows = [self.window() for _ in range(rank)]
        target, by = (self.part(self.pick(arrays), windows) for _ in range(2))
        mask = Binary(self.pick(["<", ">"]), by, Number(self.number(-2, 2), self.type))
        return [Assign(target, Number(self.number(0, 3), self.type), mask=mask)]

    def sum(self) -> list[Statement]:
        """`s += np.sum(a[0:n] * b[1:n + 1])`."""
        arrays = [array for array in self.arrays if array.rank > 0]
        if not arrays:
            return self.reduction()
        self.feature("array statement")
        windows = [self.window()]
        total = Sum(Binary("*", self.part(self.pick(arrays), windows), self.parts(arrays, windows, 0)))
        if self.chance(50):
            self.used.add("s")
            return [Assign(Name("s"), total, self.pick(["", "+"]))]
        return [Assign(self.element(), total, self.pick(["", "+"]))]

    def part(self, array: Array, windows: list[Window]) -> Element:
        """Slices of an array with as many dimensions as there are windows, or with fewer."""
        own = windows[-array.rank :]
        slices = [window.shifted(self.pick([0, 0, 0, 1, -1, 2])) for window in own]
        if array.rank == 1 or len(own) == 2:
            return Element(array.name, tuple(slices))
        pair = (self.subscript(), slices[0])
        return Element(array.name, pair if self.chance(60) else pair[::-1])

    def parts(self, arrays: list[Array], windows: list[Window], depth: int = 1) -> Expr:
        """An expression of slices and scalars."""
        if depth == 0 or self.chance(40):
            if self.chance(20):
                return self.value(0)
            return self.part(self.pick(arrays), windows if self.chance(80) else windows[-1:])
        return Binary(
            self.pick("+-*"), self.parts(arrays, windows, depth - 1), self.parts(arrays, windows, depth - 1)
        )
