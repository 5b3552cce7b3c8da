"""References with neighbouring elements in neighbouring threads, and the other accesses that a leaf may have
if several of its instances are to run as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.analysis.effects import walk
from polylsp.codegen.cuda.axes import Axis, is_next, is_same
from polylsp.codegen.cuda.launch import Launch, parameter_names
from polylsp.codegen.cuda.leaves import Leaf
from polylsp.codegen.cuda.references import Reference, is_plain, subscripts_at
from polylsp.codegen.cuda.segments import Segment
from polylsp.model.program import Assign, Block, Declare, Floating, Integer
from polylsp.model.scop import Memory

_PARAM = isl.dim_type.param
Subscripts = tuple[isl.PwAff, ...]
"""Subscripts of one element, at a point of which the dimensions are parameters."""


@dataclass(frozen=True, eq=False)
class Neighbour:
    """A reference to the next element where `x` grows by one: `rows` are the other subscripts, and the last
    one is `x` and a `number`."""

    reference: Reference
    rows: Subscripts
    number: int

    @property
    def memory(self) -> Memory:
        """The array."""
        return self.reference.access.memory

    @property
    def bytes(self) -> int:
        """The width of an element."""
        element = self.memory.element
        assert isinstance(element, (Integer, Floating))
        return element.bits // 8

    @property
    def writes(self) -> bool:
        """True if it sets its element."""
        return self.reference.access.kind == "write"

    def shares(self, other: Neighbour) -> bool:
        """True if both are in one row of an array."""
        same = self.memory.name == other.memory.name
        return same and all(one.is_equal(two) for one, two in zip(self.rows, other.rows, strict=True))


def plain_leaf(segment: Segment, found: Sequence[Reference]) -> Leaf | None:
    """The leaf of a segment that is no loop, and does nothing but assign."""
    own = [each.leaf for each in found if each.leaf.name in segment.leaves]
    if segment.loop is not None or len(segment.leaves) != 1 or not own:
        return None
    plain = all(isinstance(s, (Assign, Block, Declare)) for s in walk(*own[0].statements))
    return own[0] if plain else None


def neighbours(
    launch: Launch, axes: Sequence[Axis], leaf: Leaf, found: Sequence[Reference]
) -> list[Neighbour] | None:
    """The references of a leaf to neighbours; `None` if there are others than those, and to elements that
    neighbouring threads read together."""
    x = axes[0].dimension
    names = parameter_names([axis.dimension for axis in axes], launch.length)
    inside = [each for each in found if each.leaf is leaf]
    result: list[Neighbour] = []
    for each in inside:
        if _is_shared(each, inside, x):
            continue
        own = _neighbour(launch, each, names, x)
        if own is None:
            return None
        result.append(own)
    elements = {(each.reference.access.site, each.number) for each in result}
    # A place that stands for two elements has no one name.
    return result if len(elements) == len({site for site, _ in elements}) else None


def _is_shared(each: Reference, inside: Sequence[Reference], x: int) -> bool:
    """True if neighbours read the same element, and none of them changes it."""
    memory = each.access.memory
    if each.access.kind == "write" or (memory.shape and not (is_plain(memory) and is_same(each.seen, x))):
        return False
    writes = [r.seen.range() for r in inside if r.access.kind == "write" and r.access.memory is memory]
    return all(each.seen.range().is_disjoint(values) for values in writes)


def _neighbour(launch: Launch, each: Reference, names: Sequence[str], x: int) -> Neighbour | None:
    """A reference at every point of its leaf to one element, whose last subscript alone grows with `x`."""
    memory, element = each.access.memory, each.access.memory.element
    points = each.order.range().intersect_params(launch.context)
    sure = each.sure and each.access.exact and points.is_subset(each.seen.domain())
    known = isinstance(element, (Integer, Floating)) and element.bits in (32, 64)
    if not sure or not known or not is_plain(memory) or not is_next(each.seen, x):
        return None
    subscripts = subscripts_at(each.seen, names)
    if subscripts is None:
        return None
    *rows, last = subscripts
    number = last.sub(isl.PwAff(f"[{names[x]}] -> {{ [({names[x]})] }}")).coalesce()
    inside = {name for row in (*rows, number) for name in depends_on(row)}
    left = {name for name in names if name.startswith("__d")}
    if number.n_piece() != 1 or not number.is_cst() or inside & {names[x], *left}:
        return None
    return Neighbour(each, tuple(rows), number.max_val().to_python())


def depends_on(value: isl.PwAff) -> list[str]:
    """The parameters that an expression depends on."""
    count = value.dim(_PARAM)
    return [value.get_dim_name(_PARAM, k) or "" for k in range(count) if value.involves_dims(_PARAM, k, 1)]
