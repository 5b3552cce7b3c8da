"""Shared-memory tiles: boxes of arrays that the threads of a block copy first and use together.

Verdoolaege et al., TACO 2013, section 6. The threads of a block copy a box in rounds of as many
rows as they fill; each thread stays in its column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import islpy as isl

from polylsp.emit.affine_bounds import alone, highest, lowest
from polylsp.ir.program import Floating, Integer
from polylsp.poly.scop import Memory
from polylsp.targets.gpu.coalescing import Reference, is_plain, subscripts_at
from polylsp.targets.gpu.leaves import Segment, varies
from polylsp.targets.gpu.mapping import Axis, is_next, is_same, onto

_SET, _PARAM = isl.dim_type.set, isl.dim_type.param
STRIP = "__s"
"""isl's name for the first iteration of a strip."""

_REUSE = 4
"""Average number of uses of an element of a tile for a copy to pay where accesses coalesce anyway."""

_LARGEST = 48 * 1024
"""Bytes of shared memory that every device gives a block."""


@dataclass(frozen=True, eq=False)
class Strip:
    """A loop cut in pieces of `size` iterations, each of which has its copies: a dimension of the order."""

    dimension: int
    size: int


@dataclass(frozen=True, eq=False)
class Tile:
    """A box of an array: `sizes` elements from `offset` on, an expression of the block's first values and the
    strip's. `hull` are the elements that there are. `padded`: rows are one element longer, so that neighbours
    in a column lie in different banks."""

    memory: Memory
    references: tuple[Reference, ...]
    offset: tuple[isl.Aff, ...]
    sizes: tuple[int, ...]
    hull: isl.Set
    padded: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents in shared memory."""
        return (*self.sizes[:-1], self.sizes[-1] + self.padded)

    @property
    def bytes(self) -> int:
        """Size in shared memory, in bytes."""
        element = self.memory.element
        assert isinstance(element, (Integer, Floating))
        return prod(self.shape) * element.bits // 8


def tiles_of(
    segment: Segment, axes: Sequence[Axis], strip: Strip | None, found: Sequence[Reference]
) -> list[Tile]:
    """The tiles of a segment that are worth a copy; `found` are the references of the launch."""
    written = {each.access.memory.name for each in found if each.access.kind == "write"}
    leaves = set(segment.leaves)
    own = [
        each
        for each in found
        if each.leaf.name in leaves and each.access.memory.name not in written and _is_copied(each, found)
    ]
    made = [t for group in _groups(own, axes, strip) if (t := _tile(group, axes, strip)) is not None]
    made.sort(key=lambda tile: tile.bytes)
    chosen: list[Tile] = []
    for tile in made:
        if sum(each.bytes for each in chosen) + tile.bytes <= _LARGEST:
            chosen.append(tile)
    return chosen


def _is_copied(reference: Reference, found: Sequence[Reference]) -> bool:
    """True if the place of an access's element in a box can be written."""
    memory, relation = reference.access.memory, reference.access.relation
    known = isinstance(memory.element, (Integer, Floating)) and is_plain(memory) and memory.dimensions <= 3
    names = [f"__c{k}" for k in range(len(reference.loops))]
    twins = [r for r in found if r.access.site == reference.access.site]
    return known and len(twins) == 1 and subscripts_at(relation, names) is not None


# --- Groups ------------------------------------------------------------------------------

Group = tuple[Reference, ...]


def _groups(found: Sequence[Reference], axes: Sequence[Axis], strip: Strip | None) -> list[Group]:
    """References that one box serves better than two."""
    groups: list[Group] = []
    for each in found:
        one: Group = (each,)
        for other in list(groups):
            if _belong(one, other, axes, strip):
                groups.remove(other)
                one = (*other, *one)
        groups.append(one)
    return groups


def _belong(one: Group, other: Group, axes: Sequence[Axis], strip: Strip | None) -> bool:
    if one[0].access.memory is not other[0].access.memory:
        return False
    joined, first, second = (_volume(g, axes, strip) for g in ((*one, *other), one, other))
    return joined is not None and joined <= (first or 0) + (second or 0)


def _volume(group: Group, axes: Sequence[Axis], strip: Strip | None) -> int | None:
    box = _box(_footprint(group, axes, strip))
    return None if box is None else prod(size for _, size in box)


def _footprint(group: Group, axes: Sequence[Axis], strip: Strip | None) -> isl.Set:
    """The elements that a block uses in a strip."""
    points = block(axes, strip, group[0].seen.dim(isl.dim_type.in_))
    result = group[0].seen.intersect_domain(points).range()
    for each in group[1:]:
        result = result.union(each.seen.intersect_domain(points).range())
    return result


def block(axes: Sequence[Axis], strip: Strip | None, length: int) -> isl.Set:
    """The points of a block in a strip, the first values of both being parameters."""
    cuts = [(axis.base, axis.dimension, axis.tile) for axis in axes]
    cuts += [(STRIP, strip.dimension, strip.size)] if strip is not None else []
    points = ", ".join(f"d{k}" for k in range(length))
    within = " and ".join(f"{name} <= d{k} < {name} + {size}" for name, k, size in cuts)
    return isl.Set(f"[{', '.join(name for name, _, _ in cuts)}] -> {{ [{points}] : {within or 'true'} }}")


def _box(elements: isl.Set) -> list[tuple[isl.Aff, int]] | None:
    """For each dimension the first element of a box of fixed size around some, and that size."""
    found: list[tuple[isl.Aff, int]] = []
    for k in range(elements.dim(_SET)):
        sides = list(_sides(alone(elements, k)))
        if not sides:
            return None
        found.append(min(sides, key=_size))
    return found


def _sides(values: isl.Set) -> Iterator[tuple[isl.Aff, int]]:
    """Lower bounds of the values of one dimension from which the upper one is a fixed distance away."""
    space = isl.LocalSpace.from_space(values.get_space())
    own = isl.Aff.var_on_domain(space, _SET, 0)
    for each in values.remove_divs().simple_hull().get_constraints():
        factor = each.get_coefficient_val(_SET, 0).to_python()
        if factor != 1 and not (factor == -1 and each.is_equality()):
            continue
        first = each.get_bound(_SET, 0)
        last = values.max_val(own.sub(first))
        if last.is_int() and first.dim(isl.dim_type.div) == 0:
            yield _of_parameters(first), last.to_python() + 1


def _of_parameters(value: isl.Aff) -> isl.Aff:
    """An expression that does not name the dimension of its space, without it."""
    at = isl.Map.from_aff(value).range()
    (piece,) = at.dim_max(0).get_pieces()
    return piece[1]


def _size(side: tuple[isl.Aff, int]) -> int:
    return side[1]


# --- What is worth a copy ----------------------------------------------------------------


def _tile(group: Group, axes: Sequence[Axis], strip: Strip | None) -> Tile | None:
    box = _box(_footprint(group, axes, strip))
    hull = _hull(group)
    if box is None or hull is None or not _pays(group, [size for _, size in box], axes, strip):
        return None
    padded = not all(any(is_next(each.seen, axis.dimension) for axis in axes) for each in group)
    memory = group[0].access.memory
    return Tile(memory, group, tuple(first for first, _ in box), tuple(size for _, size in box), hull, padded)


def _pays(group: Group, sizes: Sequence[int], axes: Sequence[Axis], strip: Strip | None) -> bool:
    """True if elements are used often, or by neighbours that do not use neighbouring ones."""
    if strip is None and sum(size > 1 for size in sizes) < len(axes):
        return False
    if all(is_same(each.seen, axis.dimension) for each in group for axis in axes):
        return False
    uses = 0
    for each in group:
        inside = strip is not None and varies(each.order, strip.dimension)
        uses += prod(axis.tile for axis in axes) * (strip.size if strip is not None and inside else 1)
    x = axes[0].dimension
    scattered = any(not is_next(each.seen, x) and not is_same(each.seen, x) for each in group)
    reuse = uses / prod(sizes)
    if scattered and reuse >= 0.5 and sizes[-1] >= 8:
        return True
    return reuse >= _REUSE and _is_shared(group, axes)


def _is_shared(group: Group, axes: Sequence[Axis]) -> bool:
    """True if several threads use an element."""
    points = onto([axis.dimension for axis in axes], group[0].seen.dim(isl.dim_type.in_))
    users = group[0].seen.apply_domain(points)
    for each in group[1:]:
        users = users.union(each.seen.apply_domain(points))
    return not users.is_injective()


def _hull(group: Group) -> isl.Set | None:
    """The smallest box around all elements that a launch uses: all of it is on the device."""
    elements = group[0].seen.range()
    for each in group[1:]:
        elements = elements.union(each.seen.range())
    result = isl.Set.universe(elements.get_space())
    for k in range(elements.dim(_SET)):
        own = alone(elements, k)
        low, high = lowest(own), highest(own)
        if low is None or high is None:
            return None
        between = isl.Set.from_pw_aff(low).apply(isl.Map("{ [v] -> [x] : x >= v }"))
        between = between.intersect(isl.Set.from_pw_aff(high).apply(isl.Map("{ [v] -> [x] : x <= v }")))
        count = elements.dim(_SET)
        whole = between.insert_dims(_SET, 0, k).insert_dims(_SET, k + 1, count - k - 1)
        result = result.intersect(whole.set_tuple_name(elements.get_tuple_name() or ""))
    return result


# --------------------------------------------------------------------------------------------------
# Distribution of the elements of a box over the threads of a block: in rounds of as many rows as
# they fill, so that each stays in its column, and one round differs from another in the row alone.
# --------------------------------------------------------------------------------------------------


MOST = 8
"""Loads that a thread has under way at once, at most: each takes a register, or two."""

_PIECES = 2


@dataclass(frozen=True, slots=True)
class Rounds:
    """So many rounds that are alike: `head` counts them (empty where there is one), `when` says which threads
    take part (empty: all), and `places` are the subscripts of a thread's element in the box; all in C."""

    count: int
    head: str
    when: str
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Crew:
    """So many threads, the `name` that numbers them, and the one that counts rounds. They stand in rows of
    `side` threads, where `row` and `column` are a thread's place (0: they stand in one row)."""

    threads: int
    name: str
    counter: str
    side: int = 0
    row: str = ""
    column: str = ""


def rounds(sizes: Sequence[int], crew: Crew) -> Iterator[Rounds]:
    """The rounds in which threads take all elements of a box: its columns in pieces that fill warps."""
    widths = list(_widths(sizes[-1], crew.threads))
    first = 0
    for width in widths if len(widths) <= _PIECES else [sizes[-1]]:
        yield from _piece(sizes, first, width, crew)
        first += width


def _widths(columns: int, most: int) -> Iterator[int]:
    """Powers of two that add up to a number, the largest ones first."""
    width = 1 << (most.bit_length() - 1)
    while columns:
        while width > columns:
            width //= 2
        yield width
        columns -= width


def _piece(sizes: Sequence[int], first: int, width: int, crew: Crew) -> Iterator[Rounds]:
    """The rounds of some columns: those of all threads, and the last one of some."""
    own = (*sizes[:-1], width)
    count, threads = prod(own), crew.threads
    whole, rest = divmod(count, threads)
    step = threads // width if threads % width == 0 else 0
    if whole:
        ways = f"for (int {crew.counter} = 0; {crew.counter} < {whole * (step or threads)};"
        head = f"{ways} {crew.counter} += {step or threads})" if whole > 1 else ""
        yield Rounds(whole, head, "", _places(own, first, crew, crew.counter if head else "", step))
    if rest:
        done = whole * (step or threads)
        in_rows = step and width == crew.side and rest % width == 0
        when = f"{crew.row} < {rest // width}" if in_rows else f"{crew.name} < {rest}"
        yield Rounds(1, "", when, _places(own, first, crew, str(done) if done else "", step))


def _places(own: Sequence[int], first: int, crew: Crew, start: str, step: int) -> tuple[str, ...]:
    """The subscripts of a thread's element, in a round that begins with a row, or an element where rounds are
    no whole rows (`step` 0)."""
    number = crew.name if step or not start else f"({start} + {crew.name})"
    row, column = _place(own[-1], crew, number, step)
    row = " + ".join(each for each in (start if step else "", row) if each) or "0"
    inner = [prod(own[k + 1 : -1]) for k in range(len(own) - 1)]
    found = [_part(row, size, each, k) for k, (size, each) in enumerate(zip(own[:-1], inner, strict=True))]
    return (*found, " + ".join(each for each in (str(first) if first else "", column) if each) or "0")


def _place(width: int, crew: Crew, number: str, step: int) -> tuple[str, str]:
    """The row and the column of a number, in a box of some width; empty where they are 0."""
    if width == 1:
        return number, ""
    if step == 1:
        return "", number
    if step and width == crew.side:
        return crew.row, crew.column
    return f"{number} / {width}", f"{number} % {width}"


def _part(row: str, size: int, inner: int, k: int) -> str:
    """A subscript of several that a row's number encodes."""
    inside = f"({row})" if " + " in row else row
    text = f"{inside} / {inner}" if inner > 1 else row
    return f"{text if inner > 1 else inside} % {size}" if k else text
