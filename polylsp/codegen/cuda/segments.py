"""Sequence of segments that the threads of a launch run: leaves, and loops around leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.codegen.cuda.launch import maps_of


@dataclass(frozen=True, eq=False)
class Segment:
    """Leaves whose instances are mixed: the `order` of these alone. `loop` is the dimension that is their
    outermost loop, if they have one."""

    order: isl.UnionMap
    loop: int | None

    @property
    def leaves(self) -> list[str]:
        """Names of the leaves."""
        return [each.get_tuple_name(isl.dim_type.in_) or "" for each in maps_of(self.order)]


def segments(order: isl.UnionMap, left: Sequence[int]) -> list[Segment]:
    """The segments of an order of which some dimensions are `left` to a thread, in that order."""
    if not left:
        return [Segment(order, None)]
    first, *rest = left
    by_value: dict[int, isl.UnionMap] = {}
    for each in maps_of(order):
        value = each.plain_get_val_if_fixed(isl.dim_type.out, first)
        if not value.is_int():
            return [Segment(order, first)]
        own = each.to_union_map()
        number = value.to_python()
        by_value[number] = by_value[number].union(own) if number in by_value else own
    return [inner for _, own in sorted(by_value.items(), key=_place) for inner in segments(own, rest)]


def _place(item: tuple[int, isl.UnionMap]) -> int:
    return item[0]


def varies(order: isl.Map, dimension: int) -> bool:
    """True if a dimension has more than one value."""
    return not order.plain_get_val_if_fixed(isl.dim_type.out, dimension).is_int()
