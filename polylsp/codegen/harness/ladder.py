"""The sizes to choose from when none are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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


class Sizing(Protocol):
    """Needs at some sizes."""

    def rung(self, sizes: Mapping[str, int]) -> Rung:
        """Everything at some sizes."""
        ...

    def exceeded(self, sizes: Mapping[str, int]) -> str | None:
        """The name of a memory whose length is fixed and too short for some sizes."""
        ...


def ladder(extents: Sizing, data: Storage, given: Mapping[str, int]) -> tuple[Rung, ...]:
    """Sizes that grow together, those left out that are given; one where all are."""
    free = [name for name in data.sizes if name not in given]
    if not free:
        return (extents.rung(given),)
    found: list[Rung] = []
    for value in _values():
        sizes = {**dict.fromkeys(free, value), **given}
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
    tried = [{name: min(most, given.get(name, most)) for name in data.sizes} for most in _SMALL]
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
