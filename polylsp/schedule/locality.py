"""Locality of an order of loops (McKinley, Carr and Tseng, TOPLAS 1996: loop cost), and the footprint of a
tile."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.ir.program import Floating, Integer, Type
from polylsp.poly.scop import Access, Scop
from polylsp.schedule.chain import Chain

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


def loop_costs(scop: Scop, ordinals: Sequence[int]) -> tuple[int, ...]:
    """For each of some nested loops the cache lines that an iteration touches if the loop is innermost,
    over all accesses, in eighths of a line: the smaller the better."""
    inside = [a for a in scop.accesses if ordinals[-1] in scop.statements[a.statement].loops]
    return tuple(sum(_lines(scop, a, ordinal) for a in inside) for ordinal in ordinals)


def walks_along(scop: Scop, ordinal: int) -> bool:
    """True if each access inside of an innermost loop is to the same element in the next iteration, or to its
    neighbour."""
    inside = [a for a in scop.accesses if ordinal in scop.statements[a.statement].loops]
    return all(_lines(scop, a, ordinal) < 8 for a in inside)


def cost(costs: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """Cost of an order of loops, from the innermost outwards."""
    return tuple(costs[k] for k in reversed(order))


def _lines(scop: Scop, access: Access, ordinal: int) -> int:
    """0 if the next iteration of the loop accesses the same element, 1 if its neighbour, 8 otherwise."""
    statement = scop.statements[access.statement]
    if not access.memory.dimensions:
        return 0
    at = statement.loops.index(ordinal)
    relation = access.relation.gist_domain(statement.domain)
    used = [k for k in range(access.memory.dimensions) if _subscript(relation, k).involves_dims(_IN, at, 1)]
    if not used:
        return 0
    return 1 if used == [access.memory.dimensions - 1] else 8


def depends_on(scop: Scop, access: Access, ordinal: int) -> bool:
    """True if an access inside of a loop is to another element in another iteration of it."""
    statement = scop.statements[access.statement]
    relation = access.relation.gist_domain(statement.domain)
    return relation.involves_dims(_IN, statement.loops.index(ordinal), 1)


def _subscript(relation: isl.Map, number: int) -> isl.Map:
    """The relation to one subscript alone."""
    rest = relation.dim(_OUT) - number - 1
    return relation.project_out(_OUT, number + 1, rest).project_out(_OUT, 0, number)


# --- Tiles -------------------------------------------------------------------------------

_SIZES = (8, 16, 32, 64, 128, 256)


def tile_sizes(scop: Scop, chain: Chain, settings: Settings) -> tuple[int, ...]:
    """The extents of a tile: the user's, else the largest power of two with which the footprint of a tile
    fills no more than half of the cache."""
    count = len(chain.ordinals)
    if settings.tile_sizes:
        given = settings.tile_sizes
        return tuple(given[min(k, len(given) - 1)] for k in range(count))
    half = settings.cache_kb * 1024 // 2
    fitting = [size for size in _SIZES if _footprint(scop, chain, size) <= half]
    return (max(fitting, default=_SIZES[0]),) * count


def _footprint(scop: Scop, chain: Chain, size: int) -> int:
    """The bytes that a tile with sides of `size` touches, of each array once; loops inside the tile that
    are not part of it count as if they touched one element."""
    largest: dict[str, int] = {}
    for access in scop.accesses:
        statement = scop.statements[access.statement]
        if chain.ordinals[-1] not in statement.loops or not access.memory.dimensions:
            continue
        relation = access.relation.gist_domain(statement.domain)
        used = [o for o in chain.ordinals if relation.involves_dims(_IN, statement.loops.index(o), 1)]
        elements = size ** len(used)
        name = access.memory.name
        largest[name] = max(largest.get(name, 0), elements * _bytes(access.memory.element))
    return sum(largest.values())


def _bytes(element: Type) -> int:
    return element.bits // 8 if isinstance(element, (Integer, Floating)) else 8
