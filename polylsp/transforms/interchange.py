"""Interchange: loops that stand directly in each other take another order (Allen and Kennedy 1984)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.emit.c_loops import Scan, scanned
from polylsp.emit.c_text import Made, Piece
from polylsp.emit.subject import Subject
from polylsp.ir.verdict import Parallel
from polylsp.model.action import Answer, Declined
from polylsp.schedule.chain import (
    Chain,
    chain_around,
    chain_comments,
    cost,
    dates_in_order,
    loop_costs,
    rewritten,
    several,
    signed_names,
    unstable,
    uses,
)
from polylsp.schedule.loop_headers import counters, iterations
from polylsp.schedule.statement_leaves import (
    Leaves,
    carried_at,
    counter,
    leaves_of,
    listed,
    refusal,
    violated,
)

Order = tuple[int, ...]
"""Permutation of a chain's loops (counted from 0)."""


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """The order of the loops around `ordinal` that lets the outermost run in parallel; if that is so already
    or cannot be, the one that walks through memory in the smallest steps."""
    chain = several(subject, ordinal, chain_around(subject, ordinal))
    if isinstance(chain, Declined):
        return chain
    moving = unstable(subject, chain.ordinals)
    found = leaves_of(subject, [chain.leaf]) if moving is None else moving
    if isinstance(found, Declined):
        return found
    order = _best(found, chain)
    if isinstance(order, Declined):
        return order
    pieces = _pieces(subject, chain, order)
    return rewritten(subject, chain.texts, pieces, found.assumptions, *_remarks(subject, found, chain, order))


def _best(found: Leaves, chain: Chain) -> Order | Declined:
    names = signed_names(found, chain.leaf)
    source = tuple(range(len(names)))
    broken = None
    if _needs_parallelism(found, chain, [dates_in_order(names, source)]):
        for k in source[1:]:
            order = (k, *(o for o in source if o != k))
            dates = [dates_in_order(names, order)]
            if carried_at(found, dates, 0) is None and violated(found, dates) is None:
                return order
    costs = loop_costs(found.scop, chain.ordinals)
    ranked = sorted(permutations(source), key=lambda o: (cost(costs, o), o))
    for order in ranked:
        if cost(costs, order) >= cost(costs, source):
            break
        broken = violated(found, [dates_in_order(names, order)])
        if broken is None:
            return order
    if broken is None and len(source) == 2:
        broken = violated(found, [dates_in_order(names, (1, 0))])
    shown = listed(counter(found.subject, o).source_name for o in chain.ordinals)
    if broken is not None:
        return refusal(found, f"Interchanging the loops {shown}", broken)
    return Declined(f"The loops {shown} stand in the best order already.")


def _needs_parallelism(found: Leaves, chain: Chain, dates: list[isl.Map]) -> bool:
    """True if neither the outermost loop nor one around it can run in parallel."""
    around = found.subject.around(chain.ordinals[0])
    return carried_at(found, dates, 0) is not None and not any(
        isinstance(loop.verdict, Parallel) for loop in around
    )


def _pieces(subject: Subject, chain: Chain, order: Order) -> tuple[Piece, ...] | Declined:
    """The loops in their new order: with the headers that they have, or where these depend on each other,
    with new ones."""
    if any(uses(subject, chain.ordinals[a], chain.ordinals[b]) for a, b in _now_outside(order)):
        return _rebounded(subject, chain, order)
    body: Piece = chain.body
    for place in reversed(range(len(order))):
        text = chain.texts[order[place]]
        before, after = chain_comments(subject, chain, order[place])
        header = subject.text[text.header.start : text.header.end]
        body = Made(header, (body,), chain.texts[place].braces, text.remark, before, after)
    return (body,)


def _now_outside(order: Order) -> Iterator[tuple[int, int]]:
    """The pairs of loops of which the first stood inside the second, and now stands outside."""
    for place, one in enumerate(order):
        for other in order[place + 1 :]:
            if other < one:
                yield one, other


def _rebounded(subject: Subject, chain: Chain, order: Order) -> tuple[Piece, ...] | Declined:
    found = iterations(subject, chain)
    if isinstance(found, Declined):
        return found
    named = counters(subject, chain, found)
    schedule = dates_in_order([f"i{k}" for k in range(len(order))], order).intersect_domain(found.domain)
    return scanned(
        Scan(schedule, tuple(named[k] for k in order), named, chain.body, found.atoms, chain.braces)
    )


def _remarks(subject: Subject, found: Leaves, chain: Chain, order: Order) -> Iterator[str]:
    dates = [dates_in_order(signed_names(found, chain.leaf), order)]
    for place, k in enumerate(order):
        if carried_at(found, dates, place) is None:
            yield f"The loop `{counter(subject, chain.ordinals[k]).source_name}` can run in parallel."
            return
