"""The text of copies to shared memory: the threads of a block take neighbouring elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import islpy as isl

from polylsp.codegen.cuda.expressions import Unwritable, element_text
from polylsp.codegen.cuda.frame import Frame
from polylsp.codegen.cuda.launch import as_parameters, fixed
from polylsp.codegen.cuda.references import Reference, subscripts_at, texts
from polylsp.codegen.cuda.scan import expression
from polylsp.codegen.cuda.statements import INDENT, braced
from polylsp.codegen.cuda.tiles import Tile
from polylsp.codegen.transform.leaves import counter


@dataclass(frozen=True, eq=False)
class Shared:
    """A tile in shared memory, `name`, with elements of type `words`."""

    tile: Tile
    name: str
    words: str

    @property
    def declaration(self) -> str:
        """Its declaration."""
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
    """The loop with which a block copies a tile; `known` is what its threads know of parameters."""
    tile, name = shared.tile, frame.number
    count, threads = prod(tile.sizes), prod(axis.threads for axis in frame.axes)
    places = _places(tile.sizes, name)
    names = frame.subscripts[-len(places) :]
    first = [expression(isl.PwAff.from_aff(each), known, frame.atoms) for each in tile.offset]
    starts = [p if f == "0" else f"{f} + {p}" for f, p in zip(first, places, strict=True)]
    variable = tile.memory.variable.name
    source = element_text(frame.words.names[variable], frame.words.extents[variable], names)
    line = f"{shared.name}{''.join(f'[{p}]' for p in places)} = {source};"
    when = _when(frame, tile, known, names)
    yield f"for (int {name} = {frame.linear}; {name} < {count}; {name} += {threads}) {{"
    yield f"{INDENT}const int {', '.join(f'{n} = {s}' for n, s in zip(names, starts, strict=True))};"
    yield from (f"{INDENT}{each}" for each in (braced(f"if ({when})", iter([line])) if when else [line]))
    yield "}"


def _places(sizes: Sequence[int], name: str) -> list[str]:
    """The subscripts of an element of a box by its number."""
    found: list[str] = []
    for k in range(len(sizes)):
        inner = prod(sizes[k + 1 :])
        text = f"{name} / {inner}" if inner > 1 else name
        found.append(f"{text} % {sizes[k]}" if k else text)
    return found


def _when(frame: Frame, tile: Tile, known: isl.Set, names: Sequence[str]) -> str:
    """Whether there is such an element, as a condition."""
    own = [f"__e{k}" for k in range(len(names))]
    box = fixed(own, range(len(own)), len(own))
    for k, (first, size) in enumerate(zip(tile.offset, tile.sizes, strict=True)):
        start = isl.Set.from_pw_aff(isl.PwAff.from_aff(first))
        near = start.apply(isl.Map(f"{{ [v] -> [x] : v <= x < v + {size} }}"))
        box = box.intersect(
            near.insert_dims(isl.dim_type.set, 0, k).insert_dims(isl.dim_type.set, k + 1, len(own) - k - 1)
        )
    at = known.intersect(box.params())
    return frame.when(as_parameters(tile.hull, own), at, dict(zip(own, names, strict=True)))
