"""Values and conditions in isl's notation: no more pieces than there have to be."""

from __future__ import annotations

import islpy as isl
import pytest

from polylsp.analysis.scop.symbolic_value import (
    Choice,
    Compare,
    Extremum,
    Notation,
    Poly,
    Symbol,
    choice,
    extremum,
)

J, N, M = (Poly.atom(Symbol(name)) for name in "jnm")


def holds(value: Poly) -> isl.Set:
    """Set on which a value is not negative."""
    return isl.Set(f"[n, m] -> {{ [j] : {Notation(frozenset('j')).condition(Compare('>=', value))} }}")


@pytest.mark.parametrize(
    ("value", "wanted", "pieces"),
    [
        (extremum("min", N, M) - J, "j <= n and j <= m", 1),
        (J - extremum("max", N, M), "j >= n and j >= m", 1),
        (extremum("min", extremum("min", N, M), N + M) - J, "j <= n and j <= m and j <= n + m", 1),
        (extremum("min", N, M) * 2 - extremum("max", N, J) - 1, "2n > j and n > 0 and 2m > n and 2m > j", 1),
        (extremum("max", N, M) - J, "j <= n or j <= m", 2),
        (J - extremum("min", N, M), "j >= n or j >= m", 2),
    ],
)
def test_a_bound_by_the_smaller_of_two_is_one_set(value: Poly, wanted: str, pieces: int) -> None:
    found = holds(value)
    assert found.is_equal(isl.Set(f"[n, m] -> {{ [j] : {wanted} }}"))
    assert found.n_basic_set() == pieces


@pytest.mark.parametrize(
    ("test", "kind"),
    [(M - N, "min"), (M - N - 1, "min"), (N - M, "max"), (N - M - 1, "max"), (M - N - 2, None), (M, None)],
)
def test_a_choice_of_the_smaller_of_two_is_a_minimum(test: Poly, kind: str | None) -> None:
    ((monomial, _),) = choice(Compare(">=", test), N, M).terms
    (atom,) = monomial
    assert isinstance(atom, Choice) if kind is None else atom == Extremum(kind, N, M)  # type: ignore[arg-type]
