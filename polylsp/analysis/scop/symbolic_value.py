"""Symbolic integers and conditions on them, and their notation in isl.

A value is a polynomial over symbols (iterators, parameters) and quasi-affine atoms (floor division,
minimum, maximum, choice). isl wants affine expressions; the polynomial preserves `i*n + j` until it
is delinearised, and equal values are recognised by comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Union

import islpy as isl

from polylsp.core.query import digest


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named integer."""

    name: str


@dataclass(frozen=True, slots=True)
class FloorDiv:
    """`floor(dividend / divisor)`, the divisor positive."""

    dividend: Poly
    divisor: int


@dataclass(frozen=True, slots=True)
class Extremum:
    """The smaller or the larger of two values."""

    kind: Literal["min", "max"]
    left: Poly
    right: Poly


@dataclass(frozen=True, slots=True)
class Choice:
    """`then` where `condition` holds, else `otherwise`."""

    condition: Condition
    then: Poly
    otherwise: Poly


class NotAffineError(Exception):
    """A polynomial has a product of symbols that are not all parameters, or is too large."""


_MOST_TERMS = 400
_MOST_FACTORS = 8
_MOST_BITS = 1000

Atom = Union[Symbol, FloorDiv, Extremum, Choice]
Monomial = tuple[Atom, ...]


@dataclass(frozen=True)
class Poly:
    """A polynomial with integer coefficients: (monomial, coefficient) pairs in a fixed order."""

    terms: tuple[tuple[Monomial, int], ...]

    @staticmethod
    def of(terms: Mapping[Monomial, int]) -> Poly:
        """The polynomial with these terms; zero coefficients are dropped."""
        kept = [term for term in terms.items() if term[1]]
        if len(kept) > 1:
            kept.sort(key=_term_order)
        return Poly(tuple(kept))

    @staticmethod
    def constant(value: int) -> Poly:
        """The polynomial that is `value` everywhere."""
        return Poly((((), value),)) if value else Poly(())

    @staticmethod
    def atom(atom: Atom) -> Poly:
        """The polynomial that is one atom."""
        return Poly((((atom,), 1),))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.terms)

    def __repr__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        """The value spelled out, which orders terms; values share parts, and each is spelled once."""
        return f"Poly(terms={self.terms!r})"

    def __add__(self, other: Poly | int) -> Poly:
        more = _lift(other)
        if not more.terms:
            return self
        if not self.terms:
            return more
        terms = dict(self.terms)
        for monomial, coefficient in more.terms:
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return Poly.of(terms)

    def __neg__(self) -> Poly:
        return Poly(tuple((m, -c) for m, c in self.terms))

    def __sub__(self, other: Poly | int) -> Poly:
        return self + -_lift(other)

    def __mul__(self, other: Poly | int) -> Poly:
        """The product. Raises NotAffineError where it gets out of hand."""
        factor = _lift(other)
        if len(self.terms) * len(factor.terms) > _MOST_TERMS or self.degree + factor.degree > _MOST_FACTORS:
            raise NotAffineError
        if self.bits + factor.bits > _MOST_BITS:
            raise NotAffineError
        for one, other in ((self, factor), (factor, self)):
            if (constant := one.as_constant) is not None:
                return Poly(tuple((m, c * constant) for m, c in other.terms)) if constant else ZERO
        terms: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in factor.terms:
                monomial = tuple(sorted(left + right, key=_atom_order))
                terms[monomial] = terms.get(monomial, 0) + a * b
        return Poly.of(terms)

    @property
    def as_constant(self) -> int | None:
        """The value, where it is the same everywhere."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and self.terms[0][0] == ():
            return self.terms[0][1]
        return None

    @property
    def degree(self) -> int:
        """The most factors that a term has."""
        return max((len(m) for m, _ in self.terms), default=0)

    @property
    def bits(self) -> int:
        """Number of bits of the largest coefficient."""
        return max((c.bit_length() for _, c in self.terms), default=0)

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The names of all symbols, inside atoms too."""
        return frozenset(name for monomial, _ in self.terms for atom in monomial for name in _symbols(atom))

    @cached_property
    def cases(self) -> int:
        """The number of choices and extrema, with those inside of others counted wherever they are used: isl
        splits their operands into so many parts or more."""
        return sum(_cases(atom) for monomial, _ in self.terms for atom in monomial)

    def coefficient(self, symbol: str) -> int:
        """The coefficient of the linear term of `symbol`."""
        return dict(self.terms).get((Symbol(symbol),), 0)

    def substitute(self, values: Mapping[str, Poly]) -> Poly:
        """With symbols replaced by values, at once."""
        if self.symbols.isdisjoint(values):
            return self
        total = Poly.constant(0)
        for monomial, coefficient in self.terms:
            product = Poly.constant(coefficient)
            for atom in monomial:
                product = product * _substitute(atom, values)
            total = total + product
        return total


ZERO = Poly.constant(0)
ONE = Poly.constant(1)


# --- Conditions --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Compare:
    """`value >= 0`, `value == 0` or `value != 0`."""

    operator: Literal[">=", "==", "!="]
    value: Poly


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part holds; no parts: true."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Some part holds; no parts: false."""

    parts: tuple[Condition, ...]


Condition = Union[Compare, AllOf, AnyOf]

TRUE = AllOf(())
FALSE = AnyOf(())


def negate(condition: Condition) -> Condition:
    """The opposite condition."""
    match condition:
        case Compare(">=", value):
            return Compare(">=", -value - 1)
        case Compare("==", value):
            return Compare("!=", value)
        case Compare(_, value):
            return Compare("==", value)
        case AllOf(parts):
            return AnyOf(tuple(negate(p) for p in parts))
        case AnyOf(parts):
            return AllOf(tuple(negate(p) for p in parts))


def conditions_of(condition: Condition) -> Iterator[Compare]:
    """Every comparison in a condition."""
    match condition:
        case Compare():
            yield condition
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from conditions_of(part)


def condition_symbols(condition: Condition) -> frozenset[str]:
    """The names of all symbols in a condition."""
    return frozenset(name for c in conditions_of(condition) for name in c.value.symbols)


def condition_cases(condition: Condition) -> int:
    """The cases of all values in a condition."""
    return sum(each.value.cases for each in conditions_of(condition))


def substitute_condition(condition: Condition, values: Mapping[str, Poly]) -> Condition:
    """With symbols replaced by values, at once."""
    match condition:
        case Compare(operator, value):
            return Compare(operator, value.substitute(values))
        case AllOf(parts):
            return AllOf(tuple(substitute_condition(p, values) for p in parts))
        case AnyOf(parts):
            return AnyOf(tuple(substitute_condition(p, values) for p in parts))


# --- Building ----------------------------------------------------------------------------


def floor_div(dividend: Poly, divisor: int) -> Poly:
    """`floor(dividend / divisor)` for a positive divisor, simplified where it is exact."""
    if divisor == 1:
        return dividend
    whole = Poly(tuple((m, c // divisor) for m, c in dividend.terms if c % divisor == 0))
    rest = Poly(tuple((m, c) for m, c in dividend.terms if c % divisor))
    value = rest.as_constant
    if value is not None:
        return whole + value // divisor
    return whole + Poly.atom(FloorDiv(rest, divisor))


def remainder(dividend: Poly, divisor: int) -> Poly:
    """Rest that `floor_div` leaves: from 0 on, and below the divisor."""
    return dividend - floor_div(dividend, divisor) * divisor


def extremum(kind: Literal["min", "max"], left: Poly, right: Poly) -> Poly:
    """The smaller or larger value, simplified where the difference is constant."""
    difference = (left - right).as_constant
    if difference is not None:
        return left if (difference <= 0) == (kind == "min") else right
    return Poly.atom(Extremum(kind, left, right))


def choice(condition: Condition, then: Poly, otherwise: Poly) -> Poly:
    """Value selected by a condition; `a < b ? a : b` is the smaller one."""
    if then == otherwise or condition == TRUE:
        return then
    if condition == FALSE:
        return otherwise
    if isinstance(condition, Compare) and condition.operator == ">=":
        more = otherwise - then
        if condition.value in (more, more - 1):
            return extremum("min", then, otherwise)
        if condition.value in (-more, -more - 1):
            return extremum("max", then, otherwise)
    return _of_chosen_part(condition, then, otherwise) or Poly.atom(Choice(condition, then, otherwise))


def _of_chosen_part(condition: Condition, then: Poly, otherwise: Poly) -> Poly | None:
    """`max(max(a, b), c)` for `a > b ? max(a, c) : max(b, c)`, which code for the larger of three values
    spells, and the like: a choice of two extremes with a common operand (`None` for others). isl needs no
    union for it."""
    for kind, part, common in _extremes(then):
        for other_kind, other, beside in _extremes(otherwise):
            chosen = choice(condition, part, other) if (kind, common) == (other_kind, beside) else None
            if chosen is not None and not _chooses(chosen):
                return extremum(kind, chosen, common)
    return None


def _extremes(value: Poly) -> Iterator[tuple[Literal["min", "max"], Poly, Poly]]:
    """The two operands of a value that is an extremum, either first."""
    match value.terms:
        case (((Extremum(kind, left, right),), 1),):
            yield kind, left, right
            yield kind, right, left
        case _:
            pass


def _chooses(value: Poly) -> bool:
    return any(isinstance(atom, Choice) for monomial, _ in value.terms for atom in monomial)


def modulo(value: Poly, size: int) -> Poly:
    """A value that is equal modulo `size`, with the least coefficients, and without the choices and
    remainders that wrapped its parts around at that size."""
    half = size >> 1
    found = ZERO
    for monomial, coefficient in value.terms:
        least = (coefficient + half) % size - half
        match monomial:
            case (Choice(condition, then, otherwise),) if least:
                part = choice(condition, modulo(then, size), modulo(otherwise, size))
            case _:
                part = Poly.of({monomial: 1})
        found += part * least
    return found


def is_affine(value: Poly, iterators: frozenset[str]) -> bool:
    """True if isl can represent the value: no product has an iterator in it."""
    return all(_affine_term(monomial, iterators) for monomial, _ in value.terms)


def _affine_term(monomial: Monomial, iterators: frozenset[str]) -> bool:
    if len(monomial) > 1:
        return all(_symbols(each).isdisjoint(iterators) for each in monomial)
    match monomial:
        case (FloorDiv(dividend, _),):
            return is_affine(dividend, iterators)
        case (Extremum(_, left, right),):
            return is_affine(left, iterators) and is_affine(right, iterators)
        case (Choice(condition, then, otherwise),):
            tested = all(is_affine(c.value, iterators) for c in conditions_of(condition))
            return tested and is_affine(then, iterators) and is_affine(otherwise, iterators)
        case _:
            return True


def _lift(value: Poly | int) -> Poly:
    return value if isinstance(value, Poly) else Poly.constant(value)


def _atom_order(atom: Atom) -> str:
    return atom.name if isinstance(atom, Symbol) else "~" + repr(atom)


def _term_order(term: tuple[Monomial, int]) -> tuple[int, tuple[str, ...]]:
    """Terms of fewer factors first, then by the names of these."""
    monomial = term[0]
    return len(monomial), tuple(map(_atom_order, monomial))


def _symbols(atom: Atom) -> frozenset[str]:
    match atom:
        case Symbol(name):
            return frozenset((name,))
        case FloorDiv(dividend, _):
            return dividend.symbols
        case Extremum(_, left, right):
            return left.symbols | right.symbols
        case Choice(condition, then, otherwise):
            return condition_symbols(condition) | then.symbols | otherwise.symbols


def _cases(atom: Atom) -> int:
    match atom:
        case Symbol():
            return 0
        case FloorDiv(dividend, _):
            return dividend.cases
        case Extremum(_, left, right):
            return 1 + left.cases + right.cases
        case Choice(condition, then, otherwise):
            return 1 + condition_cases(condition) + then.cases + otherwise.cases


def _substitute(atom: Atom, values: Mapping[str, Poly]) -> Poly:
    match atom:
        case Symbol(name):
            return values.get(name, Poly.atom(atom))
        case FloorDiv(dividend, divisor):
            return floor_div(dividend.substitute(values), divisor)
        case Extremum(kind, left, right):
            return extremum(kind, left.substitute(values), right.substitute(values))
        case Choice(condition, then, otherwise):
            return choice(
                substitute_condition(condition, values), then.substitute(values), otherwise.substitute(values)
            )


# --------------------------------------------------------------------------------------------------
# Values and conditions as isl reads them, and isl's sums as values.
# --------------------------------------------------------------------------------------------------


@dataclass
class Notation:
    """Writes values and conditions in isl's notation.

    `dimensions` are the iterators in scope. Every other symbol is a parameter; a product of parameters
    becomes another parameter, named after its factors, and so does one of other values that no iterator
    changes (`x * (n / 2)`): these are in `composed`.
    """

    dimensions: frozenset[str]
    parameters: set[str] = field(default_factory=set)
    products: dict[str, tuple[str, ...]] = field(default_factory=dict)
    composed: dict[str, Monomial] = field(default_factory=dict)
    _fresh: int = 0

    def affine(self, value: Poly, aside: list[str], bound: list[str]) -> str:
        """`value` as text. Constraints that define atoms go to `aside`, over names in `bound`."""
        parts = [self._term(m, c, aside, bound) for m, c in value.terms]
        return " + ".join(parts) if parts else "0"

    def condition(self, condition: Condition) -> str:
        """A condition as a formula."""
        match condition:
            case Compare(operator, value):
                return self._compare(operator, value)
            case AllOf(parts):
                return "(" + " and ".join(self.condition(p) for p in parts) + ")" if parts else "true"
            case AnyOf(parts):
                return "(" + " or ".join(self.condition(p) for p in parts) + ")" if parts else "false"

    def equals(self, name: str, value: Poly) -> str:
        """The formula `name = value`."""
        return self._formula(value, lambda text: f"{name} = {text}")

    def _compare(self, operator: str, value: Poly) -> str:
        both = _least_of(value) if operator == ">=" else None
        if both is not None:
            # Two constraints, where isl would cut what `min` is in into two sets.
            return f"({' and '.join(self._compare(operator, each) for each in both)})"
        sign = "=" if operator == "==" else operator
        return self._formula(value, lambda text: f"{text} {sign} 0")

    def _formula(self, value: Poly, write: Callable[[str], str]) -> str:
        aside: list[str] = []
        bound: list[str] = []
        text = write(self.affine(value, aside, bound))
        if not aside:
            return f"({text})"
        return f"(exists {', '.join(bound)}: {' and '.join([*aside, text])})"

    def _term(self, monomial: Monomial, coefficient: int, aside: list[str], bound: list[str]) -> str:
        if not monomial:
            return f"{coefficient}"
        if len(monomial) == 1:
            return f"{coefficient}*{self._atom(monomial[0], aside, bound)}"
        return f"{coefficient}*{self._product(monomial)}"

    def _product(self, monomial: Monomial) -> str:
        if not all(self.dimensions.isdisjoint(_symbols(each)) for each in monomial):
            raise NotAffineError
        names = tuple(each.name for each in monomial if isinstance(each, Symbol))
        if len(names) == len(monomial):
            name = "_x_".join(names)
            self.products[name] = names
        else:
            name = f"product_{digest(monomial)}"
            self.composed[name] = monomial
        self.parameters.add(name)
        return name

    def _atom(self, atom: Atom, aside: list[str], bound: list[str]) -> str:
        match atom:
            case Symbol(name):
                if name not in self.dimensions:
                    self.parameters.add(name)
                return name
            case FloorDiv(dividend, divisor):
                return f"floor(({self.affine(dividend, aside, bound)})/{divisor})"
            case Extremum(kind, left, right):
                return f"{kind}({self.affine(left, aside, bound)}, {self.affine(right, aside, bound)})"
            case Choice(condition, then, otherwise):
                return self._choice(condition, then, otherwise, aside, bound)

    def _choice(
        self, condition: Condition, then: Poly, otherwise: Poly, aside: list[str], bound: list[str]
    ) -> str:
        self._fresh += 1
        name = f"e{self._fresh}_"
        bound.append(name)
        yes, no = self.condition(condition), self.condition(negate(condition))
        aside.append(f"(({yes} and {self.equals(name, then)}) or ({no} and {self.equals(name, otherwise)}))")
        return name


def _least_of(value: Poly) -> tuple[Poly, Poly] | None:
    """Two values of which this is the smaller one: `n - i` and `m - i` of `min(n, m) - i`."""
    for monomial, coefficient in value.terms:
        match monomial:
            case (Extremum(kind, left, right),) if (kind == "min") == (coefficient > 0):
                rest = value - Poly.of({monomial: coefficient})
                return rest + left * coefficient, rest + right * coefficient
            case _:
                pass
    return None


def polynomial(value: isl.Aff) -> Poly | None:
    """A sum of parameters as a polynomial; `None` where there is a division in it."""
    divisions = range(value.dim(isl.dim_type.div))
    if any(not value.get_coefficient_val(isl.dim_type.div, k).is_zero() for k in divisions):
        return None
    result = Poly.constant(int(str(value.get_constant_val())))
    for k in range(value.dim(isl.dim_type.param)):
        factor = int(str(value.get_coefficient_val(isl.dim_type.param, k)))
        result = result + Poly.atom(Symbol(value.get_dim_name(isl.dim_type.param, k) or "")) * factor
    return result
