"""The counters of loops, as the bounds of slices."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polylsp.codegen.numba.loop_text import LoopText
from polylsp.codegen.numba.ranges import moved
from polylsp.codegen.numba.source import Source
from polylsp.frontends.python.literals import constant
from polylsp.model.action import Declined

_BOUND = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Call,
    ast.expr_context, ast.operator, ast.unaryop,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bound:
    """Bound of a range, and its least value, if determined."""

    node: ast.expr
    least: int | None

    def moved(self, by: int) -> str | None:
        """The bound with a number added; `None` where that may be less than zero undetected."""
        return moved(self.node, by) if self.least is None or self.least + by >= 0 else None


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter `name` from `start`, whose least value is determined, up to `stop`, by `step`."""

    name: str
    start: Bound
    stop: Bound
    step: int

    def slice(self, shift: int, length: Sequence[str]) -> str | None:
        """The elements with the subscripts `name + shift`, as a slice of a dimension whose length is spelled
        as one of `length`; `None` where it may begin or end below zero."""
        start, stop = self.start.moved(shift), self.stop.moved(shift)
        if start is None or stop is None:
            return None
        step = f":{self.step}" if self.step > 1 else ""
        return f"{'' if start == '0' else start}:{'' if stop in length else stop}{step}"


def counters_of(source: Source, chain: Sequence[LoopText]) -> tuple[Counter, ...] | Declined:
    """The counters of loops that stand in each other, outermost first."""
    found: list[Counter] = []
    outer = _outer(source, chain[0].ordinal)
    for text in chain:
        made = _counter(source, text, outer, {each.name for each in found})
        if isinstance(made, Declined):
            return made
        found.append(made)
    return tuple(found)


def _outer(source: Source, ordinal: int) -> dict[str, int | None]:
    """Counters of the loops around a loop, with their least values, if determined."""
    found: dict[str, int | None] = {}
    for each in source.subject.around(ordinal):
        node = source.loop(each)
        call = node.iter if node is not None else None
        if node is None or not isinstance(node.target, ast.Name) or not isinstance(call, ast.Call):
            found |= dict.fromkeys((each.iterator,), None) if each.iterator else {}
            continue
        first, step = _start(call), constant(call.args[2]) if len(call.args) > 2 else 1
        counts_up = source.path(call.func) == "range" and step is not None and step > 0
        counts_up &= not _is_stored(node.body, node.target.id)
        found[node.target.id] = _least(first, found) if counts_up else None
    return found


def _is_stored(body: Sequence[ast.stmt], name: str) -> bool:
    nodes = (node for one in body for node in ast.walk(one) if isinstance(node, ast.Name))
    return any(node.id == name and isinstance(node.ctx, ast.Store) for node in nodes)


def _start(call: ast.Call) -> ast.expr:
    return call.args[0] if len(call.args) > 1 else ast.Constant(0)


def _least(node: ast.expr, outer: Mapping[str, int | None]) -> int | None:
    """The least value of a number, or of a counter with a number added."""
    match node:
        case ast.Name(id=name):
            return outer.get(name)
        case ast.BinOp(ast.Name(id=name), ast.Add() | ast.Sub() as op, right):
            number, least = constant(right), outer.get(name)
            if number is None or least is None:
                return None
            return least + (number if isinstance(op, ast.Add) else -number)
        case _:
            return constant(node)


def _counter(
    source: Source, text: LoopText, outer: Mapping[str, int | None], chained: set[str]
) -> Counter | Declined:
    assert isinstance(text.node.target, ast.Name)
    name, call = text.node.target.id, text.node.iter
    if not isinstance(call, ast.Call) or source.path(call.func) != "range":
        return Declined(f"The loop `{name}` does not run over a `range`.")
    first, least = _start(call), _least(_start(call), outer)
    step = constant(call.args[2]) if len(call.args) > 2 else 1
    if least is None or step is None or least < 0 or step < 1:
        return Declined(f"The loop `{name}` does not count up from a number by a number.")
    stop = call.args[1] if len(call.args) > 1 else call.args[0]
    last = Bound(stop, _least(stop, outer))
    nodes = [*ast.walk(first), *ast.walk(stop)]
    if _names(first, stop) & chained or (last.least is None and _names(stop) & outer.keys()):
        return Declined(f"How far `{name}` counts depends on the loops around it: no slices are such a part.")
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    if not all(isinstance(node, _BOUND) for node in nodes) or any(not _is_len(source, c) for c in calls):
        return Declined(f"How far `{name}` counts is computed by `{ast.unparse(stop)}`: name that first.")
    return Counter(name, Bound(first, least), last, step)


def _names(*expressions: ast.expr) -> set[str]:
    return {n.id for one in expressions for n in ast.walk(one) if isinstance(n, ast.Name)}


def _is_len(source: Source, call: ast.Call) -> bool:
    return source.path(call.func) == "len"
