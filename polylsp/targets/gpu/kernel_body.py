"""Generation of kernel bodies, with and without vector access.

Blocks, strips, copies and the computation of a thread; vectors where a block is complete, single
elements elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import islpy as isl

from polylsp.emit.affine_bounds import WORD
from polylsp.ir.effects import walk
from polylsp.ir.program import Assign
from polylsp.model.action import Declined
from polylsp.poly.scop import Memory
from polylsp.schedule.statement_leaves import counter
from polylsp.targets.gpu.blocking import Blocking, Part, blocking, sizes_of, uncut, with_blocks
from polylsp.targets.gpu.coalescing import Kept, Reference, references, subscripts_at, texts
from polylsp.targets.gpu.compute import (
    Frame,
    Held,
    computed,
    computed_where,
    in_one,
    instance,
    loaded,
    merged,
    named,
    one_lane,
    stored,
    strip_ends,
    strip_values,
    unguarded,
    variable,
    whole,
)
from polylsp.targets.gpu.cooperation import Shared, copy, holds_all, place_in, shared_sum, shared_sum_lines
from polylsp.targets.gpu.cuda_expressions import Unwritable, place_text
from polylsp.targets.gpu.cuda_statements import INDENT, braced, condition, expression
from polylsp.targets.gpu.device_names import Fresh
from polylsp.targets.gpu.emission_context import Placed, Setting, placed
from polylsp.targets.gpu.expansion import all_kept
from polylsp.targets.gpu.leaves import Leaf
from polylsp.targets.gpu.mapping import (
    Axis,
    Kernel,
    Launch,
    abreast,
    axes_of,
    chosen,
    further,
    host_atoms,
    launch_of,
    maps_of,
    values_of,
)
from polylsp.targets.gpu.shared_memory import STRIP, block
from polylsp.targets.gpu.sum_kernels import Sum, Total, block_sum, thread_sum
from polylsp.targets.gpu.vector_access import Alone, Component, Vector, Vectors, Wide, vectors_of

# --------------------------------------------------------------------------------------------------
# Text of kernels whose threads load the elements of neighbouring values at once.
# --------------------------------------------------------------------------------------------------


_IN = isl.dim_type.in_

_COMPONENTS = "xyzw"


def vector_lines(frame: Frame, vectors: Vectors, types: Mapping[str, str]) -> list[str]:
    """The lines of a block: with vectors where it is whole, element by element elsewhere, where neighbouring
    threads have neighbouring values; `types` are those of arrays' elements, by unique names."""
    full = frame.block
    for part in frame.blocking.parts:
        full = unguarded(frame, part, full)
    always = frame.block.is_subset(full)
    known = frame.block if always else in_one(full, frame.block)
    if known is None:
        raise Unwritable("Which blocks are whole is no one condition.")
    wide = list(_thread(frame, vectors, known, types))
    when = [] if always else [condition(known.gist(frame.block), frame.block, frame.atoms)]
    when = [*vectors.conditions, *when]
    if not when:
        return wide
    alone = [line for part in frame.blocking.parts for line in computed_where(frame, part, frame.block)]
    return [*braced(f"if ({' && '.join(when)})", iter(wide)), *braced("else", iter(alone))]


def _thread(frame: Frame, vectors: Vectors, block: isl.Set, types: Mapping[str, str]) -> Iterator[str]:
    """Lines of a thread in a whole block."""
    x, width = frame.axes[0], vectors.width
    base, place = frame.atoms[x.base], frame.thread[x.letter]
    yield f"const int {x.name} = {base} + {width} * {place};"
    known = frame.values.intersect(block)
    for wide in vectors.leaves:
        names = {v: frame.fresh.name(f"vector_{v.memory.variable.source_name}") for v in wide.vectors}
        for each, name in names.items():
            yield _loaded(frame, each, name, f"{types[each.memory.variable.name]}{width}", known)
        for number in range(width):
            yield from _instance(frame, wide, names, known, number)
        for each, name in names.items():
            words = f"{types[each.memory.variable.name]}{width}"
            if each.stores:
                yield f"*({words} *)&{frame.element(each.memory, each.subscripts, known)} = {name};"


def _loaded(frame: Frame, vector: Vector, name: str, words: str, known: isl.Set) -> str:
    """The declaration of a vector of type `words`, with its elements where they are read."""
    if not vector.loads:
        return f"{words} {name};"
    element = frame.element(vector.memory, vector.subscripts, known)
    return f"{'' if vector.stores else 'const '}{words} {name} = *(const {words} *)&{element};"


def _instance(
    frame: Frame, wide: Wide, names: Mapping[Vector, str], known: isl.Set, number: int
) -> Iterator[str]:
    """A leaf at one of a thread's values."""
    elsewhere = {
        site: _element(frame, place, names, known)
        for (site, value), place in wide.places.items()
        if value == number
    }
    values = _counters(frame, wide.leaf, known, number)
    words = replace(frame.words, elsewhere=elsewhere, names=_renamed(frame, wide.leaf, values))
    yield from instance(wide.leaf, values, words)


def _element(frame: Frame, place: Component | Alone, names: Mapping[Vector, str], known: isl.Set) -> str:
    if isinstance(place, Component):
        return f"{names[place.vector]}.{_COMPONENTS[place.number]}"
    return frame.element(place.memory, place.subscripts, known)


def _counters(frame: Frame, leaf: Leaf, known: isl.Set, number: int) -> list[str]:
    """Values of a leaf's counters, `number` values after the thread's first one."""
    order = next(each for each in maps_of(frame.launch.order) if each.get_tuple_name(_IN) == leaf.name)
    back = further(frame.launch.length, frame.axes[0].dimension, -number)
    found = subscripts_at(order.apply_range(back).reverse(), frame.names)
    if found is None:
        raise Unwritable("An order of iterations cannot be written down.")
    return texts(found, known, frame.atoms)


def _renamed(frame: Frame, leaf: Leaf, values: Sequence[str]) -> Mapping[str, str]:
    """The names of variables, where that of the thread's first value stands for another one: its text."""
    names = dict(frame.words.names)
    for ordinal, value in zip(leaf.loops, values, strict=True):
        own = counter(frame.words.subject, ordinal).name
        if names[own] == frame.axes[0].name != value:
            names[own] = f"({value})"
    return names


# --------------------------------------------------------------------------------------------------
# Body of a kernel: blocks, strips, copies, and the computation of a thread.
# --------------------------------------------------------------------------------------------------


def body(frame: Frame, words: Mapping[str, str]) -> list[str]:
    """The lines of a kernel; `words` are the types of arrays' elements, by unique names."""
    if frame.blocking.vectors is not None:
        return [*_places(frame), *_blocks(frame, vector_lines(frame, frame.blocking.vectors, words))]
    held = _held(frame, frame.blocking.kept, words)
    every = [*held]
    declared: list[str] = []
    inner = [line for one in held for line in loaded(frame, one)]
    for part in frame.blocking.parts:
        if part.split is not None and frame.blocking.lanes is not None:
            own = held[frame.blocking.kept.index(part.split.kept)]
            one = shared_sum(frame, part.split, frame.blocking.lanes, own)
            declared += [one.declaration] if one.declaration else []
            inner += shared_sum_lines(_with(frame, held, []), part, one)
            continue
        shared = [_shared(frame, part, number, words) for number in range(len(part.tiles))]
        declared += [each.declaration for each in shared]
        own = _held(frame, part.kept, words)
        every += own
        inner += [line for one in own for line in loaded(frame, one)]
        lines = _part(_with(frame, [*held, *own], shared), part, shared)
        inner += list(braced(f"if ({one_lane(frame)})", iter(lines))) if part.alone else lines
        inner += [line for one in own for line in stored(frame, one)]
    inner += [line for one in held for line in stored(frame, one)]
    for one in every:
        inner = merged(one, inner)
    if not frame.is_cut:
        return _strided(frame, inner)
    return [*declared, *_places(frame), *_blocks(frame, inner)]


def added_up(frame: Frame, summed: Sum, total: Total, partial: str) -> list[str]:
    """Lines of a kernel that is a sum: each block writes its partial sum to an element of `partial`."""
    own = frame.fresh.name(f"own_{summed.memory.variable.source_name}")
    before, after = block_sum(own, total, frame.axes, partial, frame.fresh)
    words = replace(frame.words, elsewhere={each.site: own for each in summed.accesses})
    inside = replace(frame, words=words)
    lines = [line for part in frame.blocking.parts for line in computed(inside, part, frame.block)]
    return [*before, thread_sum(own, total, _strip_element(frame, summed)), *_strided(frame, lines), *after]


def _strip_element(frame: Frame, summed: Sum) -> str:
    """The element that a kernel adds to, before it does; raises `Unwritable`."""
    sites = {each.site for each in summed.accesses}
    inside = [s for leaf in frame.leaves.values() for s in walk(*leaf.statements)]
    place = next(s.target for s in inside if isinstance(s, Assign) and s.target.site in sites)
    return place_text(place, frame.words)


def _held(frame: Frame, kept: Sequence[Kept], words: Mapping[str, str]) -> list[Held]:
    names = [each.memory.variable for each in kept]
    return [
        Held(each, frame.fresh.name(f"own_{v.source_name}"), words[v.name], v.name not in frame.private)
        for each, v in zip(kept, names, strict=True)
    ]


def _shared(frame: Frame, part: Part, number: int, words: Mapping[str, str]) -> Shared:
    tile = part.tiles[number]
    variable = tile.memory.variable
    return Shared(tile, frame.fresh.name(f"shared_{variable.source_name}"), words[variable.name])


def _with(frame: Frame, held: Sequence[Held], shared: Sequence[Shared]) -> Frame:
    """The frame with names for the elements in registers and shared memory."""
    elsewhere = {r.access.site: variable(frame, one) for one in held for r in one.kept.references}
    for each in shared:
        for reference in each.tile.references:
            elsewhere[reference.access.site] = place_in(frame, each, reference)
    return replace(frame, words=replace(frame.words, elsewhere=elsewhere))


def _part(frame: Frame, part: Part, shared: Sequence[Shared]) -> list[str]:
    """The lines of a part, in the blocks that have something to do in it."""
    lines = _lines(frame, part, shared)
    used = isl.Set.from_union_set(part.segment.order.range())
    where = used.intersect(block(frame.axes, None, frame.launch.length)).params()
    when = frame.when(where, frame.block, {}) if shared else ""
    return list(braced(f"if ({when})", iter(lines))) if when else lines


def _lines(frame: Frame, part: Part, shared: Sequence[Shared]) -> list[str]:
    if part.strip is None:
        end = ["__syncthreads();"] if shared else []
        return [*_apart(frame, part, shared, frame.block), *end]
    low, high = strip_ends(frame, part)
    known = frame.block.intersect(strip_values(frame, part))
    name = frame.atoms[STRIP]
    first, end = (expression(e, frame.block, frame.atoms) for e in (low, high.add_constant_val(isl.Val(1))))
    lines = [*_apart(frame, part, shared, known), "__syncthreads();"]
    return list(
        braced(f"for (int {name} = {first}; {name} < {end}; {name} += {part.strip.size})", iter(lines))
    )


def _apart(frame: Frame, part: Part, shared: Sequence[Shared], known: isl.Set) -> list[str]:
    """Copies and the computation from them, without conditions where the whole block needs none."""
    if not shared:
        return computed(frame, part, known)
    full = whole(frame, part, known, [holds_all(each.tile, known) for each in shared])
    if full is None:
        return _together(frame, part, shared, known)
    when = condition(full.gist(known), known, frame.atoms)
    inner = _unrolled(frame, part, _together(frame, part, shared, known.intersect(full)))
    return [
        *braced(f"if ({when})", inner),
        *braced("else", iter(_together(frame, part, shared, known))),
    ]


_STATEMENTS = 256
"""Statements that a loop over a strip is unrolled to, at most: they stay in the cache for instructions."""


def _unrolled(frame: Frame, part: Part, lines: Sequence[str]) -> Iterator[str]:
    """Lines with the loop over a whole strip unrolled: places in shared memory are numbers then."""
    names = [frame.atoms[f"__d{k}"] for k, d in enumerate(frame.blocking.left) if _is_strip(part, d)]
    values = prod(axis.each for axis in frame.axes)
    for line in lines:
        if any(line.startswith(f"for (int {n} = {frame.atoms[STRIP]}; ") for n in names):
            assert part.strip is not None
            count = _STATEMENTS // values
            yield "#pragma unroll" if count >= part.strip.size else f"#pragma unroll {max(count, 1)}"
        yield line


def _is_strip(part: Part, dimension: int) -> bool:
    return part.strip is not None and part.strip.dimension == dimension


def _together(frame: Frame, part: Part, shared: Sequence[Shared], known: isl.Set) -> list[str]:
    copies = [line for each in shared for line in copy(frame, each, known)]
    return [*copies, "__syncthreads();", *computed_where(frame, part, known)]


# --- Threads -----------------------------------------------------------------------------


def _strided(frame: Frame, lines: list[str]) -> list[str]:
    """Grid-stride loop: each thread goes on to further values, after those of all others."""
    for axis in frame.axes:
        a, n = axis.letter, axis.name
        start = _from(axis, f"blockIdx.{a} * blockDim.{a} + threadIdx.{a}")
        step = f"gridDim.{a} * blockDim.{a}"
        lines = list(braced(f"for (int {n} = {start}; {n} < {axis.end}; {n} += {step})", iter(lines)))
    return lines


def _from(axis: Axis, start: str) -> str:
    return start if axis.first == "0" else f"{axis.first} + {start}"


def _places(frame: Frame) -> Iterator[str]:
    """The place of a thread in its block."""
    places = [f"{frame.thread[letter]} = threadIdx.{letter}" for letter in sorted(frame.thread)]
    number = ""
    for axis in reversed(frame.axes):
        place = frame.thread[axis.letter]
        number = (
            f"({number}) * {axis.threads} + {place}"
            if " " in number
            else f"{number} * {axis.threads} + {place}"
            if number
            else place
        )
    if frame.blocking.tiled and len(frame.axes) > 1:
        places.append(f"{frame.linear} = {number}")
    yield f"const int {', '.join(places)};"


def _blocks(frame: Frame, lines: list[str]) -> list[str]:
    """Grid-stride loop over tiles: each block goes on to further tiles, after those of all others; its
    threads stay together."""
    single = [axis for axis in reversed(frame.axes) if axis.each == 1]
    lines = [*(line for axis in single for line in named(frame, axis, lines)), *lines]
    for axis in frame.axes:
        a, n = axis.letter, frame.atoms[axis.base]
        each = f" * {axis.tile}" if axis.tile > 1 else ""
        start = _from(axis, f"blockIdx.{a}{each}")
        lines = [
            f"for (int {n} = {start}; {n} < {axis.end}; {n} += gridDim.{a}{each}) {{",
            *(f"{INDENT}{line}" for line in lines),
            "}",
        ]
    return lines


# --------------------------------------------------------------------------------------------------
# Bodies of kernels: the blocking of their iterations, and the lines for it.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Task:
    """A kernel to write; it may be one sum, of which a `total` is generated."""

    setting: Setting
    kernel: Kernel
    summed: Sum | None
    total: Total | None


@dataclass(frozen=True, eq=False)
class Draft:
    """The lines, and the `names` of the loops in them. `unaligned`: why its threads do not load neighbouring
    elements at once, where they might."""

    frame: Frame
    lines: Sequence[str]
    names: Sequence[str]
    unaligned: str = ""

    @property
    def mentioned(self) -> set[str]:
        """The words in the lines, and in the expressions for the number of blocks."""
        ends = [end for axis in self.frame.axes for end in (axis.first, axis.end)]
        return {word for line in (*self.lines, *ends) for word in WORD.findall(line)}

    @property
    def moving(self) -> list[str]:
        """The names of the loops that have more than one value."""
        order = self.frame.launch.order
        return [name for k, name in enumerate(self.names) if not values_of(order, k).is_singleton()]

    @property
    def is_plain(self) -> bool:
        """True if counters are used unchanged, except, in vectors, for the values of a block."""
        return not self.frame.is_cut or self.frame.blocking.vectors is not None


def drafted(task: Task, counters: Sequence[str], names: Sequence[str], fresh: Fresh) -> Draft:
    """A kernel whose loops have these names, and those of the host around it too; raises `Unwritable`, and
    `ShadowedError` where loops need other names."""
    setting, kernel, summed = task.setting, task.kernel, task.summed
    private = frozenset(setting.private)
    launch = launch_of(kernel, setting.region.context, setting.parameters, private)
    known = {**setting.parameters, **host_atoms(counters)}
    found = references(launch, setting.region.scop, setting.copied)
    picked = chosen(range(kernel.parallel) if summed is None else summed.loops, [each.seen for each in found])
    sizes = sizes_of(setting.settings)
    axes = with_blocks(sizes, axes_of(launch, picked, names, known))
    alone = _frame(setting, launch, uncut(launch, axes), known, names, fresh)
    scalars = [each for each in setting.shared if each[1].memory.variable.name in private]
    own = references(launch, setting.region.scop, scalars)
    if summed is not None and task.total is not None and not own:
        return Draft(alone, added_up(alone, summed, task.total, task.total.scratch), names)
    choice, unaligned = _wide(setting, launch, blocking(launch, axes, found, sizes), found)
    cut = _frame(setting, launch, choice, known, names, fresh)
    if not all_kept(own, cut.blocking.kept):
        raise Unwritable("A number of each iteration has no place on the device.")
    return Draft(*_body(setting, cut, alone), names, unaligned)


def _wide(
    setting: Setting, launch: Launch, choice: Blocking, found: Sequence[Reference]
) -> tuple[Blocking, str]:
    """Blocking, with vectors where these pay; and the reason against them, where elements are not aligned."""
    if not setting.settings.cuda_vectors or not choice.is_streaming:
        return choice, ""

    def place(memory: Memory, width: int) -> Placed | Declined:
        return placed(setting, memory, width)

    made = vectors_of(launch, choice.axes, [part.segment for part in choice.parts], found, place)
    if not isinstance(made, Vectors):
        return choice, made.reason if made is not None else ""
    x, *others = choice.axes
    return replace(choice, axes=(abreast(x, made.width, made.first), *others), vectors=made), ""


def _body(setting: Setting, cut: Frame, uncut: Frame) -> tuple[Frame, list[str]]:
    """The lines of a kernel, as it is cut; without tiles and registers where these cannot be written."""
    types = {**setting.private, **{b.variable.name: b.words for b in setting.buffers}}
    try:
        return cut, body(cut, types)
    except Unwritable:
        if any(each.memory.variable.name in setting.private for each in cut.blocking.kept):
            raise
        return uncut, body(uncut, types)


def _frame(
    setting: Setting,
    launch: Launch,
    choice: Blocking,
    known: Mapping[str, str],
    names: Sequence[str],
    fresh: Fresh,
) -> Frame:
    """Names of the parts of a kernel."""
    known_as = {**known, **{axis.parameter: axis.name for axis in choice.axes}}
    known_as |= {f"__d{number}": names[k] for number, k in enumerate(choice.left)}
    words, leaves, private = setting.words, setting.leaves, frozenset(setting.private)
    if not choice.is_cut:
        return Frame(words, leaves, launch, choice, known_as, {}, {}, "", "", (), fresh, private)
    known_as |= {axis.base: fresh.name(f"{axis.name}0") for axis in choice.axes}
    strips = [part.strip.dimension for part in choice.parts if part.strip is not None]
    known_as |= {STRIP: fresh.name(f"{names[strips[0]]}0")} if strips else {}
    place = {axis.letter: fresh.name(f"t{axis.letter}") for axis in choice.axes}
    if choice.lanes is not None:
        place[choice.lanes.letter] = fresh.name(f"t{choice.lanes.letter}")
    step = {axis.letter: fresh.name(n) for axis, n in zip(choice.axes, "qpr", strict=False)}
    linear = fresh.name("thread") if len(choice.axes) > 1 else place["x"]
    number, *subscripts = (fresh.name(each) for each in ("e", "plane", "row", "column"))
    parts = (place, step, linear, number, subscripts)
    return Frame(words, leaves, launch, choice, known_as, *parts, fresh, private)
