"""Operations of isl that fail on some sets for reasons of its own, with what stands in for them."""

from __future__ import annotations

from typing import TypeVar

import islpy as isl

Coalescible = TypeVar("Coalescible", isl.Set, isl.Map, isl.UnionSet, isl.UnionMap)


def coalesced(relation: Coalescible) -> Coalescible:
    """The relation in fewer pieces, or as it is where isl fails ("original tableau does not correspond to
    original basic map"). Without operations left, the next call of isl ends at once too."""
    try:
        return relation.coalesce()
    except isl.Error:
        return relation
