"""Lowering of C statements and loops.

Unmodelled statements become `Unsupported`, with the loops inside retained.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

from polylsp.frontends.c.assignments import effect
from polylsp.frontends.c.declarations import declare_local, define_type
from polylsp.frontends.c.for_headers import unusual
from polylsp.frontends.c.forward_exits import before_label
from polylsp.frontends.c.lowering_context import Context, Effects, Scope, occurrences, refuse, token_of
from polylsp.frontends.c.switches import switch
from polylsp.frontends.c.values import convert, negated, settle
from polylsp.ir.program import (
    Assign,
    Assume,
    Binary,
    Block,
    Constant,
    Declare,
    Expr,
    If,
    Jump,
    Loop,
    OtherType,
    Rejection,
    Site,
    Statement,
    Unsupported,
    Variable,
)


def statements(context: Context, nodes: list[Any] | None, *, is_body: bool = False) -> list[Statement]:
    """A list of statements and declarations in order; `is_body`: all of a loop's body."""
    lowered: list[Statement] = []
    nodes = nodes or []
    for node in nodes:
        if isinstance(node, c_ast.Label) and node.name in context.jumped_to:
            ends = is_body and node is nodes[-1] and isinstance(node.stmt, c_ast.EmptyStatement)
            if before_label(context, lowered, node, ends):
                node = node.stmt
        lowered.extend(statement(context, node))
    return lowered


def block(context: Context, node: Any, *, is_body: bool = False) -> Block:
    """Lower a statement as a block with a new scope; `is_body`: the body of a loop."""
    if node is None:
        return Block()
    context.scopes.append(Scope())
    nodes = node.block_items if isinstance(node, c_ast.Compound) else [node]
    lowered = statements(context, nodes, is_body=is_body)
    context.scopes.pop()
    return Block(tuple(lowered))


def statement(context: Context, node: Any) -> list[Statement]:
    """Lower one statement to one or more."""

    match node:
        case c_ast.Compound():
            return [block(context, node)]
        case c_ast.DoWhile() if id(node) not in context.ordinals:
            return [block(context, node.stmt)]
        case c_ast.For() | c_ast.While() | c_ast.DoWhile():
            return loop(context, node)
        case c_ast.If():
            return _if(context, node)
        case c_ast.Switch():
            return switch(context, node)
        case c_ast.Return():
            return _return(context, node)
        case c_ast.Break():
            return [Jump("break", _word(node))]
        case c_ast.Continue():
            return [Jump("continue", _word(node))]
        case c_ast.Goto():
            return [_goto(node)]
        case c_ast.Label():
            return _label(context, node)
        case c_ast.Typedef():
            return _typedef(context, node)
        case c_ast.EmptyStatement() | c_ast.Pragma() | c_ast.StaticAssert():
            return []
        case c_ast.Case() | c_ast.Default():
            site = _word(node)
            message = "a `case` label stands inside another statement of its `switch`"
            return [_unsupported(context, node, Rejection("unsupported-statement", site, message), site)]
        case _:
            return _simple(context, node)


def loops_in(context: Context, node: Any) -> tuple[Loop, ...]:
    """The outermost loops inside a statement that is not modelled, each lowered by itself."""

    found: list[Loop] = []
    for inner in outermost_loops(context, node):
        context.scopes.append(Scope())
        for lowered in _flattened(loop(context, inner)):
            if isinstance(lowered, Loop):
                found.append(lowered)
            elif isinstance(lowered, Unsupported):
                found.extend(lowered.loops)
        context.scopes.pop()
    return tuple(found)


def outermost_loops(context: Context, node: Any) -> list[Any]:
    """The loop statements inside a node that are in no other loop there, in source order."""
    found: list[Any] = []
    for _, child in node.children():
        if id(child) in context.ordinals:
            found.append(child)
        else:
            found.extend(outermost_loops(context, child))
    return sorted(found, key=token_of)


def unsupported(context: Context, node: Any, fx: Effects, site: Site) -> Unsupported:
    """A statement that its expressions' rejections rule out."""
    return _unsupported(context, node, fx.rejections[0], site)


def _unsupported(context: Context, node: Any, rejection: Rejection, site: Site) -> Unsupported:
    return Unsupported(rejection, site, loops_in(context, node))


def _flattened(lowered: list[Statement]) -> list[Statement]:
    flat: list[Statement] = []
    for item in lowered:
        flat.extend(_flattened(list(item.statements)) if isinstance(item, Block) else [item])
    return flat


def _word(node: Any) -> Site:
    return Site(token_of(node), token_of(node))


def _simple(context: Context, node: Any) -> list[Statement]:
    """A declaration or an expression statement."""
    fx = Effects(after=[])
    if isinstance(node, c_ast.Decl):
        declare_local(context, node, fx)
        site = Site(token_of(node), context.sites.until(token_of(node), ";"))
    else:
        effect(context, node, fx)
        site = context.site(node)
    if fx.rejections:
        name = node.name if isinstance(node, c_ast.Decl) else None
        declared = [s for s in fx.statements if isinstance(s, Declare) and s.variable.source_name == name]
        return [*declared[:1], unsupported(context, node, fx, site)]
    return fx.statements + (fx.after or [])


def _typedef(context: Context, node: Any) -> list[Statement]:
    """Nothing but the evaluation of the sizes in the type."""
    fx = Effects()
    define_type(context, node, fx)
    site = Site(token_of(node), context.sites.until(token_of(node), ";"))
    return [unsupported(context, node, fx, site)] if fx.rejections else fx.statements


def _if(context: Context, node: Any) -> list[Statement]:
    from polylsp.frontends.c.expressions import condition

    fx = Effects()
    test = condition(context, node.cond, fx)
    site = Site(token_of(node), statement_end(context, node))
    if fx.rejections:
        return [unsupported(context, node, fx, site)]
    then, otherwise = block(context, node.iftrue), block(context, node.iffalse)
    if isinstance(test, Constant) and not _can_be_reached(node.iffalse if test.value else node.iftrue):
        return [*fx.statements, then if test.value else otherwise]
    if _never_reached(then):
        return [*fx.statements, Assume(negated(test), site), otherwise]
    if _never_reached(otherwise):
        return [*fx.statements, Assume(test, site), then]
    return [*fx.statements, If(test, then, otherwise, site)]


def _never_reached(branch: Block) -> bool:
    """True if a branch only states that control never reaches it."""
    match branch.statements:
        case (Assume(Constant(value=0)),):
            return True
        case (Block() as inner,):
            return _never_reached(inner)
        case _:
            return False


def _can_be_reached(dead: Any) -> bool:
    """True if a branch that is never taken must stay: for its labels, or its loops' reports."""
    if dead is None:
        return False
    if isinstance(dead, c_ast.Label | c_ast.For | c_ast.While | c_ast.DoWhile | c_ast.Case | c_ast.Default):
        return True
    return any(_can_be_reached(child) for _, child in dead.children())


def _return(context: Context, node: Any) -> list[Statement]:
    from polylsp.frontends.c.expressions import value

    fx = Effects()
    result = value(context, node.expr, fx) if node.expr is not None else None
    site = Site(token_of(node), context.sites.until(token_of(node), ";"))
    if result is not None:
        settle(fx, result)
        from polylsp.frontends.c.lowering_context import give

        give(context, result)
        if context.result is not None and not isinstance(context.result, OtherType):
            result = convert(result, context.result)
    if fx.rejections:
        return [unsupported(context, node, fx, site), Jump("return", site)]
    return [*fx.statements, Jump("return", site, result)]


def _goto(node: Any) -> Unsupported:
    message = f"`goto {node.name}` jumps out of the structure of loops and conditions"
    advice = "use `break`, `continue` or `return`, or a condition"
    site = Site(token_of(node), token_of(node) + 1)
    return Unsupported(Rejection("irreducible-control", site, message, advice), site, leaves=True)


def _label(context: Context, node: Any) -> list[Statement]:
    site = Site(token_of(node), token_of(node) + 1)
    lowered = statement(context, node.stmt)
    if node.name not in context.jumped_to:
        return lowered
    message = f"a `goto` jumps to the label `{node.name}` here"
    return [Unsupported(Rejection("irreducible-control", site, message), site), *lowered]


def statement_end(context: Context, node: Any) -> int:
    """The index of the last token of a statement."""
    sites = context.sites
    match node:
        case c_ast.Compound() if sites.tokens[token_of(node)] == "{":
            return sites.match.get(token_of(node), len(sites.tokens) - 1)
        case c_ast.Compound():
            return statement_end(context, node.block_items[-1])
        case c_ast.If():
            return statement_end(context, node.iffalse if node.iffalse is not None else node.iftrue)
        case c_ast.For() | c_ast.While() | c_ast.Switch():
            closing = sites.parentheses_after(token_of(node)).last
            return _body_end(context, node.stmt, closing + 1)
        case c_ast.DoWhile():
            return sites.until(context.site(node.cond).last, ";")
        case c_ast.Label():
            return _body_end(context, node.stmt, token_of(node) + 2)
        case c_ast.Case() | c_ast.Default():
            return statement_end(context, node.stmts[-1]) if node.stmts else token_of(node)
        case c_ast.EmptyStatement():
            return token_of(node)
        case c_ast.Decl() | c_ast.Return() | c_ast.Goto() | c_ast.Break() | c_ast.Continue():
            return sites.until(token_of(node), ";")
        case _:
            return sites.until(context.site(node).last, ";")


def _body_end(context: Context, body: Any, start: int) -> int:
    return max(start, statement_end(context, body)) if body is not None else start


def refuse_statement(context: Context, node: Any, message: str, site: Site, advice: str = "") -> Unsupported:
    """A statement that is not modelled for the reason that `message` gives."""
    fx = Effects()
    refuse(fx, "unsupported-statement", site, message, advice)
    whole = Site(token_of(node), statement_end(context, node))
    return unsupported(context, node, fx, whole)


# --------------------------------------------------------------------------------------------------
# Loops: `for`, `while` and `do`.
# --------------------------------------------------------------------------------------------------


def loop(context: Context, node: Any) -> list[Statement]:
    """A loop, after the initialisation in its header; a header that declares gets a block."""
    if not isinstance(node, c_ast.For):
        return [_loop(context, node, None, [])]
    context.scopes.append(Scope())
    before: list[Statement] = []
    declares = isinstance(node.init, c_ast.DeclList)
    for item in node.init.decls if declares else [node.init] if node.init is not None else []:
        before.extend(statement(context, item))
    lowered = _loop(context, node, node.next, before)
    context.scopes.pop()
    return [Block((*before, lowered))] if declares else [*before, lowered]


def _loop(context: Context, node: Any, next: Any, before: list[Statement]) -> Statement:
    from polylsp.frontends.c.expressions import condition

    fx = Effects()
    test = condition(context, node.cond, fx) if node.cond is not None else None
    step = Effects(after=[])
    if next is not None:
        effect(context, next, step)
    step_block = Block(tuple(step.statements + (step.after or [])))
    body = block(context, node.stmt, is_body=True)
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
        unusual=unusual(context, node, header(context, node), before, test, body)
        if isinstance(node, c_ast.For)
        else None,
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
