"""Legality of cutting a region into slabs: no dependence leads back to an earlier one, and the rows that they
need of the largest arrays move along with them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod

import islpy as isl

from polylsp.analysis.effects import walk
from polylsp.codegen.affine import Names
from polylsp.codegen.cuda.buffers import Buffer, Memories
from polylsp.codegen.cuda.choice import Choice
from polylsp.codegen.cuda.launch import sets_of
from polylsp.codegen.cuda.leaves import Leaf, Leaves
from polylsp.codegen.cuda.naming import fresh_of, plain_names
from polylsp.codegen.cuda.region import Region, loops_at
from polylsp.codegen.cuda.schedule import of_leaf
from polylsp.codegen.cuda.setting import with_signs
from polylsp.codegen.cuda.slab_cut import Cut, cuts
from polylsp.codegen.cuda.slab_ends import END, FIRST, SIZE
from polylsp.codegen.cuda.slab_parts import Part, Parts
from polylsp.codegen.cuda.slab_words import Words
from polylsp.codegen.cuda.slabs import Called, Slabs
from polylsp.model.action import Declined
from polylsp.model.program import Block, Floating, Integer


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
