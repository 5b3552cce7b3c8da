"""The sizes to choose from when none are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from polylsp.codegen.harness.storage import Storage
from polylsp.model.measurement import Extent, Rung

_ROUND = (10, 11, 12, 14, 16, 18, 20, 22, 25, 28, 32, 36, 40, 45, 50, 56, 64, 72, 80, 90)
_SMALL = (37, 19, 11, 7, 5, 3)
"""Sizes at which each access is checked against the bounds of arrays: no multiple of a tile's side, and the
first for which variables of the file have room."""
_MOST_INSTANCES = 10**12
_MOST_BYTES = 8 * 2**30
_LARGEST = 2 * 10**9
_KERNEL = 5
"""Side of the smaller one of two arrays that slide over each other: of a filter over an image."""
_REPETITIONS = 100
"""Iterations of loops that are no dimension of an array: time steps, attempts."""
_PROBE = 64
_FIXED = 32
"""Largest size of a call that stays as it is while others grow: filters, channels, dimensions of space."""
_SCALES = (1 / 1024, 1 / 256, 1 / 64, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0)


class Sizing(Protocol):
    """Needs at some sizes."""

    def rung(self, sizes: Mapping[str, int]) -> Rung:
        """Everything at some sizes."""
        ...

    def widths(self, sizes: Mapping[str, int]) -> Sequence[tuple[int, ...]]:
        """Iterations of each loop around each statement at some sizes."""
        ...

    def exceeded(self, sizes: Mapping[str, int]) -> str | None:
        """The name of a memory whose length is fixed and too short for some sizes."""
        ...


def proportions(extents: Sizing, data: Storage, given: Mapping[str, int]) -> dict[str, int]:
    """Sizes that do not grow with the others: those that leave loops hardly an iteration where all sizes are
    equal, and those that no array depends on."""
    free = [name for name in data.sizes if name not in given]
    if len(free) < 2:
        return {}
    equal = {**dict.fromkeys(free, _PROBE), **given}
    more = {**dict.fromkeys(free, 2 * _PROBE), **given}
    widths, rung = extents.widths(equal), extents.rung(more)
    narrow = [(k, at) for k, sides in enumerate(widths) for at, side in enumerate(sides) if 0 <= side <= 1]
    found: dict[str, int] = {}
    for name in free:
        less = extents.widths({**equal, name: _KERNEL})
        if narrow and len(less) == len(widths) and any(less[k][at] > widths[k][at] for k, at in narrow):
            found[name] = _KERNEL
        elif data.memories and extents.rung({**more, name: _PROBE}).extents == rung.extents:
            found[name] = _REPETITIONS
    if len(found) == len(free):  # Extents that are not known say nothing, but the inner loops do.
        inner = [sides[1:] or sides for sides in extents.widths(more)]
        found = {
            name: size
            for name, size in found.items()
            if [sides[1:] or sides for sides in extents.widths({**more, name: _PROBE})] == inner
        }
    return found if len(found) < len(free) else {}


def around(
    extents: Sizing, data: Storage, given: Mapping[str, int], usual: Mapping[str, int]
) -> tuple[tuple[Rung, ...], int]:
    """Sizes in the proportions of a call, smallest first, and the number of the call's own."""
    rungs: list[Rung] = []
    own = 0
    for scale in _SCALES:
        sizes = {name: _scaled(usual[name], scale) for name in data.sizes if name in usual} | {**given}
        if extents.exceeded(sizes) is not None:
            break
        rung = extents.rung(sizes)
        if scale > 1 and (rung.instances > _MOST_INSTANCES or used(data, rung) > _MOST_BYTES):
            break
        if rungs and rung.sizes == rungs[-1].sizes:
            rungs.pop()
        rungs.append(rung)
        own = len(rungs) - 1 if scale <= 1.0 else own
    return tuple(rungs), own


def _scaled(size: int, scale: float) -> int:
    return size if size <= _FIXED else max(_FIXED, round(size * scale))


def ladder(extents: Sizing, data: Storage, given: Mapping[str, int]) -> tuple[Rung, ...]:
    """Sizes that grow together, those left out that are given; one where all are."""
    free = [name for name in data.sizes if name not in given]
    if not free:
        return (extents.rung(given),)
    fixed = proportions(extents, data, given)
    found: list[Rung] = []
    for value in _values():
        sizes = {**{name: min(value, fixed.get(name, value)) for name in free}, **given}
        if found and extents.exceeded(sizes) is not None:
            break
        rung = extents.rung(sizes)
        if found and (rung.instances > _MOST_INSTANCES or used(data, rung) > _MOST_BYTES):
            break
        if len(found) > 5 and rung.instances == found[-5].instances:
            break  # What the sizes say does not depend on these.
        found.append(rung)
    return tuple(found)


def small(extents: Sizing, data: Storage, given: Mapping[str, int]) -> Rung:
    """Sizes at which the function does little."""
    fixed = {**{k: min(v, 3) for k, v in proportions(extents, data, given).items() if v == _KERNEL}, **given}
    tried = [{name: min(most, fixed.get(name, most)) for name in data.sizes} for most in _SMALL]
    return extents.rung(next((each for each in tried if extents.exceeded(each) is None), tried[0]))


def used(data: Storage, rung: Rung) -> int:
    """The bytes of all memories."""
    return sum(_bytes(each, memory.size) for each, memory in zip(rung.extents, data.memories, strict=True))


def _bytes(extent: Extent, size: int) -> int:
    return extent.count * size


def _values() -> Iterator[int]:
    scale = 1
    while scale <= _LARGEST:
        yield from (value * scale for value in _ROUND if value * scale <= _LARGEST)
        scale *= 10
