"""Cost model of a blocking, before the text is generated: registers of a thread, blocks that run at once, and
cycles for each statement that a warp runs.

As in the roofline model (Williams, Waterman, Patterson, CACM 2009) the slowest resource counts: bytes of
global memory, loads from shared memory, or arithmetic. Elements in a thread's registers are not loaded again.
Few warps of which each has many independent statements are as fast as many (Volkov, Better Performance at
Lower Occupancy, GTC 2010), as long as another block computes while one waits for its copies: a product with
16 values of 64 bits for each thread fills 38 % of a multiprocessor, with 24 warps that add to 16 sums at
once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from polylsp.ir.program import Floating, Integer
from polylsp.model.kernel_report import Resources, blocks_at_once
from polylsp.poly.scop import Memory
from polylsp.targets.gpu.coalescing import SECTOR, Kept, Reference
from polylsp.targets.gpu.kernel_launch import Axis, is_same
from polylsp.targets.gpu.shared_memory import MOST, Strip, Tile

_ARCHITECTURE = 90
_THREADS = 1024
"""Of a multiprocessor that has few: what is said of more is not heard there."""

_BASE = 22
"""Registers for places, counters and sizes, as NVIDIA's compiler takes them in tiled kernels of PolyBench."""

_GLOBAL = 15
"""Bytes that a multiprocessor gets from global memory in a cycle (H100: 3.35 TB/s for 132 at 1.7 GHz)."""

_WARP = 32

_LANES = {1: 128, 2: 64}
"""Multiply-adds of a multiprocessor in a cycle, by the registers that a number takes; of loads from shared
memory, 32."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Registers of a thread, blocks of a multiprocessor, and its cycles for a statement of a warp. `bound`:
    there would be room for more blocks, but for registers."""

    registers: int
    blocks: int
    cycles: float
    bound: bool


@dataclass(frozen=True, eq=False)
class Copied:
    """Copies of a block in a strip, and the elements that its threads have in registers meanwhile."""

    axes: Sequence[Axis]
    strip: Strip | None
    tiles: Sequence[Tile]
    kept: Sequence[Kept]


def estimated(parts: Sequence[Copied]) -> Estimate:
    """The estimate for the parts of a launch, which run one after the other."""
    threads = prod(axis.threads for axis in parts[0].axes)
    registers = max(_registers(each) for each in parts)
    shared = sum(tile.bytes for each in parts for tile in each.tiles)
    blocks, most = _at_once(registers, shared, threads), _at_once(0, shared, threads)
    cycles = sum(_cycles(each, blocks) for each in parts if each.tiles)
    return Estimate(registers, blocks, cycles, blocks < most)


def _at_once(registers: int, shared: int, threads: int) -> int:
    room = blocks_at_once(Resources("", _ARCHITECTURE, registers, shared, 0), threads)
    return min(room, max(1, _THREADS // threads))


# --- Registers ---------------------------------------------------------------------------


def _registers(part: Copied) -> int:
    values = prod(axis.each for axis in part.axes)
    sums = sum(_words(each.memory) * values for each in part.kept)
    under_way = sum(_words(tile.memory) * min(MOST, _loads(part, tile)) for tile in part.tiles)
    operands = sum(
        _words(tile.memory) * _operands(part, each) for tile in part.tiles for each in tile.references
    )
    return _BASE + sums + max(under_way, operands)


def _loads(part: Copied, tile: Tile) -> int:
    """Elements of a tile that a thread copies."""
    return -(-prod(tile.sizes) // prod(axis.threads for axis in part.axes))


def _operands(part: Copied, reference: Reference) -> int:
    """Elements that a thread has in registers because several of its values use them; else the one in use."""
    own = list(_counts(part, reference))
    return prod(own) if len(own) < sum(axis.each > 1 for axis in part.axes) else 1


def _counts(part: Copied, reference: Reference) -> Iterator[int]:
    """Number of elements of a reference along each axis with several values, where they differ."""
    return (a.each for a in part.axes if a.each > 1 and not is_same(reference.seen, a.dimension))


# --- Cycles ------------------------------------------------------------------------------


def _cycles(part: Copied, blocks: int) -> float:
    """Cycles for a statement of a warp: the slowest resource, or the sum where they do not overlap."""
    values = prod(axis.each for axis in part.axes)
    points = prod(axis.tile for axis in part.axes) * (part.strip.size if part.strip is not None else 1)
    references = [(tile.memory, each) for tile in part.tiles for each in tile.references]
    copied = sum(_words(tile.memory) * 4 * prod(tile.sizes) for tile in part.tiles) / points
    loads = sum(prod(_counts(part, each)) for _, each in references) / values
    lanes = _LANES[max(_words(memory) for memory, _ in references)]
    times = (32 * copied / _GLOBAL, loads, 32 / lanes)
    return max(times) if blocks > 1 else sum(times)


def _words(memory: Memory) -> int:
    """Registers that an element takes."""
    element = memory.element
    assert isinstance(element, (Integer, Floating))
    return max(1, element.bits // 32)


# --- Vectors -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Touched:
    """Loads (or `stores`) of each thread in a row: `elements` of some `bytes` for each of its values; or,
    where these are neighbours, so many `vectors`, and elements `alone`, for all of them."""

    bytes: int
    stores: bool
    elements: int
    vectors: int
    alone: int


def accesses(rows: Sequence[Touched]) -> tuple[int, int]:
    """Number of loads and stores of a thread for all its values, where these are neighbours; and number of
    elements stored alone, for which a warp writes parts of sectors."""
    often = sum(each.vectors + each.alone for each in rows)
    return often, sum(each.alone for each in rows if each.stores)


def vectors_pay(rows: Sequence[Touched], width: int) -> bool:
    """True if threads with `width` neighbouring values load vectors, with fewer loads and stores, and no more
    sectors, than threads whose values have other threads' as neighbours: an element that is accessed alone
    brings its sector along. Stores have no latency to hide."""
    if not any(each.vectors for each in rows if not each.stores):
        return False
    often = sum(each.elements for each in rows) * width
    sectors = sum(each.elements * each.bytes for each in rows) * width
    others = sum(each.vectors * each.bytes * width + each.alone * _apart(each, width) for each in rows)
    return accesses(rows)[0] < often and others <= sectors


def _apart(row: Touched, width: int) -> int:
    """The sectors that a warp touches, whose threads access one of so many elements each."""
    return min(_WARP, _WARP * width * row.bytes // SECTOR)
