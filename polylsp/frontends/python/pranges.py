"""Numba's `prange`: the loops whose iterations it distributes to threads, and the data sharing of the names
that these assign (Numba's documentation, "Automatic parallelization with @jit").

A name that is only added to, or multiplied, and so on, is a reduction; any other one is private to each
thread. Elements of arrays are shared by all threads, also where they are added to.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from polylsp.frontends.python.lowering_scope import Context
from polylsp.frontends.python.names import Declarations, path_of
from polylsp.frontends.python.nodes import own_nodes
from polylsp.ir.directive import Clause, Directive, Item, ReductionClause, Sharing

Definition = ast.FunctionDef | ast.AsyncFunctionDef

_COMPILERS = ("njit", "jit", "numba.njit", "numba.jit")
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
_COMBINED_BY = {"-": "+", "/": "*"}
_CHOOSING = ("min", "max")


def pranges(context: Context, definition: Definition | None) -> tuple[Directive, ...]:
    """The loops over `prange` of a function that is compiled to run them in parallel, in source order."""
    if definition is None or not runs_in_parallel(definition, context.kinds.declarations):
        return ()
    loops = (node for node in own_nodes(definition.body) if isinstance(node, ast.For))
    found = [(node, context.site(node)) for node in loops if is_prange(context, node)]
    return tuple(
        Directive("numba", ("prange",), tuple(_clauses(node)), number, site.first, site)
        for number, (node, site) in enumerate(found)
    )


def is_compiled(definition: Definition, declarations: Declarations) -> bool:
    """True if Numba compiles a function for arguments of any type."""
    for one in definition.decorator_list:
        options = one.keywords if isinstance(one, ast.Call) else []
        function = one.func if isinstance(one, ast.Call) else one
        may_not = any(k.arg in ("forceobj", "nopython", None) and not _is_true(k) for k in options)
        if path_of(function, declarations) in _COMPILERS and not may_not:
            return True
    return False


def _is_true(option: ast.keyword) -> bool:
    is_said = isinstance(option.value, ast.Constant) and option.value.value is True
    return is_said and option.arg == "nopython"


def runs_in_parallel(definition: Definition, declarations: Declarations) -> bool:
    """True if a function is compiled to run its loops over `prange` in parallel."""
    compiled = [
        one
        for one in definition.decorator_list
        if isinstance(one, ast.Call) and path_of(one.func, declarations) in _COMPILERS
    ]
    options = [(k.arg, k.value) for one in compiled for k in one.keywords]
    return any(
        name == "parallel" and isinstance(value, ast.Constant) and value.value is True
        for name, value in options
    )


def is_prange(context: Context, node: ast.For) -> bool:
    """True if a loop runs over `prange`."""
    return isinstance(node.iter, ast.Call) and context.path(node.iter.func) in ("prange", "numba.prange")


def _clauses(loop: ast.For) -> Iterator[Clause]:
    """Data-sharing clauses for the names that a loop assigns, by Numba's rules."""
    nodes = own_nodes(loop.body)
    stored = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    for name in dict.fromkeys(stored):
        operators = _operators(nodes, name)
        item = (Item(name, name),)
        if operators:
            yield ReductionClause(_COMBINED_BY.get(operators[0], operators[0]), item)
        else:
            yield Sharing("private", item)


def updates(loop: ast.For, name: str) -> tuple[str, ...]:
    """The operators by which a loop updates a name, one for each place where it names it; none if it uses
    the name otherwise."""
    return _operators(own_nodes(loop.body), name)


def _operators(nodes: list[ast.AST], name: str) -> tuple[str, ...]:
    statements = [n for n in nodes if isinstance(n, (ast.Assign, ast.AugAssign))]
    found = [(one, operator) for one in statements if (operator := _updated_by(one, name))]
    named = sum(isinstance(n, ast.Name) and n.id == name for n in nodes)
    explained = sum(1 if isinstance(one, ast.AugAssign) else 2 for one, _ in found)
    return tuple(operator for _, operator in found) if named == explained else ()


def _updated_by(statement: ast.Assign | ast.AugAssign, name: str) -> str:
    """The operator by which a statement updates a name as a whole; empty if it does not."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=target), op=operator) if target == name:
            return _OPERATORS.get(type(operator), "")
        case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
            return _combined(value, name)
        case _:
            return ""


def _combined(value: ast.expr, name: str) -> str:
    """The operator of `s + x`, or the function of `max(s, x)`."""
    match value:
        case ast.BinOp(left=left, op=operator, right=right):
            turns = isinstance(operator, (ast.Sub, ast.Div))
            fits = _is(left, name) or (not turns and _is(right, name))
            return _OPERATORS.get(type(operator), "") if fits else ""
        case ast.Call(func=ast.Name(id=function), args=[first, second], keywords=[]):
            fits = function in _CHOOSING and (_is(first, name) or _is(second, name))
            return function if fits else ""
        case _:
            return ""


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
