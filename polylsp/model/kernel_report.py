"""GPU kernels as compiler input, the compiler's report, and occupancy.

Occupancy is the share of a multiprocessor's resident threads, bounded by the resources of a block
(NVIDIA, CUDA C++ Best Practices Guide, "Occupancy").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """Kernels in CUDA C++, without host code. `threads` are those of a block, by a kernel's name, in the
    order in which the kernels run."""

    text: str
    threads: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources of a kernel on GPUs of an `architecture` (90: sm_90): registers of a thread, bytes of shared
    memory of a block, bytes of registers that a thread spills to memory."""

    kernel: str
    architecture: int
    registers: int
    shared: int
    spilled: int


@dataclass(frozen=True, slots=True)
class Compiled:
    """All kernels are compiled, for each architecture."""

    resources: tuple[Resources, ...]


@dataclass(frozen=True, slots=True)
class NotCompiled:
    """The compiler refuses the kernels for an `architecture`: its first message."""

    architecture: int
    message: str


CompilerWord = Union[Compiled, NotCompiled]


@dataclass(frozen=True, slots=True)
class KernelWord:
    """Report of a compiler on the kernels of a nest."""

    code: DeviceCode
    word: CompilerWord


# --------------------------------------------------------------------------------------------------
# GPU occupancy: threads resident on a multiprocessor, bounded by the resources of a block (NVIDIA,
# CUDA C++ Best Practices Guide, "Occupancy").
# --------------------------------------------------------------------------------------------------


_WARP = 32
_REGISTERS = 65536
"""Of a multiprocessor, whichever its architecture."""

_REGISTERS_AT_ONCE = 256
"""Registers are handed out to warps in pieces of so many, and to so many warps together:"""
_WARPS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Multiprocessor:
    """Limits of a multiprocessor: threads and blocks; bytes of shared memory, those of each block that the
    system reserves, and the allocation granularity."""

    threads: int
    blocks: int
    shared: int
    kept: int
    piece: int


MULTIPROCESSORS = {
    75: Multiprocessor(1024, 16, 64 * 1024, 0, 256),
    80: Multiprocessor(2048, 32, 164 * 1024, 1024, 128),
    90: Multiprocessor(2048, 32, 228 * 1024, 1024, 128),
}
"""By architecture, from the tables of compute capabilities in the CUDA C++ Programming Guide."""


def occupancy(taken: Resources, threads: int) -> float:
    """The part of a multiprocessor's threads that blocks of so many threads can fill."""
    warps = -(-threads // _WARP)
    return blocks_at_once(taken, threads) * warps * _WARP / MULTIPROCESSORS[taken.architecture].threads


def blocks_at_once(taken: Resources, threads: int) -> int:
    """Number of blocks of `threads` threads that fit on a multiprocessor."""
    has = MULTIPROCESSORS[taken.architecture]
    warps = -(-threads // _WARP)
    return min(
        has.blocks,
        has.threads // (warps * _WARP),
        _by_registers(taken.registers, warps),
        has.shared // max(1, _up(taken.shared + has.kept, has.piece)),
    )


def _by_registers(registers: int, warps: int) -> int:
    """Number of blocks that fit into the register file."""
    of_warp = max(_REGISTERS_AT_ONCE, _up(registers * _WARP, _REGISTERS_AT_ONCE))
    together = _REGISTERS // of_warp // _WARPS_AT_ONCE * _WARPS_AT_ONCE
    return together // warps


def _up(number: int, piece: int) -> int:
    return -(-number // piece) * piece
