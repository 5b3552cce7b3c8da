"""Text of a kernel segment: the computation of a thread, its counters, guards and registers.

Complete blocks omit the conditions. Register variables are declared, loaded, and stored back by one
of the threads that share them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.emit.affine_bounds import WORD, alone, in_turn
from polylsp.ir.program import NOWHERE, Declare
from polylsp.poly.scop import Memory
from polylsp.schedule.statement_leaves import counter
from polylsp.targets.gpu.blocking import Blocking, Part
from polylsp.targets.gpu.buffers import REAL, WHOLE
from polylsp.targets.gpu.coalescing import Kept, subscripts_at, texts
from polylsp.targets.gpu.cuda_expressions import Unwritable, Words, element_text
from polylsp.targets.gpu.cuda_statements import (
    INDENT,
    braced,
    condition,
    expression,
    lines_of,
    scanned,
    words_of,
)
from polylsp.targets.gpu.device_names import Fresh
from polylsp.targets.gpu.leaves import Leaf
from polylsp.targets.gpu.mapping import (
    Axis,
    Launch,
    as_parameters,
    ends_of,
    fixed,
    maps_of,
    onto,
    parameter_names,
    within,
)
from polylsp.targets.gpu.shared_memory import STRIP, Strip, block

# --------------------------------------------------------------------------------------------------
# The text of a leaf at one point.
# --------------------------------------------------------------------------------------------------


_DECLARES = tuple(
    f"{each} "
    for each in ("char", "signed", "unsigned", "short", "int", "long", "float", "double", "bool", REAL, WHOLE)
)


def instance(leaf: Leaf, values: Sequence[str], words: Words) -> Iterator[str]:
    """A leaf, with its counters at some values; in braces where it declares something."""
    named = {w for line in lines_of(leaf.statements, words) for w in WORD.findall(line)}
    lines = list(_counters(leaf, values, words, named))
    own = [Declare(each, NOWHERE) for each in leaf.own if words.names[each.name] in named]
    body = list(lines_of([*own, *leaf.statements], words))
    if lines or any(line.startswith(_DECLARES) for line in body):
        yield from braced("", iter([*lines, *body]))
    else:
        yield from body


def _counters(leaf: Leaf, values: Sequence[str], words: Words, named: set[str]) -> Iterator[str]:
    """Declarations of a leaf's counters that are `named` in its statements. Raises `ShadowedError`."""
    counters = [counter(words.subject, ordinal) for ordinal in leaf.loops]
    types = {words.names[own.name]: words_of(own, words) for own in counters}
    # Of several counters of one name, statements know the innermost.
    found = dict(zip((words.names[own.name] for own in counters), values, strict=True))
    for name, value in in_turn((n, v) for n, v in found.items() if n in named and n != v):
        yield f"const {types[name]} {name} = {value};"


# --------------------------------------------------------------------------------------------------
# Context in which the text of a kernel is generated: names, and the values of each thread.
# --------------------------------------------------------------------------------------------------


_FRAME_IN = isl.dim_type.in_


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
        order = next(
            each for each in maps_of(self.launch.order) if each.get_tuple_name(_FRAME_IN) == leaf.name
        )
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


# --------------------------------------------------------------------------------------------------
# Text of a segment: the computation of a thread at all its values along the axes.
# --------------------------------------------------------------------------------------------------


_IN, _PARAM = isl.dim_type.in_, isl.dim_type.param


def computed(frame: Frame, part: Part, known: isl.Set) -> list[str]:
    """Lines that a thread runs of a part, for one strip if it has any; `known` to all threads of the block.
    Where the block covers several values, blocks that need no conditions run code without them."""
    full = whole(frame, part, known) if frame.several and part.segment.loop is not None else None
    if full is None:
        return computed_where(frame, part, known)
    when = condition(full.gist(known), known, frame.atoms)
    return [
        *braced(f"if ({when})", iter(computed_where(frame, part, known.intersect(full)))),
        *braced("else", iter(computed_where(frame, part, known))),
    ]


def computed_where(frame: Frame, part: Part, known: isl.Set) -> list[str]:
    """Lines as in `computed`, with one text for all blocks in which `known` is true."""
    return list(_several(frame, part, known) if frame.several else _one(frame, part, known))


def _one(frame: Frame, part: Part, known: isl.Set) -> Iterator[str]:
    """With one value along each axis: its conditions stand outside of loops."""
    dimensions, names = [a.dimension for a in frame.axes], [a.parameter for a in frame.axes]
    points = fixed(names, dimensions, frame.launch.length).intersect(_strip(frame, part.strip))
    rest = onto(frame.blocking.left, frame.launch.length).to_union_map()
    order = part.segment.order.intersect_range(points.to_union_set()).apply_range(rest)

    def call(name: str, values: list[str]) -> Iterator[str]:
        return instance(frame.leaves[name], values, frame.words)

    here = _known(frame, part).intersect(known)
    yield from scanned(order, here, frame.inside, frame.atoms, call)


def _strip(frame: Frame, strip: Strip | None) -> isl.Set:
    return block((), strip, frame.launch.length)


def _known(frame: Frame, part: Part) -> isl.Set:
    return frame.values if part.strip is None else frame.values.intersect(strip_values(frame, part))


def strip_values(frame: Frame, part: Part) -> isl.Set:
    """The first iterations of strips, as a parameter: those of the loop and of the axes' ends."""
    assert part.strip is not None
    low, high = strip_ends(frame, part)
    above = isl.Set.from_pw_aff(low).apply(isl.Map("{ [v] -> [x] : x >= v }"))
    below = isl.Set.from_pw_aff(high).apply(isl.Map("{ [v] -> [x] : x <= v }"))
    return as_parameters(above.intersect(below), [STRIP])


# --- Several values ----------------------------------------------------------------------


Points = dict[str, tuple[isl.Set, isl.Set]]
"""By leaf: the points of the dimensions left to a thread at which some thread of the block has an instance,
and the points of the whole order with one."""


def _uniform(frame: Frame, part: Part) -> Points:
    length = frame.launch.length
    inside = block(frame.axes, part.strip, length)
    found: Points = {}
    for each in maps_of(part.segment.order):
        name = each.get_tuple_name(_IN) or ""
        own = each.range()
        found[name] = (own.intersect(inside).apply(onto(frame.blocking.left, length)), own)
    return found


def _several(frame: Frame, part: Part, known: isl.Set) -> Iterator[str]:
    """The loops that all threads of a block have, and in these each thread's values."""
    points = _uniform(frame, part)
    order = isl.UnionMap("{ }")
    for name, (uniform, _) in points.items():
        order = order.union(uniform.identity().set_tuple_name(_IN, name).to_union_map())

    def call(name: str, values: list[str]) -> Iterator[str]:
        uniform, own = points[name]
        at = dict(zip(frame.inside, values, strict=True))
        here = known.intersect(frame.values).intersect(as_parameters(uniform, frame.inside))
        return iter(unrolled(frame, list(_guarded(frame, name, own, here, at))))

    yield from scanned(order, known, frame.inside, frame.atoms, call)


def _guarded(frame: Frame, name: str, own: isl.Set, known: isl.Set, at: dict[str, str]) -> Iterator[str]:
    leaf = frame.leaves[name]
    points = as_parameters(own, frame.names)
    simple = {key: text if text.isalnum() else f"({text})" for key, text in at.items()}
    when = frame.when(points, known, simple)
    lines = instance(leaf, frame.counters(leaf, known.intersect(points), simple), frame.words)
    yield from braced(f"if ({when})", lines) if when else lines


# --- Whole blocks ------------------------------------------------------------------------


def whole(frame: Frame, part: Part, known: isl.Set, also: Sequence[isl.Set] = ()) -> isl.Set | None:
    """Blocks that need no conditions, whose strip is whole, and for which `also` is true, if that is one
    condition; `None` where it is none, or too many."""
    result = unguarded(frame, part, known)
    for each in also:
        result = result.intersect(each)
    if part.strip is not None:
        _, high = strip_ends(frame, part)
        last = isl.Set.from_pw_aff(high).apply(isl.Map(f"{{ [v] -> [x] : x + {part.strip.size} <= v + 1 }}"))
        result = result.intersect(as_parameters(last, [STRIP]))
    return None if known.is_subset(result) else in_one(result, known)


def unguarded(frame: Frame, part: Part, known: isl.Set) -> isl.Set:
    """Blocks within `known` whose threads have an instance at each of their values."""
    for each, own in _uniform(frame, part).values():
        here = frame.values.intersect(as_parameters(each, frame.inside))
        bad = here.subtract(as_parameters(own, frame.names))
        known = known.subtract(without(bad, [*frame.inside, *(a.parameter for a in frame.axes)]))
    return known


def in_one(values: isl.Set, known: isl.Set) -> isl.Set | None:
    """Parameters with these values, given `known`, if that is a single plain condition."""
    result = values.coalesce()
    if result.is_empty() or result.gist(known).n_basic_set() != 1:
        return None
    return result if "exists" not in str(result.gist(known)) else None


def without(values: isl.Set, names: Sequence[str]) -> isl.Set:
    """A set of parameters without some of these."""
    for name in names:
        at = values.find_dim_by_name(_PARAM, name)
        if at >= 0:
            values = values.project_out(_PARAM, at, 1)
    return values


# --- Strips ------------------------------------------------------------------------------


def strip_ends(frame: Frame, part: Part) -> tuple[isl.PwAff, isl.PwAff]:
    """The first and the last iteration of a loop that is cut in strips, for all threads of a block."""
    assert part.strip is not None
    inside = block(frame.axes, None, frame.launch.length)
    every = isl.Set.from_union_set(part.segment.order.range()).intersect(inside)
    return ends_of(alone(every, part.strip.dimension))


# --------------------------------------------------------------------------------------------------
# Text of registers for array elements: declarations, loads, and stores back.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Held:
    """Array elements in a register variable, `name`; `stores`: they are written back at the end."""

    kept: Kept
    name: str
    words: str
    stores: bool = True


def variable(frame: Frame, held: Held) -> str:
    """The variable, for one value along each axis."""
    return held.name + "".join(f"[{frame.step[axis.letter]}]" for axis in frame.several)


def loaded(frame: Frame, held: Held) -> Iterator[str]:
    """The declaration, with the values before the launch where these matter."""
    extents = "".join(f"[{axis.each}]" for axis in frame.several)
    if held.kept.loads.is_empty():
        yield f"{held.words} {held.name}{extents}{' = {}' if extents else ' = 0'};"
        return
    place, when = _element(frame, held), _when(frame, held.kept.loads)
    value = f"{when} ? {place} : 0" if when else place
    if not extents:
        yield f"{held.words} {held.name} = {value};"
        return
    yield f"{held.words} {held.name}{extents};"
    yield from unrolled(frame, [f"{variable(frame, held)} = {value};"])


def stored(frame: Frame, held: Held) -> Iterator[str]:
    """Stores back to the array, by one of the threads that share the element."""
    if not held.stores:
        return
    when = " && ".join(each for each in (_when(frame, held.kept.element.domain()), one_lane(frame)) if each)
    line = f"{_element(frame, held)} = {variable(frame, held)};"
    yield from unrolled(frame, list(braced(f"if ({when})", iter([line]))) if when else [line])


def one_lane(frame: Frame) -> str:
    """Condition that selects one of the threads that share sums; empty where none do."""
    lanes = frame.blocking.lanes
    return f"{frame.thread[lanes.letter]} == 0" if lanes is not None else ""


def _element(frame: Frame, held: Held) -> str:
    """The element in the array."""
    found = subscripts_at(held.kept.element, [axis.parameter for axis in frame.axes])
    if found is None:
        raise Unwritable(f"An element of `{held.kept.memory.variable.source_name}` cannot be written down.")
    return frame.element(held.kept.memory, found, frame.values)


def _when(frame: Frame, points: isl.Set) -> str:
    """Condition that a thread is at one of the points."""
    return frame.when(as_parameters(points, [axis.parameter for axis in frame.axes]), frame.values, {})


# --- First values ------------------------------------------------------------------------


def merged(held: Held, lines: list[str]) -> list[str]:
    """Lines in which a variable is declared where it is set first, and set once where that is to zero."""
    head, word = f"{held.words} {held.name}", re.compile(rf"\b{held.name}\b")
    declared = (
        k for k, line in enumerate(lines) if line.startswith(head) and line.endswith(("= 0;", "= {};"))
    )
    start = next(declared, len(lines))
    first = next((k for k, line in enumerate(lines) if k > start and word.search(line)), len(lines))
    if first == len(lines):
        return lines
    return _for_each(first, lines) if "[" in lines[start] else _for_one(held, start, first, lines)


def _for_each(first: int, lines: list[str]) -> list[str]:
    """Lines without a loop that only sets all values to zero, if they start there."""
    begin = max(k for k in range(first + 1) if not lines[k].startswith(" "))
    begin -= lines[begin].startswith("for ") and lines[begin - 1].startswith("#pragma")
    end = next((k for k in range(first, len(lines)) if lines[k] == "}"), len(lines) - 1)
    inside = [line.strip() for line in lines[begin : end + 1]]
    done = [line for line in inside if not line.startswith(("#pragma", "for (", "if (", "const int", "}"))]
    values = [re.fullmatch(r"\w+(?:\[\w+\])+ = (.*);", line) for line in done]
    zero = [each for each in values if each is not None and _ZERO.fullmatch(each[1])]
    return lines[:begin] + lines[end + 1 :] if len(zero) == len(done) == 1 else lines


def _for_one(held: Held, start: int, first: int, lines: list[str]) -> list[str]:
    word = re.compile(rf"\b{held.name}\b")
    set_here = re.fullmatch(rf"( *){held.name} = (.*);", lines[first])
    if set_here is None or word.search(set_here[2]):
        return lines
    if not set_here[1]:
        rest = [*lines[start + 1 : first], f"{held.words} {lines[first]}", *lines[first + 1 :]]
        return [*lines[:start], *rest]
    alone = lines[first - 1].startswith("if (") and not lines[first - 1].endswith("{")
    if alone and set_here[1] == INDENT and _ZERO.fullmatch(set_here[2]):
        # It has that value already.
        return lines[: first - 1] + lines[first + 1 :]
    return lines


_ZERO = re.compile(r"0(\.0*)?[fFlL]?")
