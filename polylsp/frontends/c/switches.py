"""Lowering of C's `switch` to a chain of conditions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pycparser import c_ast

from polylsp.frontends.c.forward_exits import declares_after, without_exits
from polylsp.frontends.c.lowering_context import Context, Effects, Scope, refuse, token_of
from polylsp.frontends.c.lvalues import assign_temporary, temporary
from polylsp.frontends.c.types import INT
from polylsp.frontends.c.values import binary, negated, settle
from polylsp.ir.induction import own_jumps
from polylsp.ir.program import Block, Constant, Expr, If, Integer, Read, Site, Statement


@dataclass(slots=True)
class _Arm:
    """Statements that one or more labels lead to; a `None` among the labels is `default`. `falls`: control
    goes on into the next arm."""

    labels: list[Any] = field(default_factory=list[Any])
    nodes: list[Any] = field(default_factory=list[Any])
    falls: bool = False


def switch(context: Context, node: Any) -> list[Statement]:
    """An `if` chain over the value, or a refusal that names the label at fault."""
    from polylsp.frontends.c.expressions import value
    from polylsp.frontends.c.statements import refuse_statement, statement_end

    arms = _arms(node)
    problem = _problem(arms, token_of(node))
    falls = any(arm.falls for arm in arms or ())
    if problem is not None:
        label, message, advice = problem
        return [refuse_statement(context, node, message, Site(label, label), advice)]
    fx = Effects()
    chosen = value(context, node.cond, fx)
    settle(fx, chosen)
    if not fx.rejections and not isinstance(chosen.type, Integer):
        return [
            refuse_statement(
                context, node, "the value of this `switch` is no integer", context.site(node.cond)
            )
        ]
    if not isinstance(chosen, Constant) and (falls or not isinstance(chosen, Read)):
        # Arms that control falls through may change what the value is read from before a later test.
        held = temporary(context, fx, chosen.type, node.cond)
        assign_temporary(fx.statements, held, chosen)
        chosen = Read(held)
    tests = [_test(context, chosen, arm, fx) for arm in arms or ()]
    if fx.rejections:
        rejection = fx.rejections[0]
        return [refuse_statement(context, node, rejection.message, rejection.site)]
    site = Site(token_of(node), statement_end(context, node))
    chain = _chain(context, list(zip(arms or [], tests, strict=True)), site)
    if isinstance(chain, Site):
        message = "a `break` of this `switch` stands inside another statement"
        return [refuse_statement(context, node, message, chain, "restructure the `switch`")]
    return [*fx.statements, *chain]


def _arms(node: Any) -> list[_Arm] | None:
    """The arms of a switch, or `None` if its body is not a list of labelled statements."""
    if not isinstance(node.stmt, c_ast.Compound):
        return None
    arms: list[_Arm] = []
    pending: list[Any] = []
    for item in node.stmt.block_items or ():
        if isinstance(item, c_ast.Pragma):
            continue
        if not isinstance(item, c_ast.Case | c_ast.Default):
            return None
        pending.append(getattr(item, "expr", None))
        if item.stmts:
            arms.append(_Arm(pending, list(item.stmts)))
            pending = []
    for arm in arms[:-1]:
        arm.falls = not _leaves(arm.nodes)
    return arms


def _leaves(nodes: list[Any]) -> bool:
    """True if control surely does not go on after the last of some statements."""
    last = next((node for node in reversed(nodes) if not isinstance(node, c_ast.EmptyStatement)), None)
    match last:
        case c_ast.Break() | c_ast.Continue() | c_ast.Return() | c_ast.Goto():
            return True
        case c_ast.Compound():
            return _leaves(last.block_items or [])
        case c_ast.If():
            return _leaves([last.iftrue]) and _leaves([last.iffalse])
        case _:
            return False


def _problem(arms: list[_Arm] | None, keyword: int) -> tuple[int, str, str] | None:
    """Reason why the arms are no chain of conditions: (token, message, advice)."""
    if arms is None:
        return keyword, "this `switch` is not a plain list of `case` labels with their statements", ""
    for arm in arms:
        stray = _stray(arm.nodes)
        if stray is not None:
            message = "a `case` label of this `switch` stands inside another statement"
            return token_of(stray), message, "restructure the `switch`"
    return None


_LABELS = (c_ast.Case, c_ast.Default)


def _stray(nodes: list[Any]) -> Any:
    """A `case` label of this switch inside other statements."""
    for node in nodes:
        if isinstance(node, _LABELS):
            return node
        if not isinstance(node, c_ast.Switch):
            found = _stray([child for _, child in node.children()])
            if found is not None:
                return found
    return None


def _breaks(nodes: list[Any]) -> int:
    """Number of `break`s of this switch in statements."""
    own = (n for n in nodes if not isinstance(n, c_ast.For | c_ast.While | c_ast.DoWhile | c_ast.Switch))
    return sum(isinstance(n, c_ast.Break) or _breaks([child for _, child in n.children()]) for n in own)


def _test(context: Context, chosen: Expr, arm: _Arm, fx: Effects) -> Expr | None:
    """Condition under which an arm is taken; `None` for the one with `default`."""
    if any(label is None for label in arm.labels):
        return None
    return _either([_matches(context, chosen, label, fx) for label in arm.labels])


def _matches(context: Context, chosen: Expr, label: Any, fx: Effects) -> Expr:
    """Condition that a value equals a label, or is in its range (`case 1 ... 5`)."""
    from polylsp.frontends.c.expressions import value

    site = context.site(label)
    if not isinstance(label, c_ast.FuncCall) or getattr(label.name, "name", "") != "__polylsp_range":
        return binary("==", chosen, value(context, label, fx), site)
    low, high = (value(context, end, fx) for end in label.args.exprs)
    if not all(isinstance(end, Constant) and end.value >= 0 for end in (low, high)):
        refuse(fx, "unsupported-statement", site, "the ends of this range are no constants from 0 on")
    return binary("&&", binary(">=", chosen, low, site), binary("<=", chosen, high, site), site)


def _chain(context: Context, arms: list[tuple[_Arm, Expr | None]], site: Site) -> list[Statement] | Site:
    """The conditions of the arms, those that control falls through from one to the next together; the site of
    a `break` that cannot be one."""
    context.scopes.append(Scope())
    groups: list[list[tuple[Expr | None, Block]]] = []
    falls = False
    for arm, test in arms:
        if not falls:
            groups.append([])
        body = _body(context, arm)
        if isinstance(body, Site):
            context.scopes.pop()
            return body
        groups[-1].append((test, body))
        falls = arm.falls
    context.scopes.pop()
    with_default = (g for g in groups if any(test is None for test, _ in g))
    chain = next((_run(g, site) for g in with_default), ())
    for group in reversed(groups):
        tests = [test for test, _ in group if test is not None]
        if len(tests) == len(group):
            chain = (If(_either(tests), Block(_run(group, site)), Block(chain), site),)
    if len(groups) == 1 and len(chain) > 1:
        # One `switch` in the text is one statement of what is around it.
        return [If(Constant(1, INT, site), Block(chain), Block(), site)]
    return list(chain)


def _run(group: list[tuple[Expr | None, Block]], site: Site) -> tuple[Statement, ...]:
    """The statements of arms that control falls through, where one of their labels is reached: each runs for
    its own labels and those of the arms before it, or unless a later one is reached."""
    if len(group) == 1:
        return group[0][1].statements
    found: list[Statement] = []
    started = False
    for position, (test, body) in enumerate(group):
        started = started or test is None
        tests = [each for each, _ in (group[position + 1 :] if started else group[: position + 1]) if each]
        always = started and not tests
        if always or position == len(group) - 1:
            found += body.statements
        else:
            whole = _either(tests)
            found.append(If(negated(whole) if started else whole, body, Block(()), site))
    return tuple(found)


def _either(tests: list[Expr]) -> Expr:
    whole = tests[0]
    for test in tests[1:]:
        whole = binary("||", whole, test, Site(whole.site.first, test.site.last))
    return whole


def _body(context: Context, arm: _Arm) -> Block | Site:
    """The statements of an arm, with conditions in place of `break`; the site of one without such a form."""
    from polylsp.frontends.c.statements import statements

    lowered = tuple(statements(context, arm.nodes))
    breaks = [jump for jump in own_jumps(Block(lowered)) if jump.kind == "break"]
    exits = frozenset(map(id, breaks))
    structured = None
    if len(breaks) == _breaks(arm.nodes) and not (exits and (arm.falls or declares_after(lowered, exits))):
        structured = without_exits(lowered, exits)
    if structured is not None:
        return Block(structured)
    return breaks[0].site if breaks else Site(token_of(arm.nodes[0]), token_of(arm.nodes[0]))
