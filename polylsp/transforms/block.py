"""Blocking: tiles of permutable loops, and blocks of an elimination.

Tiles come in the order that lets whole tiles run in parallel, and their points in the order that walks
through memory in the smallest steps (Wolf, Lam 1991; McKinley, Carr, Tseng 1996).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.emit.c_loops import Counter, Scan, scanned
from polylsp.emit.c_loops import Leaf as Scanned
from polylsp.emit.c_syntax import Part
from polylsp.emit.c_text import Kept, kept
from polylsp.emit.subject import Subject
from polylsp.model.action import Answer, Declined
from polylsp.schedule.chain import (
    Chain,
    cost,
    fresh_name,
    is_directed,
    loop_costs,
    opened,
    rewritten,
    type_words,
    unstable,
)
from polylsp.schedule.loop_headers import Iterations, counters, formula, iterations, merged
from polylsp.schedule.statement_leaves import Leaf, Leaves, is_permutable, leaves_of, listed, varies, violated

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
        plan = _plan(part, found)
        if plan is not None:
            return plan
    return refused


def _plan(part: Chain, found: Leaves) -> Plan | None:
    depths = range(len(part.ordinals))
    if not is_permutable(found):
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
    dates = schedule.intersect_domain(points.domain)
    pieces = scanned(Scan(dates, (*tiles, *ordered), loops, plan.chain.body, points.atoms, braces))
    shown = listed(loops[k].name for k in plan.points)
    remarks = [f"The loops run in the order {shown}."]
    if chosen:
        extents = " by ".join(map(str, sizes))
        remarks.append(f"Tiles of {extents} iterations of {listed(loops[k].name for k in chosen)}.")
    return rewritten(subject, plan.chain.texts, pieces, plan.found.assumptions, *remarks)


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


# --------------------------------------------------------------------------------------------------
# Blocks of an elimination: where each element has one term after the other taken from it, those of
# a block are first taken from the rows and columns that other elements need, then from all of these
# at once, as a product (Dongarra, Du Croz, Hammarling and Duff, TOMS 1990). The order is one for
# all statements of the nest, in any of its loops.
# --------------------------------------------------------------------------------------------------


_BLOCK = 64
"""Number of terms of a block: few, for little sequential work, but enough for the product."""


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement of the nest: the loops around it, their names, and its part of the text."""

    chain: Chain
    names: tuple[str, ...]
    part: Part
    text: str


@dataclass(frozen=True, slots=True)
class _Place:
    """Place of a statement in the new order: the names of the loops whose counters are its row, column and
    term there, and whether it comes before (0), among (1) or after (2) the updates of its term."""

    row: str
    column: str
    term: str
    turn: int


def elimination_blocked(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """The nest under a loop in blocks of terms."""
    statements = _statements(subject, ordinal)
    if isinstance(statements, Declined):
        return statements
    updates = [each for each in statements if len(each.names) == 3]
    if len(statements) < 2 or not updates or not all(_takes_terms(each) for each in statements):
        return Declined("These loops do not take one term after the other from the same elements.")
    if len({each.names for each in updates}) > 1:
        return Declined("The terms are counted in different ways.")
    if len({each.text for each in updates}) > 1 or len(statements) > 6:
        return Declined("The terms are taken from different elements.")
    leaves = [Leaf(each.part.whole, each.chain.ordinals, number) for number, each in enumerate(statements)]
    found = unstable(subject, tuple(sorted({o for each in leaves for o in each.loops})))
    found = found or leaves_of(subject, leaves)
    if isinstance(found, Declined):
        return found
    size = settings.tile_sizes[0] if settings.tile_sizes else _BLOCK
    places = _places(found, statements, updates[0].names, size)
    if places is None:
        return Declined("In blocks of terms, some element would be used before it is ready.")
    return _edited(subject, found, statements, places, size)


# --- What there is -----------------------------------------------------------------------


def _statements(subject: Subject, ordinal: int) -> list[_Statement] | Declined:
    """All statements of a nest, in the order of the text."""
    text = opened(subject, ordinal)
    if isinstance(text, Declined):
        return text
    if is_directed(subject, text):
        return Declined("A directive stands before the loop: remove it, change the loops, then add it anew.")
    return _inside(subject, Chain((ordinal,), (text,)))


def _inside(subject: Subject, chain: Chain) -> list[_Statement] | Declined:
    found: list[_Statement] = []
    loops = {subject.span(each.site): each.ordinal for each in subject.facts.loops}
    names = tuple(subject.known(each).iterator or "" for each in chain.ordinals)
    for part in chain.texts[-1].parts:
        inner = loops.get(part.core)
        if part.directive or (inner is None and part.node.type != "expression_statement"):
            return Declined("These loops do more than to assign.")
        if inner is None:
            text = "".join(subject.text[part.core.start : part.core.end].split())
            found.append(_Statement(chain, names, part, text))
            continue
        text = opened(subject, inner)
        if isinstance(text, Declined):
            return text
        below = _inside(subject, Chain((*chain.ordinals, inner), (*chain.texts, text)))
        if isinstance(below, Declined):
            return below
        found += below
    return found


def _takes_terms(statement: _Statement) -> bool:
    """True if a statement sets an element, the same one with each term; it may still be refused later."""
    target = statement.text.partition("=")[0]
    return "[" in target and (len(statement.names) < 3 or f"[{statement.names[2]}]" not in target)


# --- The order ---------------------------------------------------------------------------


def _places(
    found: Leaves, statements: Sequence[_Statement], names: tuple[str, ...], size: int
) -> tuple[_Place, ...] | None:
    """The first places that keep all dependences."""
    for choice in product(*(list(_choices(each, names)) for each in statements)):
        dates = [_dates(each, place, size) for each, place in zip(statements, choice, strict=True)]
        if violated(found, dates) is None:
            return choice
    return None


def _choices(statement: _Statement, names: tuple[str, ...]) -> Iterator[_Place]:
    """Possible places of a statement: a loop around it stands for the one of that name, and other loops for
    those that it is not in."""
    if len(statement.names) == 3:
        yield _Place(*names, turn=1)
        return
    if not set(statement.names) <= set(names):
        return
    own = [[name] if name in statement.names else list(reversed(statement.names)) for name in names]
    for chosen in product(*own):
        turns = (1,) if names[2] in statement.names else (0, 2)
        yield from (_Place(*chosen, turn=turn) for turn in turns)


def _dates(statement: _Statement, place: _Place, size: int) -> isl.Map:
    """Schedule of a statement's instances: `[block, part, strip, row, term, turn, column]`. First come the
    rows of a block: its own columns, then those to the right, in strips that do not depend on each other;
    then its columns in the rows below, and then all other elements."""
    at = {name: f"i{k}" for k, name in enumerate(statement.names)}
    inside = ", ".join(at.values())
    row, column, term = at[place.row], at[place.column], at[place.term]
    block = f"{size} * floor({term} / {size})"
    order = f"[b, p, s, {row}, {term}, {place.turn}, {column}] : b = {block}"
    above, below = f"{row} < b + {size}", f"{row} >= b + {size}"
    if len(statement.names) < 3:
        parts = f"(p = 0 and {above}) or (p = 2 and {below})"
        return isl.Map(f"{{ [{inside}] -> {order} and s = 0 and ({parts}) }}")
    left, right = f"{column} < b + {size}", f"{column} >= b + {size}"
    quarters = ((above, left), (above, right), (below, left), (below, right))
    strips = ("0", f"{size} * floor({column} / {size})", "0", "0")
    parts = " or ".join(
        f"(p = {k} and {rows} and {columns} and s = {strip})"
        for k, ((rows, columns), strip) in enumerate(zip(quarters, strips, strict=True))
    )
    return isl.Map(f"{{ [{inside}] -> {order} and ({parts}) }}")


# --- Text --------------------------------------------------------------------------------


def _edited(
    subject: Subject, found: Leaves, statements: Sequence[_Statement], places: Sequence[_Place], size: int
) -> Answer:
    atoms: dict[str, str] = {}
    schedule = isl.UnionMap("{ }")
    others: dict[str, Scanned] = {}
    loops: dict[str, Counter] = {}
    texts: dict[str, str] = {}
    for statement, place in zip(statements, places, strict=True):
        points = iterations(subject, statement.chain)
        if isinstance(points, Declined):
            return points
        own = tuple(
            replace(each, header="", lead="", after="") for each in counters(subject, statement.chain, points)
        )
        loops.update({each.name: each for each in own if each.name not in loops})
        # What the text says twice is one statement.
        name = texts.setdefault(f"{statement.names} {statement.text}", f"L{len(texts)}")
        others.setdefault(name, Scanned(own, _kept(statement)))
        domain = merged(points, atoms)
        dates = _dates(statement, place, size).intersect_domain(domain).set_tuple_name(isl.dim_type.in_, name)
        schedule = schedule.union(dates.to_union_map())
    row, column, term = next(each.names for each in statements if len(each.names) == 3)
    first = statements[0].chain
    block = Counter(
        fresh_name(subject, term * 2, f"{term}_block"), loops[term].declared or type_words(subject, first)
    )
    strip = Counter(fresh_name(subject, column * 2, f"{column}_strip"), block.declared)
    part, turn = (Counter(fresh_name(subject, name), "int") for name in ("part", "turn"))
    order = (block, part, strip, loops[row], loops[term], turn, loops[column])
    scan = Scan(schedule.coalesce(), order, (), _kept(statements[0]), atoms, first.braces, others, (1, 5))
    pieces = scanned(scan)
    remark = f"Takes {size} terms over `{term}` at a time."
    return rewritten(subject, first.texts, pieces, found.assumptions, remark)


def _kept(statement: _Statement) -> Kept:
    return kept((statement.part,))
