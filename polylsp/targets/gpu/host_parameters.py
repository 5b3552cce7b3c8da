"""Parameters and memory of the host function that runs kernels.

Upper limits of sizes ensure that no counter of a kernel overflows an `int`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.emit.subject import Member
from polylsp.ir.program import Variable
from polylsp.targets.gpu.buffers import Buffer, Memories
from polylsp.targets.gpu.cuda_expressions import Unwritable
from polylsp.targets.gpu.cuda_statements import type_words, wrapped
from polylsp.targets.gpu.emission_context import Setting
from polylsp.targets.gpu.kernels import Written
from polylsp.targets.gpu.leaves import Leaf
from polylsp.targets.gpu.mapping import Kernel
from polylsp.targets.gpu.slabs import Slabs
from polylsp.targets.gpu.sum_kernels import BLOCKS

# --------------------------------------------------------------------------------------------------
# Host function that runs kernels: its parameters, and its memory.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Host:
    """The host function. It takes `scalars` and the buffers of `memories`; `limits` are the values that must
    be small, in C; `slabs` are its units of execution."""

    name: str
    setting: Setting
    scalars: tuple[Variable, ...]
    memories: Memories
    kernels: tuple[tuple[Kernel, Written], ...]
    limits: tuple[str, ...]
    slabs: Slabs | None = None

    @property
    def index(self) -> str:
        """Name of the index type of kernels, if one of them is a template over it."""
        return next((made.index for _, made in self.kernels if made.index), "")

    @property
    def wide(self) -> list[Buffer]:
        """The arrays that may have more elements than an `int` counts: not those of which the host itself
        finds an element."""
        found = {made.target.buffer.variable.name for _, made in self.kernels if made.target is not None}
        return [b for b in self.buffers if b.variable.name in self.setting.wide - found]

    @property
    def hosted(self) -> list[Buffer]:
        """The buffers that the caller has too."""
        return [each for each in self.buffers if each.hosted]

    @property
    def allocated(self) -> list[tuple[str, str, str]]:
        """The memory of the device: its name, the type of its elements, and its size in bytes."""
        parts = self.slabs.parts if self.slabs is not None else {}
        moving = [part.room for part in parts.values()]
        rooms = [parts[b.variable.name].room if b.variable.name in parts else b for b in self.buffers]
        turns = f"{self.slabs.called.turns} * " if self.slabs is not None and self.overlaps else ""
        found = [
            (f"device_{b.name}", b.words, f"{turns if b in moving else ''}{b.allocated} * sizeof({b.words})")
            for b in rooms
        ]
        sums = [(t.scratch, t.words, f"{BLOCKS} * sizeof({t.words})") for t in self.setting.totals]
        return found + sums

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Buffers of its memories; of arrays that are cut, the union of all slabs."""
        parts = self.slabs.parts if self.slabs is not None else {}
        found = self.memories.buffers
        return tuple(parts[b.variable.name].whole if b.variable.name in parts else b for b in found)

    @property
    def moving(self) -> tuple[Buffer, ...]:
        """Buffers that each slab transfers; without slabs, all."""
        if self.slabs is None:
            return self.buffers
        return tuple(part.buffer for part in self.slabs.parts.values())

    @property
    def staying(self) -> tuple[Buffer, ...]:
        """Buffers that stay on the device while slabs come and go."""
        parts = self.slabs.parts if self.slabs is not None else {}
        return tuple(b for b in self.buffers if b.variable.name not in parts) if parts else ()

    @property
    def overlaps(self) -> bool:
        """True if one slab is transferred while another is computed: transfers take their time beside kernels
        where memory is locked, and no slab may change data that another one uses."""
        locked = self.slabs is not None and self.setting.settings.cuda_pinned
        return locked and not self.setting.totals and not any(each.written for each in self.staying)


def header(host: Host) -> list[str]:
    """Header of the function: C that is C++ as well."""
    steps = [f"unsigned long long {name}" for _, name in step_names(host)]
    return wrapped(f"int {host.name}(", [*parameters(host), *steps], ")")


def member_of(host: Host, buffer: Buffer) -> Member | None:
    """The member of an array of structures that a buffer is, if it is one."""
    member = host.setting.region.subject.members.get(buffer.name)
    return member if member is not None and member.size else None


def step_names(host: Host) -> list[tuple[str, str]]:
    """The sizes of the structures of which it is given members, each as the caller says it with its name."""
    found = [each for each in (member_of(host, b) for b in host.hosted) if each is not None]
    sizes = dict.fromkeys(each.size for each in found)
    return [(size, f"{host.name}_step{number}") for number, size in enumerate(sizes)]


def parameters(host: Host) -> list[str]:
    """Parameters, with their types."""
    found = [f"{type_words(v)} {v.source_name}" for v in host.scalars]
    return found + [f"{'' if b.goes_out else 'const '}{b.words} *{b.name}" for b in host.hosted]


def is_staged(buffer: Buffer) -> bool:
    """True if results are fetched to a staging buffer first, as the host still needs its data."""
    return buffer.goes_out and buffer.comes_in


def bytes_of(buffer: Buffer) -> str:
    """Size in bytes, in C."""
    return f"{buffer.elements} * sizeof({buffer.words})"


def on_device(buffer: Buffer) -> str:
    """Address of the caller's elements on the device, in C."""
    return f"device_{buffer.name} + {buffer.last}" if buffer.last else f"device_{buffer.name}"


Transfer = Callable[[str, str, Buffer, str], Iterator[str]]
"""The lines of a transfer: to where, from where, of which buffer, and its kind."""


def former_lines(buffers: Sequence[Buffer], transfer: Transfer) -> Iterator[str]:
    """Copies on the device of arrays as they are before the kernels."""
    for each in buffers:
        if each.of:
            yield f"/* `{each.name}` is `{each.of}` as it was before the loops. */"
            yield from transfer(on_device(each), f"device_{each.of}", each, "cudaMemcpyDeviceToDevice")


def start_of(buffer: Buffer) -> str:
    """Start of the buffer on the host, in C."""
    return f"{buffer.name} + {buffer.offset}" if buffer.offset else buffer.name


# --------------------------------------------------------------------------------------------------
# Upper limits of sizes, so that no counter of a kernel overflows an `int`.
# --------------------------------------------------------------------------------------------------


LARGEST = 1 << 30
"""Limit where counters are the user's, and never added to."""

SMALLER = (1 << 26, 1 << 24, 1 << 22, 1 << 20, 1 << 18, 1 << 14)
"""Limits where a kernel computes sums of the user's counters: the first with which none of these is large."""

_COUNTED = (1 << 31) - (1 << 28)
"""Limit of counters: threads look for further iterations after the last one, as far on as all blocks of a
launch reach, which are 65535 of 1024 threads with four values each at most."""


def largest(leaves: Iterable[Leaf], candidates: Iterable[int]) -> int:
    """The first of some limits on sizes with which all counters stay small; raises `Unwritable`."""
    domains = [leaf.domain for leaf in leaves]
    for each in candidates:
        if all(_stays_small(domain, each) for domain in domains):
            return each
    raise Unwritable("A counter may be larger than a GPU's whole numbers.")


def _stays_small(domain: isl.Set, limit: int) -> bool:
    """True if counters stay small while the parameters of their bounds do."""
    for k in range(domain.dim(isl.dim_type.param)):
        bound = isl.Val(limit)
        domain = domain.upper_bound_val(isl.dim_type.param, k, bound)
        domain = domain.lower_bound_val(isl.dim_type.param, k, bound.neg())
    counters = range(domain.dim(isl.dim_type.set))
    values = [each for k in counters for each in (domain.dim_max_val(k), domain.dim_min_val(k))]
    return domain.is_empty() or all(v.is_int() and abs(v.to_python()) < _COUNTED for v in values)
