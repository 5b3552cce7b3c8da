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


SEVEN = Poly.constant(7)


@pytest.mark.parametrize(
    ("test", "then", "otherwise", "wanted", "pieces"),
    [
        (N - M, extremum("max", N, SEVEN), extremum("max", M, SEVEN), "j >= n and j >= m and j >= 7", 1),
        (N - M, extremum("max", SEVEN, N), extremum("max", M, SEVEN), "j >= n and j >= m and j >= 7", 1),
        (M - N, extremum("max", N, SEVEN), extremum("max", M, SEVEN), "j >= 7 and (j >= n or j >= m)", None),
        (M - N, extremum("min", N, SEVEN), extremum("min", M, SEVEN), "j >= n or j >= m or j >= 7", None),
        (M, extremum("max", N, J), extremum("max", M, J), "(m >= 0 and j >= n) or (m < 0 and j >= m)", None),
        (M, extremum("max", N, J), extremum("max", M, N), "j >= n and (m >= 0 or j >= m)", None),
    ],
)
def test_a_choice_of_extremes_with_a_common_part_is_an_extremum(
    test: Poly, then: Poly, otherwise: Poly, wanted: str, pieces: int | None
) -> None:
    found = holds(J - choice(Compare(">=", test), then, otherwise))
    assert found.is_equal(isl.Set(f"[n, m] -> {{ [j] : {wanted} }}"))
    assert pieces is None or found.n_basic_set() == pieces
