"""Destination of a kernel's sum, and the kernel that adds it there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polylsp.codegen.cuda.buffers import Buffer
from polylsp.codegen.cuda.expressions import Unwritable, element_text
from polylsp.codegen.cuda.launch import Launch, atoms
from polylsp.codegen.cuda.references import subscripts_at, texts
from polylsp.codegen.cuda.setting import Setting
from polylsp.codegen.cuda.sums import Sum
from polylsp.codegen.cuda.totals import Total


def total_of(setting: Setting, summed: Sum, file: str) -> Total:
    """The kernel that adds to an element of this type: one is enough for all sums of a file."""
    words = next(b.words for b in setting.buffers if b.memory is summed.memory)
    found = [t for t in setting.totals if (t.words, t.combining) == (words, summed.combining)]
    if not found:
        name = setting.fresh.name(f"{file}_total")
        found.append(Total(name, setting.fresh.name("block_sums"), words, summed.combining))
        setting.totals.append(found[0])
    return found[0]


@dataclass(frozen=True, slots=True)
class Target:
    """The element that a sum goes to: its number in a buffer as the program has it, in C; empty for a
    scalar. There may be launches that add nothing to it: then the device has it `at_times` alone."""

    buffer: Buffer
    number: str
    at_times: bool = False

    @property
    def address(self) -> str:
        """Address on the device, as a host in C writes it."""
        start = f"device_{self.buffer.name}"
        return start if self._place in ("", "0") else f"{start} + ({self._place})"

    @property
    def is_there(self) -> str:
        """Condition in C that the element is on the device."""
        return f"(size_t)({self._place}) < {self.buffer.elements}"

    @property
    def _place(self) -> str:
        return f"{self.number} - {self.buffer.offset}" if self.buffer.offset else self.number


def target_of(setting: Setting, launch: Launch, summed: Sum, counters: Sequence[str]) -> Target:
    """The element that a sum goes to."""
    (buffer,) = (b for b in setting.buffers if b.memory is summed.memory)
    if buffer.scalar:
        return Target(buffer, "")
    found = subscripts_at(summed.element, [f"__h{k}" for k in range(len(counters))])
    if found is None:
        raise Unwritable(f"An element of `{buffer.name}` cannot be written down.")
    shown = texts(found, launch.context, {**setting.parameters, **atoms("__h", counters)})
    first = shown[0] if shown[0].isalnum() or len(shown) == 1 else f"({shown[0]})"
    extents = setting.words.extents[buffer.variable.name]
    number = element_text("", extents, [first, *shown[1:]])[1:-1]
    idle = summed.idle.intersect_params(setting.region.context)
    return Target(buffer, number, not idle.is_empty() and not _has(buffer, number))


def _has(buffer: Buffer, number: str) -> bool:
    """True if the text proves that the device always has an element of a buffer."""
    if buffer.inner or not buffer.count.isdigit():
        return False
    first = "0" if number == buffer.first else number if buffer.first == "0" else ""
    return first.isdigit() and int(first) < int(buffer.count)
