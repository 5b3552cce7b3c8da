"""Statements and functions to code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..looping import Code, LoopCode, inductive, run_in_order, run_reordered
from ..machine import Machine
from ..nests import (
    Assign,
    Declare,
    Evaluate,
    Exchange,
    For,
    Function,
    If,
    Jump,
    Loop,
    Statement,
    While,
    counter,
    moved,
)
from ..values import Value
from .assignments import Assignments
from .scopes import Frame, Symbol
from .starting import variable


class Statements(Assignments):
    """Code that runs."""

    __slots__ = ()

    def function(self, function: Function) -> Callable[[Machine, list[Any]], Value]:
        base = {v.name: Symbol(i, v.type, bool(v.extents)) for i, v in enumerate(self.program.globals)}
        self.frame = Frame(function, [base, {}], len(base))
        moving: list[tuple[int, str]] = []
        for parameter in function.parameters:
            pointer = parameter.extents is not None and parameter.name in moved(function)
            symbol = (parameter.extents is not None, pointer, parameter.structure, parameter.rows)
            index = self.declare(parameter.name, parameter.type, *symbol)
            moving += [(index, parameter.name)] if pointer else []
        self.frame.scopes.append({})
        codes = [self.statement(statement) for statement in function.body]
        result = None
        if function.result is not None and function.type != "void":
            result = self.converted(function.result, function.type)
        size, shared = self.frame.size, len(base)

        def call(m: Machine, arguments: list[Any]) -> Value:
            outer = m.env
            m.env = outer[:shared] + arguments + [None] * (size - shared - len(arguments))
            for index, name in moving:
                m.env[index] = variable(m, name, m.env[index])
            for code in codes:
                code(m)
            value = result(m) if result else None
            m.env = outer
            return value

        return call

    def block(self, body: tuple[Statement, ...]) -> Code:
        self.frame.scopes.append({})
        codes = [self.statement(statement) for statement in body]
        self.frame.scopes.pop()

        def run(m: Machine) -> str | None:
            for code in codes:
                jump = code(m)
                if jump:
                    return jump
            return None

        return run

    def statement(self, statement: Statement) -> Code:
        match statement:
            case Declare():
                return self.declaration(statement)
            case Assign(target=target, value=value, mask=mask) if mask is not None:
                return self.masked_assignment(target, mask, value)
            case Assign(target=target, value=value, operator=operator):
                return self.assignment(target, operator, value)
            case Evaluate(call=call):
                code, _ = self.expression(call)
                return lambda m: code(m) and None
            case If(condition=condition, then=then, otherwise=otherwise):
                test, yes, no = self.condition(condition), self.block(then), self.block(otherwise)
                return lambda m: yes(m) if test(m) else no(m)
            case Jump(kind=kind):
                return lambda m: kind
            case For() | While():
                return self.loop(statement)
            case Exchange(left=left, right=right):
                return _exchange(self.find(left).index, self.find(right).index)

    def loop(self, loop: Loop) -> Code:
        self.frame.scopes.append({})
        first = self.statement(loop.first) if isinstance(loop, For) and loop.first is not None else None
        names = {name: symbol.index for scope in self.frame.scopes for name, symbol in scope.items()}
        condition = self.condition(loop.condition)
        body = self.block(loop.body)
        step = self.statement(loop.step) if isinstance(loop, For) and loop.step is not None else None
        counts = counter(loop)
        counted = names.get(counts) if counts else None
        post_test = isinstance(loop, While) and loop.post_test
        code = LoopCode(
            (self.frame.function.name, loop.ordinal),
            condition, body, step, post_test, counted, names, inductive(loop, names),
        )  # fmt: skip
        self.frame.scopes.pop()

        def run(m: Machine) -> None:
            if first is not None:
                first(m)
            if m.reordering is not None and m.reordering.loop == code.key:
                run_reordered(m, code)
            else:
                run_in_order(m, code)

        return run


def _exchange(left: int, right: int) -> Code:
    def run(m: Machine) -> None:
        m.env[left], m.env[right] = m.env[right], m.env[left]

    return run
