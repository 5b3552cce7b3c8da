"""Syntactic must-execute analysis: statements and reads that happen each time a piece of a program runs."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.ir.effects import nodes, walk
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Assume,
    Binary,
    Block,
    Call,
    Cast,
    Evaluate,
    Expr,
    Function,
    If,
    Jump,
    Loop,
    Pointer,
    Read,
    Select,
    Simple,
    Statement,
    Unary,
    Unsupported,
    Variable,
    subscripts,
)


def always_run(block: Block, inner_loops: bool = False, completed: bool = False) -> Iterator[Simple]:
    """The statements that run whenever the block does, in order; with `inner_loops` those in the bodies
    of loops too, as if each of them ran at least once. `completed`: the block is an iteration after which
    there is another one, so that no `break` or `return` is taken in it."""
    for statement in block.statements:
        if isinstance(statement, Block):
            yield from always_run(statement, inner_loops, completed)
        if _leaves(statement, completed):
            return
        if isinstance(statement, Block):
            continue
        if isinstance(statement, Loop):
            yield statement
            if inner_loops:
                yield from always_run(statement.body, inner_loops)
        else:
            yield statement
            if isinstance(statement, Jump):
                return


def ordered_statements(iteration: Block, inner: bool = False) -> Iterator[Unsupported]:
    """The statements with an order of their runs that an iteration executes, if there is another one after
    it; those in the bodies of loops too, as if each ran at least once (`inner`: this is such a body)."""
    for statement in iteration.statements:
        inside = list(walk(statement))
        if isinstance(statement, Block):
            yield from ordered_statements(statement, inner)
        elif isinstance(statement, Loop):
            yield from ordered_statements(statement.body, inner=True)
        elif isinstance(statement, Unsupported) and statement.order is not None:
            yield statement
        jumps = (s.kind for s in inside if isinstance(s, Jump))
        skips = any(inner or kind == "continue" for kind in jumps) and not isinstance(statement, Loop)
        if skips or any(isinstance(s, Unsupported) and not s.completes for s in inside):
            return


def always_assigned(block: Block, variable: Variable) -> Assign | None:
    """The first assignment of a whole variable that runs whenever the block does."""
    return next(all_always_assigned(block, variable), None)


def all_always_assigned(block: Block, variable: Variable) -> Iterator[Assign]:
    """The assignments of a whole variable that run whenever the block does, up to one of a part of it."""
    for statement in always_run(block):
        if isinstance(statement, Assign) and statement.target.variable == variable:
            if not statement.target.steps:
                yield statement
            elif not isinstance(variable.type, Pointer):
                return


def always_read(block: Block, variable: Variable) -> Read | None:
    """The first read of a variable that surely happens, if its loops run; the block does not change it."""
    for statement in always_run(block, inner_loops=True):
        for expression in _evaluated(statement):
            for node in _always_evaluated(expression):
                if isinstance(node, Read) and node.place.variable == variable:
                    return node
    return None


def reads_of(statement: Statement) -> Iterator[Read]:
    """Reads that a statement itself surely makes."""
    for expression in _evaluated(statement):
        yield from (node for node in _always_evaluated(expression) if isinstance(node, Read))


def evaluated_calls(statement: Statement) -> Iterator[Call]:
    """The calls that a statement itself surely makes."""
    for expression in _evaluated(statement):
        yield from (node for node in _always_evaluated(expression) if isinstance(node, Call))


def first_read_after(function: Function, loop: Loop, variable: Variable) -> Read | None:
    """The read of a variable after a loop that surely happens before anything else is done with it."""
    return first_read(_following(function.body, loop) or (), variable)


def first_read(statements: tuple[Statement, ...], variable: Variable) -> Read | None:
    """The read of a variable that surely happens before statements do anything else with it."""
    for statement in always_run(Block(statements)):
        reads = [
            node
            for expression in _evaluated(statement)
            for node in _always_evaluated(expression)
            if isinstance(node, Read) and node.place.variable == variable
        ]
        if reads:
            return reads[0]
        if names(statement, variable):
            return None
    return None


def names(statement: Statement, variable: Variable) -> bool:
    """True if a statement mentions a variable at all."""
    return any(each == variable for each in named(statement))


def named(statement: Statement) -> Iterator[Variable]:
    """The variables that a statement assigns, reads or takes the address of, as often as it does."""
    for each in walk(statement):
        if isinstance(each, Assign):
            yield each.target.variable
        for node in nodes(each):
            if isinstance(node, (Read, AddressOf)):
                yield node.place.variable


def may_complete(block: Block) -> bool:
    """True unless a block ends in a `break` or `return` in any case."""
    last = block.statements[-1] if block.statements else None
    match last:
        case Jump(kind):
            return kind == "continue"
        case Block():
            return may_complete(last)
        case If(_, then, otherwise):
            return may_complete(then) or may_complete(otherwise)
        case Unsupported():
            return last.completes
        case _:
            return True


def _leaves(statement: Statement, completed: bool = False) -> bool:
    """True if control may leave through a statement, so that the statements after it need not run, not
    counting, in an iteration that is `completed`, what ends the loop."""
    if isinstance(statement, Jump):
        return statement.kind != "return"
    inside = list(walk(statement))
    loops = [loop for loop in inside if isinstance(loop, Loop)]
    inner = {id(s) for loop in loops for s in walk(loop) if isinstance(s, Jump) and s.kind != "return"}
    ends = ("break", "return") if completed else ()
    jumps = (s for s in inside if isinstance(s, Jump) and id(s) not in inner)
    return any(isinstance(s, Unsupported) for s in inside) or any(jump.kind not in ends for jump in jumps)


def _following(block: Block, loop: Loop) -> tuple[Statement, ...] | None:
    """The statements that run after a loop, as far as nothing around them repeats or chooses."""
    for number, statement in enumerate(block.statements):
        rest = block.statements[number + 1 :]
        if statement is loop:
            return rest
        if isinstance(statement, Block):
            inner = _following(statement, loop)
            if inner is not None:
                return (*inner, *rest)
    return None


def _evaluated(statement: Statement) -> Iterator[Expr]:
    """The expressions that a statement evaluates first, unconditionally."""
    match statement:
        case Assign(target, operator, value, _):
            yield value
            yield from subscripts(target)
            if operator is not None:
                yield Read(target)
        case Evaluate(value, _):
            yield value
        case Jump(_, _, value):
            if value is not None:
                yield value
        case If(condition, _, _, _) | Assume(condition, _):
            yield condition
        case Loop():
            if not statement.post_test and statement.condition is not None:
                yield statement.condition
        case _:
            pass


def _always_evaluated(expression: Expr) -> Iterator[Expr]:
    """The subexpressions that are evaluated for all values."""
    yield expression
    children: tuple[Expr, ...] = ()
    match expression:
        case Read(place) | AddressOf(place):
            children = tuple(subscripts(place))
        case Unary(_, operand) | Cast(operand):
            children = (operand,)
        case Binary("&&" | "||", left, _):
            children = (left,)
        case Binary(_, left, right):
            children = (left, right)
        case Select(condition, _, _):
            children = (condition,)
        case Call(_, arguments):
            children = arguments
        case _:
            pass
    for child in children:
        yield from _always_evaluated(child)
