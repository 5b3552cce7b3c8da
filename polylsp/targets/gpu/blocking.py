"""Blocking of a launch: thread blocks, register tiles, strips of loops, and shared-memory copies.

Sizes that the user sets replace those of the cost model; sizes that no GPU supports raise `Unwritable`. The
model estimates, before the text is generated, registers of a thread, blocks that run at once, and cycles
for each statement that a warp runs. As in the roofline model (Williams, Waterman, Patterson, CACM 2009) the
slowest resource counts: bytes of global memory, loads from shared memory, or arithmetic. Elements in a
thread's registers are not loaded again. Few warps of which each has many independent statements are as fast
as many (Volkov, Better Performance at Lower Occupancy, GTC 2010), as long as another block computes while
one waits for its copies: a product with 16 values of 64 bits for each thread fills 38 % of a
multiprocessor, with 24 warps that add to 16 sums at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import gcd, prod

from polylsp.core.settings import Settings
from polylsp.ir.program import Floating, Integer
from polylsp.model.kernel_report import Resources, blocks_at_once
from polylsp.poly.scop import Memory
from polylsp.targets.gpu.coalescing import Kept, Reference, kept
from polylsp.targets.gpu.cuda_expressions import Unwritable
from polylsp.targets.gpu.leaves import Segment, segments
from polylsp.targets.gpu.mapping import Axis, Launch, is_same, sized
from polylsp.targets.gpu.shared_memory import MOST, Strip, Tile, tiles_of
from polylsp.targets.gpu.sum_kernels import Lanes, Shares, Split, shares_of
from polylsp.targets.gpu.vector_access import Vectors

_ARCHITECTURE = 90
_THREADS = 1024
"""Of a multiprocessor that has few: what is said of more is not heard there."""

_BASE = 22
"""Registers for places, counters and sizes, as NVIDIA's compiler takes them in tiled kernels of PolyBench."""

_GLOBAL = 15
"""Bytes that a multiprocessor gets from global memory in a cycle (H100: 3.35 TB/s for 132 at 1.7 GHz)."""

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


# --------------------------------------------------------------------------------------------------
# Sizes of blocks and tiles that a user has set, in the place of the model's.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sizes:
    """User's sizes: threads of a block from `x` on, and the number of iterations of each loop that a block
    takes at once, outermost first; both may be empty."""

    blocks: tuple[int, ...] = ()
    tiles: tuple[int, ...] = ()


def sizes_of(settings: Settings) -> Sizes:
    """The sizes that are set; raises `Unwritable` if no GPU can have them."""
    blocks, tiles = settings.cuda_block_sizes, settings.cuda_tile_sizes
    if any(each < 1 for each in (*blocks, *tiles)):
        raise Unwritable("`cuda_block_sizes` or `cuda_tile_sizes` has a size below 1: set numbers from 1 on.")
    if len(blocks) > 3 or prod(blocks) > _MOST or (blocks and prod(blocks) < _FEWEST):
        raise Unwritable(
            f"`cuda_block_sizes` makes blocks of {prod(blocks)} threads: set up to three sizes with"
            f" a product from {_FEWEST} to {_MOST}."
        )
    deepest = max(blocks[2:], default=1)
    odd = next((each for each in blocks if each & (each - 1)), deepest if deepest > _DEEPEST else 0)
    if odd:
        raise Unwritable(
            f"`cuda_block_sizes` has {odd}: set powers of two, the third one at most {_DEEPEST}."
        )
    return Sizes(blocks, tiles)


_FEWEST, _MOST, _DEEPEST = 32, 1024, 64
"""Threads of a warp, of a block, and of a block along `z`."""

_VALUES = 64
"""Values of one thread that its registers hold."""


def threads_in(sizes: Sizes, usual: Sequence[int]) -> tuple[int, ...]:
    """The threads of a block from `x` on, where these many are usual."""
    if not sizes.blocks:
        return tuple(usual)
    given = (*sizes.blocks, *(1 for _ in usual))
    return given[: len(usual)]


def with_blocks(sizes: Sizes, axes: Sequence[Axis]) -> list[Axis]:
    """The axes with the blocks that are set."""
    return sized(axes, threads_in(sizes, [axis.threads for axis in axes]), [axis.each for axis in axes])


def tiled_axes(sizes: Sizes, axes: Sequence[Axis], threads: Sequence[int], each: Sequence[int]) -> list[Axis]:
    """The axes with the tiles of a block that are set, and the usual ones where none are; raises `Unwritable`
    where tiles and blocks do not fit."""
    outermost = sorted(axes, key=lambda axis: axis.dimension)
    sides = dict(zip((axis.letter for axis in outermost), sizes.tiles, strict=False))
    own = list(threads_in(sizes, threads))
    values = list(each)
    for number, axis in enumerate(axes):
        side = sides.get(axis.letter)
        if side is None:
            continue
        if not sizes.blocks:
            own[number] = gcd(own[number], side)
        if side % own[number]:
            raise Unwritable(
                f"`cuda_tile_sizes` has {side}, and `cuda_block_sizes` {own[number]} threads along that side:"
                " set a multiple."
            )
        values[number] = side // own[number]
    if prod(values) > _VALUES:
        raise Unwritable(
            f"`cuda_tile_sizes` gives each thread {prod(values)} values: set smaller tiles or larger blocks."
        )
    return sized(axes, own, values)


def strip_of(sizes: Sizes, axes: Sequence[Axis], usual: int) -> int:
    """Number of iterations of a thread's inner loop that share a copy, where `usual` is the default (0:
    none)."""
    return sizes.tiles[len(axes)] if usual and len(sizes.tiles) > len(axes) else usual


# --------------------------------------------------------------------------------------------------
# Blocking of a launch: blocks of threads, register tiles, strips of loops, copies to shared memory.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Part:
    """A segment with the strips of its loop, the tiles that are copied for each strip, and the registers of
    threads while they run it; `split`: it is a sum that several threads share; `alone`: one of these runs
    it."""

    segment: Segment
    strip: Strip | None
    tiles: tuple[Tile, ...]
    kept: tuple[Kept, ...]
    split: Split | None = None
    alone: bool = False


@dataclass(frozen=True, eq=False)
class Blocking:
    """Blocking of a launch: `left` are the dimensions that run as loops in a thread; `kept` are the elements
    in registers throughout. `lanes` share the sums of each value of the one axis. `at_once`: blocks for which
    a multiprocessor shall have registers (0: the compiler's choice). `vectors`: in whole blocks, a thread's
    values along `x` are neighbours, and loaded at once."""

    axes: tuple[Axis, ...]
    left: tuple[int, ...]
    kept: tuple[Kept, ...]
    parts: tuple[Part, ...]
    lanes: Lanes | None = None
    at_once: int = 0
    vectors: Vectors | None = None

    @property
    def threads(self) -> tuple[int, ...]:
        """The threads of a block, from `x` on."""
        counts = {axis.letter: axis.threads for axis in self.axes}
        if self.lanes is not None:
            counts[self.lanes.letter] = self.lanes.count
        return tuple(counts[letter] for letter in sorted(counts))

    @property
    def tiled(self) -> bool:
        """True if the threads of a block copy tiles together."""
        return any(part.tiles for part in self.parts)

    @property
    def is_cut(self) -> bool:
        """True if the first values of blocks have separate names."""
        return self.tiled or self.lanes is not None or any(axis.each > 1 for axis in self.axes)

    @property
    def is_streaming(self) -> bool:
        """True if each thread has one value along each axis, with no element in registers and no copies."""
        return not self.is_cut and not self.kept and not any(part.kept for part in self.parts)


@dataclass(frozen=True, slots=True)
class _Shape:
    """Threads of a block from `x` on, how many values `each` has, and iterations in a `strip` (0: none)."""

    threads: tuple[int, ...]
    each: tuple[int, ...]
    strip: int


_PRODUCT = (_Shape((16, 16), (4, 4), 16), _Shape((16, 16), (8, 8), 16))
_SHAPES = {
    1: ((_Shape((32,), (1,), 16),),),
    2: (_PRODUCT, (_Shape((32, 8), (1, 4), 0),)),
    3: (tuple(_Shape((*s.threads, 1), (*s.each, 1), s.strip) for s in _PRODUCT),),
}
"""Candidate shapes, by the number of dimensions of threads: the first group with which some copy pays, and in
it the one with the least estimated time. With 16 values of a product, a thread reads 8 elements of shared
memory for 16 multiplications, which is as fast as a multiprocessor multiplies numbers of 64 bits; those of 32
bits it multiplies faster, and 64 of them fit into registers, for which a thread reads 16 elements. Where each
thread runs along a row, blocks of one warp spread over most multiprocessors (adi on an H100: 1.7 times as
fast as with 128 threads)."""

_ROWS = 64
"""Threads of a block, along one axis, that have loops of their own: there are often few, which wait for
memory in each iteration. With fewer than 64, multiprocessors do not get as many threads as they can have."""

_BETTER = 0.9
"""A larger tile takes less than this part of the time of a smaller one: estimates are not exact, and smaller
tiles fill more multiprocessors."""


def blocking(launch: Launch, axes: Sequence[Axis], found: Sequence[Reference], sizes: Sizes) -> Blocking:
    """The choice for a launch with `axes` of threads, whose references were `found`, with the sizes that are
    set."""
    threads = [axis.dimension for axis in axes]
    left = tuple(k for k in range(launch.length) if k not in threads)
    own = segments(launch.order, left)
    held = tuple(kept(launch, threads, found))
    rest = [each for each in found if each.access.memory not in [one.memory for one in held]]
    shares = shares_of(axes, own, held, found)
    if shares is not None:
        return _shared(shares, left, held)
    within = [tuple(kept(launch, threads, _in(segment, rest))) for segment in own]
    plain = [Part(s, None, (), k) for s, k in zip(own, within, strict=True)]
    whole = Blocking(tuple(_spread(axes, own, sizes)), left, held, tuple(plain))
    for group in _SHAPES.get(len(axes), ()):
        first, *others = group if sizes == Sizes() else group[:1]
        made = _tiled(whole, first, sizes, found)
        if made.tiled:
            return _best(made, (_tiled(whole, each, sizes, found) for each in others))
    return whole


def _spread(axes: Sequence[Axis], own: Sequence[Segment], sizes: Sizes) -> Sequence[Axis]:
    """The axes, with smaller blocks where threads along one axis have loops."""
    if len(axes) != 1 or sizes.blocks or all(each.loop is None for each in own):
        return axes
    return sized(axes, [min(_ROWS, axes[0].threads)], [axes[0].each])


def _tiled(whole: Blocking, shape: _Shape, sizes: Sizes, found: Sequence[Reference]) -> Blocking:
    """A launch cut in some shape, as far as that pays."""
    axes = tiled_axes(sizes, whole.axes, shape.threads, shape.each)
    size = strip_of(sizes, axes, shape.strip)
    cuts = [_cut(part.segment, axes, size, found) for part in whole.parts]
    parts = [Part(p.segment, *cut, p.kept) for p, cut in zip(whole.parts, cuts, strict=True)]
    return replace(whole, axes=tuple(axes), parts=tuple(parts))


def _best(first: Blocking, others: Iterable[Blocking]) -> Blocking:
    """The one of several ways, small tiles first, that is estimated to take least time."""
    best, least = first, _estimate(first)
    for each in others:
        own = _estimate(each)
        if each.tiled and own.blocks and own.cycles < _BETTER * least.cycles:
            best, least = each, own
    return replace(best, at_once=least.blocks if least.bound else 0)


def _estimate(cut: Blocking) -> Estimate:
    return estimated(
        [Copied(cut.axes, each.strip, each.tiles, (*cut.kept, *each.kept)) for each in cut.parts]
    )


def _shared(shares: Shares, left: tuple[int, ...], held: tuple[Kept, ...]) -> Blocking:
    parts = [
        Part(segment, None, (), (), split, not shares.alone.isdisjoint(segment.leaves))
        for segment, split in shares.segments
    ]
    return Blocking((shares.axis,), left, held, tuple(parts), shares.lanes)


def uncut(launch: Launch, axes: Sequence[Axis]) -> Blocking:
    """Threads that keep and copy nothing."""
    threads = [axis.dimension for axis in axes]
    left = tuple(k for k in range(launch.length) if k not in threads)
    parts = [Part(segment, None, (), ()) for segment in segments(launch.order, left)]
    return Blocking(tuple(axes), left, (), tuple(parts))


def _in(segment: Segment, found: Sequence[Reference]) -> list[Reference]:
    return [each for each in found if each.leaf.name in segment.leaves]


def _cut(
    segment: Segment, axes: Sequence[Axis], size: int, found: Sequence[Reference]
) -> tuple[Strip | None, tuple[Tile, ...]]:
    """The strips of a segment, and the tiles that are worth a copy."""
    strip = Strip(segment.loop, size) if size and segment.loop is not None else None
    if (strip is None) == bool(size):
        return None, ()
    tiles = tuple(tiles_of(segment, axes, strip, found))
    return strip if tiles else None, tiles
