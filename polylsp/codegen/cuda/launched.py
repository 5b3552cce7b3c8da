"""Kernels of a region, before any call is generated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polylsp.codegen.cuda.atomics import rounded
from polylsp.codegen.cuda.buffers import Memories
from polylsp.codegen.cuda.choice import Choice, chosen
from polylsp.codegen.cuda.cutting import slabs_of
from polylsp.codegen.cuda.divergence import divergences
from polylsp.codegen.cuda.expressions import Unwritable
from polylsp.codegen.cuda.kernels import Written, written
from polylsp.codegen.cuda.leaves import Leaves
from polylsp.codegen.cuda.mapping import Kernel
from polylsp.codegen.cuda.memory import memories_of
from polylsp.codegen.cuda.region import Region, loops_at
from polylsp.codegen.cuda.setting import Setting, setting_of
from polylsp.codegen.cuda.slabs import Slabs
from polylsp.codegen.cuda.sums import sum_of
from polylsp.language import PYTHON
from polylsp.model.action import Declined
from polylsp.model.verdict import Assumption
from polylsp.settings import Settings


@dataclass(frozen=True, eq=False)
class Launched:
    """Kernels in the order in which a function called `name` launches them, and the memory on the device, for
    `slabs` of iterations; `uncut` says why there are none, if some were requested."""

    region: Region
    name: str
    leaves: Leaves
    memories: Memories
    setting: Setting
    kernels: tuple[tuple[Kernel, Written], ...]
    slabs: Slabs | None = None
    uncut: str = ""

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """Assumptions of the kernels."""
        region = self.region
        inside = {loop.ordinal for loop in loops_at(region.statements)}
        listed = {each.ordinal for each in region.subject.facts.loops}
        own = [
            region.scop.loops[o]
            for o in sorted(region.scop.loops.keys() & listed)
            if _is_inside(region, o, inside)
        ]
        found = [assumed for each in own for assumed in each.assumptions]
        return tuple(dict.fromkeys((*region.scop.inherited, *found, *self.memories.assumptions)))

    @property
    def remarks(self) -> Iterator[str]:
        """Remarks on the kernels for the user."""
        for kernel, made in self.kernels:
            if made.rounds:
                yield f"What `{made.name}` adds up is added in another order."
            elif made.total is None and not kernel.parallel:
                yield f"`{made.name}` runs in one thread: nothing in it can run at once."
            if made.unaligned:
                yield f"`{made.name}` loads one element at a time: {made.unaligned}."
            yield from divergences(self.setting, made)
        yield from rounded(self.leaves)
        for each in self.memories.buffers:
            if each.of:
                yield f"What is read of `{each.of}` before it changes is read from a copy on the device."
        if self.slabs is not None:
            yield self.slabs.remark(self.memories)
        elif self.uncut:
            yield self.uncut


def launched(region: Region, settings: Settings, taken: frozenset[str] = frozenset()) -> Launched | Declined:
    """The kernels of a region; the function that launches them has none of the names that are `taken`."""
    expands = region.subject.language != PYTHON.name
    choice = chosen(region, settings, expands)
    made = _launched(region, choice, settings, taken)
    if isinstance(made, Declined) and isinstance(choice, Choice) and choice.leaves.has_own_scalars:
        # What cannot be written with elements of scalars may be without.
        return _launched(region, chosen(region, settings, expands, False), settings, taken)
    return made


def _launched(
    region: Region, choice: Choice | Declined, settings: Settings, taken: frozenset[str]
) -> Launched | Declined:
    if isinstance(choice, Declined):
        return choice
    memories = memories_of(region, choice.leaves)
    if isinstance(memories, Declined):
        return memories
    if not memories.buffers:
        line = region.subject.line_number(region.last.site)
        return Declined(f"The loop in line {line} leaves nothing behind: a GPU has nothing to do.")
    cut = slabs_of(region, choice, memories) if settings.cuda_slabs else None
    slabs = cut if isinstance(cut, Slabs) else None
    seen = memories if slabs is None else slabs.of_slab(memories)
    setting = setting_of(region, choice.leaves, seen, settings)
    if isinstance(setting, Declined):
        return setting
    if slabs is not None:
        setting = slabs.setting(setting)
    fresh = setting.fresh
    fresh.used.update(taken)
    name = fresh.name(f"{region.subject.function.name}_cuda")
    try:
        kernels = tuple(
            (one, written(setting, one, fresh.name(f"{name}_kernel{number}"), sum_of(one, choice.leaves)))
            for number, one in enumerate(choice.kernels if slabs is None else map(slabs.of, choice.kernels))
        )
    except Unwritable as reason:
        return Declined(str(reason))
    uncut = cut.reason if isinstance(cut, Declined) else ""
    return Launched(region, name, choice.leaves, memories, setting, kernels, slabs, uncut)


def _is_inside(region: Region, ordinal: int, outermost: set[int]) -> bool:
    around = (*region.subject.around(ordinal), region.subject.known(ordinal))
    return any(each.ordinal in outermost for each in around)
