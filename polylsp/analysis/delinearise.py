"""Linear subscripts to the dimensions that they stand for: `a[i*m + j]` is `a[i][j]` with rows of
m, as long as j stays within the row.

The strides are read off the coefficients of the iterators (Grosser, Ramanujam, Pouchet,
Sadayappan, Pop: Optimistic Delinearization of Parametrically Sized Arrays, ICS 2015, section 4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise, product
from math import gcd

from polylsp.analysis.value import ONE, Atom, Monomial, Poly, Symbol


@dataclass(frozen=True)
class Layout:
    """The strides of an array, largest first; the last one is 1."""

    strides: tuple[Poly, ...]

    @property
    def extents(self) -> tuple[Poly | None, ...]:
        """Extents of all dimensions but the first."""
        return tuple(_exact(a, b) for a, b in pairwise(self.strides))


FLAT = Layout((ONE,))


def layout_of(subscripts: Iterable[tuple[Poly, frozenset[str]]]) -> Layout | None:
    """The strides that subscripts (each with the names of its iterators) have in common; `None` where
    they do not form a chain."""
    scales: dict[Poly, int] = {}
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
    strides = sorted((p * s for p, s in scales.items()), key=lambda p: -_degree(p))
    strides.append(ONE)
    if any(_exact(a, b) is None for a, b in pairwise(strides)):
        return None
    return Layout(tuple(strides))


def _is_diagonal(scale: Poly, of_rows: set[Poly]) -> bool:
    """True if a coefficient is the length of a row and a number: `a[i*n + i]` beside `a[i*n + j]`, or
    `a[i*n + n - 1 - i]`."""
    return scale not in of_rows and any((scale - row).as_constant is not None for row in of_rows)


def splits(subscript: Poly, layout: Layout, iterators: frozenset[str]) -> list[tuple[Poly, ...]]:
    """The ways to write a subscript as one per dimension: what has no iterator may count for a stride
    that divides it, or for what is further in; or one stride of it for that, as in `n*n - 1 - (i*n + j)`."""
    found: dict[tuple[Poly, ...], None] = {}
    backwards = any(c < 0 and _varies_in(m, iterators) for m, c in subscript.terms)
    ways = ("whole", "none", "but one") if backwards else ("whole", "none")
    for takes in product(ways, repeat=len(layout.strides) - 1):
        found.setdefault(_split(subscript, layout, iterators, takes))
    return list(found)


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
        if take == "but one":
            taken, fixed = taken - ONE, fixed + stride
        parts.append(taken)
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


def _exact(value: Poly, divisor: Poly) -> Poly | None:
    quotient, rest = _divide(value, divisor)
    return None if rest.terms else quotient


def _content(value: Poly) -> int:
    return gcd(*(c for _, c in value.terms))


def _degree(value: Poly) -> int:
    return max((len(m) for m, _ in value.terms), default=0)


def _varies_in(monomial: Monomial, iterators: frozenset[str]) -> bool:
    return any(_varies(a, iterators) for a in monomial)


def _varies(atom: Atom, iterators: frozenset[str]) -> bool:
    if isinstance(atom, Symbol):
        return atom.name in iterators
    return not Poly.atom(atom).symbols.isdisjoint(iterators)
