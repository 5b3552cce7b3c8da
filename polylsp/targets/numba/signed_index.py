"""Sign of the index of a loop over `prange`.

Numba gives the index of `prange(n)` the type `uint64`, and so its copies, its products and the counters of
`range(i)`: `-i`, `~i` and `j - i` wrap around, and a copy that gets another value does not compile.
Arithmetic with an `int64` or a literal gives `int64`. The index of `prange(np.int64(0), n)` is an `int64`; so
is that of `prange(0, n)`, unless Numba fuses the loop with an array statement. Numba tests signed subscripts
for negative values: `a[i] = b[i] + 3 * c[i]` takes up to 3.7 times as long, `b[i] = np.exp(a[i])` 1.9 times
(Numba 0.68, 2,000,000 elements, one or two threads). The signed start is therefore written only where needed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from polylsp.frontends.python.kinds import Number
from polylsp.frontends.python.nodes import nodes_in, own_nodes
from polylsp.frontends.python.syntax import constant
from polylsp.targets.numba.python_loops import Source, range_arguments

_RANGES = ("range", "prange", "numba.prange")
_REAL = (
    "sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh",
    "floor", "ceil", "fabs",
)  # fmt: skip
"""Functions of `math` and NumPy that convert whole numbers to floating-point numbers first."""
_CONVERTING = ("float", "bool", *(f"{root}.{name}" for root in ("math", "numpy") for name in _REAL))


def needs_signed_start(source: Source, node: ast.For, first: str) -> bool:
    """True for a loop whose start `first` has to be converted to `int64`: an unsigned index may give other
    results than Python's, or does not compile, and Numba may prove the start to be 0, as is that of the array
    statements with which it fuses loops."""
    if not isinstance(node.target, ast.Name) or _is_never_zero(source, node, first):
        return False
    body = own_nodes(node.body)
    found = _Unsigned(source, _counters(source, node.target.id, body))
    indices = {id(each.slice) for each in body if isinstance(each, ast.Subscript) and _is_tuple(each.slice)}
    return any(found.wraps(each) for each in body if id(each) not in indices)


def _counters(source: Source, index: str, body: list[ast.AST]) -> frozenset[str]:
    """The index, and the counters in the body that Numba counts with unsigned numbers too."""
    names = {index}
    while True:
        found = _Unsigned(source, frozenset(names))
        loops = (n for n in body if isinstance(n, ast.For) and isinstance(n.target, ast.Name))
        more = {n.target.id for n in loops if isinstance(n.target, ast.Name) and found.counts(n.iter)}
        if more <= names:
            return frozenset(names)
        names |= more


@dataclass(frozen=True, slots=True)
class _Unsigned:
    """Expressions that Numba may type as `uint64`, where `names` are of that type."""

    source: Source
    names: frozenset[str]

    def counts(self, ranged: ast.expr) -> bool:
        """True for a range whose numbers are unsigned: each of its arguments is."""
        is_range = isinstance(ranged, ast.Call) and self.source.path(ranged.func) in _RANGES
        return isinstance(ranged, ast.Call) and is_range and all(self.has(each) for each in ranged.args)

    def has(self, node: ast.expr) -> bool:
        """True if a value may be unsigned. Functions other than conversions may return an argument."""
        match node:
            case ast.Name(id=name):
                return name in self.names
            case ast.BinOp(op=ast.Div() | ast.MatMult()):
                return False
            case ast.BinOp(left=left, op=ast.Pow() | ast.LShift() | ast.RShift()):
                return self.has(left)
            case ast.BinOp(left=left, right=right):
                return self.has(left) and self.has(right)
            case ast.UnaryOp(op=operator, operand=operand):
                return not isinstance(operator, ast.Not) and self.has(operand)
            case ast.IfExp(body=one, orelse=other):
                return self.has(one) or self.has(other)
            case ast.BoolOp(values=parts) | ast.Tuple(elts=parts):
                return any(map(self.has, parts))
            case ast.Call(func=function, args=arguments):
                return self.source.path(function) not in _CONVERTING and any(map(self.has, arguments))
            case _:
                return False

    def wraps(self, node: ast.AST) -> bool:
        """True if a node, regardless of the nodes inside it, may have another value or not compile because a
        part of it is unsigned. Comparisons with numbers and stores to elements are right."""
        match node:
            case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=operand):
                return self.has(operand)
            case ast.BinOp(left=left, op=operator, right=right):
                both = self.has(left) and self.has(right)
                return (both and isinstance(operator, ast.Sub)) or self._mixes(left, right)
            case ast.AugAssign(target=target, value=value):
                return self.has(target) or self._mixes(target, value)
            case ast.Compare(left=left, comparators=others):
                return any(self._mixes(left, each) for each in others)
            case ast.IfExp(body=one, orelse=other):
                return self.has(one) or self.has(other)
            case ast.BoolOp(values=parts) | ast.Tuple(elts=parts):
                return any(self.has(each) for each in parts)
            case ast.Call(func=function):
                return self.source.path(function) not in _RANGES and self.has(node)
            case ast.Assign(targets=targets, value=value):
                return (self.has(value) and any(map(_binds, targets))) or any(map(self.has, targets))
            case ast.keyword(value=value) | ast.NamedExpr(value=value):
                return self.has(value)
            case _:
                return False

    def _mixes(self, one: ast.expr, other: ast.expr) -> bool:
        """True for an operation on an unsigned number and an array, which becomes one of `float64`."""
        pairs = ((one, other), (other, one))
        return any(self.has(x) and not isinstance(self.source.kinds.of(y), Number) for x, y in pairs)


def _binds(target: ast.expr) -> bool:
    return not isinstance(target, ast.Subscript)


def _is_never_zero(source: Source, node: ast.For, first: str) -> bool:
    """True for a start that Numba cannot take for 0: another literal, or a parameter or a counter of a loop
    around, and what is a literal away from one."""
    start = ast.parse(first, mode="eval").body
    match start:
        case ast.BinOp(left=ast.Name() as name, op=ast.Add() | ast.Sub(), right=ast.Constant()):
            start = name
        case ast.UnaryOp(op=ast.USub(), operand=ast.Name() as name):
            start = name
        case _:
            pass
    if not isinstance(start, ast.Name):
        return bool(constant(start))
    parameters = {one.arg for one in nodes_in(source.definition.args) if isinstance(one, ast.arg)}
    stored = [n for n in source.nodes if isinstance(n, ast.Name) and n.id == start.id and _is_stored(n)]
    around = {id(n.target) for n in _around(source, node)}
    return all(id(each) in around for each in stored) and (start.id in parameters or bool(stored))


def _is_stored(node: ast.Name) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _around(source: Source, node: ast.For) -> Iterator[ast.For]:
    """The loops over ranges around a loop."""
    loops = (n for n in source.nodes if isinstance(n, ast.For) and range_arguments(n.iter) is not None)
    return (n for n in loops if n is not node and any(one is node for one in own_nodes(n.body)))


def _is_tuple(node: ast.expr) -> bool:
    return isinstance(node, ast.Tuple)
