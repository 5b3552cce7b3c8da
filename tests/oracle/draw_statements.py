"""Draws the statements of a loop's body."""

from __future__ import annotations

from collections.abc import Callable

from . import callees
from .draw_expressions import Expressions
from .fitting import plus
from .nests import (
    Assign,
    Binary,
    Call,
    Choice,
    Declare,
    Element,
    Evaluate,
    Expr,
    If,
    Jump,
    Name,
    Number,
    Section,
    Statement,
)


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
