"""Bounds of loops whose number of rounds depends on data, as assumptions.

An array that holds up to 64 elements for each cell, of which `count[i]` are in use, is accessed at
`64*i + j`. No two cells share an element while the loop over `j` runs at most 64 times: a reader can
check that, and the analysis cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

import islpy as isl

from polylsp.analysis.scop.delinearisation import exact_quotient
from polylsp.analysis.scop.paths import RawStatement, Region
from polylsp.analysis.scop.symbolic_value import ZERO, Compare, Monomial, NotAffineError, Poly, Symbol
from polylsp.analysis.scop.walk_scope import Frame, set_of
from polylsp.analysis.scop.walk_state import Parameters, pretty
from polylsp.ir.verdict import Assumption

_LEAST = 4
"""The shortest distance, in elements, for which it is assumed that a loop stays within it."""


def bound_trips(region: Region, parameters: Parameters) -> bool:
    """Restrict the iterations of loops without a known bound to those between which the loops around them
    step, and let these loops rest on that; false where there is no such loop."""
    found = False
    for statement in region.statements:
        for depth, frame in enumerate(statement.frames):
            if depth > 0 and _is_unbounded(statement, depth):
                rounds = _rounds(region, frame, depth)
                found = (rounds is not None and _bound(region, frame, rounds, parameters)) or found
    return found


def _stands_in(statement: RawStatement, frame: Frame) -> bool:
    return any(each is frame for each in statement.frames)


def _is_unbounded(statement: RawStatement, depth: int) -> bool:
    """True if nothing limits the iterations of the loop at a depth around a statement."""
    frame = statement.frames[depth]
    domain = statement.domain
    ends = domain.is_empty() or domain.dim_has_upper_bound(isl.dim_type.set, depth)
    return not ends and frame.start is not None and frame.step == 1


def _rounds(region: Region, frame: Frame, depth: int) -> Poly | None:
    """The distance in which the loops around a loop step through arrays along which it goes element by
    element, of which all such distances are multiples; `None` where there is none."""
    found: set[Poly] = set()
    for statement in (s for s in region.statements if _stands_in(s, frame)):
        outer = frozenset(f.dimension for f in statement.frames[:depth])
        for access in statement.accesses:
            for subscript in (s for s in access.path.subscripts if isinstance(s, Poly)):
                if subscript.coefficient(frame.dimension) == 1:
                    found |= {*_distances(subscript, frame, outer)}
    for least in sorted(found, key=lambda each: abs(each.as_constant or 0)):
        constant = least.as_constant
        if all(exact_quotient(each, least) is not None for each in found):
            return least if constant is None or constant >= _LEAST else None
    return None


def _distances(subscript: Poly, frame: Frame, outer: frozenset[str]) -> Iterator[Poly]:
    """The coefficients of the iterators around a loop in the subscript of its first round."""
    assert frame.start is not None
    first = subscript.substitute({frame.dimension: frame.start})
    for name in sorted(outer):
        terms: dict[Monomial, int] = {}
        for monomial, number in first.terms:
            if Symbol(name) in monomial:
                rest = list(monomial)
                rest.remove(Symbol(name))
                terms[tuple(rest)] = number
        distance = Poly.of(terms)
        if distance != ZERO and distance.symbols.isdisjoint(outer):
            constant = distance.as_constant
            yield distance if constant is None else Poly.constant(abs(constant))


def _bound(region: Region, frame: Frame, rounds: Poly, parameters: Parameters) -> bool:
    """Restrict a loop to a number of rounds, if that is affine."""
    assert frame.start is not None
    within = Compare(">=", frame.start + rounds - Poly.atom(Symbol(frame.dimension)) - 1)
    inside = [s for s in region.statements if _stands_in(s, frame)]
    domains: list[isl.Set] = []
    try:
        for statement in inside:
            names = tuple(f.dimension for f in statement.frames)
            domains.append(statement.domain.intersect(set_of(names, within, parameters)))
    except NotAffineError:
        return False
    most = pretty(rounds, parameters)
    sentence = f"the loop over `{frame.shown}` runs at most `{most}` times"
    for statement, domain in zip(inside, domains, strict=True):
        statement.domain = domain
        for around in takewhile(lambda each: each is not frame, statement.frames):
            around.assume(Assumption("other", (frame.shown, most), sentence))
    return True
