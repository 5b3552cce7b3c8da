"""Work that the threads of a block share: copies to shared memory, and block-level reductions.

In a copy, the threads take neighbouring elements. Partial sums of a block's lanes are added in a fixed order,
so results are reproducible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import islpy as isl

from polylsp.emit.affine_bounds import alone
from polylsp.schedule.statement_leaves import counter
from polylsp.targets.gpu.blocking import Part
from polylsp.targets.gpu.buffers import Buffer
from polylsp.targets.gpu.coalescing import Reference, subscripts_at, texts
from polylsp.targets.gpu.compute import Frame, Held, instance, without
from polylsp.targets.gpu.cuda_expressions import Unwritable, element_text
from polylsp.targets.gpu.cuda_statements import INDENT, braced, expression, scanned
from polylsp.targets.gpu.emission_context import Setting
from polylsp.targets.gpu.mapping import Launch, as_parameters, ends_of, fixed, host_atoms, onto
from polylsp.targets.gpu.shared_memory import MOST, Crew, Rounds, Tile, rounds
from polylsp.targets.gpu.sum_kernels import Lanes, Split, Sum, Total


@dataclass(frozen=True, eq=False)
class Shared:
    """A tile in shared memory, `name`, with elements of type `words`."""

    tile: Tile
    name: str
    words: str

    @property
    def declaration(self) -> str:
        """Declaration of the tile."""
        return f"__shared__ {self.words} {self.name}{''.join(f'[{each}]' for each in self.tile.shape)};"


def place_in(frame: Frame, shared: Shared, reference: Reference) -> str:
    """An element of a tile, as a statement of the program uses it."""
    names = [f"__c{k}" for k in range(len(reference.loops))]
    found = subscripts_at(reference.access.relation, names, shared.tile.offset)
    if found is None:
        raise Unwritable(f"An element of `{shared.tile.memory.variable.source_name}` cannot be written down.")
    own = [frame.words.names[counter(frame.words.subject, each).name] for each in reference.loops]
    atoms = {**frame.atoms, **dict(zip(names, own, strict=True))}
    return shared.name + "".join(f"[{each}]" for each in texts(found, frame.launch.context, atoms))


def copy(frame: Frame, shared: Shared, known: isl.Set) -> Iterator[str]:
    """Text with which a block copies a tile; `known` are the parameters that all its threads agree on. Where
    all elements exist, a thread has all its loads under way before it waits for the first."""
    threads = prod(axis.threads for axis in frame.axes)
    when, name = _when(frame, shared.tile, known), frame.number
    if not when:
        for each in rounds(shared.tile.sizes, _crew(frame, threads)):
            lines = _element(frame, shared, known, each.places, "")
            yield from _round(each, lines)
        return
    count = prod(shared.tile.sizes)
    yield f"for (int {name} = {frame.linear}; {name} < {count}; {name} += {threads}) {{"
    yield from (f"{INDENT}{line}" for line in _element(frame, shared, known, _places(shared, name), when))
    yield "}"


def _crew(frame: Frame, threads: int) -> Crew:
    if len(frame.axes) != 2:
        return Crew(threads, frame.linear, frame.number)
    x, y = (frame.thread[axis.letter] for axis in frame.axes)
    return Crew(threads, frame.linear, frame.number, frame.axes[0].threads, y, x)


def _round(each: Rounds, lines: Iterator[str]) -> Iterator[str]:
    if each.head:
        yield "#pragma unroll" if each.count <= MOST else f"#pragma unroll {MOST}"
    yield from braced(each.head or (f"if ({each.when})" if each.when else ""), lines)


def _element(frame: Frame, shared: Shared, known: isl.Set, places: Sequence[str], when: str) -> Iterator[str]:
    """The copy of the element at some places in a tile."""
    names = frame.subscripts[-len(places) :]
    first = [expression(isl.PwAff.from_aff(each), known, frame.atoms) for each in shared.tile.offset]
    starts = [p if f == "0" else f"{f} + {p}" for f, p in zip(first, places, strict=True)]
    variable = shared.tile.memory.variable.name
    source = element_text(frame.words.names[variable], frame.words.extents[variable], names)
    line = f"{shared.name}{''.join(f'[{p}]' for p in places)} = {source};"
    yield f"const int {', '.join(f'{n} = {s}' for n, s in zip(names, starts, strict=True))};"
    yield from braced(f"if ({when})", iter([line])) if when else [line]


def _places(shared: Shared, name: str) -> list[str]:
    """The subscripts of an element of a box by its number."""
    found: list[str] = []
    sizes = shared.tile.sizes
    for k in range(len(sizes)):
        inner = prod(sizes[k + 1 :])
        text = f"{name} / {inner}" if inner > 1 else name
        found.append(f"{text} % {sizes[k]}" if k else text)
    return found


def _when(frame: Frame, tile: Tile, known: isl.Set) -> str:
    """Condition that the element exists."""
    names = frame.subscripts[-len(tile.sizes) :]
    own = _names(tile)
    at = known.intersect(_box(tile).params())
    return frame.when(as_parameters(tile.hull, own), at, dict(zip(own, names, strict=True)))


def holds_all(tile: Tile, known: isl.Set) -> isl.Set:
    """Condition that all elements of a tile exist: a set of parameters common to all threads of a block."""
    at = known.intersect(_box(tile).params())
    return known.subtract(without(at.subtract(as_parameters(tile.hull, _names(tile))), _names(tile)))


def _names(tile: Tile) -> list[str]:
    """isl's names for the subscripts of an element, as parameters."""
    return [f"__e{k}" for k in range(len(tile.sizes))]


def _box(tile: Tile) -> isl.Set:
    """The elements of a tile."""
    own = _names(tile)
    box = fixed(own, range(len(own)), len(own))
    for k, (first, size) in enumerate(zip(tile.offset, tile.sizes, strict=True)):
        start = isl.Set.from_pw_aff(isl.PwAff.from_aff(first))
        near = start.apply(isl.Map(f"{{ [v] -> [x] : v <= x < v + {size} }}"))
        box = box.intersect(
            near.insert_dims(isl.dim_type.set, 0, k).insert_dims(isl.dim_type.set, k + 1, len(own) - k - 1)
        )
    return box


# --------------------------------------------------------------------------------------------------
# Block-level reductions: partial sums of a block's lanes, the destination of a kernel's sum, and the
# kernel that adds it there.
# --------------------------------------------------------------------------------------------------


def total_of(setting: Setting, summed: Sum, file: str) -> Total:
    """The kernel that adds to an element of this type: one is enough for all sums of a file."""
    words = next(b.words for b in setting.buffers if b.memory is summed.memory)
    found = [t for t in setting.totals if (t.words, t.combining) == (words, summed.combining)]
    if not found:
        name = setting.fresh.name(f"{file}_total")
        found.append(Total(name, setting.fresh.name("block_sums"), words, summed.combining))
        setting.totals.append(found[0])
    return found[0]


@dataclass(frozen=True, slots=True)
class Target:
    """The element that a sum goes to: its number in a buffer as the program has it, in C; empty for a
    scalar. There may be launches that add nothing to it: then the device has it `at_times` alone."""

    buffer: Buffer
    number: str
    at_times: bool = False

    @property
    def address(self) -> str:
        """Address on the device, as a host in C writes it."""
        start = f"device_{self.buffer.name}"
        return start if self._place in ("", "0") else f"{start} + ({self._place})"

    @property
    def is_there(self) -> str:
        """Condition in C that the element is on the device."""
        return f"(size_t)({self._place}) < {self.buffer.elements}"

    @property
    def _place(self) -> str:
        return f"{self.number} - {self.buffer.offset}" if self.buffer.offset else self.number


def target_of(setting: Setting, launch: Launch, summed: Sum, counters: Sequence[str]) -> Target:
    """The element that a sum goes to."""
    (buffer,) = (b for b in setting.buffers if b.memory is summed.memory)
    if buffer.scalar:
        return Target(buffer, "")
    found = subscripts_at(summed.element, [f"__h{k}" for k in range(len(counters))])
    if found is None:
        raise Unwritable(f"An element of `{buffer.name}` cannot be written down.")
    shown = texts(found, launch.context, {**setting.parameters, **host_atoms(counters)})
    first = shown[0] if shown[0].isalnum() or len(shown) == 1 else f"({shown[0]})"
    extents = setting.words.extents[buffer.variable.name]
    number = element_text("", extents, [first, *shown[1:]])[1:-1]
    idle = summed.idle.intersect_params(setting.region.context)
    return Target(buffer, number, not idle.is_empty() and not _has(buffer, number))


def _has(buffer: Buffer, number: str) -> bool:
    """True if the text proves that the device always has an element of a buffer."""
    if buffer.inner or not buffer.count.isdigit():
        return False
    first = "0" if number == buffer.first else number if buffer.first == "0" else ""
    return first.isdigit() and int(first) < int(buffer.count)


# --------------------------------------------------------------------------------------------------
# Sums that the lanes of a block share: each lane adds up some of the terms, and their partial sums
# are combined. The order of additions is the same each time.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SharedSum:
    """A sum of a part: the variable `own` with its value in all lanes, `name` the partial sum of one of them,
    `meeting` the shared memory for combining, if any."""

    split: Split
    lanes: Lanes
    own: Held
    name: str
    meeting: str
    declaration: str


def shared_sum(frame: Frame, split: Split, lanes: Lanes, own: Held) -> SharedSum:
    """The names of a sum."""
    source = own.kept.memory.variable.source_name
    name = frame.fresh.name(f"part_{source}")
    if lanes.letter == "x":
        return SharedSum(split, lanes, own, name, "", "")
    meeting = frame.fresh.name(f"shared_{source}")
    extents = f"[{lanes.count}][{frame.axes[0].threads}]"
    return SharedSum(split, lanes, own, name, meeting, f"__shared__ {own.words} {meeting}{extents};")


def shared_sum_lines(frame: Frame, part: Part, one: SharedSum) -> list[str]:
    """The lines of a sum, which all threads of a block run."""
    start = one.split.combining.start(one.own.name)
    lines = [f"{one.own.words} {one.name} = {start};", *_terms(frame, part, one)]
    return [*lines, *(_met_in_warp(frame, one) if one.lanes.letter == "x" else _met_in_block(frame, one))]


# --- What a lane adds up -----------------------------------------------------------------


def _terms(frame: Frame, part: Part, one: SharedSum) -> Iterator[str]:
    """The loop of a lane over every so many terms."""
    (axis,), dimension, length = frame.axes, one.split.dimension, frame.launch.length
    counter = frame.names[dimension]
    here = fixed([axis.parameter], [axis.dimension], length).to_union_set()
    every = isl.Set.from_union_set(part.segment.order.intersect_range(here).range())
    low, high = ends_of(alone(every, dimension))
    some = frame.values.intersect(every.params())
    known = some.intersect(_between(low, high, counter))
    first, end = (expression(e, some, frame.atoms) for e in (low, high.add_constant_val(isl.Val(1))))
    lane, name = frame.thread[one.lanes.letter], frame.atoms[counter]
    start = lane if first == "0" else f"{first} + {lane}"
    head = f"for (int {name} = {start}; {name} < {end}; {name} += {one.lanes.count})"
    loop = braced(head, iter(_term(frame, part, one, known)))
    when = frame.when(every.params(), frame.values, {})
    yield from braced(f"if ({when})", loop) if when else loop


def _between(low: isl.PwAff, high: isl.PwAff, name: str) -> isl.Set:
    above = isl.Set.from_pw_aff(low).apply(isl.Map("{ [v] -> [x] : x >= v }"))
    below = isl.Set.from_pw_aff(high).apply(isl.Map("{ [v] -> [x] : x <= v }"))
    return as_parameters(above.intersect(below), [name])


def _term(frame: Frame, part: Part, one: SharedSum, known: isl.Set) -> list[str]:
    """Lines that a lane runs at one of its values: a term, or the loops around some."""
    (axis,), dimension, length = frame.axes, one.split.dimension, frame.launch.length
    counter = frame.names[dimension]
    point = fixed([axis.parameter, counter], [axis.dimension, dimension], length).to_union_set()
    left = [k for k in frame.blocking.left if k != dimension]
    order = part.segment.order.intersect_range(point).apply_range(onto(left, length).to_union_map())
    elsewhere = {**frame.words.elsewhere, **{r.access.site: one.name for r in one.split.references}}
    words = replace(frame.words, elsewhere=elsewhere)

    def call(name: str, values: list[str]) -> Iterator[str]:
        return instance(frame.leaves[name], values, words)

    return scanned(order, known, [frame.names[k] for k in left], frame.atoms, call)


# --- Where lanes meet --------------------------------------------------------------------


def _met_in_warp(frame: Frame, one: SharedSum) -> Iterator[str]:
    """The lanes of a warp exchange their partial sums: afterwards, all have the total."""
    half, other = frame.fresh.name("half"), frame.fresh.name("other")
    fetched = f"__shfl_xor_sync(0xffffffff, {one.name}, {half})"
    head = f"for (int {half} = {one.lanes.count // 2}; {half} > 0; {half} /= 2)"
    if one.split.combining.operator in ("+", "*"):
        yield from braced(head, iter([f"{one.name} {one.split.combining.operator}= {fetched};"]))
    else:
        # A thread that is done with its operand must still send its term.
        line = one.split.combining.statement(one.name, other)
        yield from braced(head, iter([f"const {one.own.words} {other} = {fetched};", line]))
    yield one.split.combining.statement(one.own.name, one.name)


def _met_in_block(frame: Frame, one: SharedSum) -> Iterator[str]:
    """A tree in shared memory, of as many columns as there are sums."""
    half, lane, x = frame.fresh.name("half"), frame.thread["y"], frame.thread["x"]
    place, further = f"{one.meeting}[{lane}][{x}]", f"{one.meeting}[{lane} + {half}][{x}]"
    yield f"{place} = {one.name};"
    yield "__syncthreads();"
    yield f"for (int {half} = {one.lanes.count // 2}; {half} > 0; {half} /= 2) {{"
    added = braced(f"if ({lane} < {half})", iter([one.split.combining.statement(place, further)]))
    yield from (f"{INDENT}{line}" for line in (*added, "__syncthreads();"))
    yield "}"
    yield one.split.combining.statement(one.own.name, f"{one.meeting}[0][{x}]")
    yield "__syncthreads();"
