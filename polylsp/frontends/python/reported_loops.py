"""Loops of which findings tell: those that may compute with numbers in arrays.

That a loop which calls objects, fills dictionaries or arranges strings is not decided is no news to the
person who wrote it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from polylsp.frontends.python.kinds import UNKNOWN, Array, Instance, Number, Other
from polylsp.frontends.python.lowering_scope import Context
from polylsp.frontends.python.nodes import nodes_in, nodes_in_all, own_nodes
from polylsp.frontends.python.reading_loops import ordinals_of
from polylsp.frontends.python.usage import RANGES
from polylsp.ir.program import Block, If, Loop, Statement, Unsupported

_NUMERIC = ("numpy.", "scipy.", "math.", "cmath.", "random.")
_TEXTS = frozenset(("a string", "a str", "a dictionary", "a dict", "a defaultdict", "a set"))
_OBJECTS = (
    ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.JoinedStr,
    ast.Lambda,
)  # fmt: skip
"""Values that are no numbers."""
_MAKERS = frozenset(("chr", "dict", "format", "input", "list", "repr", "set", "sorted", "str", "tuple"))
"""Functions that make values which are no numbers."""


def reported(context: Context, node: ast.For | ast.While, made: list[Statement]) -> list[Statement]:
    """The statements of a loop; where the outermost one uses no array, list or function of numbers, nothing
    is reported of what is not modelled in it."""
    if context.depth or any(_is_numeric(context, part) for part in nodes_in(node)):
        return made
    return [_unreported(one) for one in made]


def _is_numeric(context: Context, node: ast.AST) -> bool:
    """True for what may be an array or hold one, for an element of anything but a string or a dictionary, for
    a list that grows, and for a function of numbers."""
    match node:
        case ast.Attribute(attr="append" | "extend"):
            return True
        case ast.Name(id=name) if name in context.kinds.local and context.kind(node) in (None, UNKNOWN):
            return True
        case ast.Name() | ast.Attribute() if isinstance(context.kind(node), Instance):
            return True
        case _:
            return holds_numbers(context, node)


def aside(context: Context, body: Sequence[ast.stmt]) -> frozenset[int]:
    """Ordinals of the loops of a function that do not compute with elements of arrays, and make no list."""
    loops = (one for one in own_nodes(body) if isinstance(one, ast.For | ast.While))
    own = (one for one in loops if id(one) not in context.for_libraries)
    return ordinals_of(
        context, (one for one in own if not any(_computes(context, n) for n in own_nodes([one])))
    )


def _computes(context: Context, node: ast.AST) -> bool:
    """True for arithmetic, a comparison or a function of numbers with elements or whole arrays, for an
    element that is set, and for a list that grows by what may be a number or several."""
    match node:
        case ast.Call(func=ast.Attribute(attr="append" | "extend" as method), args=[added]):
            kind = context.kind(added)
            may_be_number = isinstance(kind, Number | Array) or kind in (None, UNKNOWN)
            return method == "extend" or (_is_value(added) and may_be_number)
        case ast.AugAssign(target=target, value=added):
            return _is_value(added) and any(_is_element(context, one) for one in (target, added))
        case ast.Assign(targets=targets, value=stored):
            elements = [one for one in targets if isinstance(one, ast.Subscript)]
            return _is_value(stored) and any(holds_numbers(context, one) for one in elements)
        case ast.BinOp(left=left, right=right):
            sides = (left, right)
            some = any(_is_element(context, one) or _is_open(context, one) for one in sides)
        case ast.Compare(left=left, ops=operators, comparators=others):
            sides = (left, *others)
            some = all(isinstance(each, _COMPARING) for each in operators)
            some = some and any(_is_element(context, one) for one in sides)
        case ast.Call(func=function) if context.path(function).startswith(_NUMERIC):
            return True
        case ast.Call(func=ast.Attribute(value=base, attr=name)):
            return name in _METHODS and isinstance(context.kind(base), Array)
        case _:
            return False
    return some and all(map(_is_value, sides))


_COMPARING = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_METHODS = frozenset((
    "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "cumprod", "cumsum", "dot", "fill",
    "max", "mean", "min", "prod", "round", "sort", "std", "sum", "take",
    "var",
))  # fmt: skip
"""Methods of NumPy's arrays that compute: arrays of objects have others."""


def _is_value(node: ast.expr) -> bool:
    """True for what may be a number."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float, complex)) and not isinstance(node.value, bool)
    if isinstance(node, ast.BinOp):
        return _is_value(node.left) and _is_value(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id not in _MAKERS
    return not isinstance(node, _OBJECTS)


def _is_element(context: Context, node: ast.expr) -> bool:
    """True for an element of what may be an array, and for a whole array."""
    while isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.Subscript):
        return holds_numbers(context, node)
    return isinstance(node, ast.Name | ast.Attribute) and isinstance(context.kind(node), Array)


def _is_open(context: Context, node: ast.expr) -> bool:
    """True for a name of which nothing is known."""
    return isinstance(node, ast.Name) and context.kind(node) in (None, UNKNOWN)


def holds_numbers(context: Context, node: ast.AST) -> bool:
    """True for an array, for an element of anything but a string or a dictionary, and for a function of
    numbers."""
    match node:
        case ast.Subscript(value=base, slice=subscript):
            kind = context.kind(base)
            texts = isinstance(kind, Other) and kind.what in _TEXTS
            named = isinstance(subscript, ast.Constant) and isinstance(subscript.value, str)
            return not texts and not named
        case ast.Name() | ast.Attribute():
            return isinstance(context.kind(node), Array) or context.path(node).startswith(_NUMERIC)
        case _:
            return False


def unreported(inner: Block) -> Block:
    """A block of which nothing is reported."""
    return Block(tuple(_unreported(one) for one in inner.statements))


def _unreported(statement: Statement) -> Statement:
    """A statement in which all that is not modelled has the reason of a loop over values that are no
    numbers, and the order that it has."""
    match statement:
        case Block():
            return unreported(statement)
        case If(test, then, otherwise, site):
            return If(test, unreported(then), unreported(otherwise), site)
        case Loop():
            prologue, body = unreported(statement.prologue), unreported(statement.body)
            return replace(statement, prologue=prologue, body=body)
        case Unsupported(rejection):
            loops = tuple(one for one in map(_unreported, statement.loops) if isinstance(one, Loop))
            silent = replace(rejection, code="generic-iterable", advice="")
            return replace(statement, rejection=silent, loops=loops)
        case _:
            return statement


def concerns_arrays(context: Context, node: ast.For) -> bool:
    """True if a loop runs over a range or an array, or subscripts anything by a number that counts."""
    function = node.iter.func if isinstance(node.iter, ast.Call) else None
    if function is not None and context.path(function) in (*RANGES, "numpy.ndindex", "itertools.product"):
        return True
    named = [part for part in nodes_in(node.iter) if isinstance(part, ast.Name)]
    if any(isinstance(context.kind(part), Array) for part in named):
        return True
    targets = [part for part in nodes_in(node.target) if isinstance(part, ast.Name)]
    counters = {part.id for part in targets if isinstance(context.kind(part), Number)}
    subscripts = (part for part in nodes_in_all(node.body) if isinstance(part, ast.Subscript))
    return any(
        isinstance(part, ast.Name) and part.id in counters
        for one in subscripts
        for part in nodes_in(one.slice)
    )
