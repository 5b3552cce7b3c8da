"""Alignment of array elements on the device: rows that begin at multiples of the vector width."""

from __future__ import annotations

from dataclasses import dataclass

from polylsp.codegen.cuda.setting import Setting
from polylsp.language import PYTHON
from polylsp.model.action import Declined
from polylsp.model.scop import Memory

_BYTES = {"float": 4, "double": 8, "int": 4}
"""The types of elements of which CUDA has vectors, such as `float4`, and how wide they are."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Elements of a row that lie at multiples of some number of elements: those whose last subscript, less
    `origin` (in C), has the `rest` when divided by that; if all `conditions` (in C) hold."""

    origin: str
    rest: int
    conditions: tuple[str, ...]


def placed(setting: Setting, memory: Memory, width: int) -> Placed | Declined:
    """Elements of an array at multiples of `width` on the device; or the reason why there are none, if a
    person could change that. Memory of CUDA begins at multiples of 256 bytes (`cudaMalloc`), and the first
    element of a buffer is there; where others may have allocated it, kernels check."""
    buffer = next(each for each in setting.buffers if each.memory.name == memory.name)
    extents, name = setting.words.extents[memory.variable.name], f"`{buffer.name}`"
    if buffer.words not in _BYTES:
        return Declined("")
    row = _row(name, extents[-1], width) if extents else ()
    if isinstance(row, Declined):
        return row
    if setting.region.subject.language == PYTHON.name:
        start = f"(size_t){setting.words.names[memory.variable.name]}"
        return Placed("", 0, (f"{start} % {width * _BYTES[buffer.words]} == 0", *row))
    if buffer.inner:
        # A row begins with its first element.
        return Placed("", 0, row)
    if buffer.first.isdigit():
        return Placed("", int(buffer.first) % width, row)
    if extents or setting.slab:
        return Declined(f"which element of {name} is the first on the device is only known when it runs")
    return Placed(buffer.first, 0, row)


def _row(name: str, extent: str, width: int) -> tuple[str, ...] | Declined:
    """Condition for all rows to begin at a multiple if one does; or the reason why they never do."""
    if not extent.isdigit():
        return (f"{extent if extent.isidentifier() else f'({extent})'} % {width} == 0",)
    if int(extent) % width:
        return Declined(f"a row of {name} has {extent} elements, which is no multiple of {width}")
    return ()
