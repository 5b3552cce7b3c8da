"""Skewing: two loops become a wavefront and a loop inside it that can run in parallel (Lamport 1974; Wolf and
Lam 1991)."""

from __future__ import annotations

import re

import islpy as isl

from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.chain import Chain, chain_around, unstable
from polylsp.codegen.transform.dependences import leaves_of
from polylsp.codegen.transform.domain import Iterations, counters, iterations
from polylsp.codegen.transform.expression import sum_text
from polylsp.codegen.transform.fresh import fresh_name, type_words
from polylsp.codegen.transform.layout import replaced, style_of
from polylsp.codegen.transform.leaves import LeafDependence, Leaves, carried_at, identity, refusal, violated
from polylsp.codegen.transform.scan import Counter, Scan, scanned
from polylsp.model.action import Answer, Declined, Edited
from polylsp.model.verdict import Assumption
from polylsp.settings import Settings

_SLOPES = ((1, 1), (2, 1), (1, 2), (3, 1), (1, 3), (4, 1), (1, 4))
"""Coefficients of two counters in the wavefront, if both count up, simplest first; one of them is 1, so that
it can be computed back from the wavefront and the other."""


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """The outermost two neighbours among the loops around `ordinal` that have a wavefront."""
    chain = chain_around(subject, ordinal)
    if isinstance(chain, Declined):
        return chain
    if len(chain.ordinals) < 2:
        name = subject.known(ordinal).iterator
        return Declined(f"No other loop stands directly inside or around `{name}`, with nothing beside it.")
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
    new = Counter(name, type_words(subject, chain), remark=loops[0].remark)
    body = subject.text[chain.leaf.span.start : chain.leaf.span.end]
    values = tuple(
        v if re.search(rf"\b{v.name}\b", body) or k == stays else None for k, v in enumerate(loops)
    )
    schedule = dates.intersect_domain(points.domain)
    pieces = scanned(Scan(schedule, (new, loops[stays]), values, chain.body, points.atoms, chain.braces))
    if isinstance(pieces, Declined):
        return pieces
    made = replaced(subject, chain.texts[0], pieces, style_of(subject, chain.texts))
    front = sum_text(dict(zip(points.counters, slope, strict=True)))
    assumed = (*found.assumptions, *_no_overflow(found, chain, points.steps, slope, front))
    inner = points.counters[stays]
    remark = f"`{name}` is the wavefront `{front}`; the loop `{inner}` inside it can run in parallel."
    return Edited((made,), assumed, (remark,))


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
