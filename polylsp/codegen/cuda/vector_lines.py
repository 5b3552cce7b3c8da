"""Text of kernels whose threads load the elements of neighbouring values at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import islpy as isl

from polylsp.codegen.cuda.compute import computed_where, in_one, unguarded
from polylsp.codegen.cuda.expressions import Unwritable
from polylsp.codegen.cuda.frame import Frame
from polylsp.codegen.cuda.instances import instance
from polylsp.codegen.cuda.launch import maps_of
from polylsp.codegen.cuda.leaves import Leaf
from polylsp.codegen.cuda.references import subscripts_at, texts
from polylsp.codegen.cuda.scan import condition
from polylsp.codegen.cuda.statements import braced
from polylsp.codegen.cuda.vectors import Alone, Component, Vector, Vectors, Wide
from polylsp.codegen.transform.leaves import counter

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
    found = subscripts_at(order.apply_range(_back(frame, number)).reverse(), frame.names)
    if found is None:
        raise Unwritable("An order of iterations cannot be written down.")
    return texts(found, known, frame.atoms)


def _back(frame: Frame, number: int) -> isl.Map:
    """Points to those that are so many values before them along `x`."""
    names = [f"d{k}" for k in range(frame.launch.length)]
    moved = [f"{name} - {number}" if k == frame.axes[0].dimension else name for k, name in enumerate(names)]
    return isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(moved)}] }}")


def _renamed(frame: Frame, leaf: Leaf, values: Sequence[str]) -> Mapping[str, str]:
    """The names of variables, where that of the thread's first value stands for another one: its text."""
    names = dict(frame.words.names)
    for ordinal, value in zip(leaf.loops, values, strict=True):
        own = counter(frame.words.subject, ordinal).name
        if names[own] == frame.axes[0].name != value:
            names[own] = f"({value})"
    return names
