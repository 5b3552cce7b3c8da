"""Draws statements: expressions, bodies of loops, and loops of every spelling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis import strategies as st

from tests.oracle import callees
from tests.oracle.fitting import plus
from tests.oracle.nests import (
    Assign,
    Binary,
    Call,
    Choice,
    Declare,
    Element,
    Evaluate,
    Expr,
    For,
    If,
    Jump,
    Linear,
    Name,
    Number,
    Section,
    Statement,
    Step,
    Target,
    Type,
    Unary,
    While,
)

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


# --------------------------------------------------------------------------------------------------
# Draws the statements of a loop's body.
# --------------------------------------------------------------------------------------------------


class Statements(Expressions):
    """Statements, each of a kind that programs are full of."""

    def statement(self) -> list[Statement]:
        kinds: list[Callable[[], list[Statement]]] = [
            self.simple, self.simple, self.simple, self.reduction, self.temporary, self.condition,
            self.scalar, self.array_reduction, self.induction, self.index_temporary, self.private_array,
        ]  # fmt: skip
        if self.in_for:
            kinds.append(self.jump)
        if self.chance(30):
            kinds.append(self.break_out)
        if self.wild:
            kinds += [self.data_condition, self.indirect_write, self.call, self.compaction]
        return self.pick(kinds)()

    def simple(self) -> list[Statement]:
        operator = self.pick(["", "", "", "+", "*", "-"])
        return [Assign(self.element(), self.value(), operator)]

    def temporary(self) -> list[Statement]:
        """A value stored in a scalar, then used."""
        if self.chance(50):
            name = self.new("t")
            first: Statement = Declare(self.type, name, (), self.value())
            self.scalars.append(name)
        else:
            name = "t"
            self.used.add(name)
            first = Assign(Name(name), self.value())
        return [first, Assign(self.element(), Binary(self.pick("+*-"), Name(name), self.value(0)))]

    def scalar(self) -> list[Statement]:
        name = self.pick(self.scalars)
        self.used.add(name)
        return [Assign(Name(name), self.value())]

    def reduction(self) -> list[Statement]:
        name = self.pick(["s", "t"] + (["g"] if "g" in self.scalars else []))
        self.used.add(name)
        target, value = Name(name), self.value(without=name)
        if self.chance(15):
            self.feature("conditional update")
            return [If(Binary(self.pick("<>"), value, target), (Assign(target, value),))]
        forms: list[Statement] = [
            Assign(target, value, "+"),
            Assign(target, Binary("+", target, value)),
            Assign(target, value, "-"),
            Assign(target, value, "*"),
            Assign(target, Binary("+", value, target)),
            Assign(target, Choice(Binary(">", target, value), target, value)),
            Assign(target, Choice(Binary("<=", value, target), value, target)),
        ]
        if self.type == "double":
            forms.append(Assign(target, Call(self.pick(["fmax", "fmin"]), (target, value))))
        else:
            forms += [Assign(target, value, op) for op in "&|^"]
            test = Binary(self.pick("<>"), value, Number(1))
            forms += [Assign(target, Binary("&&", target, test)), Assign(target, Binary("||", target, test))]
        form = self.pick(forms)
        if (
            isinstance(form, Assign)
            and isinstance(form.value, Binary)
            and form.value.operator in ("&&", "||")
        ):
            # What stands on the right is read only if the left does not decide.
            self.feature("conditional update")
        body = [form]
        if self.chance(15):
            body.append(Assign(self.element(), target))
        return body

    def array_reduction(self) -> list[Statement]:
        operators = ["+", "*", *([] if self.type == "double" else ["&", "|", "^"])]
        return [Assign(self.element(), self.value(), self.pick(operators))]

    def induction(self) -> list[Statement]:
        nested = len(self.iterators) > 1
        self.feature("guarded induction" if self.guards else "nested induction" if nested else "induction")
        self.used.add("k")
        step = Assign(Name("k"), Number(self.pick([1, 2, 3])), "+")
        use = Assign(self.element(Name("k")), self.value())
        return [use, step] if self.chance(60) else [step, use]

    def index_temporary(self) -> list[Statement]:
        name = self.new("q")
        subscript = self.subscript()
        self.integers.append(name)
        if self.chance(60):
            first: Statement = Declare("int", name, (), subscript)
        else:
            self.outer[name] = "int"
            first = Assign(Name(name), subscript)
        return [first, Assign(self.element(plus(Name(name), self.number(0, 1))), self.value())]

    def private_array(self) -> list[Statement]:
        name = self.new("w")
        inside = self.chance(50)
        body: list[Statement] = []
        if inside:
            body.append(Declare(self.type, name, (2,)))
        else:
            self.small.append(name)
            self.used.add(name)
        fill = [Assign(Element(name, (Number(q),)), self.value()) for q in range(self.number(1, 2))]
        read = Element(name, (Number(self.number(0, 1)),))
        use = Assign(self.element(), Binary("+", read, Element(name, (Number(0),))))
        return [*body, use, *fill] if self.chance(15) else [*body, *fill, use]

    def condition(self) -> list[Statement]:
        then = self.branch()
        otherwise = tuple(self.simple()) if self.chance(30) else ()
        return [If(self.affine_condition(), then, otherwise)]

    def branch(self) -> tuple[Statement, ...]:
        """Statements guarded by a condition; names declared there are not in scope after it."""
        saved = self.scope()
        self.guards += 1
        body = self.simple() if self.chance(60) else self.statement()
        self.guards -= 1
        self.leave(saved)
        return tuple(body)

    def jump(self) -> list[Statement]:
        self.feature("continue")
        return [If(self.exit_test(60), (Jump("continue"),)), *self.simple()]

    def exit_test(self, known: int) -> Expr:
        """Condition of a jump: in `known` of a hundred cases not by the data, in affine programs never."""
        if not self.wild or self.chance(known):
            return self.affine_condition()
        return Binary(">", self.data_value(), Number(3))

    def use_of(self, iterator: str) -> Statement:
        return Assign(self.element(Name(iterator)), self.value())

    # --- Statements that are not modelled exactly

    def data_condition(self) -> list[Statement]:
        self.feature("data condition")
        test = Binary(self.pick(["> ".strip(), "<", "=="]), self.data_value(), Number(0))
        then = self.branch()
        return [If(test, then, tuple(self.simple()) if self.chance(25) else ())]

    def data_value(self) -> Expr:
        if self.chance(50):
            return Element("flag", (self.subscript(),))
        return self.element()

    def indirect_write(self) -> list[Statement]:
        self.feature("indirect")
        target = self.element(Element("idx", (self.subscript(),)))
        return [Assign(target, self.value(), self.pick(["", "+", "+"]))]

    def compaction(self) -> list[Statement]:
        self.feature("data condition")
        self.used.add("k")
        then = (Assign(self.element(Name("k")), self.value()), Assign(Name("k"), Number(1), "+", brief=True))
        return [If(Binary(">", self.data_value(), Number(0)), then)]

    def break_out(self) -> list[Statement]:
        self.feature("break")
        if self.wild and self.chance(40):
            return self.flagged()
        return [If(self.exit_test(40), (Jump("break"),)), *self.simple()]

    def flagged(self) -> list[Statement]:
        """A flag or a count that data change, and that ends the loop then, or never does."""
        self.feature("flag")
        self.used.add("k")
        change = self.pick(
            [
                Assign(Name("k"), Number(self.pick([1, 1, 5]))),
                Assign(Name("k"), Number(1), "+", brief=True),
            ]
        )
        raised = If(Binary(self.pick([">", "<"]), self.data_value(), Number(0)), (change,))
        ended = If(Binary(">", Name("k"), Number(self.number(0, 2))), (Jump("break"),))
        return [raised, *self.simple(), ended] if self.chance(50) else [raised, ended, *self.simple()]

    def call(self) -> list[Statement]:
        plain = [array for array in self.arrays if array.rank in (1, 2)]
        if not plain:
            return self.simple()
        self.feature("call")

        def section() -> Section:
            array = self.pick(plain)
            rows = (self.subscript(),) if array.rank == 2 else ()
            return Section(array.name, rows, self.subscript() if not rows and self.chance(50) else None)

        name, arguments = self.pick(callees.CALLS)
        self.used.add(name)
        given: list[Expr | Section] = []
        for kind in arguments:
            given.append(
                section() if kind == "array" else self.subscript() if kind == "index" else self.value(0)
            )
        if callees.gives_value(name):
            return [Assign(self.element(), Call(name, tuple(given)))]
        return [Evaluate(Call(name, tuple(given)))]


# --------------------------------------------------------------------------------------------------
# Draws loops of every spelling, and what they are nested in.
# --------------------------------------------------------------------------------------------------


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
