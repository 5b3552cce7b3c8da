"""Host function that runs kernels: its parameters, and its memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from polylsp.codegen.cuda.buffers import Buffer, Memories
from polylsp.codegen.cuda.kernels import Written
from polylsp.codegen.cuda.layout import wrapped
from polylsp.codegen.cuda.mapping import Kernel
from polylsp.codegen.cuda.setting import Setting
from polylsp.codegen.cuda.slabs import Slabs
from polylsp.codegen.cuda.statements import type_words
from polylsp.codegen.cuda.totals import BLOCKS
from polylsp.codegen.subject import Member
from polylsp.model.program import Variable


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
