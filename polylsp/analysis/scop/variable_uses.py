"""Uses of a variable by the host after a piece of a function, read off its shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from polylsp.analysis.scop.summaries import Calls
from polylsp.ir.effects import expressions, nodes, walk
from polylsp.ir.must_execute import always_run, names
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Block,
    Call,
    Expr,
    Function,
    If,
    Jump,
    Loop,
    Read,
    Site,
    Statement,
    Variable,
    stripped,
    subexpressions,
    within,
)


@dataclass(frozen=True)
class Use:
    """First use of a variable: a certain read (`reads` then has the reads of the function itself), another or
    unknown use, or no use."""

    kind: Literal["reads", "other", "nothing"]
    reads: tuple[Read, ...] = ()


NOTHING, OTHER = Use("nothing"), Use("other")


def use_after(
    function: Function, site: Site, variable: Variable, calls: Calls, devices: Sequence[Site]
) -> Use:
    """First use of a variable by the function after the statement at a site; code at `devices` is not run by
    the host."""
    following = statements_after(function.body.statements, site, variable)
    for statement in following.statements:
        elsewhere = any(_is_part(s, d) and _mentions(s, variable) for s in walk(statement) for d in devices)
        use = OTHER if elsewhere else _use(statement, variable, calls)
        if use.kind != "nothing":
            return use
    return NOTHING if following.to_the_end else OTHER


# --- What follows ------------------------------------------------------------------------


@dataclass(frozen=True)
class Following:
    """Statements that run next, in order; `to_the_end`: up to the end of the function."""

    statements: tuple[Statement, ...]
    to_the_end: bool = True


def statements_after(statements: tuple[Statement, ...], site: Site, variable: Variable) -> Following:
    """The statements that surely run after the one at a site."""
    holding = [k for k, each in enumerate(statements) if _holds(each, site)]
    if not holding:
        return Following((), False)
    own, rest = statements[holding[0]], statements[holding[-1] + 1 :]
    if len(holding) > 1 or _is_part(own, site):
        return Following(rest)
    inner = _inside(own, site, variable)
    return Following((*inner.statements, *rest), True) if inner.to_the_end else inner


def _inside(statement: Statement, site: Site, variable: Variable) -> Following:
    match statement:
        case Block(statements):
            return statements_after(statements, site, variable)
        case If(_, then, otherwise, _):
            branch = then if _holds(then, site) else otherwise
            return statements_after(branch.statements, site, variable)
        case Loop(body=body):
            inner = statements_after(body.statements, site, variable)
            repeated = any(_mentions(s, variable) and not _is_part(s, site) for s in walk(statement))
            return Following(inner.statements, inner.to_the_end and not repeated)
        case _:
            return Following((), False)


def _holds(statement: Statement, site: Site) -> bool:
    """True if a part of a statement stands at a site."""
    return any(_is_part(each, site) for each in walk(statement))


def _is_part(statement: Statement, site: Site) -> bool:
    return not isinstance(statement, Block) and within(statement.site, site)


def _mentions(statement: Statement, variable: Variable) -> bool:
    """True if a statement itself, without those inside it, names a variable."""
    if isinstance(statement, Block):
        return False
    if isinstance(statement, Assign) and statement.target.variable == variable:
        return True
    return any(isinstance(n, (Read, AddressOf)) and n.place.variable == variable for n in nodes(statement))


# --- What it is used for -----------------------------------------------------------------


def _use(statement: Statement, variable: Variable, calls: Calls) -> Use:
    if not names(statement, variable):
        return NOTHING
    if any(isinstance(s, Assign) and s.target.variable == variable for s in walk(statement)):
        return OTHER
    reads: list[Read] = []
    read = False
    for each in always_run(Block((statement,)), inner_loops=True):
        for expression in expressions(each):
            kinds = list(_uses(expression, variable, calls, isinstance(each, Jump)))
            if None in kinds:
                return OTHER
            reads += [one for one in kinds if isinstance(one, Read) and one.place.steps]
            read = read or bool(kinds)
    return Use("reads", tuple(reads)) if read else OTHER


def _uses(
    expression: Expr, variable: Variable, calls: Calls, returned: bool
) -> Iterator[Read | AddressOf | None]:
    """Uses of a variable's value in an expression; `None` for an unknown use."""
    given: set[int] = set()
    for node in subexpressions(expression):
        if isinstance(node, Call):
            for number, argument in enumerate(map(stripped, node.arguments)):
                if _is_address(argument, variable):
                    given.add(id(argument))
                    yield argument if _is_read(node, number, calls) else None  # type: ignore[misc]
        elif (
            isinstance(node, (Read, AddressOf)) and node.place.variable == variable and id(node) not in given
        ):
            known = isinstance(node, Read) and (bool(node.place.steps) or returned)
            yield node if known else None


def _is_address(expression: Expr, variable: Variable) -> bool:
    if isinstance(expression, AddressOf):
        return expression.place.variable == variable
    return (
        isinstance(expression, Read) and expression.place.variable == variable and not expression.place.steps
    )


def _is_read(call: Call, number: int, calls: Calls) -> bool:
    """True if a function reads the target of an argument, and does not write it."""
    if call.pure or call.reads_memory:
        return True
    summary = calls.of(call)
    kinds = {a.kind for a in summary.accesses if a.parameter == number} if summary is not None else set()
    return kinds == {"read"}
