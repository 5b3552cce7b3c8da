"""Legality and choice of slabs where the device has no room for all arrays.

No dependence leads back to an earlier slab, and the needed rows of the largest arrays move along
(loop tiling of jit4GPU: Garg and Amaral, A compilation framework to execute Python
numerical-intensive applications in a hybrid CPU-GPU execution environment, 2012, section 4.4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from math import prod

import islpy as isl

from polylsp.emit.affine_bounds import Names
from polylsp.ir.effects import walk
from polylsp.ir.program import Block, Floating, Integer
from polylsp.model.action import Declined
from polylsp.targets.gpu.alternatives import of_leaf
from polylsp.targets.gpu.buffers import Buffer, Memories
from polylsp.targets.gpu.device_names import fresh_of, plain_names
from polylsp.targets.gpu.emission_context import Setting, with_signs
from polylsp.targets.gpu.leaves import Leaf, Leaves
from polylsp.targets.gpu.mapping import Kernel, sets_of
from polylsp.targets.gpu.region import Region, loops_at
from polylsp.targets.gpu.schedule_choice import Choice
from polylsp.targets.gpu.slab_ends import END, FIRST, SIZE, Ends, Words, difference
from polylsp.targets.gpu.slab_parts import Cut, Part, Parts, cuts


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


# --------------------------------------------------------------------------------------------------
# Legality of cutting a region into slabs: no dependence leads back to an earlier one, and the rows
# that they need of the largest arrays move along with them.
# --------------------------------------------------------------------------------------------------


def slabs_of(region: Region, choice: Choice, memories: Memories) -> Slabs | Declined | None:
    """The slabs of a region, or why it has none; nothing where there is no use in them."""
    most = max(_dimensions(each) for each in memories.buffers)
    if most < FEWEST_DIMENSIONS or _is_small(memories):
        return None
    largest = [each for each in memories.buffers if _dimensions(each) == most]
    best: Slabs | None = None
    why = ""
    for cut in cuts(choice.leaves, choice.pairs, region.context, largest):
        made = _made(region, choice, memories, largest, cut)
        if isinstance(made, str):
            why = why or made
        elif best is None or made.moving(largest) > best.moving(largest):
            best = made
            if made.ends.are_single and 2 * made.moving(largest) >= len(largest):
                break
    return best or Declined(f"Arrays that do not fit on the device are not cut: {why or _NO_ENDS}.")


_NO_ENDS = "where the loops end is no one sum"
SMALL = 1 << 30
"""Bytes for which any device has room."""

FEWEST_DIMENSIONS = 2
"""Of the largest array: what is done to rows of one element takes less time than to send them."""

_WANTED = ("first", "end", "slab", "free_memory", "room", "stream", "turn", "turns", "within")
"""Preferred names."""


def _is_small(memories: Memories) -> bool:
    """True if all arrays together are proven to take little memory."""
    total = 0
    for each in memories.buffers:
        factors = [each.count or "1", *each.inner, *each.each]
        element = each.memory.element
        if not all(text.isdigit() for text in factors) or not isinstance(element, (Integer, Floating)):
            return False
        total += prod(map(int, factors)) * element.bits // 8
    return total <= SMALL


def _dimensions(buffer: Buffer) -> int:
    """Number of dimensions of an array on the device: those with fewer take little of its memory."""
    return len(buffer.memory.strides) or buffer.memory.dimensions


def _made(
    region: Region, choice: Choice, memories: Memories, largest: Sequence[Buffer], cut: Cut
) -> Slabs | str:
    """The slabs of a way to cut; or why it is none."""
    dates = cut.dates
    every = isl.UnionMap("{ }")
    for each in dates.values():
        every = every.union(each.to_union_map())
    backwards = _backwards(choice.pairs, every)
    if backwards is not None:
        return _why(region, choice, backwards)
    if not _is_kept(choice.leaves, every):
        return "a number that a thread keeps is needed in several of them"
    fresh, plain = fresh_of(region), plain_names(region)
    called = Called(*(fresh.name(each) for each in _WANTED))
    own = {FIRST: called.first, END: called.end, SIZE: called.size}
    texts = {**with_signs(region, plain.parameters), **own}
    words = Words(Names(texts, choice=plain.choice), called.within)
    parts = _parts(Parts(region, cut.ends, words), choice.leaves, memories, cut)
    slabs = Slabs(called, words, cut.ends, cut.instances, parts, cut.loops, cut.has_once)
    if not slabs.moving(largest):
        # Arrays with fewer dimensions are not what takes the memory.
        copied = next((each.of for each in largest if each.of), "")
        if copied:
            return f"of `{copied}`, a copy is made before the loops"
        return f"each iteration of {_words(region, cut)} needs all of `{largest[0].name}`"
    return slabs


def _backwards(pairs: isl.UnionMap, dates: isl.UnionMap) -> isl.UnionMap | None:
    """The pairs of which the second instance runs in an earlier iteration than the first, if there are
    some."""
    apart = pairs.apply_domain(dates).apply_range(dates).deltas()
    if apart.intersect(isl.UnionSet("{ [d] : d < 0 }")).is_empty():
        return None
    return pairs.subtract(dates.lex_le_union_map(dates))


def _is_kept(found: Leaves, dates: isl.UnionMap) -> bool:
    """True if the elements in registers are used in one iteration alone: the next slab has others."""
    uses = isl.UnionMap("{ }")
    for leaf, access in found.shared:
        if access.memory.variable.name in found.private:
            uses = uses.union(of_leaf(leaf, access.relation).to_union_map())
    alike = uses.apply_range(uses.reverse()).apply_domain(dates).apply_range(dates).deltas()
    return bool(alike.is_subset(isl.UnionSet("{ [0] }")))


def _why(region: Region, choice: Choice, backwards: isl.UnionMap) -> str:
    """Reason in terms of the instances that would receive values out of order, if slabs run one after the
    other."""
    leaves = {leaf.name: leaf for leaf in choice.leaves.leaves}

    def line(found: isl.UnionSet) -> int:
        return _line(region, leaves[next(sets_of(found)).get_tuple_name() or ""])

    pair = isl.UnionMap.from_map(backwards.sample())
    why = f"line {line(pair.range())} needs to run behind a later iteration of line {line(pair.domain())}"
    return f"{why}; choose the loops one by one instead" if len(loops_at(region.statements)) > 1 else why


def _line(region: Region, leaf: Leaf) -> int:
    """First line of a leaf."""
    first = next(s.site for s in walk(*leaf.statements) if not isinstance(s, Block))
    return region.subject.line_number(first)


def _words(region: Region, cut: Cut) -> str:
    names = dict.fromkeys(region.subject.known(each).iterator for each in cut.loops)
    return " or ".join(f"`{name}`" for name in names)


def _parts(parts: Parts, found: Leaves, memories: Memories, cut: Cut) -> dict[str, Part]:
    result: dict[str, Part] = {}
    dates = cut.dates
    copied = {buffer.of for buffer in memories.buffers}
    for buffer in memories.buffers:
        if buffer.of or buffer.name in copied:
            continue
        uses = [(leaf, access) for leaf, access in found.shared if access.memory is buffer.memory]
        if not uses or not all(isinstance(cut.places[leaf.name], int) for leaf, _ in uses):
            continue
        every = [dates[leaf.name].reverse().apply_range(of_leaf(leaf, a.relation)) for leaf, a in uses]
        part = parts.of(buffer, reduce(isl.Map.union, every), [access for _, access in uses])
        if part is not None:
            result[buffer.variable.name] = part
    return result
