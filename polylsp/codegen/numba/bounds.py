"""The iterations of loops over ranges, read off their headers, as a set of which isl can make other loops."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import islpy as isl

from polylsp.codegen.numba.loop_text import LoopText
from polylsp.codegen.numba.ranges import range_arguments
from polylsp.frontends.python.literals import constant
from polylsp.model.action import Declined

Linear = dict[str, int]
"""A sum: factors of `i0`, `i1`, … (counters) and `p0`, `p1`, … (atoms), and of 1 (the empty name)."""


@dataclass(frozen=True, slots=True)
class Iterations:
    """`domain` is a set over the counters, outermost first (`i0`, `i1`, …); its parameters (`p0`, …) stand
    for texts of the headers (`atoms`)."""

    domain: isl.Set
    atoms: dict[str, str]
    counters: tuple[str, ...]


def iterations(chain: Sequence[LoopText]) -> Iterations | Declined:
    """The iterations of loops with steps of 1 or -1 between linear bounds."""
    counters = tuple(loop.node.target.id for loop in chain if isinstance(loop.node.target, ast.Name))
    if len(set(counters)) < len(chain):
        return Declined(f"Two of these loops have the one variable `{counters[0]}`.")
    reader = _Reader(counters)
    conditions: list[str] = []
    for depth, loop in enumerate(chain):
        found = list(reader.limits(depth, loop.node.iter))
        if not found or reader.hides_counter:
            return Declined(f"New bounds cannot be computed from `{loop.header}`.")
        conditions += found
    names = ", ".join(f"i{k}" for k in range(len(chain)))
    text = f"[{', '.join(reader.atoms)}] -> {{ [{names}] : {' and '.join(conditions)} }}"
    return Iterations(isl.Set(text), reader.atoms, counters)


@dataclass
class _Reader:
    counters: tuple[str, ...]
    atoms: dict[str, str] = field(default_factory=dict[str, str])
    hides_counter: bool = False

    def limits(self, depth: int, call: ast.expr) -> Iterator[str]:
        """Constraints on the counter of a loop."""
        found = range_arguments(call)
        if found is None:
            return
        first, bound, step = found
        up, down = ("max", "min") if step == 1 else ("min", "max")
        for each in _operands(first, up):
            value = _formula(self.linear(each, depth))
            yield f"{value} <= i{depth}" if step == 1 else f"i{depth} <= {value}"
        for each in _operands(bound, down):
            value = _formula(self.linear(each, depth))
            yield f"i{depth} < {value}" if step == 1 else f"{value} < i{depth}"

    def linear(self, node: ast.expr, depth: int) -> Linear:
        """An expression in the header of the loop at a depth."""
        number = constant(node)
        if number is not None and abs(number) < 10**9:
            return {"": number}
        match node:
            case ast.Name(id=name) if name in self.counters[:depth]:
                return {f"i{self.counters.index(name)}": 1}
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return _added(self.linear(left, depth), self.linear(right, depth), 1)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return _added(self.linear(left, depth), self.linear(right, depth), -1)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _added({}, self.linear(operand, depth), -1)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._product(node, left, right, depth)
            case _:
                return self._atom(node)

    def _product(self, node: ast.expr, left: ast.expr, right: ast.expr, depth: int) -> Linear:
        for factor, other in ((left, right), (right, left)):
            number = constant(factor)
            if number is not None and abs(number) < 1000:
                return {name: number * each for name, each in self.linear(other, depth).items()}
        return self._atom(node)

    def _atom(self, node: ast.expr) -> Linear:
        """Term that is no sum of counters and numbers; it must name no counter."""
        text = ast.unparse(node)
        inside = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        self.hides_counter = self.hides_counter or not inside.isdisjoint(self.counters)
        shown = text if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)) else f"({text})"
        known = next((name for name, spelled in self.atoms.items() if spelled == shown), None)
        name = known or f"p{len(self.atoms)}"
        self.atoms[name] = shown
        return {name: 1}


def _operands(node: ast.expr, function: str) -> Iterator[ast.expr]:
    """The arguments of `max(…)` where that is a lower bound, of `min(…)` where it is an upper one."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[_, _, *_] as arguments, keywords=[]) if name == function:
            for each in arguments:
                yield from _operands(each, function)
        case _:
            yield node


def _added(one: Linear, other: Linear, factor: int) -> Linear:
    names = dict.fromkeys((*one, *other))
    return {name: one.get(name, 0) + factor * other.get(name, 0) for name in names}


def _formula(value: Linear) -> str:
    return " + ".join(f"({factor} {name})" for name, factor in value.items()) or "0"
