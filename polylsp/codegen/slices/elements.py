"""Elements of arrays in loops, and the slices that they all are together."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from polylsp.codegen.numba.source import Source
from polylsp.codegen.slices.counters import Counter
from polylsp.frontends.python.kinds import INT64
from polylsp.frontends.python.literals import constant
from polylsp.model.program import Array, Floating, Integer, Pointer, Type

_WHOLE_NUMBERS = (
    ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.expr_context, ast.operator, ast.unaryop,
)  # fmt: skip


class RefusedError(Exception):
    """Signals that a statement has no form on slices, with the reason in one sentence."""


@dataclass(frozen=True, slots=True)
class Known:
    """The function, the counters by their names, the types of its numbers and of its arrays' elements."""

    source: Source
    counters: Mapping[str, Counter]
    numbers: Mapping[str, Type]
    arrays: Mapping[str, Type]


Along = list[tuple[ast.expr, str, int]]
"""The subscripts of an element; with each the counter that it is, and the number added to that. The name is
empty where the subscript is the same in all iterations."""


def known_of(source: Source, counters: Sequence[Counter]) -> Known:
    """Types of a function's names."""
    numbers: dict[str, Type] = {}
    arrays: dict[str, Type] = {}
    for variable in source.subject.variables:
        is_array = isinstance(variable.type, (Array, Pointer))
        (arrays if is_array else numbers)[variable.source_name] = _element(variable.type)
    return Known(source, {each.name: each for each in counters}, numbers, arrays)


def dimensions(known: Known, target: ast.Subscript) -> tuple[str, ...]:
    """The counters in the order of the dimensions along which a statement stores."""
    found = tuple(name for _, name, _ in along(known, target) if name)
    lacking = next((name for name in known.counters if name not in found), None)
    if lacking is not None:
        told = f"All iterations of `{lacking}` store to the one `{ast.unparse(target)}`"
        raise RefusedError(f"{told}: that is no statement on slices.")
    if len(set(found)) < len(found):
        raise RefusedError(f"`{ast.unparse(target)}` is part of a diagonal, which no slice is.")
    return found


def along(known: Known, node: ast.Subscript) -> Along:
    """The subscripts of an element."""
    every = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return [(one, *_counted(known, node, one)) for one in every]


def part(known: Known, node: ast.Subscript, order: tuple[str, ...]) -> ast.expr:
    """All elements that an expression is in the loops, with dimensions in the `order` of the counters."""
    base, found = ast.unparse(node.value), along(known, node)
    if base not in known.arrays:
        raise RefusedError(f"`{base}` is not known to be an array.")
    if known.arrays[base] not in (Floating(64), INT64):
        raise RefusedError(f"`{base}` does not hold `float64` or `int64`: NumPy may round it otherwise.")
    own = tuple(name for _, name, _ in found if name)
    if len(own) == 2 and own == order[::-1]:
        return ast.Attribute(_sliced(known, node, found, own), "T", ast.Load())
    if sorted(own, key=order.index) != list(own) or len(set(own)) < len(own):
        raise RefusedError(f"The dimensions of `{ast.unparse(node)}` are in another order.")
    return _sliced(known, node, found, order)


def _counted(known: Known, node: ast.Subscript, subscript: ast.expr) -> tuple[str, int]:
    match subscript:
        case ast.Name(id=name) if name in known.counters:
            return name, 0
        case ast.BinOp(ast.Name(id=name), ast.Add() | ast.Sub() as op, right) if name in known.counters:
            number = constant(right)
            if number is not None:
                return name, number if isinstance(op, ast.Add) else -number
        case ast.BinOp(left, ast.Add(), ast.Name(id=name)) if name in known.counters:
            number = constant(left)
            if number is not None:
                return name, number
        case _ if _is_fixed(known, subscript):
            return "", 0
        case _:
            pass
    text = f"`{ast.unparse(subscript)}` in `{ast.unparse(node)}`"
    raise RefusedError(f"{text} is no counter with a number added, so it is no slice.")


def _is_fixed(known: Known, node: ast.expr) -> bool:
    inner = list(ast.walk(node))
    names = {n.id for n in inner if isinstance(n, ast.Name)}
    whole = all(isinstance(known.numbers.get(name), Integer) for name in names)
    return all(isinstance(n, _WHOLE_NUMBERS) for n in inner) and whole and names.isdisjoint(known.counters)


def _sliced(known: Known, node: ast.Subscript, found: Along, order: tuple[str, ...]) -> ast.Subscript:
    parts = ", ".join(_parts(known, ast.unparse(node.value), found, order))
    made = ast.parse(f"{ast.unparse(node.value)}[{parts}]", mode="eval").body
    assert isinstance(made, ast.Subscript)
    return made


def _parts(known: Known, base: str, found: Along, order: tuple[str, ...]) -> Iterator[str]:
    """The subscripts; dimensions that are lacking, but for the first ones, have the length one."""
    last: int | None = None
    for dimension, (subscript, name, shift) in enumerate(found):
        if not name:
            yield ast.unparse(subscript)
            continue
        position = order.index(name)
        yield from () if last is None else ["None"] * (position - last - 1)
        yield _slice(known, base, dimension, name, shift)
        last = position
    yield from () if last is None else ["None"] * (len(order) - last - 1)


def _slice(known: Known, base: str, dimension: int, name: str, shift: int) -> str:
    lengths = (f"{base}.shape[{dimension}]", *((f"len({base})",) if dimension == 0 else ()))
    made = known.counters[name].slice(shift, lengths)
    if made is None:
        raise RefusedError(f"`{base}` is used with subscripts that count from its end, as a slice would not.")
    return made


def _element(of_type: Type) -> Type:
    while isinstance(of_type, (Array, Pointer)):
        of_type = of_type.element if isinstance(of_type, Array) else of_type.to
    return of_type
