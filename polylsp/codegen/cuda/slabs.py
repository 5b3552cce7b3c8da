"""Slabs: iterations of the outermost loops that run one after the other, for which the device has only the
necessary parts of arrays, where it has no room for all of them (the loop tiling of jit4GPU: Garg and Amaral,
A compilation framework to execute Python numerical-intensive applications in a hybrid CPU-GPU execution
environment, 2012, section 4.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import islpy as isl

from polylsp.codegen.cuda.buffers import Buffer, Memories
from polylsp.codegen.cuda.mapping import Kernel
from polylsp.codegen.cuda.setting import Setting
from polylsp.codegen.cuda.slab_ends import END, FIRST, Ends, difference
from polylsp.codegen.cuda.slab_parts import Part
from polylsp.codegen.cuda.slab_words import Words


@dataclass(frozen=True, slots=True)
class Called:
    """C's names for the `first` iteration of a slab, for the `end` after it, for its `size`; for the query of
    free `memory` and the `room` it gives; for the `stream` of a slab, its `turn`, and the number of `turns`;
    for the function that clamps a row `within` others."""

    first: str
    end: str
    size: str
    memory: str
    room: str
    stream: str
    turn: str
    turns: str
    within: str

    @property
    def all(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(getattr(self, each.name) for each in fields(self))


@dataclass(frozen=True, eq=False)
class Slabs:
    """`instances` are those of one slab, and `parts` its needs of arrays, by the unique names of their
    variables: all others stay on the device. `loops` (ordinals) are cut; the names in C are in `called`, and
    ends are written in `words`. `has_once`: some code runs in the first slab or in the last one alone, so
    that there has to be one."""

    called: Called
    words: Words
    ends: Ends
    instances: isl.UnionSet
    parts: Mapping[str, Part]
    loops: tuple[int, ...]
    has_once: bool

    def moving(self, buffers: Sequence[Buffer]) -> int:
        """Of how many arrays a slab has a part."""
        return sum(each.variable.name in self.parts for each in buffers)

    def of_slab(self, memories: Memories) -> Memories:
        """The buffers while a slab runs."""
        own = {name: part.buffer for name, part in self.parts.items()}
        return replace(memories, buffers=tuple(own.get(b.variable.name, b) for b in memories.buffers))

    def of(self, kernel: Kernel) -> Kernel:
        """Part of a kernel for one slab."""
        return replace(kernel, domain=kernel.domain.intersect(self.instances))

    def setting(self, whole: Setting) -> Setting:
        """Emission context shared by the kernels of a slab."""
        whole.fresh.used.update(self.called.all)
        region = replace(whole.region, context=whole.region.context.intersect(self.ends.slab))
        parameters = {**whole.parameters, FIRST: self.called.first, END: self.called.end}
        slab = (self.called.first, self.called.end)
        return replace(whole, region=region, parameters=parameters, slab=slab)

    @property
    def low(self) -> str:
        """The first iteration of all."""
        return self.words.least(self.ends.lows)

    @property
    def behind(self) -> str:
        """The iteration after the last one."""
        return self.words.greatest(self.ends.behinds)

    @property
    def count(self) -> str:
        """Number of iterations."""
        first, *others = self.ends.lows
        if others:
            return f"{self.behind} - {self.low}"
        return self.words.greatest([difference(each, first) for each in self.ends.behinds])

    @property
    def has_within(self) -> bool:
        """True if some slabs have fewer rows than others, which C computes by a separate function."""
        texts = [each for part in self.parts.values() for each in (part.buffer.count, part.room.count)]
        return any(f"{self.called.within}(" in each for each in texts)

    def told(self, setting: Setting) -> str:
        """The loops that are cut, with their lines."""
        subject = setting.region.subject
        facts = [subject.known(each) for each in self.loops]
        words = (f"`{each.iterator}` (line {subject.line_number(each.site)})" for each in facts)
        return ", ".join(dict.fromkeys(words))

    def remark(self, memories: Memories) -> str:
        """Remark on the slabs for the user."""
        names = [f"`{b.name}`" for b in memories.buffers if b.variable.name in self.parts]
        listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
        return f"Where the device has too little memory, it gets {listed} slab by slab."
