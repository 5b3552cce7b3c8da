"""Names that are another whole number in each iteration of a loop: those that it counts, and those of values
that an assumption says to be distinct.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from polylsp.frontends.python.attributes import dotted
from polylsp.frontends.python.bindings import dimensions, ranges_of
from polylsp.frontends.python.kinds import MIXED, UNKNOWN, Kind, is_whole
from polylsp.frontends.python.live_ranges import spelled
from polylsp.frontends.python.lowering_scope import Context
from polylsp.frontends.python.nodes import nodes_in
from polylsp.frontends.python.usage import RANGES
from polylsp.ir.verdict import Assumption

Axis = tuple[ast.expr, ast.expr]
"""A target, and what it runs over."""


def axes(context: Context, loop: ast.For) -> list[Axis]:
    """The axes of a loop, each a loop of its own; none where they are not told."""
    if dimensions(loop) == 1:
        return [(loop.target, loop.iter)]
    is_product = isinstance(loop.iter, ast.Call) and context.path(loop.iter.func) == "itertools.product"
    names = [n.id for n in nodes_in(loop.target) if isinstance(n, ast.Name)]
    ranges = ranges_of(loop.iter) if isinstance(loop.iter, ast.Call) and is_product else []
    if (
        not isinstance(loop.target, ast.Tuple)
        or len({*names}) != len(loop.target.elts)
        or len(names) != len(ranges)
    ):
        return []
    return list(zip(loop.target.elts, ranges, strict=True))


def is_counted(path: Callable[[ast.expr], str], iterable: ast.expr) -> bool:
    """True for ranges, whose bounds are evaluated before the loop."""
    if not isinstance(iterable, ast.Call):
        return False
    is_product = path(iterable.func) == "itertools.product" and bool(ranges_of(iterable))
    return path(iterable.func) in RANGES or is_product


@dataclass(frozen=True, slots=True)
class IterationNumber:
    """A whole number, from 0 on, that is another one in each iteration, under an assumption if it takes one;
    the least one, or `None`. Two of them are a positive `step` apart or more, and lie before `stop`; both are
    `None` where they are not told."""

    assumed: Assumption | None = None
    start: ast.expr | None = None
    step: ast.expr | None = None
    stop: ast.expr | None = None


def iteration_numbers(
    context: Context, target: ast.expr, iterable: ast.expr
) -> Iterator[tuple[str, IterationNumber]]:
    """Names of a target that are another whole number, from 0 on, in each iteration."""
    path = context.path(iterable.func) if isinstance(iterable, ast.Call) else ""
    match target, iterable:
        case ast.Name(id=name), ast.Call(args=arguments, keywords=[]) if path in RANGES:
            if all(map(_may_be_whole, map(context.kind, arguments))):
                yield from _of_range(name, arguments)
        case ast.Name(), ast.Call(args=[ast.Call() as inner]) if path == "reversed":
            if context.path(inner.func) in RANGES:
                yield from iteration_numbers(context, target, inner)
        case (
            ast.Tuple(elts=[ast.Name(id=name), inner]),
            ast.Call(args=[given, *first], keywords=by_name),
        ) if path == "enumerate":
            yield from _counted_from(name, [*first, *(one.value for one in by_name)])
            yield from iteration_numbers(context, inner, given)
        case ast.Tuple(elts=parts), ast.Call(args=each) if path == "zip" and len(parts) == len(each):
            for part, one in zip(parts, each, strict=True):
                yield from iteration_numbers(context, part, one)
        case ast.Name(id=name), ast.Name() | ast.Attribute() if path_of_name(iterable):
            text = spelled(path_of_name(iterable))
            sentence = f"`{text}` has no repeated value, and no negative one"
            yield name, IterationNumber(Assumption("distinct-values", (text,), sentence))
        case _:
            return


def _counted_from(name: str, starts: Sequence[ast.expr]) -> Iterator[tuple[str, IterationNumber]]:
    """A number that counts up from a start, which may be left out."""
    match starts:
        case []:
            yield name, IterationNumber(start=ast.Constant(0))
        case [first] if is_natural(first):
            yield name, IterationNumber(start=first)
        case [first] if _is_arithmetic(first):
            text = spelled(ast.unparse(first))
            yield name, IterationNumber(Assumption("in-bounds", (text,), f"`{text}` is not negative"), first)
        case _:
            return


def _may_be_whole(kind: Kind | None) -> bool:
    """True for a whole number, and for what may be one: nothing tells, or several kinds of values."""
    return kind in (None, UNKNOWN, MIXED) or is_whole(kind)


def _of_range(name: str, arguments: list[ast.expr]) -> Iterator[tuple[str, IterationNumber]]:
    """Numbers of a range: whole ones, whatever else its bounds may be."""
    match arguments:
        case [_]:
            yield name, IterationNumber(start=ast.Constant(0))
        case [first, _] | [first, _, ast.Constant(value=1)]:
            yield from _counted_from(name, [first])
        case [first, stop, ast.Constant(value=int() as step) as by] if is_natural(first) and step > 0:
            yield name, IterationNumber(start=first, step=by, stop=stop)
        case [first, _, ast.Constant(value=int())] if is_natural(first):
            yield name, IterationNumber(start=first)
        case [first, stop, step] if is_natural(first) and _is_arithmetic(step):
            text = spelled(ast.unparse(step))
            positive = Assumption("other", (text,), f"`{text}` is positive")
            yield name, IterationNumber(positive, first, step, stop)
        case [_, ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)), ast.UnaryOp(op=ast.USub())]:
            yield name, IterationNumber(start=ast.Constant(0))
        case [_, ast.Constant() as last, ast.UnaryOp(op=ast.USub())] if is_natural(last):
            yield name, IterationNumber(start=last)
        case _:
            return


def strip_of(
    path: Callable[[ast.expr], str],
    numbers: Mapping[str, IterationNumber],
    own: AbstractSet[str],
    bounds: ast.Slice,
) -> str:
    """The name of the number whose iteration alone has the elements between two bounds, as those of
    `i:i + step`, `i:min(i + step, stop)` and `i * n:(i + 1) * n`; empty for other bounds. `own` are the names
    that an iteration binds."""
    if name := _block_of(numbers, own, bounds):
        return name
    number = numbers.get(bounds.lower.id) if isinstance(bounds.lower, ast.Name) else None
    if number is None or bounds.step is not None or not isinstance(bounds.lower, ast.Name):
        return ""
    end = bounds.upper
    match end:
        case ast.Call(func=called, args=[one, other], keywords=[]) if path(called) == "min":
            # A bound that is negative would count from the end.
            ends = [one for one, least in ((one, other), (other, one)) if _is_length(number, own, least)]
            return bounds.lower.id if any(_is_next(number, own, bounds.lower.id, one) for one in ends) else ""
        case ast.expr():
            return bounds.lower.id if _is_next(number, own, bounds.lower.id, end) else ""
        case None:
            return ""


def _block_of(numbers: Mapping[str, IterationNumber], own: AbstractSet[str], bounds: ast.Slice) -> str:
    """The name of the number `i` of which `i * n` and `(i + 1) * n` are the bounds; empty for others. Blocks
    of a negative length are empty, except for that of the number 0, whose end counts from the array's."""
    match bounds:
        case ast.Slice(ast.BinOp(left, ast.Mult(), right), ast.BinOp() as upper, None):
            pairs = [(left, right), (right, left)]
        case _:
            return ""
    for counter, length in pairs:
        if not isinstance(counter, ast.Name) or counter.id not in numbers or not _is_fixed(own, length):
            continue
        if _is_end_of_block(upper, counter.id, ast.unparse(length), bounds.lower):
            return counter.id
    return ""


def _is_end_of_block(node: ast.BinOp, counter: str, length: str, start: ast.expr | None) -> bool:
    """True for `(i + 1) * n`, and for `i * n + n` where the block starts at `i * n`."""
    match node:
        case ast.BinOp(op=ast.Mult()):
            sides = ast.unparse(node.left), ast.unparse(node.right)
            after = (f"{counter} + 1", f"1 + {counter}")
            return any(one == length and other in after for one, other in (sides, sides[::-1]))
        case ast.BinOp(left=left, op=ast.Add(), right=right) if start is not None:
            sides = ast.unparse(left), ast.unparse(right)
            return any(one == ast.unparse(start) and other == length for one, other in (sides, sides[::-1]))
        case _:
            return False


def number_in(numbers: Mapping[str, IterationNumber], own: frozenset[str], subscript: ast.expr) -> str:
    """The name of the number that a subscript is, or is at a distance from that the loop, which binds the
    names `own`, does not change; empty for others, and where it may be negative."""
    match subscript:
        case ast.Name(id=name) if name in numbers:
            return name
        case (
            ast.BinOp(left=ast.Name(id=name), op=ast.Add(), right=by)
            | ast.BinOp(left=by, op=ast.Add(), right=ast.Name(id=name))
        ) if name in numbers and is_natural(by):
            return name
        case ast.BinOp(left=ast.Name(id=name), op=ast.Sub(), right=by) if name in numbers:
            start = numbers[name].start
            if start is None or any(isinstance(n, ast.Name) and n.id in own for n in nodes_in(by)):
                return ""
            if is_natural(start) and is_natural(by):
                return name if ast.literal_eval(by) <= ast.literal_eval(start) else ""
            return name if ast.unparse(start) == ast.unparse(by) else ""
        case _:
            return quotient_of(numbers, own, subscript)


def quotient_of(numbers: Mapping[str, IterationNumber], own: AbstractSet[str], node: ast.expr) -> str:
    """The name of the number that an expression divides by the step between its values; empty for others."""
    match node:
        case ast.BinOp(left=ast.Name(id=name), op=ast.FloorDiv(), right=by) if name in numbers:
            return name if _is_within(numbers[name], own, by) else ""
        case _:
            return ""


def _is_next(number: IterationNumber, own: AbstractSet[str], name: str, node: ast.expr) -> bool:
    """True for the sum of a number and its step, or less."""
    match node:
        case ast.BinOp(left=ast.Name(id=left), op=ast.Add(), right=by) if left == name:
            return _is_within(number, own, by)
        case ast.BinOp(left=by, op=ast.Add(), right=ast.Name(id=right)) if right == name:
            return _is_within(number, own, by)
        case _:
            return False


def _is_within(number: IterationNumber, own: AbstractSet[str], by: ast.expr) -> bool:
    """True for a positive distance that is no longer than the step of a number."""
    if number.step is None or not _is_fixed(own, by):
        return False
    if isinstance(by, ast.Constant) and isinstance(number.step, ast.Constant):
        return is_natural(by) and 0 < by.value <= number.step.value  # type: ignore[operator]
    return ast.unparse(by) == ast.unparse(number.step)


def _is_length(number: IterationNumber, own: AbstractSet[str], node: ast.expr) -> bool:
    """True for a number that is not negative where a loop has iterations: its stop, and a length."""
    match node:
        case ast.Call(func=ast.Name(id="len")) | ast.Subscript(value=ast.Attribute(attr="shape")):
            return _is_fixed(own, node)
        case ast.Attribute(attr="size"):
            return _is_fixed(own, node)
        case _:
            stop = number.stop
            return stop is not None and _is_fixed(own, node) and ast.unparse(node) == ast.unparse(stop)


def _is_fixed(own: AbstractSet[str], node: ast.expr) -> bool:
    """True for an expression without a name that an iteration binds."""
    return own.isdisjoint(n.id for n in nodes_in(node) if isinstance(n, ast.Name))


def is_natural(node: ast.expr) -> bool:
    """True for a constant that is a whole number and not negative."""
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value >= 0


def _is_arithmetic(node: ast.expr) -> bool:
    """True for a number that is computed from variables."""
    parts = (ast.Name, ast.Attribute, ast.BinOp, ast.Constant, ast.operator)
    return not isinstance(node, ast.Constant) and all(isinstance(one, parts) for one in nodes_in(node))


def path_of_name(node: ast.AST) -> str:
    """The name of a variable, or the dotted one of an attribute."""
    if isinstance(node, ast.Name):
        return node.id
    return dotted(node) if isinstance(node, ast.Attribute) else ""
