"""Statements and expressions with other places, for code that is generated from a part of a program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polylsp.ir.program import (
    AddressOf,
    Assign,
    Assume,
    Binary,
    Block,
    Call,
    Cast,
    Declare,
    Evaluate,
    Expr,
    Field,
    If,
    Index,
    Jump,
    Loop,
    Place,
    Read,
    Select,
    Statement,
    Unary,
    subexpressions,
)


class Rewriter:
    """Rewrites the places of statements: a subclass says by `placed` what stands for each, and by `declared`
    and `assigned` what is left of declarations and assignments. Sites stay, so that a model still describes
    the result."""

    def placed(self, place: Place, steps: tuple[Index | Field, ...]) -> Place:
        """A place, whose `steps` have been rewritten."""
        return replace(place, steps=steps)

    def declared(self, declare: Declare) -> Iterator[Statement]:
        """A declaration."""
        yield declare

    def assigned(self, assign: Assign) -> Iterator[Statement]:
        """An assignment."""
        yield replace(assign, target=self.place(assign.target), value=self.value(assign.value))

    def block(self, block: Block) -> Block:
        """A block."""
        return Block(tuple(each for s in block.statements for each in self.statement(s)))

    def statement(self, statement: Statement) -> Iterator[Statement]:
        """A statement."""
        match statement:
            case Block():
                yield self.block(statement)
            case Assign():
                yield from self.assigned(statement)
            case Evaluate(value, _):
                yield replace(statement, value=self.value(value))
            case Assume(condition, _):
                yield replace(statement, condition=self.value(condition))
            case If(condition, then, otherwise, site):
                yield If(self.value(condition), self.block(then), self.block(otherwise), site)
            case Jump(_, _, value):
                yield replace(statement, value=self.value(value)) if value is not None else statement
            case Loop():
                condition = self.value(statement.condition) if statement.condition is not None else None
                yield replace(
                    statement,
                    prologue=self.block(statement.prologue),
                    condition=condition,
                    body=self.block(statement.body),
                    step=self.block(statement.step),
                )
            case Declare():
                yield from self.declared(statement)
            case _:
                yield statement

    def place(self, place: Place) -> Place:
        """A place."""
        steps = tuple(
            replace(s, subscript=self.value(s.subscript)) if isinstance(s, Index) else s for s in place.steps
        )
        return self.placed(place, steps)

    def value(self, value: Expr) -> Expr:
        """An expression."""
        if not any(isinstance(each, (Read, AddressOf)) for each in subexpressions(value)):
            return value
        match value:
            case Read(place) | AddressOf(place):
                return replace(value, place=self.place(place))
            case Unary(_, operand) | Cast(operand):
                return replace(value, operand=self.value(operand))
            case Binary(_, left, right):
                return replace(value, left=self.value(left), right=self.value(right))
            case Select(condition, then, otherwise):
                parts = self.value(condition), self.value(then), self.value(otherwise)
                return replace(value, condition=parts[0], then=parts[1], otherwise=parts[2])
            case Call(_, arguments):
                return replace(value, arguments=tuple(map(self.value, arguments)))
            case _:
                return value
