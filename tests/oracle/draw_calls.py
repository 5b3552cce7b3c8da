"""Draws calls of functions that use global variables, set what they are given addresses of, or are elsewhere
and have an attribute."""

from __future__ import annotations

from collections.abc import Callable

from .draw_structures import Structures
from .fitting import plus
from .nests import Assign, Binary, Call, Declare, Evaluate, Expr, Name, Section, Statement


class Calls(Structures):
    """Statements that call, between the others."""

    with_calls: bool = False
    with_obstacles: bool = False

    def globals_of_calls(self) -> list[Declare]:
        """The global variables that functions use."""
        if not self.with_calls:
            return []
        self.feature("global variables")
        self.scalars.append("u")
        if self.with_obstacles or self.chance(50):
            self.integers.append("off")
        return [Declare("int", "off"), Declare(self.type, "u")]

    def statement(self) -> list[Statement]:
        if self.with_calls and self.chance(45):
            kinds: list[Callable[[], list[Statement]]] = [
                self.pure,
                self.subscripted,
                self.out,
                self.by_global,
            ]
            return self.pick(kinds)()
        return super().statement()

    def given(self, rank: int = 1) -> Section | None:
        """An array that a function is given."""
        arrays = [array for array in self.arrays if array.rank in (rank, 2)]
        if not arrays:
            return None
        array = self.pick(arrays)
        rows = (self.subscript(),) if array.rank == 2 else ()
        return Section(array.name, rows, self.subscript() if not rows and self.chance(50) else None)

    def pure(self) -> list[Statement]:
        """Call of an external pure function, which may read any elements of an array."""
        array = self.given()
        if array is None or self.chance(20):
            self.used.add("twice")
            return [Assign(self.element(), Call("twice", (self.value(0),)))]
        name = self.pick(["total", "around"])
        self.used.add(name)
        self.feature("pure")
        many = self.pick([Name("n"), plus(Name("n"), -1), *map(Name, self.iterators)])
        at: Expr = many if name == "total" else self.subscript()
        return [Assign(self.element(), Call(name, (array, at)), self.pick(["", "", "+"]))]

    def subscripted(self) -> list[Statement]:
        """A global variable is part of subscripts, inside a function."""
        self.feature("global subscript")
        it = Name(self.iterators[-1]) if self.iterators else Name("n")
        if self.chance(20):
            self.used.add("next")
            name = self.new("q")
            first = Declare("int", name, (), Call("next", ()))
            return [first, Assign(self.element(Name(name)), self.value())]
        self.used.add("place")
        use = Assign(self.element(Call("place", (it,))), self.value())
        value: Expr = self.pick([Binary("-", Name("n"), it), it, self.subscript()])
        if self.chance(40):
            return [use]
        if self.chance(30):
            self.used.add("set_off")
            return [Evaluate(Call("set_off", (value,))), use]
        return [Assign(Name("off"), value), use]

    def out(self) -> list[Statement]:
        """A function sets what it is given addresses of."""
        self.feature("out-parameters")
        self.used |= {"split", "s", "t"}
        array = self.given()
        first, second = (Section(name, address=True) for name in self.pick([("s", "t"), ("t", "s")]))
        if array is not None and self.chance(50):
            second = array
        call = Evaluate(Call("split", (self.value(0), first, second)))
        use = Assign(self.element(), Binary("+", Name(first.array), self.value(0)))
        return [use, call] if self.chance(20) else [call, use] if self.chance(80) else [call]

    def by_global(self) -> list[Statement]:
        """A number reaches a function by a global variable."""
        self.feature("global value")
        self.used |= {"scaled", "u"}
        use = Assign(self.element(), Call("scaled", (self.value(0),)))
        setting = Assign(Name("u"), self.value(), self.pick(["", "", "+"]))
        return [use] if self.chance(30) else [setting, use] if self.chance(75) else [use, setting]
