"""The iterations of one loop, and the first and the last of them."""

from __future__ import annotations

import islpy as isl

from polylsp.model.scop import Scop

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


def iterations(scop: Scop, ordinal: int) -> isl.Map:
    """`{ [outer iterators] -> [iterator] }` of a loop."""
    domain = scop.loops[ordinal].domain
    domain = domain.reset_tuple_id() if domain.has_tuple_id() else domain
    depth = domain.dim(isl.dim_type.set) - 1
    return isl.Map.from_domain(domain).move_dims(_OUT, 0, _IN, depth, 1)


def last(found: isl.Map, direction: int) -> isl.Map:
    """Final iterations where the iterator moves in a direction; none of a loop that does not end in the
    model. isl's lexicographic optimum is an error then, and can be wrong beside strides."""
    before = isl.Map("{ [i] -> [j] : j < i }" if direction > 0 else "{ [i] -> [j] : j > i }")
    return found.subtract(found.apply_range(before))


def first(found: isl.Map, direction: int) -> isl.Map:
    """The iterations that none comes before."""
    return last(found, -direction)
