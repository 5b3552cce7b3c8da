"""Whole numbers with which Numba computes otherwise than Python: powers, and constants beyond 64 bits.

Python's power of two `int`s is a `float` where the exponent is negative, Numba's is the `int` 0. Powers of
NumPy's numbers raise an error there.
"""

from __future__ import annotations

import ast

from polylsp.frontends.python.kinds import BOOL, INT, NATURAL, Array, Number
from polylsp.frontends.python.names import Value
from polylsp.frontends.python.syntax import constant
from polylsp.targets.numba.python_loops import Source

_BITS = 63
_LARGEST = 100
"""The largest exponent of a constant that is computed: with others it has too many bits as well."""


def why_not_whole(source: Source, node: ast.AST) -> str:
    """Reason why Numba computes a node with other whole numbers than Python's; empty if it does not."""
    match node:
        case ast.BinOp(left=base, op=ast.Pow(), right=exponent) if _is_fraction(source, base, exponent):
            return _power(source, node, base, exponent)
        case ast.AugAssign(target=base, op=ast.Pow(), value=exponent) if _is_fraction(source, base, exponent):
            return _power(source, node, base, exponent)
        case ast.Constant() | ast.BinOp() | ast.Name(ctx=ast.Load()):
            value = _folded(source, node)
            if value is None or -(1 << _BITS) <= value < 1 << _BITS:
                return ""
            told = f"`{ast.unparse(node)}` on line {source.line(node)} does not fit"
            return f"{told} in the 64 bits that Numba has for whole numbers."
        case _:
            return ""


def _power(source: Source, node: ast.BinOp | ast.AugAssign, base: ast.expr, exponent: ast.expr) -> str:
    number = constant(base)
    is_exact = number is not None and abs(number) < _LARGEST
    form = f"{float(number)}" if number is not None and is_exact else f"float({ast.unparse(base)})"
    power = ast.unparse(ast.BinOp(ast.parse(form, mode="eval").body, ast.Pow(), exponent))
    told = f"`{ast.unparse(node)}` on line {source.line(node)} is a fraction in Python"
    return f"{told} where `{ast.unparse(exponent)}` is negative, and 0 in Numba: write `{power}`."


def _is_fraction(source: Source, base: ast.expr, exponent: ast.expr) -> bool:
    """True if a power may be one of two `int`s of Python with a negative exponent."""
    both = _may_be_int(source, base) and _may_be_int(source, exponent)
    return both and not _is_natural(source, exponent)


def _may_be_int(source: Source, node: ast.expr) -> bool:
    """True unless a value is known to be another number, or an array."""
    kind = source.kinds.of(node)
    if isinstance(kind, Array):
        return False
    return not isinstance(kind, Number) or kind.type in (INT, NATURAL, BOOL)


def _is_natural(source: Source, node: ast.expr, within: frozenset[str] = frozenset()) -> bool:
    """True for a whole number that is certainly not negative."""
    value = _folded(source, node)
    if value is not None:
        return value >= 0
    match node:
        case ast.Name(id=name):
            return _counts_up(source, name, within)
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult() | ast.FloorDiv(), right=right):
            return all(_is_natural(source, one, within) for one in (left, right))
        case ast.BinOp(op=ast.Mod(), right=right):
            return _is_natural(source, right, within)
        case ast.Call(func=function, args=arguments) if source.path(function) in ("abs", "len", "min"):
            found = (_is_natural(source, one, within) for one in arguments)
            return source.path(function) != "min" or all(found)
        case _:
            return False


def _counts_up(source: Source, name: str, within: frozenset[str]) -> bool:
    """True for a name that stands for counters of loops alone, which begin at numbers that are not negative
    and count up. `within` are the names that this is to show for."""
    stored = {id(n) for n in source.nodes if _is_store(n, name)}
    loops = [n for n in source.nodes if isinstance(n, ast.For) and id(n.target) in stored]
    given = {one.arg for one in ast.walk(source.definition.args) if isinstance(one, ast.arg)}
    is_counter = name not in given and 0 < len(stored) == len(loops)
    inside = within | {name}
    return is_counter and name not in within and all(_begins_natural(source, n, inside) for n in loops)


def _is_store(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)


def _begins_natural(source: Source, node: ast.For, within: frozenset[str]) -> bool:
    match node.iter:
        case ast.Call(func=function, args=arguments) if "range" in source.path(function):
            step = constant(arguments[2]) if len(arguments) > 2 else 1
            begins = len(arguments) < 2 or _is_natural(source, arguments[0], within)
            return begins and step is not None and step > 0
        case _:
            return False


def _folded(source: Source, node: ast.AST) -> int | None:
    """The value of an expression of whole numbers that are written out, in it or as constants of the file;
    `None` for others."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case ast.Name(id=name) if name not in source.local:
            found = source.declarations.get(name)
            value = found.constant if isinstance(found, Value) else None
            return value if isinstance(value, int) else None
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = _folded(source, operand)
            return -value if value is not None else None
        case ast.BinOp(left=left, op=operator, right=right):
            one, other = _folded(source, left), _folded(source, right)
            return _result(one, operator, other) if one is not None and other is not None else None
        case _:
            return None


def _result(one: int, operator: ast.operator, other: int) -> int | None:
    """The result of an operation; the first of two numbers stands for it where that does not fit already."""
    if one.bit_length() > _BITS + 1:
        return one
    match operator:
        case ast.Add():
            return one + other
        case ast.Sub():
            return one - other
        case ast.Mult():
            return one * other
        case ast.Pow() if other >= 0:
            return one ** min(other, _LARGEST)
        case ast.LShift() if other >= 0:
            return one << min(other, _LARGEST)
        case _:
            return None
