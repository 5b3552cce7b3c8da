"""Loops: `for`, `while` and `do`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

from polylsp.frontends.c.lower.assignments import effect
from polylsp.frontends.c.lower.context import Context, Effects, Scope, occurrences
from polylsp.frontends.c.lower.sites import token_of
from polylsp.frontends.c.lower.statements import block, statement, statement_end
from polylsp.model.program import (
    Assign,
    Binary,
    Block,
    Constant,
    Expr,
    If,
    Loop,
    Site,
    Statement,
    Unsupported,
    Variable,
)


def loop(context: Context, node: Any) -> list[Statement]:
    """A loop, after the initialisation in its header; a header that declares gets a block."""
    if not isinstance(node, c_ast.For):
        return [_loop(context, node, None)]
    context.scopes.append(Scope())
    before: list[Statement] = []
    declares = isinstance(node.init, c_ast.DeclList)
    for item in node.init.decls if declares else [node.init] if node.init is not None else []:
        before.extend(statement(context, item))
    lowered = _loop(context, node, node.next)
    context.scopes.pop()
    return [Block((*before, lowered))] if declares else [*before, lowered]


def _loop(context: Context, node: Any, next: Any) -> Statement:
    from polylsp.frontends.c.lower.expressions import condition

    fx = Effects()
    test = condition(context, node.cond, fx) if node.cond is not None else None
    step = Effects(after=[])
    if next is not None:
        effect(context, next, step)
    step_block = Block(tuple(step.statements + (step.after or [])))
    body = block(context, node.stmt)
    if isinstance(test, Constant) and test.value and not fx.statements:
        test = None
    rejections = fx.rejections + step.rejections
    site = Site(token_of(node), statement_end(context, node))
    prologue = Block(tuple(fx.statements))
    if rejections:
        # The loop stays, so that it is reported; its effects are unknown.
        blocked = Unsupported(rejections[0], header(context, node))
        prologue, test, step_block = Block((blocked,)), None, Block()
    return Loop(
        context.ordinals[id(node)],
        _KINDS[type(node)],
        iterator(test, prologue, step_block, body),
        prologue,
        test,
        body,
        step_block,
        isinstance(node, c_ast.DoWhile),
        header(context, node),
        site,
    )


_KINDS: dict[type, Any] = {c_ast.For: "for", c_ast.While: "while", c_ast.DoWhile: "do"}


def runs_once(node: Any) -> bool:
    """True if a node is `do { ... } while (0)` as macros use it: a block, not a loop."""
    if not isinstance(node, c_ast.DoWhile):
        return False
    never = isinstance(node.cond, c_ast.Constant) and node.cond.value == "0"
    return never and not _jumps(node.stmt, (c_ast.Break, c_ast.Continue))


def _jumps(node: Any, kinds: tuple[type, ...]) -> bool:
    """True if a loop's body has a `break` or `continue` that belongs to the loop itself."""
    if isinstance(node, kinds):
        return True
    if isinstance(node, c_ast.For | c_ast.While | c_ast.DoWhile):
        return False
    inner = (c_ast.Continue,) if isinstance(node, c_ast.Switch) else kinds
    return any(_jumps(child, inner) for _, child in node.children())


def header(context: Context, node: Any) -> Site:
    """`for (...)`, `while (...)`, or the word `do`."""
    keyword = token_of(node)
    if isinstance(node, c_ast.DoWhile):
        return Site(keyword, keyword)
    return context.sites.parentheses_after(keyword)


def iterator(condition: Expr | None, prologue: Block, step: Block, body: Block) -> str | None:
    """The source name of the variable that counts: changed by the step (else in the condition,
    else by a constant in the body) and looked at by the condition."""
    stepped = list(_changed(step))
    for candidates in (stepped, list(_changed(prologue)), list(_counted(body))):
        for variable in candidates:
            if condition is None or occurrences(condition, variable):
                return variable.source_name
    return stepped[0].source_name if stepped else None


def _changed(block: Block) -> Iterator[Variable]:
    for item in block.statements:
        if isinstance(item, Assign) and not item.target.steps and "@@" not in item.target.variable.name:
            yield item.target.variable
        elif isinstance(item, If):
            yield from _changed(item.then)
            yield from _changed(item.otherwise)


def _counted(block: Block) -> Iterator[Variable]:
    """Scalars that the body changes by a constant."""
    for item in block.statements:
        match item:
            case Assign(target=target, operator="+" | "-", value=Constant()) if not target.steps:
                yield target.variable
            case Assign(target=target, operator=None, value=Binary(operator="+" | "-")) if (
                not target.steps and occurrences(item.value, target.variable)
            ):
                yield target.variable
            case Block():
                yield from _counted(item)
            case If():
                yield from _counted(item.then)
                yield from _counted(item.otherwise)
            case _:
                pass
