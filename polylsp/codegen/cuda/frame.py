"""Context in which the text of a kernel is generated: names, and the values of each thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.codegen.cuda.axes import Axis, within
from polylsp.codegen.cuda.blocking import Blocking
from polylsp.codegen.cuda.expressions import Unwritable, Words, element_text
from polylsp.codegen.cuda.launch import Launch, maps_of, parameter_names
from polylsp.codegen.cuda.leaves import Leaf
from polylsp.codegen.cuda.naming import Fresh
from polylsp.codegen.cuda.references import subscripts_at, texts
from polylsp.codegen.cuda.scan import condition, expression
from polylsp.codegen.cuda.statements import INDENT
from polylsp.codegen.shadowing import WORD
from polylsp.model.scop import Memory

_IN = isl.dim_type.in_


@dataclass(frozen=True, eq=False)
class Frame:
    """A launch that is written. `atoms` are the texts of isl's parameters, among them the values along the
    axes (`__p…`), the first ones of a block (`__b…`) and those of the dimensions left to a thread (`__d…`).
    `thread` is the place of a thread in its block along an axis, `step` counts its values there, and `linear`
    numbers the threads of a block. In copies, `number` counts the elements of a tile, and `subscripts` name
    their places in the array. Variables that are `private` (unique names) have no place in memory."""

    words: Words
    leaves: Mapping[str, Leaf]
    launch: Launch
    blocking: Blocking
    atoms: Mapping[str, str]
    thread: Mapping[str, str]
    step: Mapping[str, str]
    linear: str
    number: str
    subscripts: Sequence[str]
    fresh: Fresh
    private: frozenset[str] = frozenset()

    @property
    def axes(self) -> Sequence[Axis]:
        """The dimensions of threads, `x` first."""
        return self.blocking.axes

    @property
    def several(self) -> list[Axis]:
        """Axes along which a thread has several values, outermost first."""
        return [axis for axis in reversed(self.axes) if axis.each > 1]

    @property
    def names(self) -> list[str]:
        """isl's names for the dimensions of the order, as parameters."""
        return parameter_names([axis.dimension for axis in self.axes], self.launch.length)

    @property
    def inside(self) -> list[str]:
        """isl's names for the dimensions that a thread runs itself."""
        return [f"__d{number}" for number in range(len(self.blocking.left))]

    @property
    def is_cut(self) -> bool:
        """True if the first values of blocks have separate names."""
        return self.blocking.is_cut

    @property
    def block(self) -> isl.Set:
        """Conditions common to all threads of a block."""
        known = self.launch.context
        for axis in self.axes if self.is_cut else ():
            known = known.intersect(within(axis, axis.base))
        return known

    @property
    def values(self) -> isl.Set:
        """Conditions of a thread at its values along the axes, which may lie after the end of a cut axis."""
        known = self.block
        for axis in self.axes:
            b, p = axis.base, axis.parameter
            tile = isl.Set(f"[{b}, {p}] -> {{ : {b} <= {p} < {b} + {axis.tile} }}")
            known = known.intersect(tile if self.is_cut else within(axis, p))
        return known

    def when(self, points: isl.Set, known: isl.Set, atoms: Mapping[str, str]) -> str:
        """Condition in C that parameters are in a set, given the set `known`; empty if it is implied."""
        if known.is_subset(points):
            return ""
        return condition(points.gist(known).coalesce(), known, {**self.atoms, **atoms})

    def element(self, memory: Memory, subscripts: Sequence[isl.PwAff], known: isl.Set) -> str:
        """Element of an array, where parameters are in `known`."""
        name, shown = memory.variable.name, texts(subscripts, known, self.atoms)
        first = shown[0] if shown[0].isalnum() or len(shown) == 1 else f"({shown[0]})"
        return element_text(self.words.names[name], self.words.extents[name], [first, *shown[1:]])

    def counters(self, leaf: Leaf, known: isl.Set, atoms: Mapping[str, str]) -> list[str]:
        """The values of a leaf's counters at a point of the order, whose dimensions are parameters."""
        order = next(each for each in maps_of(self.launch.order) if each.get_tuple_name(_IN) == leaf.name)
        found = subscripts_at(order.reverse(), self.names)
        if found is None:
            raise Unwritable("An order of iterations cannot be written down.")
        return [expression(each, known, {**self.atoms, **atoms}) for each in found]


def unrolled(frame: Frame, lines: Sequence[str]) -> list[str]:
    """Lines for each of the values of a thread."""
    inner = list(lines)
    for axis in reversed(frame.several):
        step = frame.step[axis.letter]
        inner = [
            "#pragma unroll",
            f"for (int {step} = 0; {step} < {axis.each}; {step}++) {{",
            *(f"{INDENT}{line}" for line in (*named(frame, axis, inner), *inner)),
            "}",
        ]
    return inner


def named(frame: Frame, axis: Axis, lines: Sequence[str]) -> Iterator[str]:
    """The declaration of a thread's value along an axis that is cut, if lines mention it."""
    if any(axis.name in WORD.findall(line) for line in lines):
        yield f"const int {axis.name} = {value_of(frame, axis)};"


def value_of(frame: Frame, axis: Axis) -> str:
    """The value of a thread along an axis that is cut."""
    text = f"{frame.atoms[axis.base]} + {frame.thread[axis.letter]}"
    return f"{text} + {axis.threads} * {frame.step[axis.letter]}" if axis.each > 1 else text
