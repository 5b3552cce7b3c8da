"""Delinearisation of accesses: linear subscripts split into one for each dimension of an array, with the
necessary assumptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product as cartesian
from math import prod

import islpy as isl

from polylsp.analysis.delinearise import Layout, splits
from polylsp.analysis.raw import RawAccess, RawStatement
from polylsp.analysis.scope import set_of
from polylsp.analysis.state import Parameters
from polylsp.analysis.value import (
    Compare,
    NotAffineError,
    Poly,
    is_affine,
)
from polylsp.analysis.wording import pretty
from polylsp.model.verdict import Assumption

Needed = tuple[int, Assumption, isl.Set]
"""Assumption that keeps the subscript with this number within its dimension, and the parameter values at
which it fails."""


def rows_meet(
    here: list[tuple[RawStatement, RawAccess]],
    parts: dict[tuple[int, int], tuple[Poly, ...]],
    number: int,
    dimension: int,
    depth: int,
) -> bool:
    """True if accesses in a loop (at `depth`) differ in the subscripts before `dimension`, so that the
    subscripts from there on must stay within their row."""
    outer = {parts[id(a), number][:dimension] for _, a in here}
    inner = {name for s, _ in here for name in iterator_names(s)[depth:]}
    return len(outer) > 1 or any(not p.symbols.isdisjoint(inner) for o in outer for p in o)


def best_split(
    statement: RawStatement, subscript: Poly, layout: Layout, parameters: Parameters
) -> tuple[tuple[Poly, ...], list[Needed]] | None:
    """The way to write a subscript that takes the fewest assumptions to stay within the rows."""
    best: tuple[tuple[Poly, ...], list[Needed]] | None = None
    for parts in splits(subscript, layout, frozenset(iterator_names(statement))):
        needed = _needed(statement, parts, layout, parameters)
        if needed is not None and (best is None or len(needed) < len(best[1])):
            best = (parts, needed)
        if best is not None and not best[1]:
            break
    return best


def _needed(
    statement: RawStatement, parts: tuple[Poly, ...], layout: Layout, parameters: Parameters
) -> list[Needed] | None:
    """Assumptions that keep the inner subscripts within their dimensions; `None` if no assumption does."""
    names = iterator_names(statement)
    if not all(is_affine(p, frozenset(names)) for p in parts):
        return None
    needed: list[Needed] = []
    for k, (part, extent) in enumerate(zip(parts[1:], layout.extents, strict=True), 1):
        if extent is None or not _is_in_proportion(part, extent):
            return None
        for condition, assumption in _bounds(part, extent, parameters):
            try:
                holds = statement.domain.intersect(set_of(names, condition, parameters))
            except NotAffineError:
                return None
            fails = statement.domain.subtract(holds)
            if fails.is_empty():
                continue
            possible = _spread_out(statement, part).subtract(fails.params())
            if possible.is_empty() or consistent(possible, parameters.products) is None:
                return None
            needed.append((k, assumption, fails.params()))
    return needed


def _is_in_proportion(part: Poly, extent: Poly) -> bool:
    """True if products in a subscript step over a divisor of the dimension. Rows of `w` are no rows of `v`:
    `t * w < v` is true for the first row at best."""
    products = [Counter(monomial) for monomial, _ in part.terms if len(monomial) > 1]
    sizes = [Counter(monomial) for monomial, _ in extent.terms]
    return all(any(one - Counter([atom]) <= size for atom in one for size in sizes) for one in products)


def _spread_out(statement: RawStatement, part: Poly) -> isl.Set:
    """The parameter values at which the iterators in a subscript take more than one value; the assumptions
    must be possible at some of them."""
    domain = statement.domain
    result = domain.params()
    for k, name in enumerate(iterator_names(statement)):
        if name in part.symbols:
            pairs = isl.Map.from_domain_and_range(domain, domain)
            result = result.intersect(pairs.order_lt(isl.dim_type.in_, k, isl.dim_type.out, k).params())
    return result


def _bounds(part: Poly, extent: Poly, parameters: Parameters) -> list[tuple[Compare, Assumption]]:
    """Conditions and sentences that a subscript lies within a dimension."""
    inner, size = pretty(part, parameters), pretty(extent, parameters)
    constant = part.as_constant
    below = f"`{inner}` stays below `{size}`"
    if constant is not None and constant >= 0:
        below = f"`{size}` is at least {constant + 1}"
    found = [
        (Compare(">=", part), Assumption("in-bounds", (inner,), f"`{inner}` is not negative")),
        (Compare(">=", extent - part - 1), Assumption("in-bounds", (inner, size), below)),
    ]
    return found[1:] if constant is not None and constant >= 0 else found


def iterator_names(statement: RawStatement) -> tuple[str, ...]:
    """The isl names of the iterators around a statement, outermost first."""
    return tuple(f.dimension for f in statement.frames)


def consistent(values: isl.Set, products: Mapping[str, tuple[str, ...]]) -> isl.Set | None:
    """The part of a set at some small values of the parameters that are multiplied, with the products right;
    `None` where none were found."""
    names = [n or "" for n in values.get_var_names(isl.dim_type.param)]
    multiplied = {n: f for n, f in products.items() if n in names}
    if not multiplied:
        return values
    factors = sorted({f for own in multiplied.values() for f in own})
    if len(factors) > _MOST_FACTORS:
        return None
    for sizes in cartesian((3, 4, 5, 8, 2, 1), repeat=len(factors)):
        known = dict(zip(factors, sizes, strict=True))
        known |= {n: prod(known[f] for f in own) for n, own in multiplied.items()}
        text = " and ".join(f"{n} = {v}" for n, v in known.items())
        chosen = values.intersect_params(isl.Set(f"[{', '.join(known)}] -> {{ : {text} }}"))
        if not chosen.is_empty():
            return chosen
    return None


_MOST_FACTORS = 4
