"""The text of copies to shared memory: the threads of a block take neighbouring elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import islpy as isl

from polylsp.schedule.statement_leaves import counter
from polylsp.targets.gpu.coalescing import Reference, subscripts_at, texts
from polylsp.targets.gpu.compute import Frame, without
from polylsp.targets.gpu.cuda_expressions import Unwritable, element_text
from polylsp.targets.gpu.cuda_statements import INDENT, braced, expression
from polylsp.targets.gpu.kernel_launch import as_parameters, fixed
from polylsp.targets.gpu.shared_memory import MOST, Crew, Rounds, Tile, rounds


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


def holds_all(frame: Frame, tile: Tile, known: isl.Set) -> isl.Set:
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
