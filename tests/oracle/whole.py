"""Array statements: one operation on all elements of slices, in Python's order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

from .machine import Machine
from .nests import Type
from .values import Undefined, Value

Code = Callable[[Machine], Any]
Extent = tuple[Code, Code, int]
"""A slice: its start, its stop and its step."""

_EMPTY = "there are no points, but something is read"


def points(start: Code, step: int, dimension: int) -> Code:
    """The subscript for which a slice stands at the machine's point (`dimension` counts from the last)."""
    return lambda m: start(m) + step * m.point[dimension]


def store_all(
    place: Code,
    value: Code,
    uid: int,
    shape: tuple[Extent, ...],
    others: list[tuple[Extent, ...]],
    reads_once: bool,
) -> Code:
    """Compute at every point of a shape, then store at every point. `reads_once`: something is read
    that has no slices, even if there are no points."""

    def run(m: Machine) -> None:
        lengths = _lengths(m, shape)
        for other in others:
            if _lengths(m, other) != lengths[len(lengths) - len(other) :]:
                raise Undefined("the shapes do not fit")
        if 0 in lengths and (any(lengths) or reads_once):
            raise Undefined(_EMPTY)
        results: list[Value] = []
        for point in product(*map(range, lengths)):
            m.tick()
            m.point = point
            results.append(value(m))
        for point, result in zip(product(*map(range, lengths)), results, strict=True):
            m.point = point
            m.store(*place(m), result, uid)
        m.point = ()

    return run


def store_where(
    place: Code,
    test: Code,
    value: Code,
    uid: int,
    shape: tuple[Extent, ...],
    others: list[tuple[Extent, ...]],
    reads_once: bool,
) -> Code:
    """Test every point of a shape, then store one value at those for which that was true."""

    def run(m: Machine) -> None:
        lengths = _lengths(m, shape)
        if any(_lengths(m, other) != lengths for other in others):
            raise Undefined("the shapes do not fit")
        if 0 in lengths and (any(lengths) or reads_once):
            raise Undefined(_EMPTY)
        result = value(m)
        every, chosen = list(product(*map(range, lengths))), list[tuple[int, ...]]()
        for m.point in every:
            m.tick()
            chosen += [m.point] if test(m) else []
        for m.point in chosen:
            m.store(*place(m), result, uid)
        m.point = ()

    return run


def added_up(
    value: Code, type: Type, add: Callable[..., Value], shapes: list[tuple[Extent, ...]], reads_once: bool
) -> Code:
    """The sum over every point of the largest shape, to which the others fit."""

    def run(m: Machine) -> Value:
        found = sorted((_lengths(m, shape) for shape in shapes), key=len)
        lengths = found[-1]
        if any(other != lengths[len(lengths) - len(other) :] for other in found):
            raise Undefined("the shapes do not fit")
        if 0 in lengths and reads_once:
            raise Undefined(_EMPTY)
        total, outer = m.convert(0, "int", type), m.point
        for point in product(*map(range, lengths)):
            m.tick()
            m.point = point
            total = add(m, total, value(m))
        m.point = outer
        return total

    return run


def _lengths(m: Machine, shape: tuple[Extent, ...]) -> tuple[int, ...]:
    return tuple(_length(start(m), stop(m), step) for start, stop, step in shape)


def _length(start: int, stop: int, step: int) -> int:
    if min(start, stop) < 0:
        raise Undefined("a bound that counts from the end")
    return len(range(start, stop, step))
