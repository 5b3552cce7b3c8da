"""Skewing of two loops to a wavefront with a parallel inner loop, and slanted tiles.

Lamport 1974; Wolf and Lam 1991. Slanted tiles are blocks of skewed coordinates whose iterations
run in source order (time skewing: Wonnacott 2000).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.emit.c_expressions import Linear, Narrow, Term, added, extremum, sum_text
from polylsp.emit.c_loops import Counter, Scan, scanned
from polylsp.emit.c_syntax import Braces
from polylsp.emit.c_text import Made, Piece
from polylsp.emit.subject import Subject
from polylsp.ir.verdict import Assumption
from polylsp.model.action import Answer, Declined, Edited
from polylsp.schedule.chain import Chain, chain_around, fresh_name, rewritten, several, type_words, unstable
from polylsp.schedule.loop_headers import Iterations, counters, formula, in_c, iterations
from polylsp.schedule.statement_leaves import (
    LeafDependence,
    Leaves,
    carried_at,
    identity,
    leaves_of,
    refusal,
    violated,
)

_SLOPES = ((1, 1), (2, 1), (1, 2), (3, 1), (1, 3), (4, 1), (1, 4))
"""Coefficients of two counters in the wavefront, if both count up, simplest first; one of them is 1, so that
it can be computed back from the wavefront and the other."""


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """The outermost two neighbours among the loops around `ordinal` that have a wavefront."""
    chain = several(subject, ordinal, chain_around(subject, ordinal))
    if isinstance(chain, Declined):
        return chain
    answers = [skewed(subject, chain.part(k, k + 2)) for k in range(len(chain.ordinals) - 1)]
    return next((each for each in answers if isinstance(each, Edited)), answers[0])


def innermost(subject: Subject, ordinal: int) -> Answer:
    """An innermost loop and the one around it, if they have a wavefront."""
    chain = chain_around(subject, ordinal)
    if isinstance(chain, Declined):
        return chain
    if len(chain.ordinals) < 2:
        return Declined(f"No other loop stands directly around `{subject.known(ordinal).iterator}`.")
    return skewed(subject, chain.part(len(chain.ordinals) - 2, len(chain.ordinals)))


def skewed(subject: Subject, chain: Chain) -> Answer:
    """Two loops, if they have a wavefront."""
    found = unstable(subject, chain.ordinals) or leaves_of(subject, [chain.leaf])
    if isinstance(found, Declined):
        return found
    points = iterations(subject, chain, down=True)
    if isinstance(points, Declined):
        return points
    for depth in range(2):
        if carried_at(found, [identity(chain.leaf)], depth) is None:
            return Declined(f"The loop `{points.counters[depth]}` can run in parallel as it stands.")
    slope = _slope(found, points.steps)
    if not isinstance(slope, tuple):
        shown = f"`{points.counters[0]}` and `{points.counters[1]}`"
        return refusal(found, f"Running a wavefront of the loops {shown} in parallel", slope)
    return _edited(subject, found, chain, points, slope)


def _slope(found: Leaves, steps: tuple[int, ...]) -> tuple[int, int] | LeafDependence:
    """The simplest wavefront that separates all iterations that depend on each other, or the dependence that
    defeats the last one tried."""
    broken: LeafDependence | None = None
    for factors in _SLOPES:
        slope = factors[0] * steps[0], factors[1] * steps[1]
        broken = violated(found, [isl.Map(f"{{ [i0, i1] -> [{slope[0]} i0 + {slope[1]} i1] }}")])
        if broken is None:
            return slope
    assert broken is not None
    return broken


def _edited(
    subject: Subject, found: Leaves, chain: Chain, points: Iterations, slope: tuple[int, int]
) -> Answer:
    stays = 0 if abs(slope[1]) == 1 else 1
    wave = f"{slope[0]} i0 + {slope[1]} i1"
    dates = isl.Map(f"{{ [i0, i1] -> [{wave}, i{stays}] }}")
    broken = violated(found, [dates])
    if broken is not None:
        return refusal(found, "This wavefront", broken)
    loops = counters(subject, chain, points)
    name = fresh_name(subject, "w", "wave")
    front = sum_text(dict(zip(points.counters, slope, strict=True)))
    assumed = _no_overflow(found, chain, points.steps, slope, front)
    words, atoms = type_words(subject, chain), dict[str, Term](points.atoms)
    if words == "int" and assumed:
        # Sums of `int`s fit in 64 bits.
        words, assumed = "long long", ()
        written = {**points.atoms, points.counters[stays]: points.counters[stays]}
        atoms = {each: Narrow(text) for each, text in written.items()}
    new = Counter(name, words, remark=loops[0].remark)
    body = subject.text[chain.leaf.span.start : chain.leaf.span.end]
    values = tuple(
        v if re.search(rf"\b{v.name}\b", body) or k == stays else None for k, v in enumerate(loops)
    )
    schedule = dates.intersect_domain(points.domain)
    pieces = scanned(Scan(schedule, (new, loops[stays]), values, chain.body, atoms, chain.braces))
    inner = points.counters[stays]
    remark = f"`{name}` is the wavefront `{front}`; the loop `{inner}` inside it can run in parallel."
    return rewritten(subject, chain.texts, pieces, (*found.assumptions, *assumed), remark)


def _no_overflow(
    found: Leaves, chain: Chain, steps: tuple[int, ...], slope: tuple[int, int], front: str
) -> tuple[Assumption, ...]:
    """Assumption that the wavefront's counter does not overflow, unless the counters are too small for
    that."""
    domain = found.scop.loops[chain.ordinals[1]].domain
    inside = domain.project_out(isl.dim_type.set, 0, domain.dim(isl.dim_type.set) - 2).reset_tuple_id()
    limit = 2 ** (63 if type_words(found.subject, chain) == "long" else 31)
    # A loop ends when its counter has passed the last value, which the type holds too.
    held = " and ".join(
        f"-{limit} <= i{k} <= {limit} - 2" if step > 0 else f"-{limit} < i{k} < {limit}"
        for k, step in enumerate(steps)
    )
    inside = inside.intersect(isl.Set(f"{{ [i0, i1] : {held} }}"))
    values = inside.apply(isl.Map(f"{{ [i0, i1] -> [{slope[0]} i0 + {slope[1]} i1] }}"))
    values = values.project_out(isl.dim_type.param, 0, values.dim(isl.dim_type.param))
    if values.is_subset(isl.Set(f"{{ [w] : -{limit} < w <= {limit} - 2 }}")):
        return ()
    return (Assumption("no-overflow", (front,), f"`{front}` does not overflow"),)


# --------------------------------------------------------------------------------------------------
# Slanted tiles: blocks of skewed coordinates, in which the iterations run in the order of the
# source (time skewing: Wonnacott 2000).
# --------------------------------------------------------------------------------------------------


Slopes = Sequence[Sequence[int]]
"""Factors, for each loop, by which the counters of those around it are added to its counter."""


def slanted(
    points: Iterations,
    slopes: Slopes,
    sizes: Sequence[int],
    tiles: Sequence[Counter],
    loops: Sequence[Counter],
    body: Piece,
    braces: Sequence[Braces],
) -> tuple[Piece, ...] | Declined:
    """Loops over the tiles, and in each over its points. Where the tiles of a loop begin is counted from
    the tile around it, so that each point is in exactly one; some tiles have no points."""
    if any("i" in formula(bound) for bound in (*points.firsts, *points.lasts)):
        return Declined(
            "The bounds of these loops depend on each other: slanted tiles would be hard to read."
        )
    firsts, lasts = ([in_c(points, each) for each in bounds] for bounds in (points.firsts, points.lasts))
    made = body
    for k in reversed(range(len(loops))):
        made = Made(_points(k, slopes, sizes, tiles, loops, firsts[k], lasts[k]), (made,), braces[k])
    for k in reversed(range(len(loops))):
        low, high = (_beyond(k, slopes, sizes, tiles, up) for up in (False, True))
        first, last = sum_text(added(firsts[k], low, 1)), sum_text(added(lasts[k], high, 1))
        name = tiles[k].name
        header = f"for ({tiles[k].declared} {name} = {first}; {name} < {last}; {name} += {sizes[k]})"
        made = Made(header, (made,), braces[0])
    return (made,)


def _points(
    k: int,
    slopes: Slopes,
    sizes: Sequence[int],
    tiles: Sequence[Counter],
    loops: Sequence[Counter],
    first: Linear,
    last: Linear,
) -> str:
    """The header of the loop over the points of a tile."""
    around: Linear = {loops[m].name: slope for m, slope in enumerate(slopes[k]) if slope}
    start = added({tiles[k].name: 1}, around, -1)
    end = extremum([added(start, {"": sizes[k]}, 1), last], "<")
    begin = extremum([start, first], ">") if around else sum_text(start)
    declared = f"{loops[k].declared} " if loops[k].declared else ""
    name = loops[k].name
    advance = f"++{name}" if f"++{name}" in loops[k].header else f"{name}++"
    return f"for ({declared}{name} = {begin}; {name} < {end}; {advance})"


def _beyond(k: int, slopes: Slopes, sizes: Sequence[int], tiles: Sequence[Counter], up: bool) -> Linear:
    """The least, or largest (`up`), of the slopes' contribution to a counter in the tiles around."""
    result: Linear = {}
    for m, factor in enumerate(_skewed(k, slopes)):
        edge: Linear = {tiles[m].name: factor}
        if (factor > 0) == up:
            edge[""] = factor * (sizes[m] - 1)
        result = added(result, edge, 1)
    return result


def _skewed(k: int, slopes: Slopes) -> list[int]:
    """Contribution of the slopes of a loop, in skewed coordinates: the counter of a loop is its coordinate
    minus this."""
    factors = [0] * k
    for m, slope in enumerate(slopes[k]):
        factors[m] += slope
        for n, inner in enumerate(_skewed(m, slopes)):
            factors[n] -= slope * inner
    return factors
