"""Slabs: iterations of the outermost loops that run one after the other, for which the device has only what
they need, where it has no room for everything (jit4GPU's loop tiling: Garg and Amaral, 2010)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import islpy as isl

from polylsp.analysis.effects import walk
from polylsp.codegen.affine import Names
from polylsp.codegen.cuda.axes import ends_of
from polylsp.codegen.cuda.choice import Choice
from polylsp.codegen.cuda.expressions import Unwritable
from polylsp.codegen.cuda.launch import sets_of
from polylsp.codegen.cuda.leaves import Leaf, Leaves
from polylsp.codegen.cuda.mapping import Kernel
from polylsp.codegen.cuda.memory import Buffer, Memories, plain_names
from polylsp.codegen.cuda.naming import fresh_of
from polylsp.codegen.cuda.region import Region
from polylsp.codegen.cuda.schedule import of_leaf
from polylsp.codegen.cuda.setting import Setting
from polylsp.codegen.cuda.slab_boxes import END, FIRST, SIZE, Ends
from polylsp.codegen.cuda.slab_parts import Part, Parts
from polylsp.model.action import Declined
from polylsp.model.program import Block


@dataclass(frozen=True, slots=True)
class Called:
    """C's names for the `first` iteration of a slab, for the `end` behind it, for its `size`; for what tells
    how much `memory` is free and how much `room` that is; for the `stream` of a slab, its `turn`, and how
    many `turns` there are."""

    first: str
    end: str
    size: str
    memory: str
    room: str
    stream: str
    turn: str
    turns: str

    @property
    def all(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(getattr(self, each.name) for each in fields(self))


@dataclass(frozen=True, eq=False)
class Slabs:
    """`instances` are those of one slab, and `parts` what it needs of arrays, by the unique names of their
    variables: all others stay on the device. `loops` (ordinals) are cut; things are `called` so in C."""

    called: Called
    ends: Ends
    instances: isl.UnionSet
    parts: Mapping[str, Part]
    loops: tuple[int, ...]

    def of_slab(self, memories: Memories) -> Memories:
        """The buffers while a slab runs."""
        own = {name: part.buffer for name, part in self.parts.items()}
        return replace(memories, buffers=tuple(own.get(b.variable.name, b) for b in memories.buffers))

    def of(self, kernel: Kernel) -> Kernel:
        """What a kernel runs for one slab."""
        return replace(kernel, domain=kernel.domain.intersect(self.instances))

    def setting(self, whole: Setting) -> Setting:
        """What the kernels of a slab have in common."""
        whole.fresh.used.update(self.called.all)
        region = replace(whole.region, context=whole.region.context.intersect(self.ends.slab))
        parameters = {**whole.parameters, FIRST: self.called.first, END: self.called.end}
        slab = (self.called.first, self.called.end)
        return replace(whole, region=region, parameters=parameters, slab=slab)

    def words(self, setting: Setting) -> str:
        """The loops that are cut, with their lines."""
        subject = setting.region.subject
        facts = [subject.known(each) for each in self.loops]
        words = (f"`{each.iterator}` (line {subject.line_number(each.site)})" for each in facts)
        return ", ".join(dict.fromkeys(words))

    def remark(self, memories: Memories) -> str:
        """What a person should know of them."""
        names = [f"`{b.name}`" for b in memories.buffers if b.variable.name in self.parts]
        listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
        return f"Where the device has too little memory, it gets {listed} slab by slab."


def slabs_of(region: Region, choice: Choice, memories: Memories) -> Slabs | Declined:
    """The slabs of a region; or why it has none."""
    alone = next((leaf for leaf in choice.leaves.leaves if not leaf.loops), None)
    if alone is not None:
        line = _line(region, alone)
        return Declined(
            f"Arrays that do not fit on the device are not cut: line {line} is in no loop of these."
        )
    outermost = _outermost(choice.leaves)
    backwards = choice.pairs.subtract(outermost.lex_le_union_map(outermost))
    if not backwards.is_empty():
        return Declined(
            f"Arrays that do not fit on the device are not cut: {_why(region, choice, backwards)}."
        )
    ends = _ends(region, outermost)
    if ends is None:
        return Declined(
            "Arrays that do not fit on the device are not cut: where the loops end is no one sum."
        )
    fresh, plain = fresh_of(region), plain_names(region)
    called = Called(*(fresh.name(each) for each in _WANTED))
    own = {FIRST: called.first, END: called.end, SIZE: called.size}
    names = Names({**plain.parameters, **own}, choice=plain.choice)
    parts = _parts(Parts(region, ends, names), choice.leaves, memories)
    largest = max(_dimensions(each) for each in memories.buffers)
    if not any(_dimensions(b) == largest for b in memories.buffers if b.variable.name in parts):
        whole = next(b.name for b in memories.buffers if _dimensions(b) == largest)
        return Declined(
            f"Arrays that do not fit on the device are not cut: each iteration of"
            f" {_words(region, choice.leaves)} needs all of `{whole}`."
        )
    loops = tuple(dict.fromkeys(leaf.loops[0] for leaf in choice.leaves.leaves))
    instances = isl.UnionSet("{ }")
    for leaf in choice.leaves.leaves:
        instances = instances.union(_of_slab(leaf).to_union_set())
    return Slabs(called, ends, instances, parts, loops)


_WANTED = ("first", "end", "slab", "free_memory", "room", "stream", "turn", "turns")
"""What things are called, if nothing else is."""


def _dimensions(buffer: Buffer) -> int:
    """How many dimensions an array has on the device: those with fewer are not what takes its memory."""
    memory = buffer.memory
    return len(buffer.each) + (len(memory.strides) or memory.dimensions)


def _of_slab(leaf: Leaf) -> isl.Set:
    """The instances of a leaf in one slab."""
    names = [f"i{k}" for k in range(len(leaf.loops))]
    return isl.Set(f"[{FIRST}, {END}] -> {{ {leaf.name}[{', '.join(names)}] : {FIRST} <= i0 < {END} }}")


def _outermost(found: Leaves) -> isl.UnionMap:
    """`{ L[i, …] -> [i] }`: the iteration of the outermost loop in which an instance runs."""
    result = isl.UnionMap("{ }")
    for leaf in found.leaves:
        names = [f"i{k}" for k in range(len(leaf.loops))]
        one = isl.Map(f"{{ {leaf.name}[{', '.join(names)}] -> [i0] }}").intersect_domain(leaf.domain)
        result = result.union(one.to_union_map())
    return result


def _why(region: Region, choice: Choice, backwards: isl.UnionMap) -> str:
    """Which instances need what comes out of order, if slabs run one after the other."""
    leaves = {leaf.name: leaf for leaf in choice.leaves.leaves}

    def line(found: isl.UnionSet) -> int:
        return _line(region, leaves[next(sets_of(found)).get_tuple_name() or ""])

    pair = isl.UnionMap.from_map(backwards.sample())
    return f"line {line(pair.range())} needs to run behind a later iteration of line {line(pair.domain())}"


def _line(region: Region, leaf: Leaf) -> int:
    """Where a leaf begins."""
    first = next(s.site for s in walk(*leaf.statements) if not isinstance(s, Block))
    return region.subject.line_number(first)


def _words(region: Region, found: Leaves) -> str:
    names = dict.fromkeys(region.subject.known(leaf.loops[0]).iterator for leaf in found.leaves)
    return " or ".join(f"`{name}`" for name in names)


def _ends(region: Region, outermost: isl.UnionMap) -> Ends | None:
    """From where to where the outermost loops go, wherever they run at all."""
    values = isl.Set.from_union_set(outermost.range()).intersect_params(region.context)
    try:
        low, high = ends_of(values)
    except Unwritable:
        return None
    known = values.params()
    affs = [[aff for _, aff in each.gist(known).coalesce().get_pieces()] for each in (low, high)]
    if any(len(each) != 1 or each[0].dim(isl.dim_type.div) for each in affs):
        return None
    return Ends(affs[0][0], affs[1][0].add_constant_val(isl.Val(1)))


def _parts(parts: Parts, found: Leaves, memories: Memories) -> dict[str, Part]:
    result: dict[str, Part] = {}
    for buffer in memories.buffers:
        shared = [(leaf, a) for leaf, a in found.shared if a.memory is buffer.memory]
        every = [(leaf, replace(a, relation=of_leaf(leaf, a.relation))) for leaf, a in shared]
        own = [replace(a, relation=a.relation.intersect_domain(_of_slab(leaf))) for leaf, a in every]
        part = parts.of(buffer, own, [a for _, a in every]) if buffer.memory.shape else None
        if part is not None:
            result[buffer.variable.name] = part
    return result
