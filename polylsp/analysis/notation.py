"""Values and conditions as isl reads them, and isl's sums as values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import islpy as isl

from polylsp.analysis.value import (
    AllOf,
    AnyOf,
    Atom,
    Choice,
    Compare,
    Condition,
    Extremum,
    FloorDiv,
    Monomial,
    NotAffineError,
    Poly,
    Symbol,
    negate,
)


@dataclass
class Notation:
    """Writes values and conditions in isl's notation.

    `dimensions` are the iterators in scope. Every other symbol is a parameter; a product of parameters
    becomes another parameter, named after its factors.
    """

    dimensions: frozenset[str]
    parameters: set[str] = field(default_factory=set)
    products: dict[str, tuple[str, ...]] = field(default_factory=dict)
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
        names = [a.name for a in monomial if isinstance(a, Symbol)]
        if len(names) < len(monomial) or not self.dimensions.isdisjoint(names):
            raise NotAffineError
        name = "_x_".join(names)
        self.parameters.add(name)
        self.products[name] = tuple(names)
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
    if value.dim(isl.dim_type.div):
        return None
    result = Poly.constant(int(str(value.get_constant_val())))
    for k in range(value.dim(isl.dim_type.param)):
        factor = int(str(value.get_coefficient_val(isl.dim_type.param, k)))
        result = result + Poly.atom(Symbol(value.get_dim_name(isl.dim_type.param, k) or "")) * factor
    return result
