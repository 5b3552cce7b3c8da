"""The elements that an array section in a clause names, as a set: `a[0:n][0:m]`."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import islpy as isl

from polylsp.analysis.scope import set_of
from polylsp.analysis.state import Parameters
from polylsp.analysis.value import AllOf, Compare, NotAffineError, Poly, Symbol, is_affine
from polylsp.model.scop import Memory


def section_set(
    text: str, memory: Memory, values: Mapping[str, Poly], parameters: Parameters
) -> isl.Set | None:
    """The elements of a memory that a section names, given the values of the variables in it; `None` where
    it has no bounds, or they are not understood."""
    bounds = _bounds(text)
    if not bounds or len(bounds) > memory.dimensions:
        return None
    names = tuple(f"x{k}" for k in range(memory.dimensions))
    conditions: list[Compare] = []
    for name, (low, length) in zip(names, bounds, strict=False):
        first, count = _value(low or "0", values), _value(length, values)
        if first is None or count is None:
            return None
        subscript = Poly.atom(Symbol(name))
        conditions += [Compare(">=", subscript - first), Compare(">=", first + count - subscript - 1)]
    try:
        found = set_of(names, AllOf(tuple(conditions)), parameters)
    except NotAffineError:
        return None
    return found.set_tuple_name(memory.name)


def _bounds(text: str) -> list[tuple[str, str]] | None:
    """Start and length of each dimension of a section."""
    found: list[tuple[str, str]] = []
    at = text.find("[")
    while 0 <= at < len(text):
        close = _closing(text, at)
        low, colon, length = text[at + 1 : close].partition(":")
        if text[at] != "[" or not colon or not length or ":" in length:
            return None
        found.append((low, length))
        at = close + 1
    return found


def _closing(text: str, at: int) -> int:
    depth = 0
    for k in range(at, len(text)):
        depth += (text[k] in "([") - (text[k] in ")]")
        if depth == 0:
            return k
    return len(text)


def _value(text: str, values: Mapping[str, Poly]) -> Poly | None:
    try:
        found = _polynomial(ast.parse(text, mode="eval").body, values)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return found if found is not None and is_affine(found, frozenset()) else None


def _polynomial(node: ast.expr, values: Mapping[str, Poly]) -> Poly | None:
    match node:
        case ast.Constant(value=int() as value):
            return Poly.constant(value)
        case ast.Name(id=name):
            return values.get(name)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as operator, right=right):
            first, second = _polynomial(left, values), _polynomial(right, values)
            if first is None or second is None:
                return None
            if isinstance(operator, ast.Mult):
                return first * second
            return first + second if isinstance(operator, ast.Add) else first - second
        case _:
            return None
