"""Draws calls of functions that use global variables, set what they are given addresses of, or are elsewhere
and have an attribute."""

from __future__ import annotations

from collections.abc import Callable

from tests.oracle.draw_structures import Structures
from tests.oracle.fitting import plus
from tests.oracle.nests import (
    Assign,
    Binary,
    Call,
    Declare,
    Element,
    Evaluate,
    Expr,
    For,
    If,
    Jump,
    Name,
    Number,
    Section,
    Statement,
)


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


# --------------------------------------------------------------------------------------------------
# Draws what is not analysed, between loops that are: calls of functions that are elsewhere, also in
# loops with jumps, and `goto`. What they change, the loops after them use.
# --------------------------------------------------------------------------------------------------


class Obstacles(Calls):
    """Statements between loops."""

    def nest_list(self, top: bool = False) -> list[Statement]:
        body = super().nest_list(top)
        if not (top and self.with_obstacles):
            return body
        self.feature("obstacles")
        self.used.add("set_off")
        kinds = [self.call_elsewhere, self.loop_that_jumps, self.skipped, self.set_here]
        found: list[Statement] = []
        for statement in [*body, self.shifted(), self.shifted()]:
            for _ in range(self.number(0, 2)):
                found += self.pick(kinds)()
            found.append(statement)
        return found

    def distance(self) -> Expr:
        return self.pick([Number(self.number(0, 5)), Name("n"), plus(Name("off"), self.pick([0, 1, -1]))])

    def fixed_condition(self) -> Expr:
        """A condition that no loop changes."""
        name = Name(self.pick(["n", "n", "off"]))
        return Binary(self.pick(["<", ">", ">="]), name, Number(self.number(1, 5)))

    def call_elsewhere(self) -> list[Statement]:
        return [Evaluate(Call("set_off", (self.distance(),)))]

    def set_here(self) -> list[Statement]:
        return [Assign(Name("off"), self.distance())]

    def loop_that_jumps(self) -> list[Statement]:
        """A loop that is not analysed, which jumps leave, or go on in, in the middle."""
        name = self.new("z")
        parts: list[Callable[[], list[Statement]]] = [self.call_elsewhere, self.set_here]
        before, after = self.pick(parts)(), self.pick(parts)()
        jump = If(self.fixed_condition(), (Jump(self.pick(["break", "continue"])),))
        body = (*before, jump, *after, *self.call_elsewhere())
        test, advance = Binary("<", Name(name), Number(2)), Assign(Name(name), Number(1), "+", brief=True)
        return [For(Declare("int", name, (), Number(0)), test, advance, body)]

    def skipped(self) -> list[Statement]:
        body = (*self.set_here(), *(self.call_elsewhere() if self.chance(30) else []))
        return [If(self.fixed_condition(), body, jumps=True)]

    def shifted(self) -> Statement:
        """A loop that is parallel or not by how far it looks."""
        self.loops += 1
        name = self.new("w")
        far = self.pick([Name("off"), Name("off"), Name("n"), Number(self.number(1, 6))])
        flat = [array.name for array in self.arrays if array.rank == 1]
        row = () if flat else (Number(0),)
        array = self.pick(flat or [array.name for array in self.arrays if array.rank == 2] or [""])
        if not array:
            return self.simple()[0]
        to, of = (Element(array, (*row, at)) for at in (Binary("+", Name(name), far), Name(name)))
        test = Binary("<", Name(name), self.pick([Name("n"), Number(4), Name("off")]))
        advance = Assign(Name(name), Number(1), "+", brief=True)
        return For(Declare("int", name, (), Number(0)), test, advance, (Assign(to, of),))
