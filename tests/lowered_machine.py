"""Runs lowered functions on small arrays: what the program of the model means, step by step."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import Any

from polylsp.frontends.c.types import wrapped
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Assume,
    Binary,
    Block,
    Call,
    Cast,
    Constant,
    Declare,
    Evaluate,
    Expr,
    Field,
    Floating,
    Function,
    If,
    Index,
    Integer,
    Jump,
    Loop,
    Place,
    Pointer,
    Read,
    Select,
    Statement,
    Type,
    Unary,
)

Address = tuple[Any, ...]
FUNCTIONS = {"fabs": abs, "abs": abs, "fmax": max, "fmin": min, "sqrt": math.sqrt}


@dataclass
class Machine:
    """Memory: every scalar at its address, (variable, step, step, ...)."""

    memory: dict[Address, Any] = field(default_factory=dict)
    steps: int = 0

    def run(self, function: Function) -> None:
        self.statement(function.body)

    def statement(self, statement: Statement) -> str:
        """Execute; the jump under way, or an empty string."""
        self.steps += 1
        assert self.steps < 100_000
        match statement:
            case Block(statements=statements):
                for item in statements:
                    if jump := self.statement(item):
                        return jump
            case Declare():
                pass
            case Assign():
                self.assign(statement)
            case Assume(condition=condition):
                assert self.value(condition)
            case Evaluate(value=value):
                self.value(value)
            case If(condition=condition, then=then, otherwise=otherwise):
                return self.statement(then if self.value(condition) else otherwise)
            case Loop():
                return self.loop(statement)
            case Jump(kind=kind):
                return kind
            case _:
                raise AssertionError(statement)
        return ""

    def loop(self, loop: Loop) -> str:
        first = loop.post_test
        while True:
            if not first:
                self.statement(loop.prologue)
                if loop.condition is not None and not self.value(loop.condition):
                    return ""
            first = False
            jump = self.statement(loop.body)
            if jump in ("break", "return"):
                return "" if jump == "break" else jump
            self.statement(loop.step)

    def assign(self, statement: Assign) -> None:
        address = self.address(statement.target)
        value = self.value(statement.value)
        type = statement.target.type
        if statement.operator is not None:
            # C computes in the common type, to which the value has been converted.
            own = self.memory[address]
            kind = statement.value.type
            if isinstance(type, Pointer):
                value = compute(statement.operator, own, value, type)
            else:
                shift = statement.operator in ("<<", ">>")
                value = compute(statement.operator, own if shift else fitted(own, kind), value, kind)
        self.memory[address] = fitted(value, type)

    def address(self, place: Place) -> Address:
        address: Address = (place.variable.name,)
        pointer = isinstance(place.variable.type, Pointer)
        for step in place.steps:
            if isinstance(step, Field):
                address += (step.name,)
            elif pointer:
                base = self.memory[address]
                address = (*base[:-1], base[-1] + self.value(step.subscript))
                pointer = False
            else:
                address += (self.value(step.subscript),)
        return address

    def value(self, expr: Expr) -> Any:
        match expr:
            case Constant(value=value, type=type):
                return fitted(value, type)
            case Read(place=place):
                return self.memory[self.address(place)]
            case AddressOf(place=place):
                assert not place.steps or isinstance(place.steps[-1], Index)
                return self.address(place)
            case Unary(operator=operator, operand=operand, type=type):
                value = self.value(operand)
                return fitted(
                    {"-": lambda: -value, "~": lambda: ~value, "!": lambda: int(not value)}[operator](), type
                )
            case Binary(operator="&&", left=left, right=right):
                return int(bool(self.value(left)) and bool(self.value(right)))
            case Binary(operator="||", left=left, right=right):
                return int(bool(self.value(left)) or bool(self.value(right)))
            case Binary(operator=operator, left=left, right=right, type=type):
                return compute(operator, self.value(left), self.value(right), type)
            case Select(condition=condition, then=then, otherwise=otherwise):
                return self.value(then if self.value(condition) else otherwise)
            case Cast(operand=operand, type=type):
                return fitted(self.value(operand), type)
            case Call(function="bump", arguments=arguments):
                address = self.value(arguments[0])
                self.memory[address] += 1
                return self.memory[address]
            case Call(function=name, arguments=arguments, pure=True):
                return FUNCTIONS[name](*map(self.value, arguments))
            case _:
                raise AssertionError(expr)


def compute(operator: str, left: Any, right: Any, type: Type) -> Any:
    """An operator of C between two values, the result in `type`."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        if operator == "-":
            return left[-1] - right[-1]
        left, right = left[-1], right[-1]
    if isinstance(left, tuple):
        return (*left[:-1], left[-1] + (right if operator == "+" else -right))
    if operator in ("<", "<=", ">", ">=", "==", "!="):
        comparisons = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}
        return int({**comparisons, "==": left == right, "!=": left != right}[operator])
    if operator in ("/", "%") and isinstance(type, Integer):
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return fitted(quotient if operator == "/" else left - right * quotient, type)
    if operator == "/":
        return left / right
    results = {"+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right}
    bits = {"<<": lambda: left << right, ">>": lambda: left >> right, "&": lambda: left & right}
    more = {"|": lambda: left | right, "^": lambda: left ^ right}
    return fitted((results | bits | more)[operator](), type)


def fitted(value: Any, type: Type) -> Any:
    """A value as an object of the type holds it."""
    if isinstance(value, tuple):
        return value
    match type:
        case Integer():
            return wrapped(int(value), type)
        case Floating(bits=32):
            return struct.unpack("f", struct.pack("f", value))[0]
        case Floating():
            return float(value)
        case _:
            return value
