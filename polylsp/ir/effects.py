"""Traversal and rewriting of statements, and their syntactic effects.

The effects are a cheap, conservative approximation before symbolic evaluation: the scalars and places that
statements read and write, without regard to iterations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from polylsp.core.query import by_identity
from polylsp.ir.program import (
    AddressOf,
    Array,
    Assign,
    Assume,
    Binary,
    Block,
    Call,
    Cast,
    Complex,
    Declare,
    Evaluate,
    Expr,
    Field,
    Floating,
    Function,
    If,
    Index,
    Integer,
    Invariant,
    Jump,
    Loop,
    Place,
    Pointer,
    Read,
    Select,
    Statement,
    Struct,
    Type,
    Unary,
    Unsupported,
    Variable,
    subexpressions,
    subscripts,
)


@dataclass(frozen=True, slots=True)
class Effects:
    """`scalars`: variables assigned as a whole (by unique name); `places`: other places written;
    `calls`: calls that are not pure; `variables`: every variable named."""

    scalars: frozenset[str]
    places: tuple[Place, ...]
    calls: tuple[Call, ...]
    variables: frozenset[Variable]


@by_identity(1024)
def effects(*blocks: Statement) -> Effects:
    """Union of the effects of the statements, at any depth. Those of the last statements are remembered: each
    is queried again with all that are around it."""
    return _effects(*blocks) if len(blocks) == 1 else _union(map(effects, blocks))


def _union(parts: Iterable[Effects]) -> Effects:
    every = list(parts)
    return Effects(
        frozenset[str]().union(*(each.scalars for each in every)),
        tuple(place for each in every for place in each.places),
        tuple(call for each in every for call in each.calls),
        frozenset[Variable]().union(*(each.variables for each in every)),
    )


def _effects(block: Statement) -> Effects:
    scalars: set[str] = set()
    places: list[Place] = []
    calls: list[Call] = []
    variables: set[Variable] = set()
    for statement in walk(block):
        if isinstance(statement, Assign):
            if statement.target.steps:
                places.append(statement.target)
            else:
                scalars.add(statement.target.variable.name)
            variables.add(statement.target.variable)
        elif isinstance(statement, Declare):
            scalars.add(statement.variable.name)
        for expression in expressions(statement):
            for node in subexpressions(expression):
                if isinstance(node, Call) and not node.pure:
                    calls.append(node)
                elif isinstance(node, (Read, AddressOf)):
                    variables.add(node.place.variable)
    return Effects(frozenset(scalars), tuple(places), tuple(calls), frozenset(variables))


def walk(*statements: Statement) -> Iterator[Statement]:
    """Every statement, outermost first, in source order."""
    if len(statements) == 1:
        return iter(_walked(statements[0]))
    return chain.from_iterable(map(_walked, statements))


def _walked(statement: Statement) -> tuple[Statement, ...]:
    return (statement,) if isinstance(statement, _LEAVES) else _inside(statement)


_LEAVES = (Assign, Evaluate, Declare, Jump, Assume)


@by_identity(1024)
def _inside(statement: Statement) -> tuple[Statement, ...]:
    """A statement and those inside it, which are remembered as effects are."""
    return tuple(_each(statement))


def _each(outermost: Statement) -> Iterator[Statement]:
    pending = [outermost]
    while pending:
        statement = pending.pop()
        yield statement
        # As in `subexpressions`.
        if isinstance(statement, _LEAVES):
            pass
        elif isinstance(statement, Block):
            pending += statement.statements[::-1]
        elif isinstance(statement, If):
            pending += (statement.otherwise, statement.then)
        elif isinstance(statement, Loop):
            pending += (statement.step, statement.body, statement.prologue)
        else:
            pending += statement.loops[::-1]


def expressions(statement: Statement) -> Iterator[Expr]:
    """The expressions that a statement evaluates itself (not those of statements inside it)."""
    match statement:
        case Assign(target, _, value, _):
            yield value
            yield from subscripts(target)
        case Evaluate(value, _):
            yield value
        case If(condition, _, _, _) | Assume(condition, _):
            yield condition
        case Loop():
            if statement.condition is not None:
                yield statement.condition
        case Jump(_, _, value):
            if value is not None:
                yield value
        case Declare() | Block() | Unsupported():
            pass


def nodes(statement: Statement) -> Iterator[Expr]:
    """The expressions that a statement itself evaluates, and all their parts."""
    for expression in expressions(statement):
        yield from subexpressions(expression)


def places_in(*statements: Statement) -> Iterator[Place]:
    """The places, at any depth, that are read, written, or whose address is taken."""
    for statement in walk(*statements):
        if isinstance(statement, Assign):
            yield statement.target
        yield from (node.place for node in nodes(statement) if isinstance(node, (Read, AddressOf)))


def declared_in(*statements: Statement) -> set[Variable]:
    """The variables that statements declare, at any depth."""
    return {s.variable for s in walk(*statements) if isinstance(s, Declare)}


def variables_of(function: Function) -> frozenset[Variable]:
    """Every variable that a function declares or names."""
    return effects(function.body).variables | declared_in(function.body) | set(function.parameters)


def names_in(value: Expr) -> set[str]:
    """The unique names of the variables that an expression reads, or takes the address of, at any depth."""
    return {n.place.variable.name for n in subexpressions(value) if isinstance(n, (Read, AddressOf))}


def conjuncts(condition: Expr) -> Iterator[Expr]:
    """The parts that must all hold where a condition does."""
    if isinstance(condition, Binary) and condition.operator == "&&":
        yield from conjuncts(condition.left)
        yield from conjuncts(condition.right)
    else:
        yield condition


def loops_in(*statements: Statement) -> list[Loop]:
    """Every loop, in source order."""
    return [s for s in walk(*statements) if isinstance(s, Loop)]


# --- Other places --------------------------------------------------------------------------


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


# --- Values that decide conditions ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Changes:
    """The values that each variable (by unique name) is assigned as a whole in a piece of a program."""

    values: dict[str, list[Expr]]

    def behind(self, condition: Expr) -> frozenset[str]:
        """The variables from which the scalars that decide a condition are computed, these included; not
        those that only choose an element of an array, or are given to a function."""
        found, pending = set[str](), list(_scalars_in(condition))
        while pending:
            name = pending.pop()
            if name not in found:
                found.add(name)
                pending += [one for value in self.values.get(name, ()) for one in _scalars_in(value)]
        return frozenset(found)

    def is_invariant(self, condition: Expr) -> bool:
        """True if a condition is about whole numbers in variables that nothing here assigns."""
        for node in subexpressions(condition):
            if isinstance(node, (Call, AddressOf, Invariant)):
                return False
            variable = node.place.variable if isinstance(node, Read) else None
            if variable is None:
                continue
            plain = isinstance(variable.type, Integer) and variable.name == variable.source_name
            if not plain or variable.escapes or variable.name in self.values:
                return False
        return True

    def counts(self, name: str) -> bool:
        """True if some assignment of a variable computes its value from the previous one."""
        return any(name in _scalars_in(value) for value in self.values.get(name, ()))


def changes(statement: Statement) -> Changes:
    """The assignments in a statement; `x += e` computes from `x` too."""
    found: dict[str, list[Expr]] = {}
    for inner in walk(statement):
        if isinstance(inner, Assign) and not inner.target.steps:
            values = found.setdefault(inner.target.variable.name, [])
            values.append(inner.value)
            if inner.operator is not None:
                values.append(Read(inner.target))
    return Changes(found)


def _scalars_in(expression: Expr) -> Iterator[str]:
    """The variables that an expression reads as a whole, outside of subscripts and arguments."""
    match expression:
        case Read(place) if not place.steps:
            yield place.variable.name
        case Unary(_, operand) | Cast(operand):
            yield from _scalars_in(operand)
        case Binary(_, left, right):
            yield from _scalars_in(left)
            yield from _scalars_in(right)
        case Select(condition, then, otherwise):
            for part in (condition, then, otherwise):
                yield from _scalars_in(part)
        case _:
            pass


def counts_iterations(value: Expr, loop: Loop) -> bool:
    """True if a value is computed from variables that the loop updates from one iteration to the next."""
    found = changes(loop)
    return any(found.counts(name) for name in found.behind(value))


# --------------------------------------------------------------------------------------------------
# Pointers on the way to a place, and what they may lead to.
# --------------------------------------------------------------------------------------------------


def follows_pointer(place: Place) -> bool:
    """True if a place is reached through a pointer, in a variable or in memory."""
    variable = place.variable
    given = isinstance(variable.type, Array) and variable.storage == "parameter"
    first = bool(place.steps) and (given or isinstance(variable.type, Pointer))
    return first or any(True for _ in pointers_followed(place))


def pointers_followed(place: Place) -> Iterator[Place]:
    """The pointers in memory that are followed on the way to a place, the first of them first."""
    of_type: Type | None = place.variable.type
    for number, step in enumerate(place.steps):
        if isinstance(step, Index) and number > 0 and isinstance(of_type, Pointer):
            yield Place(place.variable, place.steps[:number], of_type, place.site)
        of_type = step.type if isinstance(step, Field) else element_of(of_type)


def element_of(of_type: Type | None) -> Type | None:
    """Element type of an array, or target type of a pointer."""
    if isinstance(of_type, Pointer):
        return of_type.to
    return of_type.element if isinstance(of_type, Array) else None


def may_alias_types(left: Type, right: Type) -> bool:
    """True if C lets an lvalue of one type touch an object of the other."""
    if is_character(left) or is_character(right):
        return True
    if isinstance(left, Integer) and isinstance(right, Integer):
        return left.bits == right.bits
    if isinstance(left, Floating | Complex) and isinstance(right, Floating | Complex):
        # A complex number is represented as an array of its two parts (C11 6.2.5).
        return left.bits == right.bits
    if isinstance(left, Pointer) and isinstance(right, Pointer):
        return may_be_compatible(left, right)
    scalar = (Integer, Floating, Complex, Pointer)
    return not (isinstance(left, scalar) and isinstance(right, scalar))


def may_be_compatible(left: Type, right: Type) -> bool:
    """True unless two types are surely not compatible (C11, 6.2.7): an object has at most one of them then.
    Programs see pointers as `void *` and as those to characters."""
    match left, right:
        case Pointer(first), Pointer(second):
            return may_be_compatible(first, second)
        case ((Integer() | Floating() | Complex()), (Integer() | Floating() | Complex())):
            return may_alias_types(left, right)
        case _:
            known = (Integer, Floating, Complex, Struct, Pointer)
            is_open = any(is_character(each) or not isinstance(each, known) for each in (left, right))
            return is_open or type(left) is type(right)


def is_character(of_type: Type) -> bool:
    """True for the type of a byte, by which programs see objects of any type (C11 6.5p7)."""
    return isinstance(of_type, Integer) and of_type.bits == 8
