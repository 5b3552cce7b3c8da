"""Blocking: tiles of permutable loops in the order that lets whole tiles run in parallel, and their points in
the order that walks through memory in the smallest steps (Wolf, Lam 1991; McKinley, Carr, Tseng 1996)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.emit.c_loops import Counter, Scan, scanned
from polylsp.emit.c_text import replaced, style_of
from polylsp.emit.subject import Subject
from polylsp.model.action import Answer, Declined, Edited
from polylsp.schedule.chain import Chain, fresh_name, type_words, unstable
from polylsp.schedule.locality import cost, loop_costs
from polylsp.schedule.loop_headers import Iterations, counters, formula, iterations
from polylsp.schedule.statement_leaves import Leaves, backward, leaves_of, listed, varies

_WIDE, _NARROW = 256, 64
"""Tile sizes of the loop that the vector unit runs, and of the others: the elements of three arrays in one
tile then fit the second-level cache of a core."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Permutable loops and their new order. `points` and `tiles` are numbers of loops, outermost first;
    loops without tiles are not among `tiles`. `free` are those that carry no dependence. `sizes` are the
    extents of the tiles, where they are not chosen here."""

    chain: Chain
    found: Leaves
    points: tuple[int, ...]
    tiles: tuple[int, ...]
    free: frozenset[int]
    sizes: tuple[int, ...] = ()

    @property
    def reorders(self) -> bool:
        """True if the loops take another order."""
        return self.points != tuple(range(len(self.points)))


def planned(subject: Subject, chain: Chain) -> Plan | Declined:
    """Blocking plan for the loops of a chain from one on that is as far out as possible, if they reuse loaded
    data."""
    refused = Declined("None of these loops reuses what another one loads.")
    for first in range(len(chain.ordinals) - 1):
        part = chain.part(first, len(chain.ordinals))
        found = unstable(subject, part.ordinals) or leaves_of(subject, [part.leaf])
        if isinstance(found, Declined):
            refused = found
            continue
        plan = _plan(subject, part, found)
        if plan is not None:
            return plan
    return refused


def _plan(subject: Subject, part: Chain, found: Leaves) -> Plan | None:
    depths = range(len(part.ordinals))
    names = ", ".join(f"i{k}" for k in depths)
    if any(backward(found, [isl.Map(f"{{ [{names}] -> [i{k}] }}")], 0) is not None for k in depths):
        return None
    free = frozenset(k for k in depths if varies(found, k) is None)
    if not free:
        return None
    costs = loop_costs(found.scop, part.ordinals)
    ranked = sorted(permutations(depths), key=lambda order: (cost(costs, order), order))
    points = next((order for order in ranked if order[-1] in free), ranked[0])
    if costs[points[-1]] > costs[ranked[0][-1]] + 6:
        # The one loop that the vector unit could run would jump through memory.
        points = ranked[0]
    if len(free) == len(depths):
        better = costs[points[-1]] + 6 < costs[-1]
        return Plan(part, found, points, (), free) if better else None
    outer = [k for k in points[:-1] if k in free]
    rest = [k for k in points if k not in free]
    last = [points[-1]] if points[-1] in free else []
    tiles = (*outer, *rest, *last) if outer else (*last, *rest)
    if len(depths) == 2:
        tiles = tiles[:1]
    return Plan(part, found, points, tiles, free)


def blocked(subject: Subject, plan: Plan, settings: Settings, tiled: bool = True) -> Answer:
    """The loops in their new order, in tiles unless they have to stay whole."""
    points = iterations(subject, plan.chain)
    if isinstance(points, Declined):
        return points
    loops = counters(subject, plan.chain, points)
    chosen = plan.tiles if tiled else ()
    if not chosen and not plan.reorders:
        return Declined("The loops stand in the best order already.")
    tiles = tuple(_tile_counter(subject, plan.chain, loops[k]) for k in chosen)
    sizes = [_size(plan, k, settings) for k in chosen]
    starts = [_tile_start(points, k, size) for k, size in zip(chosen, sizes, strict=True)]
    names = [f"i{k}" for k in range(len(loops))]
    dates = ", ".join((*starts, *(names[k] for k in plan.points)))
    parameters = ", ".join(points.atoms)
    schedule = isl.Map(f"[{parameters}] -> {{ [{', '.join(names)}] -> [{dates}] }}")
    ordered = tuple(loops[k] for k in plan.points)
    braces = (*plan.chain.braces[:1] * len(tiles), *plan.chain.braces)
    pieces = scanned(
        Scan(
            schedule.intersect_domain(points.domain),
            (*tiles, *ordered),
            loops,
            plan.chain.body,
            points.atoms,
            braces,
        )
    )
    if isinstance(pieces, Declined):
        return pieces
    made = replaced(subject, plan.chain.texts[0], pieces, style_of(subject, plan.chain.texts))
    shown = listed(loops[k].name for k in plan.points)
    remarks = [f"The loops run in the order {shown}."]
    if chosen:
        extents = " by ".join(map(str, sizes))
        remarks.append(f"Tiles of {extents} iterations of {listed(loops[k].name for k in chosen)}.")
    return Edited((made,), plan.found.assumptions, tuple(remarks))


def _size(plan: Plan, loop: int, settings: Settings) -> int:
    if settings.tile_sizes:
        return settings.tile_sizes[min(loop, len(settings.tile_sizes) - 1)]
    if plan.sizes:
        return plan.sizes[plan.tiles.index(loop)]
    if loop != plan.points[-1]:
        return _NARROW
    return _WIDE // 2 if loop == plan.tiles[0] else _WIDE


def _tile_counter(subject: Subject, chain: Chain, loop: Counter) -> Counter:
    name = fresh_name(subject, loop.name * 2, f"{loop.name}_tile")
    return Counter(name, loop.declared or type_words(subject, chain))


def _tile_start(points: Iterations, loop: int, size: int) -> str:
    first = points.firsts[loop]
    origin = "0" if "i" in formula(first) else formula(first)
    return f"{origin} + {size} * floor((i{loop} - ({origin})) / {size})"
