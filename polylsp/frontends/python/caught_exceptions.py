"""Loops that an exception may end before their last iteration while the function goes on.

Elsewhere an exception leaves the function, whose results then do not matter. Where a handler catches one of a
loop and goes on, the code behind it sees the iterations up to that one alone.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from polylsp.frontends.python.lowering_scope import Context
from polylsp.frontends.python.nodes import children, nodes_in_all, own_nodes
from polylsp.frontends.python.syntax import blocks
from polylsp.ir.program import Block, If, Loop, Rejection, Statement, Unsupported

_ARITHMETIC = frozenset(("ZeroDivisionError", "ArithmeticError", "OverflowError", "FloatingPointError"))
_OF_ELEMENTS = frozenset(("IndexError", "KeyError", "LookupError", "ValueError"))
_ANY = frozenset(("Exception", "BaseException", "TypeError", "AttributeError", "NameError"))
_ELSEWHERE = frozenset(
    [
        "ImportError",
        "ModuleNotFoundError",
        "KeyboardInterrupt",
        "SystemExit",
        "OSError",
        "IOError",
        "EnvironmentError",
        "FileNotFoundError",
        "PermissionError",
        "EOFError",
        "StopIteration",
        "UnicodeDecodeError",
    ]
)
"""Exceptions that no computation with numbers raises."""
_OF_NO_CODE = frozenset(("KeyboardInterrupt", "ImportError", "ModuleNotFoundError"))
"""Exceptions that functions which compute do not raise, either."""
_COMPUTING = frozenset(("np", "numpy", "math", "cmath"))
_DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_EXITS = frozenset(("exit", "_exit", "quit", "abort", "fail", "skip"))


def caught_loops(body: Sequence[ast.stmt]) -> frozenset[int]:
    """The loops (identities) of a function of which a handler may catch an exception and go on."""
    nodes = own_nodes(body)
    tries = [one for one in nodes if isinstance(one, ast.Try)]
    if not tries:
        return frozenset()
    inner = (block for one in nodes if isinstance(one, ast.stmt) for block in blocks(one))
    behind = {id(one): after for block in (body, *inner) for one, after in pairwise(block)}
    return frozenset(
        id(loop)
        for each in tries
        for handler in each.handlers
        if _goes_on(handler.body[-1]) and _goes_on(behind.get(id(each), each))
        for loop in own_nodes(each.body)
        if isinstance(loop, ast.For | ast.While) and _may_raise(loop, set(_types(handler.type)))
    )


def interrupted(context: Context, node: ast.For | ast.While, made: list[Statement]) -> list[Statement]:
    """The statements of a loop, which are not analysed if an exception that is caught may end it."""
    if id(node) not in context.caught:
        return made
    site = context.site(node)
    text = "an exception ends this loop, and a handler around it goes on with the iterations before that"
    why = Rejection("unsupported-statement", site, text, "catch the exception in the iteration")
    return [_opaque(one, Unsupported(why, site)) for one in made]


def _opaque(statement: Statement, first: Unsupported) -> Statement:
    match statement:
        case Loop(implied=False, body=body):
            return replace(statement, body=Block((first, *body.statements)))
        case Block(inner):
            return Block(tuple(_opaque(one, first) for one in inner))
        case If(_, then, otherwise, _):
            parts = [_opaque(one, first) for one in (then, otherwise)]
            assert all(isinstance(one, Block) for one in parts)
            return replace(statement, then=parts[0], otherwise=parts[1])  # type: ignore[arg-type]
        case _:
            return statement


def _goes_on(last: ast.stmt) -> bool:
    """True unless a statement, the last one of a handler or the one behind a `try`, raises an exception or
    returns a constant."""
    match last:
        case ast.Raise():
            return False
        case ast.Return(value=value):
            parts = nodes_in_all([value]) if value is not None else []
            return any(isinstance(one, ast.Name | ast.Call) for one in parts)
        case ast.Expr(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))):
            return name not in _EXITS
        case _:
            return True


def _types(node: ast.expr | None) -> Iterator[str]:
    """The last names of the types of exceptions that a handler catches."""
    match node:
        case None:
            yield "BaseException"
        case ast.Tuple():
            yield from (name for one in children(node) if isinstance(one, ast.expr) for name in _types(one))
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name
        case _:
            yield "BaseException"


def _may_raise(loop: ast.For | ast.While, types: set[str]) -> bool:
    """True if the body of a loop may raise an exception of some types."""
    nodes = own_nodes(loop.body)
    calls = any(isinstance(one, ast.Call | ast.Raise | ast.Assert) for one in nodes)
    # The code of a function that is not Python's or NumPy's may say that it raises any of them.
    types = types - (_ELSEWHERE if all(map(_computes, nodes)) else _OF_NO_CODE)
    takes = any(isinstance(one, ast.Subscript) for one in nodes)
    divides = any(isinstance(one, _DIVISIONS) for one in nodes)
    return bool(
        types & _ANY
        or (types and calls)
        or (types & _OF_ELEMENTS and takes)
        or (types & _ARITHMETIC and divides)
    )


def _computes(node: ast.AST) -> bool:
    """False for code that may raise exceptions of a type that it names: `raise`, and calls of functions that
    are not Python's, NumPy's or a method's of a value."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return hasattr(builtins, name) and name not in ("open", "input", "next")
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            return name in _COMPUTING
        case _:
            return not isinstance(node, ast.Call | ast.Raise)
