"""Body of a kernel: blocks, strips, copies, and the computation of a thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

import islpy as isl

from polylsp.analysis.effects import walk
from polylsp.codegen.cuda.axes import Axis
from polylsp.codegen.cuda.blocking import Part
from polylsp.codegen.cuda.compute import computed, computed_where, strip_ends, strip_values, whole
from polylsp.codegen.cuda.copies import Shared, copy, holds_all, place_in
from polylsp.codegen.cuda.expressions import place_text
from polylsp.codegen.cuda.frame import Frame, named
from polylsp.codegen.cuda.held import Held, loaded, merged, one_lane, stored, variable
from polylsp.codegen.cuda.registers import Kept
from polylsp.codegen.cuda.scan import condition, expression
from polylsp.codegen.cuda.shared_sums import shared_sum, shared_sum_lines
from polylsp.codegen.cuda.statements import INDENT, braced
from polylsp.codegen.cuda.sums import Sum
from polylsp.codegen.cuda.tiles import STRIP, block
from polylsp.codegen.cuda.totals import Total, block_sum, thread_sum
from polylsp.codegen.cuda.vector_lines import vector_lines
from polylsp.model.program import Assign


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
    return [*before, thread_sum(own, total, _element(frame, summed)), *_strided(frame, lines), *after]


def _element(frame: Frame, summed: Sum) -> str:
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
    full = whole(frame, part, known, [holds_all(frame, each.tile, known) for each in shared])
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
