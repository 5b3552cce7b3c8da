"""Sizes of blocks and tiles that a user has set, in the place of the model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from polylsp.codegen.cuda.axes import Axis, sized
from polylsp.codegen.cuda.expressions import Unwritable
from polylsp.settings import Settings


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
