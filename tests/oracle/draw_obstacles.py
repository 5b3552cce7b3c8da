"""Draws what is not analysed, between loops that are: calls of functions that are elsewhere, also in loops
with jumps, and `goto`. What they change, the loops after them use."""

from __future__ import annotations

from collections.abc import Callable

from .draw_calls import Calls
from .fitting import plus
from .nests import (
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
    Statement,
)


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
