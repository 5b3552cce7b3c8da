"""Function of the host that runs kernels from Python: its parameters, and its names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from polylsp.analysis.effects import loops_in
from polylsp.codegen.cuda.buffers import Buffer
from polylsp.codegen.cuda.expressions import Unwritable
from polylsp.codegen.cuda.launched import Launched
from polylsp.codegen.cuda.naming import Fresh, plain_names
from polylsp.codegen.transform.leaves import counter
from polylsp.model.program import Variable

NAMES = re.compile(r"(?<![.\w])[A-Za-z_]\w*")


@dataclass(frozen=True, eq=False)
class Host:
    """Host function. `parameters` are isl's in Python; `spelled` gives Python's spelling of device names;
    `local` are its local names, which `fresh` separates from the user's."""

    launched: Launched
    parameters: Mapping[str, str]
    spelled: Mapping[str, str]
    fresh: Fresh
    local: dict[str, str] = field(default_factory=dict[str, str])

    def own(self, wanted: str) -> str:
        """A local name: the `wanted` one, or one like it."""
        if wanted not in self.local:
            self.local[wanted] = self.fresh.name(wanted)
        return self.local[wanted]

    def address(self, buffer: Buffer) -> str:
        """The name for where a buffer is on the device."""
        return self.own(f"{buffer.name}_there")

    @property
    def arrays(self) -> list[Buffer]:
        """The arrays that the caller has too, those that are written first."""
        own = [each for each in self.launched.memories.buffers if each.hosted and not each.scalar]
        return sorted(own, key=lambda each: not each.written)

    @property
    def copies(self) -> list[Buffer]:
        """Copies on the device of arrays as they were before."""
        return [each for each in self.launched.memories.buffers if each.of]

    @property
    def moving(self) -> list[Buffer]:
        """Arrays that each slab transfers; without slabs, all."""
        slabs = self.launched.slabs
        if slabs is None:
            return self.arrays
        return [slabs.parts[b.variable.name].buffer for b in self.arrays if b.variable.name in slabs.parts]

    @property
    def staying(self) -> list[Buffer]:
        """Arrays that stay on the device while slabs come and go."""
        moving = {each.name for each in self.moving}
        return [each for each in self.arrays if each.name not in moving]

    @property
    def index(self) -> str:
        """Name of the index type of kernels, if one of them is a template over it."""
        return next((made.index for _, made in self.launched.kernels if made.index), "")

    @property
    def wide(self) -> list[Buffer]:
        """The arrays that may have more elements than an `int` counts."""
        return [each for each in self.arrays if each.variable.name in self.launched.setting.wide]

    @property
    def written(self) -> list[Buffer]:
        """Arrays whose elements change."""
        return [each for each in self.arrays if each.written]

    @property
    def numbers(self) -> list[Buffer]:
        """The numbers of the caller that kernels change."""
        return [each for each in self.launched.memories.buffers if each.hosted and each.scalar]

    @property
    def returned(self) -> list[Buffer]:
        """Numbers that the caller needs afterwards."""
        return [each for each in self.numbers if each.goes_out]


def host_of(found: Launched, known: Sequence[str]) -> Host:
    """Host function of some kernels, which checks the `known` conditions; raises `Unwritable`."""
    setting = found.setting
    texts = plain_names(found.region).parameters
    parameters = {name: text for name, text in texts.items() if name in setting.parameters}
    parameters |= {name: text for name, text in setting.parameters.items() if text in setting.slab}
    spelled = {setting.words.names[v.name]: v.source_name for v in _variables(found)}
    names = {v.source_name for v in _variables(found)} | {b.name for b in setting.buffers}
    names |= {word for each in known for word in NAMES.findall(each)}
    counters = {name for _, made in found.kernels for name in made.counters}
    slabs = found.slabs.called.all if found.slabs is not None else ()
    return Host(found, parameters, spelled, Fresh({*names, *counters, *slabs}))


def scalars(host: Host, lines: list[str]) -> list[Variable]:
    """The numbers that it takes, as the function's parameters stand: those of its kernels, and those that its
    `lines` name; raises `Unwritable`."""
    words = {word for line in lines for word in NAMES.findall(line)}
    found = {v for v in _variables(host.launched) if v.source_name in words}
    found |= {b.variable for b in host.numbers}
    subject = host.launched.region.subject
    counters = {
        counter(subject, each.ordinal) for each in loops_in(subject.function.body) if each.step.statements
    }
    for each in found:
        # A name that counts the iterations of several loops has the value of the loop around.
        same = {v for v in subject.variables if v.source_name == each.source_name} - {each}
        if same - counters:
            raise Unwritable(f"More than one variable is called `{each.source_name}` here: rename one.")
    listed = host.launched.region.subject.function.parameters
    place = {v: k for k, v in enumerate(listed)}
    return sorted(found, key=lambda v: (place.get(v, len(place)), v.name))


def _variables(found: Launched) -> Iterator[Variable]:
    """The numbers that kernels and their launches may need."""
    scalars = (v for _, made in found.kernels for v in made.scalars)
    seen = dict.fromkeys((*found.setting.variables.values(), *scalars))
    for each in seen:
        if not each.source_name.isidentifier() and ".shape[" not in each.source_name:
            raise Unwritable(f"`{each.source_name}` belongs to an object: give it a name of its own first.")
        yield each


def listed(items: Sequence[str]) -> str:
    """Items of a tuple, as they stand between its parentheses."""
    return f"{items[0]}," if len(items) == 1 else ", ".join(items)


def closing(items: Sequence[str]) -> str:
    """The end of a tuple."""
    return ",)" if len(items) == 1 else ")"
