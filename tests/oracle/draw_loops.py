"""Draws loops of every spelling, and what they are nested in."""

from __future__ import annotations

from hypothesis import strategies as st

from .draw_statements import Statements
from .fitting import plus
from .nests import Assign, Binary, Choice, Declare, Expr, For, If, Name, Number, Statement, Step, Type, While


class Loops(Statements):
    """Loops, their headers and their bodies."""

    def nest_list(self, top: bool = False) -> list[Statement]:
        body: list[Statement] = []
        for _ in range(self.number(1, 2)):
            body += self.loop() if self.loops < 4 and (top or self.chance(75)) else self.simple()
        if top and self.loops == 0:
            body += self.loop()
        return body

    def block(self) -> list[Statement]:
        """The body of a loop."""
        saved = self.scope()
        body: list[Statement] = []
        for _ in range(self.number(1, 3)):
            deeper = len(self.iterators) < 3 and self.loops < 4 and self.chance(30)
            body += self.inner() if deeper else self.statement()
        self.leave(saved)
        return body

    def inner(self) -> list[Statement]:
        """A loop in a loop, now and then under a condition."""
        if self.chance(12):
            condition = self.affine_condition()
            self.guards += 1
            body = tuple(self.loop())
            self.guards -= 1
            return [If(condition, body)]
        return self.loop()

    def loop(self) -> list[Statement]:
        self.loops += 1
        shape = self.pick(["for"] * 8 + ["for outside", "for outside", "while", "while", "do"])
        if shape in ("while", "do"):
            return self.counted(shape)
        return self.for_loop(declared=shape == "for")

    def iterator(self, declared: bool) -> tuple[str, Type]:
        free = [name for name in "ijlp" if name not in self.iterators and name not in self.finished]
        name = free[0] if declared and free and free[0] not in self.outer else self.new("e")
        type: Type = "int"
        if self.wild and self.chance(12):
            type = self.pick(["unsigned", "long"])
            self.feature(f"{type} iterator")
        if not declared:
            self.outer[name] = type
        return name, type

    def lower(self) -> Expr:
        options: list[Expr] = [Number(0), Number(1), Number(0), Number(2)]
        if self.iterators:
            it = Name(self.pick(self.iterators))
            options += [it, plus(it, 1), Binary("max", plus(it, -1), Number(0)), Binary("/", it, Number(2))]
        return self.pick(options)

    def upper(self) -> Expr:
        n = Name(self.pick(["n", "m"]))
        options: list[Expr] = [n, n, plus(n, -1), Number(4), plus(n, 1), Binary("/", n, Number(2))]
        options += [Binary("min", n, Number(3)), Choice(Binary(">", n, Number(2)), Number(3), n)]
        if self.iterators:
            it = Name(self.pick(self.iterators))
            options += [it, plus(it, 1), plus(it, 2), Binary("min", plus(it, 2), n), Binary("-", n, it)]
        return self.pick(options)

    def header(self, name: str) -> tuple[Expr, Expr, int, str]:
        """Start, limit, step and the comparison with the limit."""
        step = self.pick([1, 1, 1, 2, 3])
        low, high = self.lower(), self.upper()
        if self.chance(25):
            form = self.pick([">=", ">"] + (["!="] if step == 1 else []))
            return plus(high, -1), low if form == ">=" else plus(low, -1), -step, form
        form = self.pick(["<", "<", "<=", "!="] if step == 1 else ["<", "<", "<="])
        return low, plus(high, -1) if form == "<=" else high, step, form

    def test(self, name: str, limit: Expr, form: str) -> Expr:
        if self.chance(8):
            self.feature("two tests")
            other = Binary(self.pick(["<", "!=", ">="]), Name(name), self.upper())
            return Binary("&&", *self.draw(st.permutations([self.one_test(name, limit, form), other])))
        return self.one_test(name, limit, form)

    def one_test(self, name: str, limit: Expr, form: str) -> Expr:
        mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}
        if self.chance(10):
            return Binary(mirrored[form], limit, Name(name))
        return Binary(form, Name(name), limit)

    def step(self, name: str, step: int) -> Assign:
        sign = "+" if step > 0 else "-"
        if abs(step) == 1 and self.chance(70):
            return Assign(Name(name), Number(1), sign, brief=True)
        if self.chance(20):
            return Assign(Name(name), Binary(sign, Name(name), Number(abs(step))))
        return Assign(Name(name), Number(abs(step)), sign)

    def inside(self, name: str, in_for: bool) -> list[Statement]:
        """The body of a loop with this iterator."""
        before, self.in_for = self.in_for, in_for
        self.iterators.append(name)
        body = self.block()
        self.iterators.pop()
        self.in_for = before
        return body

    def for_loop(self, declared: bool) -> list[Statement]:
        name, type = self.iterator(declared)
        start, limit, step, form = self.header(name)
        test: Expr = self.test(name, limit, form)
        advance: Assign | None = self.step(name, step)
        if self.chance(6):
            start, test, advance = self.upper(), Binary(">", Step(name, "-"), Number(0)), None
            self.feature("counts in the test")
        first = Declare(type, name, (), start) if declared else Assign(Name(name), start)
        body = self.inside(name, in_for=True)
        if advance is not None and self.chance(5):
            self.feature("iterator changed in the body")
            body.insert(0, Assign(Name(name), Number(1), "+" if step > 0 else "-"))
        if not declared:
            self.finished.append(name)
        return [For(first, test, advance, tuple(body))]

    def counted(self, shape: str) -> list[Statement]:
        name, _ = self.iterator(declared=False)
        self.feature(shape)
        start, limit, step, form = self.header(name)
        test, advance = self.test(name, limit, form), self.step(name, step)
        body = self.inside(name, in_for=False)
        place = 0 if self.chance(15) else len(body)
        body.insert(place, advance)
        self.finished.append(name)
        loop = While(test, tuple(body), name, post_test=shape == "do")
        return [Assign(Name(name), start), loop]
