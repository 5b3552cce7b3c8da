"""Loops of Python that stand directly in each other, in an order of which a loop can run in parallel: another
one of them outermost (Allen and Kennedy 1984), or a wavefront (Lamport 1974; Wolf and Lam 1991)."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import islpy as isl

from polylsp.codegen.numba.bounds import Iterations, iterations
from polylsp.codegen.numba.loop_text import (
    Block,
    Kept,
    LoopText,
    Piece,
    chain_around,
    fresh,
    leaf_of,
    replaced,
)
from polylsp.codegen.numba.scan import Scan, scanned
from polylsp.codegen.numba.source import Source
from polylsp.codegen.transform.chain import unstable, uses
from polylsp.codegen.transform.dependences import leaves_of
from polylsp.codegen.transform.leaves import Leaves, carried_at, listed, refusal, violated
from polylsp.codegen.transform.locality import cost, loop_costs
from polylsp.model.action import Answer, Declined, Edited

_SLOPES = ((1, 1), (2, 1), (1, 2), (3, 1), (1, 3), (4, 1), (1, 4))
"""Coefficients of two counters in the wavefront, simplest first; one of them is 1, so that it can be computed
back from the wavefront and the other."""


def interchanged(source: Source, ordinal: int) -> Answer:
    """The first loop outermost among those around `ordinal` that can run in parallel there, where the others
    then walk through memory in steps that are no larger."""
    chain = _chain(source, ordinal)
    if isinstance(chain, Declined):
        return chain
    found = _leaves(source, chain)
    if isinstance(found, Declined):
        return found
    signed = _signed(found, chain)
    if carried_at(found, [_dates(signed, range(len(chain)))], 0) is None:
        return Declined("The outermost of these loops can run in parallel as it stands.")
    costs = loop_costs(found.scop, [loop.ordinal for loop in chain])
    source_order = tuple(range(len(chain)))
    for first in source_order[1:]:
        order = (first, *(k for k in source_order if k != first))
        if cost(costs, order) > cost(costs, source_order):
            continue
        dates = [_dates(signed, order)]
        if carried_at(found, dates, 0) is None and violated(found, dates) is None:
            return _in_order(source, found, chain, order)
    shown = listed(loop.node.target.id for loop in chain if isinstance(loop.node.target, ast.Name))
    return Declined(f"None of the loops {shown} would do better outermost.")


def skewed(source: Source, ordinal: int) -> Answer:
    """The outermost two neighbours among the loops around `ordinal` that have a wavefront."""
    chain = _chain(source, ordinal)
    if isinstance(chain, Declined):
        return chain
    answers = [_wavefront(source, chain[k : k + 2]) for k in range(len(chain) - 1)]
    return next((each for each in answers if isinstance(each, Edited)), answers[0])


def _chain(source: Source, ordinal: int) -> tuple[LoopText, ...] | Declined:
    chain = chain_around(source, ordinal)
    if isinstance(chain, tuple) and len(chain) < 2:
        name = source.subject.known(ordinal).iterator
        return Declined(f"No other loop stands directly inside or around `{name}`, with nothing beside it.")
    return chain


def _leaves(source: Source, chain: Sequence[LoopText]) -> Leaves | Declined:
    """Dependences to preserve, where the headers can be evaluated elsewhere among the loops."""
    moving = unstable(source.subject, tuple(loop.ordinal for loop in chain))
    return leaves_of(source.subject, [leaf_of(chain)]) if moving is None else moving


def _signed(found: Leaves, chain: Sequence[LoopText]) -> tuple[str, ...]:
    """`i0`, `i1`, …: the loops' counters, negated where they count down."""
    directions = [found.scop.loops[loop.ordinal].direction for loop in chain]
    return tuple(f"i{k}" if direction > 0 else f"-i{k}" for k, direction in enumerate(directions))


def _dates(names: Sequence[str], order: Sequence[int]) -> isl.Map:
    domain = ", ".join(f"i{k}" for k in range(len(names)))
    return isl.Map(f"{{ [{domain}] -> [{', '.join(names[k] for k in order)}] }}")


# --- Another order -----------------------------------------------------------------------


def _in_order(source: Source, found: Leaves, chain: Sequence[LoopText], order: Sequence[int]) -> Answer:
    pieces = _pieces(source, found, chain, order)
    if isinstance(pieces, Declined):
        return pieces
    return Edited((replaced(source, chain[0], pieces),), found.assumptions)


def _pieces(
    source: Source, found: Leaves, chain: Sequence[LoopText], order: Sequence[int]
) -> tuple[Piece, ...] | Declined:
    """The loops with the headers that they have, or where these depend on each other, with new ones."""
    ordinals = [loop.ordinal for loop in chain]
    outside = [(a, b) for place, a in enumerate(order) for b in order[place + 1 :] if b < a]
    body: tuple[Piece, ...] = (Kept(chain[-1].body),)
    if not any(uses(source.subject, ordinals[a], ordinals[b]) for a, b in outside):
        for k in reversed(order):
            body = (_block(chain[k], body),)
        return body
    if any(found.scop.loops[ordinals[k]].direction < 0 for k in order[1:]):
        return Declined("One of these loops counts down, and new bounds are those of loops that count up.")
    points = iterations(chain)
    if isinstance(points, Declined):
        return points
    names = points.counters
    schedule = _dates([f"i{k}" for k in range(len(order))], order).intersect_domain(points.domain)
    return scanned(Scan(schedule, tuple(names[k] for k in order), names, body, points.atoms))


def _block(loop: LoopText, body: tuple[Piece, ...]) -> Block:
    return Block(f"{loop.header}  {loop.remark}".rstrip(), body)


# --- Wavefronts --------------------------------------------------------------------------


def _wavefront(source: Source, chain: Sequence[LoopText]) -> Answer:
    found = _leaves(source, chain)
    if isinstance(found, Declined):
        return found
    points = iterations(chain)
    if isinstance(points, Declined):
        return points
    signed = _signed(found, chain)
    if any(carried_at(found, [_dates(signed, (0, 1))], depth) is None for depth in (0, 1)):
        return Declined(f"Of the loops {listed(points.counters)}, one can run in parallel as it stands.")
    broken = None
    for slope in _SLOPES:
        wave = f"{slope[0]} * ({signed[0]}) + {slope[1]} * ({signed[1]})"
        broken = violated(found, [isl.Map(f"{{ [i0, i1] -> [{wave}] }}")])
        if broken is None:
            return _skewed(source, found, chain, points, (slope, wave))
    assert broken is not None
    return refusal(found, f"Running a wavefront of the loops {listed(points.counters)} in parallel", broken)


def _skewed(
    source: Source,
    found: Leaves,
    chain: Sequence[LoopText],
    points: Iterations,
    wavefront: tuple[tuple[int, int], str],
) -> Answer:
    slope, wave = wavefront
    stays = 0 if slope[1] == 1 else 1
    dates = isl.Map(f"{{ [i0, i1] -> [{wave}, i{stays}] }}")
    name = fresh(source, "w", "wave")
    loops = (name, points.counters[stays])
    body = (Kept(chain[-1].body),)
    schedule = dates.intersect_domain(points.domain)
    pieces = scanned(Scan(schedule, loops, points.counters, body, points.atoms))
    if isinstance(pieces, Declined):
        return pieces
    first, second = (
        f"{'-' if sign.startswith('-') else ''}{'' if factor == 1 else f'{factor} * '}{counter}"
        for sign, factor, counter in zip(_signed(found, chain), slope, points.counters, strict=True)
    )
    front = f"{first} + {second}" if not second.startswith("-") else f"{first} - {second[1:]}"
    remark = f"`{name}` is the wavefront `{front}`: its iterations do not need each other."
    return Edited((replaced(source, chain[0], pieces),), found.assumptions, (remark,))
