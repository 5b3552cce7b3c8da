"""Leaving a loop early: in which iterations a `break` is taken, where that depends on the iterators and
on fixed values only.
"""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.analysis.effects import effects, walk
from polylsp.analysis.evaluate import condition_of, value_of
from polylsp.analysis.induction import own_jumps
from polylsp.analysis.scope import Scope
from polylsp.analysis.state import Opaque
from polylsp.analysis.value import FALSE, TRUE, AllOf, AnyOf, Condition, negate
from polylsp.analysis.written import with_operator
from polylsp.model.program import Assign, Block, Expr, If, Integer, Jump, Loop, Statement
from polylsp.model.rejection import Rejection

Ways = tuple[Condition, Condition]
"""Conditions under which a statement leaves the loop, and under which the statement after it is reached."""


def early_exit(loop: Loop) -> Rejection | None:
    """First jump that leaves a loop, as the reason why the loop is undecided, unless the iteration of the
    jump is determined."""
    jumps = [*(j for j in own_jumps(loop.body) if j.kind == "break"), *returns_in(loop)]
    if not jumps:
        return None
    word = jumps[0].kind
    text = f"`{word}` may end this loop early, so later iterations depend on earlier ones"
    advice = f"run all iterations and test the condition of the `{word}` afterwards"
    return Rejection("data-dependent-exit", jumps[0].site, text, advice)


def returns_in(loop: Loop) -> Iterator[Jump]:
    """Every `return` in the loop, also in loops inside it."""
    return (s for s in walk(loop.body) if isinstance(s, Jump) and s.kind == "return")


def exit_condition(loop: Loop, scope: Scope) -> Condition | None:
    """Condition under which a started iteration leaves the loop by `break`, in terms of the values that
    `scope` has at the start of the body; `None` where that depends on data."""
    before = scope.environment
    scope.environment = dict(before)
    if not loop.post_test:
        _block(loop.prologue, scope)
    ways = _block(loop.body, scope)
    scope.environment = before
    return None if ways is None else ways[0]


def _block(block: Block, scope: Scope) -> Ways | None:
    leaves, goes_on = FALSE, TRUE
    for statement in block.statements:
        ways = _statement(statement, scope)
        if ways is None:
            return None
        leaves = _either(leaves, _both(goes_on, ways[0]))
        goes_on = _both(goes_on, ways[1])
    return leaves, goes_on


def _statement(statement: Statement, scope: Scope) -> Ways | None:
    match statement:
        case Jump(kind):
            return (TRUE, FALSE) if kind == "break" else (FALSE, FALSE)
        case Block():
            return _block(statement, scope)
        case If(condition, then, otherwise, _) if any(own_jumps(Block((statement,)))):
            return _branches(statement, condition, then, otherwise, scope)
        case Assign(target, _, _, _) if not target.steps and isinstance(target.variable.type, Integer):
            scope.environment[target.variable.name] = value_of(with_operator(statement), scope)
        case _:
            _forget(statement, scope)
    return FALSE, TRUE


def _branches(statement: If, condition: Expr, then: Block, otherwise: Block, scope: Scope) -> Ways | None:
    known, opaque = condition_of(condition, scope)
    if opaque is not None:
        return None
    before = scope.environment
    found: list[Ways | None] = []
    for branch in (then, otherwise):
        scope.environment = dict(before)
        found.append(_block(branch, scope))
    scope.environment = before
    _forget(statement, scope)
    first, second = found
    if first is None or second is None:
        return None
    refused = negate(known)
    leaves = _either(_both(known, first[0]), _both(refused, second[0]))
    return leaves, _either(_both(known, first[1]), _both(refused, second[1]))


def _forget(statement: Statement, scope: Scope) -> None:
    """Mark the variables that a statement assigns as unknown."""
    text = "this value is only known when the program runs"
    site = scope.frames[-1].loop.header
    unknown = Opaque(len(scope.frames), Rejection("data-dependent-value", site, text))
    for name in effects(statement).scalars:
        scope.environment[name] = unknown


def _both(left: Condition, right: Condition) -> Condition:
    if FALSE in (left, right):
        return FALSE
    return right if left == TRUE else left if right == TRUE else AllOf((left, right))


def _either(left: Condition, right: Condition) -> Condition:
    if TRUE in (left, right):
        return TRUE
    return right if left == FALSE else left if right == FALSE else AnyOf((left, right))
