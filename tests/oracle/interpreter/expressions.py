"""Expressions to code."""

from __future__ import annotations

from collections.abc import Callable

from ..looping import Code
from ..machine import Machine, View
from ..nests import (
    Binary,
    Call,
    Choice,
    Element,
    Expr,
    Linear,
    Name,
    Number,
    Parameter,
    Path,
    Pointed,
    Section,
    Step,
    Sum,
    Type,
    Unary,
)
from ..values import COMPARE, Value, common, integer
from ..whole import added_up
from .places import Places
from .scopes import Typed
from .starting import scalar


class Expressions(Places):
    """Code that computes."""

    __slots__ = ()

    def converted(self, e: Expr, type: Type) -> Code:
        code, own = self.expression(e)
        return code if own == type else lambda m: m.convert(code(m), own, type)

    def condition(self, e: Expr) -> Code:
        code, _ = self.expression(e)
        return lambda m: code(m) != 0

    def expression(self, e: Expr) -> Typed:
        match e:
            case Number(value=value, type=type):
                if type == "double":
                    return lambda m: m.arithmetic.convert(value), type
                return lambda m: value, type
            case Name() | Element() | Linear() | Pointed() | Path():
                place, type = self.place(e)
                uid = e.uid
                return lambda m: m.load(*place(m), uid), type
            case Step(name=name):
                return self.step(e), self.find(name).type
            case Unary(operator="!", operand=operand):
                test = self.condition(operand)
                return lambda m: int(not test(m)), "int"
            case Unary(operator="-", operand=operand):
                return self.expression(Binary("-", Number(0), operand))
            case Binary(operator="&&" | "||" as operator, left=left, right=right):
                return self.logical(operator, self.condition(left), self.condition(right))
            case Binary(operator="min" | "max" as operator, left=left, right=right):
                return self.expression(
                    Choice(Binary("<" if operator == "min" else ">", left, right), left, right)
                )
            case Binary():
                return self.binary(e)
            case Choice(condition=condition, then=then, otherwise=otherwise):
                return self.choice(condition, then, otherwise)
            case Sum(value=value):
                code, type = self.expression(value)
                return added_up(
                    code, type, self.operation("+", type), self.shapes(value), self.reads_once(value)
                ), type
            case Call():
                return self.call(e)
            case _:
                raise AssertionError(e)

    def logical(self, operator: str, left: Code, right: Code) -> Typed:
        if operator == "&&":
            return lambda m: int(left(m) and right(m)), "int"
        return lambda m: int(left(m) or right(m)), "int"

    def choice(self, condition: Expr, then: Expr, otherwise: Expr) -> Typed:
        type = common(self.expression(then)[1], self.expression(otherwise)[1])
        test, yes, no = self.condition(condition), self.converted(then, type), self.converted(otherwise, type)
        return lambda m: yes(m) if test(m) else no(m), type

    def binary(self, e: Binary) -> Typed:
        if self.is_pointer(e.left):
            left, right, test = self.pointer(e.left), self.pointer(e.right), COMPARE[e.operator]
            return lambda m: int(test(left(m).distance(right(m)), 0)), "int"
        type = common(self.expression(e.left)[1], self.expression(e.right)[1])
        left, right = self.converted(e.left, type), self.converted(e.right, type)
        if e.operator in COMPARE:
            compare = COMPARE[e.operator]
            return lambda m: int(compare(left(m), right(m))), "int"
        compute = self.operation(e.operator, type)
        return lambda m: compute(m, left(m), right(m)), type

    def operation(self, operator: str, type: Type) -> Callable[[Machine, Value, Value], Value]:
        if type == "double":
            return lambda m, a, b: m.arithmetic.compute(operator, a, b)
        return lambda m, a, b: m.fit(integer(operator, a, b), type)

    def call(self, e: Call) -> Typed:
        if e.function not in self.functions:
            arguments = [self.converted(a, "double") for a in e.arguments if not isinstance(a, Section)]
            name = e.function
            return lambda m: m.arithmetic.functions[name](*(a(m) for a in arguments)), "double"
        callee, code = self.signatures[e.function], self.functions[e.function]
        passed = [self.argument(a, p) for a, p in zip(e.arguments, callee.parameters, strict=True)]
        names, uid = [(p.name, p.type) for p in callee.parameters], e.uid

        def run(m: Machine) -> Value:
            values = [a(m) for a in passed]
            outer, m.calls = m.calls, (*m.calls, uid)
            frame = [
                v if isinstance(v, View) else scalar(m, *n, v) for n, v in zip(names, values, strict=True)
            ]
            value = code(m, frame)
            m.calls = outer
            return value

        return run, "int" if callee.type == "void" else callee.type

    def argument(self, a: Expr | Section, p: Parameter) -> Code:
        if p.structure and p.extents is None:
            return self.whole(a)
        return self.pointer(a) if self.is_pointer(a) else self.converted(a, p.type)
