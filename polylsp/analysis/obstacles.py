"""Obstacles to static control, the variables that they may change, and the reachability of the code after
them."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.analysis.calls import is_known
from polylsp.analysis.effects import expressions, walk
from polylsp.analysis.summaries import Calls
from polylsp.model.expressions import subexpressions
from polylsp.model.library import call_obstacle, effect_of
from polylsp.model.program import (
    AddressOf,
    Array,
    Assign,
    Block,
    Call,
    Cast,
    Evaluate,
    Jump,
    OtherType,
    Pointer,
    Read,
    Statement,
    Unsupported,
    Variable,
)
from polylsp.model.rejection import Rejection


def obstacle(statement: Statement, calls: Calls) -> Rejection | None:
    """First construct in a statement that cannot be under static control."""
    for inner in walk(statement):
        if isinstance(inner, Unsupported):
            return inner.rejection
        for expression in expressions(inner):
            for node in subexpressions(expression):
                if isinstance(node, Call) and not is_known(node, calls):
                    return unknown_call(node, calls)
    return None


def unknown_call(call: Call, calls: Calls) -> Rejection:
    """Rejection of a call whose effects keep iterations in order, or are unknown."""
    if call.function in calls.refused:
        text = f"what `{call.function}` reads and writes cannot be told: {calls.refused[call.function]}"
        return Rejection("unknown-call", call.site, text)
    known = call_obstacle(call.function)
    if known is not None:
        return Rejection("unknown-call", call.site, known.reason, known.advice)
    advice = f"define `{call.function}` in this file"
    if call.type != OtherType("void"):
        pointed = any(isinstance(each.type, (Pointer, Array)) for each in call.arguments)
        promise = "pure" if pointed else "const"
        when = "it writes nothing" if pointed else "it only computes from its arguments"
        advice += f", or declare it `__attribute__(({promise}))` if {when}"
    return Rejection("unknown-call", call.site, f"the effects of `{call.function}` are unknown", advice)


def is_exposed(variable: Variable) -> bool:
    """True if code that is not analysed can assign a variable."""
    return not variable.const and (variable.escapes or variable.storage in ("global", "static", "cell"))


def led_elsewhere(statement: Statement) -> frozenset[str]:
    """The variables that a statement sets to values that may alias others; not those that get the result of a
    call."""
    found: set[str] = set()
    for inner in walk(statement):
        if isinstance(inner, Assign) and not inner.target.steps:
            value = inner.value
            while isinstance(value, Cast):
                value = value.operand
            names = any(isinstance(node, (Read, AddressOf)) for node in subexpressions(value))
            if names and not isinstance(value, Call):
                found.add(inner.target.variable.name)
    return frozenset(found)


def leaves(block: Block) -> bool:
    """True if control never reaches the statements after a block in the source."""
    match list(flat(block.statements))[-1:]:
        case [Jump() | Unsupported(leaves=True)]:
            return True
        case [Evaluate(Call(name, ends=ends), _)]:
            return ends or effect_of(name) == "termination"
        case _:
            return False


def flat(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    """The statements of blocks inside of each other, in order."""
    for statement in statements:
        if isinstance(statement, Block):
            yield from flat(statement.statements)
        else:
            yield statement
