"""Kernels of a nest as input of a compiler, and the compiler's report."""

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
