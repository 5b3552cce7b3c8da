"""Vector loads and stores of neighbouring elements by one thread (`double2`, `float4`).

Luitjens, "Increase Performance with Vectorized Memory Access", NVIDIA, 2013. Values along the axes
of a launch run in any order, so a thread may load before it stores. An element that a thread
stores to is used in vectors alone: no element is in two places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import islpy as isl

from polylsp.ir.effects import walk
from polylsp.ir.program import Assign, Site
from polylsp.model.action import Declined
from polylsp.poly.scop import Memory
from polylsp.targets.gpu.coalescing import (
    SECTOR,
    Neighbour,
    Reference,
    Subscripts,
    depends_on,
    neighbours,
    plain_leaf,
)
from polylsp.targets.gpu.emission_context import Placed
from polylsp.targets.gpu.leaves import Leaf, Segment
from polylsp.targets.gpu.mapping import Axis, Launch, count


@dataclass(frozen=True, eq=False)
class Row:
    """The references of a leaf to one row of an array, elements of which are numbered from the one at a
    thread's first value on. `apart`: no element that the leaf changes is also used as another one's."""

    near: tuple[Neighbour, ...]
    apart: bool

    @property
    def name(self) -> str:
        """The array's, in isl."""
        return self.near[0].memory.name

    def elements(self, width: int, writes: bool) -> set[int]:
        """Elements that a thread reads, or sets, at so many values."""
        return {each.number + k for each in self.near if each.writes == writes for k in range(width)}

    def starts(self, width: int, rest: int) -> list[int]:
        """The first elements of vectors, with this rest when divided by their width: of those in which all
        elements are used, and are found nowhere else if they change."""
        read, set_here = self.elements(width, False), self.elements(width, True)
        whole = all((each.number - rest) % width == 0 for each in self.near)
        if not self.apart or (set_here and not whole):
            return []
        used = read | set_here
        first = {element - (element - rest) % width for element in used}
        return sorted(each for each in first if used.issuperset(range(each, each + width)))

    def touched(self, width: int, starts: Sequence[int]) -> Iterator[Touched]:
        """Loads and stores of a thread, with vectors that start there."""
        inside = {element for start in starts for element in range(start, start + width)}
        for writes in (False, True):
            elements = self.elements(width, writes)
            single = len({each.number for each in self.near if each.writes == writes})
            vectors = sum(not elements.isdisjoint(range(start, start + width)) for start in starts)
            yield Touched(self.near[0].bytes, writes, single, vectors, len(elements - inside))


def rows_of(near: Iterable[Neighbour]) -> list[Row]:
    """The rows of which a leaf has references."""
    own = list(near)
    groups: list[list[Neighbour]] = []
    for each in own:
        group = next((group for group in groups if group[0].shares(each)), None)
        if group is None:
            groups.append([each])
        else:
            group.append(each)
    mixed = {one.memory.name for one, two in combinations(own, 2) if _meet(one, two)}
    return [Row(tuple(group), group[0].memory.name not in mixed) for group in groups]


def _meet(one: Neighbour, two: Neighbour) -> bool:
    """True if one of two references changes an element that the other one may use under another name."""
    if one.memory.name != two.memory.name or not (one.writes or two.writes):
        return False
    same = one.shares(two) and one.number == two.number
    return not same and not one.reference.seen.range().is_disjoint(two.reference.seen.range())


# --------------------------------------------------------------------------------------------------
# Neighbouring elements that a thread loads or stores at once, as `double2` or `float4` (Luitjens,
# "Increase Performance with Vectorized Memory Access", NVIDIA, 2013): each thread has neighbouring
# values along `x`.
#
# The values along the axes of a launch can run in any order, so that a thread may load what several
# of them read before the first one stores. Elements that it stores to, it uses in vectors alone: no
# element is in two places.
# --------------------------------------------------------------------------------------------------


Place = Callable[[Memory, int], "Placed | Declined"]
"""Elements of an array at multiples of a width, by memory and width."""

Rows = Sequence["tuple[Leaf, Sequence[Row]]"]
"""The leaves of a launch with the rows that they use."""


@dataclass(frozen=True, eq=False)
class Vector:
    """As many neighbouring elements as a thread has values, the first one with these `subscripts`. `loads`:
    some are read; `stores`: all are set."""

    memory: Memory
    subscripts: Subscripts
    loads: bool
    stores: bool


@dataclass(frozen=True, eq=False)
class Component:
    """An element of a vector, from 0 on."""

    vector: Vector
    number: int


@dataclass(frozen=True, eq=False)
class Alone:
    """An element that is in no vector."""

    memory: Memory
    subscripts: Subscripts


@dataclass(frozen=True, eq=False)
class Wide:
    """Vector accesses of a leaf. `places` maps a place in it (by site), for each of a thread's values, to its
    element."""

    leaf: Leaf
    vectors: tuple[Vector, ...]
    places: Mapping[tuple[Site, int], Component | Alone]


@dataclass(frozen=True, eq=False)
class Vectors:
    """The leaves of a launch, one after the other, whose threads have `width` neighbouring values; those of
    the first one begin at `first`, in C. `conditions` in C say when rows begin at multiples of the width."""

    width: int
    first: str
    leaves: tuple[Wide, ...]
    conditions: tuple[str, ...]


_WARP = 32

_MOST = 16
"""Bytes that a thread loads at once, at most."""

_STATEMENTS = 16
"""Largest number of statements written out for the values of a thread, so that they stay readable."""

_ENOUGH = 1 << 18
"""Least number of values of a launch, where it is determined, that provides enough threads for all."""


def vectors_of(
    launch: Launch,
    axes: Sequence[Axis],
    segments: Sequence[Segment],
    found: Sequence[Reference],
    place: Place,
) -> Vectors | Declined | None:
    """Vectors of a launch whose threads have no registers and no loops, if they pay; or the reason why an
    array has none. `None` where vectors are not expected."""
    if not axes or prod(count(axis.values) for axis in axes) < _ENOUGH:
        return None
    rows: list[tuple[Leaf, list[Row]]] = []
    for segment in segments:
        leaf = plain_leaf(segment, found)
        near = neighbours(launch, axes, leaf, found) if leaf is not None else None
        if leaf is None or near is None:
            return None
        rows.append((leaf, rows_of(near)))
    made: Vectors | Declined | None = None
    width = _width(rows)
    while width > 1 and not isinstance(made, Vectors):
        made = _placed(axes[0], rows, width, place) or made
        width //= 2
    return made


def _width(rows: Rows) -> int:
    """Largest number of values of a thread: as many elements as it loads at once of each array, if that stays
    readable."""
    width = min((_MOST // row.near[0].bytes for _, own in rows for row in own), default=0)
    count = sum(isinstance(s, Assign) for leaf, _ in rows for s in walk(*leaf.statements))
    while width * count > _STATEMENTS:
        width //= 2
    return width


def _placed(axis: Axis, rows: Rows, width: int, place: Place) -> Vectors | Declined | None:
    """The vectors of some width, with the first value of a thread where fewest elements are left alone."""
    memories = {row.name: row.near[0].memory for _, own in rows for row in own}
    asked = {name: place(memory, width) for name, memory in memories.items()}
    places = {name: each for name, each in asked.items() if isinstance(each, Placed)}
    starts = list(_possible(axis, width))

    def cost(start: Start) -> tuple[int, int, bool]:
        return *accesses(_touched(rows, width, places, start)), start.first != axis.first

    best = min(starts, key=cost)
    if vectors_pay(_touched(rows, width, places, best), width):
        wides = tuple(_wide(axis, leaf, own, width, places, best) for leaf, own in rows)
        used = {vector.memory.name for wide in wides for vector in wide.vectors}
        conditions = {text for name in used for text in places[name].conditions}
        return Vectors(width, best.first, wides, tuple(sorted(conditions)))
    refused = [each for each in asked.values() if isinstance(each, Declined) and each.reason]
    anywhere = {name: Placed("", 0, ()) for name in memories}
    hoped = any(vectors_pay(_touched(rows, width, anywhere, each), width) for each in starts)
    return refused[0] if refused and hoped else None


# --- Where a thread begins ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Start:
    """Threads have a first value that, less `origin` (in C), has the `rest` when divided by the width: the
    `first` one of all, in C."""

    origin: str
    rest: int
    first: str


def _possible(axis: Axis, width: int) -> Iterator[Start]:
    """Possible starts of the values of an axis: at a number with each remainder; or at a multiple, and at the
    actual start, if that is no number."""
    for rest in range(width if axis.first.isdigit() else 1):
        yield Start("", rest, _first(axis, width, rest))
    # A counter of the host's loops shadows the name's value at the allocation of the buffer.
    inside = any(each.startswith("__h") for each in depends_on(axis.ends[0]))
    if not axis.first.isdigit() and not inside:
        yield Start(axis.first, 0, axis.first)


def _first(axis: Axis, width: int, rest: int) -> str:
    """The last value with some rest up to the first value of an axis, in C."""
    if axis.first.isdigit():
        return str(int(axis.first) - (int(axis.first) - rest) % width)
    value = axis.first if axis.first.isidentifier() else f"({axis.first})"
    return f"({value} & ~{width - 1})"


def _starts(row: Row, width: int, places: Mapping[str, Placed], start: Start) -> list[int]:
    """The first elements of the vectors of a row."""
    place = places.get(row.name)
    if place is None or place.origin != start.origin:
        return []
    return row.starts(width, (place.rest - start.rest) % width)


def _touched(rows: Rows, width: int, places: Mapping[str, Placed], start: Start) -> list[Touched]:
    every = [row for _, own in rows for row in own]
    return [each for row in every for each in row.touched(width, _starts(row, width, places, start))]


# --- Cost of accesses --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Touched:
    """Loads (or `stores`) of each thread in a row: `elements` of some `bytes` for each of its values; or,
    where these are neighbours, so many `vectors`, and elements `alone`, for all of them."""

    bytes: int
    stores: bool
    elements: int
    vectors: int
    alone: int


def accesses(rows: Sequence[Touched]) -> tuple[int, int]:
    """Number of loads and stores of a thread for all its values, where these are neighbours; and number of
    elements stored alone, for which a warp writes parts of sectors."""
    often = sum(each.vectors + each.alone for each in rows)
    return often, sum(each.alone for each in rows if each.stores)


def vectors_pay(rows: Sequence[Touched], width: int) -> bool:
    """True if threads with `width` neighbouring values load vectors, with fewer loads and stores, and no more
    sectors, than threads whose values have other threads' as neighbours: an element that is accessed alone
    brings its sector along. Stores have no latency to hide."""
    if not any(each.vectors for each in rows if not each.stores):
        return False
    often = sum(each.elements for each in rows) * width
    sectors = sum(each.elements * each.bytes for each in rows) * width
    others = sum(each.vectors * each.bytes * width + each.alone * _apart(each, width) for each in rows)
    return accesses(rows)[0] < often and others <= sectors


def _apart(row: Touched, width: int) -> int:
    """The sectors that a warp touches, whose threads access one of so many elements each."""
    return min(_WARP, _WARP * width * row.bytes // SECTOR)


# --- What is accessed --------------------------------------------------------------------


def _wide(
    axis: Axis, leaf: Leaf, rows: Sequence[Row], width: int, places: Mapping[str, Placed], start: Start
) -> Wide:
    vectors: list[Vector] = []
    found: dict[tuple[Site, int], Component | Alone] = {}
    for row in rows:
        firsts = _starts(row, width, places, start)
        made = {first: _vector(axis, row, first, width) for first in firsts}
        vectors += made.values()
        for each in row.near:
            for k in range(width):
                element = each.number + k
                first = next((first for first in firsts if first <= element < first + width), None)
                alone = Alone(each.memory, _subscripts(axis, row, element))
                here = alone if first is None else Component(made[first], element - first)
                found[each.reference.access.site, k] = here
    return Wide(leaf, tuple(vectors), found)


def _vector(axis: Axis, row: Row, first: int, width: int) -> Vector:
    own = range(first, first + width)
    loads, stores = (not row.elements(width, writes).isdisjoint(own) for writes in (False, True))
    return Vector(row.near[0].memory, _subscripts(axis, row, first), loads, stores)


def _subscripts(axis: Axis, row: Row, number: int) -> Subscripts:
    x = axis.parameter
    return (*row.near[0].rows, isl.PwAff(f"[{x}] -> {{ [({x} + {number})] }}"))
