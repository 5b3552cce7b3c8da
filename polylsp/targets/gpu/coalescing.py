"""Memory accesses of a launch: references, coalescing in sectors, and register promotion.

Traffic is counted in sectors of a warp (CUDA C++ Best Practices Guide, "Coalesced Access to Global
Memory"). An element that one thread uses repeatedly stays in a register (Verdoolaege et al., TACO
2013, section 6.3): no two threads of a launch depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.ir.effects import walk
from polylsp.ir.program import Assign, Block, Declare, Floating, Integer
from polylsp.poly.scop import Access, Memory, Scop
from polylsp.targets.gpu.alternatives import of_leaf
from polylsp.targets.gpu.cuda_statements import expression
from polylsp.targets.gpu.leaves import Leaf, Segment, varies
from polylsp.targets.gpu.mapping import (
    Axis,
    Launch,
    fixed,
    is_next,
    is_same,
    maps_of,
    onto,
    parameter_names,
)

# --------------------------------------------------------------------------------------------------
# The accesses of a launch to elements of arrays, from the points of its order.
# --------------------------------------------------------------------------------------------------


_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True, eq=False)
class Reference:
    """An access of a leaf, whose instances run in an `order`; `seen` is `{ [point] -> A[element] }`.
    `sure`: its statement runs at each of these points; `loops` (ordinals) are around that."""

    leaf: Leaf
    order: isl.Map
    access: Access
    seen: isl.Map
    sure: bool
    loops: tuple[int, ...]


def references(launch: Launch, scop: Scop, shared: Iterable[tuple[Leaf, Access]]) -> list[Reference]:
    """The references of a launch; `shared` are the accesses of a region."""
    orders = {each.get_tuple_name(_IN): each for each in maps_of(launch.order)}
    found: list[Reference] = []
    for leaf, access in shared:
        if leaf.name in orders:
            seen = orders[leaf.name].reverse().apply_range(of_leaf(leaf, access.relation))
            statement = scop.statements[access.statement]
            sure = not statement.guards and statement.loops == leaf.loops
            seen = seen.intersect_params(launch.context)
            found.append(Reference(leaf, orders[leaf.name], access, seen, sure, statement.loops))
    return [each for each in found if not each.seen.is_empty()]


def is_plain(memory: Memory) -> bool:
    """True if the model has one dimension for each subscript of the source."""
    dimensions = all(step == "[]" for step in memory.shape) and memory.dimensions == len(memory.shape)
    return bool(memory.shape) and dimensions and not memory.strides and not memory.scoped


def subscripts_at(
    element: isl.Map, names: Sequence[str], offset: Sequence[isl.Aff] | None = None
) -> list[isl.PwAff] | None:
    """The subscripts of the one element that a map gives to the point of which dimensions are parameters of
    these names, less an offset; `None` where these are not single expressions."""
    if not element.is_single_valued():
        return None
    at = fixed(names, range(len(names)), len(names)).set_tuple_name(element.get_tuple_name(_IN) or "")
    if not element.has_tuple_name(_IN):
        at = at.reset_tuple_id()
    value = element.intersect_domain(at).range()
    found: list[isl.PwAff] = []
    for k in range(value.dim(isl.dim_type.set)):
        one = value.dim_max(k)
        if offset is not None:
            one = one.sub(isl.PwAff.from_aff(offset[k]))
        one = one.gist(value.params()).coalesce()
        if one.n_piece() != 1:
            return None
        found.append(one)
    return found


def texts(values: Sequence[isl.PwAff], context: isl.Set, atoms: Mapping[str, str]) -> list[str]:
    """Expressions in C."""
    return [expression(each, context, atoms) for each in values]


# --------------------------------------------------------------------------------------------------
# References with neighbouring elements in neighbouring threads, and the other accesses that a leaf
# may have if several of its instances are to run as one.
# --------------------------------------------------------------------------------------------------


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


# --------------------------------------------------------------------------------------------------
# Memory traffic of a warp in sectors of global memory (CUDA C++ Best Practices Guide, "Coalesced
# Access to Global Memory").
# --------------------------------------------------------------------------------------------------


SECTOR = 32
"""Bytes of a sector."""

Sides = Sequence[tuple[int, int]]
"""Dimensions along which the threads of a warp differ, and how many there are along each."""


def sectors(seen: isl.Map, width: int, sides: Sides) -> int:
    """Number of sectors that a warp touches with an access to elements of `width` bytes."""
    result = 1
    for dimension, threads in sides:
        if is_next(seen, dimension):
            result *= -(-threads * width // SECTOR)
        elif not is_same(seen, dimension):
            result *= threads
    return result


def sectors_of(references: Iterable[Reference], sides: Sides) -> int:
    """The same for several accesses."""
    return sum(sectors(each.seen, _width(each), sides) for each in references)


def _width(reference: Reference) -> int:
    element = reference.access.memory.element
    return max(1, element.bits // 8) if isinstance(element, (Integer, Floating)) else SECTOR


# --------------------------------------------------------------------------------------------------
# Register promotion of array elements that a single thread uses repeatedly (Verdoolaege et al.,
# TACO 2013, section 6.3).
#
# No two threads of a launch depend on each other: an element that a thread writes concerns no other
# one. So it may stay in a register while the thread runs all, or a part, of its work.
# --------------------------------------------------------------------------------------------------


_REGISTERS_IN = isl.dim_type.in_


@dataclass(frozen=True, eq=False)
class Kept:
    """An element in a register for each value of the threads' dimensions: `element` is `{ [values] ->
    A[element] }`. `loads` are the values for which the element as it was before the launch may be read, or
    is not surely overwritten."""

    memory: Memory
    element: isl.Map
    loads: isl.Set
    references: tuple[Reference, ...]


def kept(launch: Launch, threads: Sequence[int], found: Sequence[Reference]) -> list[Kept]:
    """Elements that threads have in registers while they run the leaves of some references, given the
    threads' dimensions."""
    by_name: dict[str, list[Reference]] = {}
    for each in found:
        by_name.setdefault(each.access.memory.name, []).append(each)
    left = [k for k in range(launch.length) if k not in threads]
    groups = [_changing(own) for own in by_name.values()]
    return [
        made
        for own in groups
        if threads and own and is_plain(own[0].access.memory)
        if _accumulates(left, own) or own[0].access.memory.variable.name in launch.private
        for made in _kept(launch, threads, own)
    ]


def _changing(found: Sequence[Reference]) -> list[Reference]:
    """Of the references to an array, those to elements that a launch changes: the others are as they were
    before it, and stay where they are."""
    written = isl.Set.empty(found[0].seen.range().get_space())
    for each in found:
        if each.access.kind == "write":
            written = written.union(each.seen.range())
    own = [each for each in found if not each.seen.range().is_disjoint(written)]
    sites = {each.access.site for each in own}
    # A statement in several parts is written once.
    return own if all(each in own or each.access.site not in sites for each in found) else list(found)


def _accumulates(left: Sequence[int], own: Sequence[Reference]) -> bool:
    """True if an element that is written is used in more than one iteration of a loop."""
    return any(varies(each.order, k) for each in own for k in left)


def _kept(launch: Launch, threads: Sequence[int], own: Sequence[Reference]) -> Iterator[Kept]:
    points = onto(threads, launch.length)
    element = own[0].seen.apply_domain(points)
    for each in own[1:]:
        element = element.union(each.seen.apply_domain(points))
    element = element.coalesce()
    if element.is_single_valued() and element.is_injective():
        yield Kept(own[0].access.memory, element, _loads(points, element, own), tuple(own))


def _loads(points: isl.Map, element: isl.Map, own: Sequence[Reference]) -> isl.Set:
    """The threads' values for which the element before the launch matters; all of them where these are no
    single conjunction."""
    writes = isl.Map.empty(own[0].seen.get_space())
    for each in own:
        if each.access.kind == "write" and each.access.exact and each.sure:
            writes = writes.union(each.seen)
    found: isl.Set = element.subtract(writes.apply_domain(points)).domain()
    later = isl.Map.lex_lt(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, writes.dim(_REGISTERS_IN)))
    # What was written at an earlier point of the same thread, which has that element to itself.
    known = later.reverse().apply_range(writes)
    for each in own:
        if each.access.kind == "read" and not each.seen.is_subset(known):
            found = found.union(each.seen.subtract(known).domain().apply(points))
    found = found.coalesce()
    return found if found.is_empty() or found.n_basic_set() == 1 else element.domain()
