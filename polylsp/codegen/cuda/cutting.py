"""Whether a region can be cut into slabs: no dependence leads back to an earlier one, and what they need of
the largest arrays moves along with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import islpy as isl

from polylsp.analysis.effects import walk
from polylsp.codegen.affine import Names
from polylsp.codegen.cuda.axes import ends_of
from polylsp.codegen.cuda.choice import Choice
from polylsp.codegen.cuda.expressions import Unwritable
from polylsp.codegen.cuda.launch import sets_of
from polylsp.codegen.cuda.leaves import Leaf, Leaves
from polylsp.codegen.cuda.memory import Buffer, Memories, plain_names
from polylsp.codegen.cuda.naming import fresh_of
from polylsp.codegen.cuda.region import Region
from polylsp.codegen.cuda.schedule import of_leaf
from polylsp.codegen.cuda.slab_boxes import END, FIRST, SIZE, Ends
from polylsp.codegen.cuda.slab_parts import Part, Parts
from polylsp.codegen.cuda.slabs import Called, Slabs
from polylsp.model.action import Declined
from polylsp.model.program import Block


def slabs_of(region: Region, choice: Choice, memories: Memories) -> Slabs | Declined:
    """The slabs of a region; or why it has none."""
    alone = next((leaf for leaf in choice.leaves.leaves if not leaf.loops), None)
    if alone is not None:
        return _uncut(f"line {_line(region, alone)} is in no loop of these")
    outermost = _outermost(choice.leaves)
    backwards = choice.pairs.subtract(outermost.lex_le_union_map(outermost))
    if not backwards.is_empty():
        return _uncut(_why(region, choice, backwards))
    ends = _ends(region, outermost)
    if ends is None:
        return _uncut("where the loops end is no one sum")
    fresh, plain = fresh_of(region), plain_names(region)
    called = Called(*(fresh.name(each) for each in _WANTED))
    own = {FIRST: called.first, END: called.end, SIZE: called.size}
    names = Names({**plain.parameters, **own}, choice=plain.choice)
    parts = _parts(Parts(region, ends, names), choice.leaves, memories)
    whole = _whole(memories, parts)
    if whole:
        return _uncut(f"each iteration of {_words(region, choice.leaves)} needs all of `{whole}`")
    loops = tuple(dict.fromkeys(leaf.loops[0] for leaf in choice.leaves.leaves))
    return Slabs(called, ends, _instances(choice.leaves), parts, loops)


def _uncut(why: str) -> Declined:
    return Declined(f"Arrays that do not fit on the device are not cut: {why}.")


_WANTED = ("first", "end", "slab", "free_memory", "room", "stream", "turn", "turns")
"""What things are called, if nothing else is."""


def _whole(memories: Memories, parts: Mapping[str, Part]) -> str:
    """An array that stays, if all those stay that take most of the memory; else empty."""
    most = max(_dimensions(each) for each in memories.buffers)
    largest = [each for each in memories.buffers if _dimensions(each) == most]
    return "" if any(each.variable.name in parts for each in largest) else largest[0].name


def _dimensions(buffer: Buffer) -> int:
    """How many dimensions an array has on the device: those with fewer are not what takes its memory."""
    return len(buffer.memory.strides) or buffer.memory.dimensions


def _instances(found: Leaves) -> isl.UnionSet:
    """All instances in one slab."""
    result = isl.UnionSet("{ }")
    for leaf in found.leaves:
        result = result.union(_of_slab(leaf).to_union_set())
    return result


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
