"""Text of a segment: the computation of a thread at all its values along the axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polylsp.codegen.affine import alone
from polylsp.codegen.cuda.axes import ends_of
from polylsp.codegen.cuda.blocking import Part
from polylsp.codegen.cuda.frame import Frame, unrolled
from polylsp.codegen.cuda.instances import instance
from polylsp.codegen.cuda.launch import as_parameters, fixed, maps_of, onto
from polylsp.codegen.cuda.scan import condition, scanned
from polylsp.codegen.cuda.statements import braced
from polylsp.codegen.cuda.tiles import STRIP, Strip, block

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
