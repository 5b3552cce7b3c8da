"""Delinearisation of subscripts: `a[i*m + j]` is `a[i][j]` with rows of m, while j stays in the row.

The strides are read off the coefficients of the iterators (Grosser, Ramanujam, Pouchet,
Sadayappan, Pop: Optimistic Delinearization of Parametrically Sized Arrays, ICS 2015, section 4).
The split with the fewest assumptions is chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise, product
from itertools import product as cartesian
from math import gcd, prod

import islpy as isl

from polylsp.analysis.scop.paths import RawAccess, RawStatement
from polylsp.analysis.scop.symbolic_value import (
    ONE,
    Atom,
    Compare,
    Monomial,
    NotAffineError,
    Poly,
    Symbol,
    is_affine,
)
from polylsp.analysis.scop.walk_scope import set_of
from polylsp.analysis.scop.walk_state import Parameters, pretty
from polylsp.ir.verdict import Assumption


@dataclass(frozen=True)
class Layout:
    """The strides of an array, largest first; the last one is 1."""

    strides: tuple[Poly, ...]

    @property
    def extents(self) -> tuple[Poly | None, ...]:
        """Extents of all dimensions but the first."""
        return tuple(exact_quotient(a, b) for a, b in pairwise(self.strides))


FLAT = Layout((ONE,))


def layout_of(
    subscripts: Iterable[tuple[Poly, frozenset[str]]], row_length: Poly | None = None
) -> Layout | None:
    """The strides that subscripts (each with the names of its iterators) have in common, with `row_length`
    if there is one; `None` where they do not form a chain."""
    scales: dict[Poly, int] = {row_length: 1} if row_length is not None else {}
    of_rows = set[Poly]()
    for subscript, iterators in subscripts:
        coefficients = _coefficients(subscript, iterators)
        if coefficients is None:
            return None
        has_columns = any(c.as_constant is not None for c in coefficients)
        for coefficient in coefficients:
            if coefficient.as_constant is None:
                size = _content(coefficient)
                primitive = Poly(tuple((m, c // size) for m, c in coefficient.terms))
                if primitive.terms[-1][1] < 0:
                    primitive = -primitive
                scales[primitive] = gcd(scales.get(primitive, 0), size)
                of_rows |= {primitive} if has_columns else set()
    scales = {p: size for p, size in scales.items() if not _is_diagonal(p, of_rows)}
    strides = sorted((p * s for p, s in scales.items()), key=lambda p: -p.degree)
    strides.append(ONE)
    if any(exact_quotient(a, b) is None for a, b in pairwise(strides)):
        return None
    return Layout(tuple(strides))


def fixed_rows(subscripts: Iterable[tuple[Poly, frozenset[str]]]) -> Layout | None:
    """Rows whose length is a number: the common factor of the large coefficients in all subscripts, as in
    `a[j*512 + i]`, where each also steps through its row; `None` where there are none."""
    length = 0
    for subscript, iterators in subscripts:
        coefficients = _coefficients(subscript, iterators)
        numbers = [c.as_constant for c in coefficients or ()]
        sizes = [abs(each) for each in numbers if each is not None]
        # A remainder (`i % 8`) has a large coefficient as well.
        plain = all(isinstance(atom, Symbol) for monomial, _ in subscript.terms for atom in monomial)
        if not plain or len(sizes) < len(numbers) or min(sizes, default=0) >= _SHORTEST_ROW:
            return None
        length = gcd(length, *(each for each in sizes if each >= _SHORTEST_ROW))
    return Layout((Poly.constant(length), ONE)) if length >= _SHORTEST_ROW else None


_SHORTEST_ROW = 8
"""Elements in a row of a length that is a number: shorter ones are as often windows that overlap."""


def length_of_chosen_rows(
    subscripts: Iterable[tuple[Poly, frozenset[str]]], computed: set[str]
) -> Poly | None:
    """The length of rows that parameters choose: `n` of `a[p*n + j]` beside `a[q*n + j]`, the largest common
    factor of all products of parameters; `None` where there is one product, no factor of all, or one that is
    `computed` in the function: outer iterators are no lengths of rows."""
    found = {
        monomial: Counter(monomial)
        for subscript, iterators in subscripts
        for monomial, _ in subscript.terms
        if len(monomial) > 1 and not _varies_in(monomial, iterators)
    }
    if len(found) < 2:
        return None
    length = prod((Poly.atom(a) for a in reduce(Counter.__and__, found.values()).elements()), start=ONE)
    return length if length != ONE and length.symbols.isdisjoint(computed) else None


def common_offset(subscripts: Iterable[tuple[Poly, frozenset[str]]]) -> Poly:
    """The sum of parameters, and of products of them, in all subscripts, each with the names of its
    iterators."""
    common: dict[Monomial, int] | None = None
    for subscript, iterators in subscripts:
        fixed = {m: c for m, c in subscript.terms if m and not _varies_in(m, iterators)}
        common = fixed if common is None else {m: c for m, c in common.items() if fixed.get(m) == c}
    return Poly.of(common or {})


def _is_diagonal(scale: Poly, of_rows: set[Poly]) -> bool:
    """True if a coefficient is the length of a row and a number: `a[i*n + i]` beside `a[i*n + j]`, or
    `a[i*n + n - 1 - i]`."""
    return scale not in of_rows and any((scale - row).as_constant is not None for row in of_rows)


def splits(subscript: Poly, layout: Layout, iterators: frozenset[str]) -> dict[tuple[Poly, ...], bool]:
    """The ways to write a subscript as one per dimension: what has no iterator may count for a stride
    that divides it, or for what is further in; or one stride of it for that, as in `n*n - 1 - (i*n + j)`.
    True for those where, beside a stride that is a number, all strides in a number count: 13 in
    `9*i + j + 13` is 9 + 4."""
    found: dict[tuple[Poly, ...], bool] = {}
    backwards = any(c < 0 and _varies_in(m, iterators) for m, c in subscript.terms)
    ways = ("whole", "none", "but one") if backwards else ("whole", "none")
    plain = [ways for _ in layout.strides[:-1]]
    rounded = [ways if s.as_constant is None else ("rounded",) for s in layout.strides[:-1]]
    for options in (plain, rounded) if rounded != plain else (plain,):
        for takes in product(*options):
            found.setdefault(_split(subscript, layout, iterators, takes), "rounded" in takes)
    return found


def _split(
    subscript: Poly, layout: Layout, iterators: frozenset[str], takes: tuple[str, ...]
) -> tuple[Poly, ...]:
    parts: list[Poly] = []
    varying = Poly(tuple(t for t in subscript.terms if _varies_in(t[0], iterators)))
    fixed = subscript - varying
    for stride, take in zip(layout.strides, takes, strict=False):
        taken, varying = _divide(varying, stride)
        if take != "none":
            more, fixed = _divide(fixed, stride)
            taken = taken + more
        strides = -1 if take == "but one" else 0
        if take == "rounded":
            strides = dict(fixed.terms).get((), 0) // (stride.as_constant or 1)
        parts.append(taken + Poly.constant(strides))
        fixed = fixed - stride * Poly.constant(strides)
    return (*parts, varying + fixed)


def _coefficients(subscript: Poly, iterators: frozenset[str]) -> list[Poly] | None:
    """The coefficient of each iterator; `None` where iterators are multiplied."""
    found: dict[Atom, dict[Monomial, int]] = {}
    for monomial, number in subscript.terms:
        varying = [a for a in monomial if _varies(a, iterators)]
        if len(varying) > 1:
            return None
        if varying:
            rest = Counter(monomial)
            rest.subtract(varying)
            found.setdefault(varying[0], {})[tuple(rest.elements())] = number
    return [Poly.of(terms) for terms in found.values()]


def _divide(value: Poly, divisor: Poly) -> tuple[Poly, Poly]:
    """Quotient and remainder by the leading term of the divisor."""
    lead, scale = divisor.terms[-1]
    quotient, rest, done = Poly.constant(0), value, Poly.constant(0)
    while rest.terms:
        monomial, number = rest.terms[-1]
        left = Counter(monomial)
        left.subtract(lead)
        if number % scale == 0 and all(n >= 0 for n in left.values()):
            part = Poly(((tuple(left.elements()), number // scale),))
            quotient = quotient + part
            rest = rest - part * divisor
        else:
            last = Poly((rest.terms[-1],))
            done, rest = done + last, rest - last
    return quotient, done


def exact_quotient(value: Poly, divisor: Poly) -> Poly | None:
    """The quotient of two polynomials; `None` where there is a remainder."""
    quotient, rest = _divide(value, divisor)
    return None if rest.terms else quotient


def _content(value: Poly) -> int:
    return gcd(*(c for _, c in value.terms))


def _varies_in(monomial: Monomial, iterators: frozenset[str]) -> bool:
    return any(_varies(a, iterators) for a in monomial)


def _varies(atom: Atom, iterators: frozenset[str]) -> bool:
    if isinstance(atom, Symbol):
        return atom.name in iterators
    return not Poly.atom(atom).symbols.isdisjoint(iterators)


# --------------------------------------------------------------------------------------------------
# Delinearisation of accesses: linear subscripts split into one for each dimension of an array, with
# the necessary assumptions.
# --------------------------------------------------------------------------------------------------


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
    inner = {name for s, _ in here for name in s.dimensions[depth:]}
    return len(outer) > 1 or any(not p.symbols.isdisjoint(inner) for o in outer for p in o)


def best_split(
    statement: RawStatement, subscript: Poly, layout: Layout, parameters: Parameters
) -> tuple[tuple[Poly, ...], list[Needed]] | None:
    """The way to write a subscript that takes the fewest assumptions to stay within the rows. Those on parts
    of rounded numbers would ask for more than the rows do."""
    best: tuple[tuple[Poly, ...], list[Needed]] | None = None
    for parts, is_rounded in splits(subscript, layout, frozenset(statement.dimensions)).items():
        needed = _needed(statement, parts, layout, parameters)
        if needed is None or (is_rounded and needed):
            continue
        if best is None or len(needed) < len(best[1]):
            best = (parts, needed)
        if not best[1]:
            break
    return best


def _needed(
    statement: RawStatement, parts: tuple[Poly, ...], layout: Layout, parameters: Parameters
) -> list[Needed] | None:
    """Assumptions that keep the inner subscripts within their dimensions; `None` if no assumption does."""
    names = statement.dimensions
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
    for k, name in enumerate(statement.dimensions):
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
