"""Kinds of expressions, by the kinds of their names."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from polylsp.frontends.python import library
from polylsp.frontends.python.arithmetic_kinds import arithmetic, either
from polylsp.frontends.python.call_kinds import called
from polylsp.frontends.python.kinds import (
    BOOL,
    COMPLEX,
    DOUBLE,
    REAL,
    UNKNOWN,
    WHOLE,
    Array,
    Instance,
    Items,
    Kind,
    Nothing,
    Number,
    Other,
)
from polylsp.frontends.python.names import ClassOf, path_of
from polylsp.model.program import Floating

if TYPE_CHECKING:
    from polylsp.frontends.python.inference import Kinds


def kind_of(node: ast.expr, kinds: Kinds) -> Kind | None:
    """Kind of an expression; `None` where it is undetermined so far."""
    match node:
        case ast.Constant(value=value):
            return _constant(value)
        case ast.Name(id=name):
            return kinds.of_name(name)
        case ast.NamedExpr(value=value):
            return kinds.of(value)
        case (
            ast.BinOp(left=ast.List(), op=ast.Mult(), right=other)
            | ast.BinOp(left=other, op=ast.Mult(), right=ast.List())
        ) if isinstance(kinds.of(other), Number):
            return Other("a list")
        case ast.BinOp(left=left, op=operator, right=right):
            return arithmetic(operator, kinds.of(left), kinds.of(right))
        case ast.UnaryOp(op=ast.Not()):
            return WHOLE
        case ast.UnaryOp(operand=operand):
            return kinds.of(operand)
        case ast.Compare(left=left, comparators=others):
            return _compared([left, *others], kinds)
        case ast.BoolOp(values=values):
            return either([kinds.of(value) for value in values])
        case ast.IfExp(body=then, orelse=otherwise):
            return either([kinds.of(then), kinds.of(otherwise)])
        case ast.Tuple(elts=parts):
            return Items(tuple(kinds.of(part) or UNKNOWN for part in parts))
        case ast.Attribute():
            return _attribute(node, kinds)
        case ast.Subscript(value=base, slice=subscript):
            return _element(kinds.of(base), subscript, kinds)
        case ast.Call():
            return called(node, kinds)
        case ast.List() | ast.ListComp():
            return Other("a list")
        case ast.Dict() | ast.DictComp():
            return Other("a dictionary")
        case ast.JoinedStr():
            return Other("a string")
        case _:
            return UNKNOWN


def _constant(value: object) -> Kind:
    if isinstance(value, (bool, int)):
        return WHOLE
    if isinstance(value, float):
        return REAL
    if isinstance(value, complex):
        return Number(COMPLEX)
    return Nothing() if value is None else Other("a string")


def _compared(parts: list[ast.expr], kinds: Kinds) -> Kind | None:
    found = [kinds.of(part) for part in parts]
    if any(isinstance(one, Array) and one.lists for one in found):
        return UNKNOWN
    ranks = [one.rank for one in found if isinstance(one, Array)]
    return Array(BOOL, max(ranks)) if ranks else WHOLE


def _attribute(node: ast.Attribute, kinds: Kinds) -> Kind | None:
    path = path_of(node, kinds.declarations)
    if path and (number := library.kind_of_constant(path)) is not None:
        return number
    base = kinds.of(node.value)
    match base, node.attr:
        case None, _:
            return None
        case Array(lists=True), _:
            return UNKNOWN
        case Array(_, rank), "shape":
            return Items((WHOLE,) * max(rank, 0)) if rank >= 0 else UNKNOWN
        case Array(), "size" | "ndim" | "nbytes" | "itemsize":
            return WHOLE
        case Array(), "T":
            return base
        case ((Array() | Number()), "real" | "imag"):
            return _part(base)
        case Instance(name), attribute:
            found = kinds.declarations.get(name)
            fields = dict(found.fields) if isinstance(found, ClassOf) else {}
            return fields.get(attribute, UNKNOWN)
        case _:
            return UNKNOWN


def _part(of: Kind) -> Kind:
    """The real or the imaginary part of numbers."""
    match of:
        case Array(element, rank):
            return Array(DOUBLE if element == COMPLEX else element, rank)
        case Number(of_type):
            return Number(DOUBLE if of_type == COMPLEX else of_type)
        case _:
            return of


def _element(base: Kind | None, subscript: ast.expr, kinds: Kinds) -> Kind | None:
    """An element or a part of a value."""
    match base, subscript:
        case None, _:
            return None
        case Items(items), ast.Constant(value=int(k)) if -len(items) <= k < len(items):
            return items[k]
        case Items(items), _ if items and all(item == items[0] for item in items):
            return items[0]
        case Array(element, rank, lists=True), _:
            is_one = isinstance(kinds.of(subscript), Number) or kinds.of(subscript) == UNKNOWN
            is_one = is_one and not isinstance(subscript, (ast.Slice, ast.Tuple))
            rest = Array(element, rank - 1, lists=True) if rank > 1 else Number(element)
            return rest if is_one else UNKNOWN
        case Array(element, rank), _:
            parts = subscript.elts if isinstance(subscript, ast.Tuple) else [subscript]
            left = _rank_gathered(parts, rank, kinds)
            left = _rank_left(parts, rank, kinds) if left is None else left
            if left is None:
                return UNKNOWN
            return Array(element, left) if left else Number(element)
        case _:
            return UNKNOWN


def _rank_gathered(parts: list[ast.expr], rank: int, kinds: Kinds) -> int | None:
    """The rank of the elements that one array of truth values, or of subscripts, takes; `None` where it is
    not one that takes them."""
    by = kinds.of(parts[0]) if len(parts) == 1 else None
    if not isinstance(by, Array) or isinstance(by.element, Floating):
        return None
    if by.element == BOOL:
        return rank - by.rank + 1 if by.rank <= rank else None
    return rank - 1 + by.rank


def _rank_left(parts: list[ast.expr], rank: int, kinds: Kinds) -> int | None:
    """Rank of an array after some subscripts; `None` where it is undetermined."""
    left = rank
    for part in parts:
        match part:
            case ast.Slice():
                pass
            case ast.Constant(value=None):
                left += 1
            case ast.Constant(value=value) if value is ...:
                pass
            case _:
                if path_of(part, kinds.declarations) == "numpy.newaxis":
                    left += 1
                elif isinstance(kinds.of(part), (Array, Other)):
                    return None
                else:
                    left -= 1
    return left if left >= 0 else None
