"""Display of loops over `prange` in an editor: the access, the iterations, and Numba's result."""

from __future__ import annotations

import pytest

from polylsp.core.settings import Settings
from polylsp.core.text import Source
from polylsp.engine.queries import analyse
from polylsp.ide.hover import hover

PROGRAM = """
from numba import njit, prange


@njit(parallel=True)
def race(a):
    for i in prange(1, a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[i - 1, j]


@njit(parallel=True)
def elements(A, y):
    for k in prange(A.shape[0]):
        for j in range(A.shape[1]):
            y[j] += A[k, j]


@njit(parallel=True)
def sums(a):
    s = 0.0
    for m in prange(a.shape[0]):
        x = a[m] * 2
        s += x
    return s


@njit(parallel=True)
def scattered(a, at):
    for n in prange(a.shape[0]):
        a[at[n]] = a[n]


@njit(parallel=True)
def some(a, b):
    for q in prange(a.shape[0]):
        if b[q] > 0:
            a[0] = b[q]


def plain(a):
    for p in range(a.shape[0]):
        a[p] = 0
"""


def sentences(iterator: str) -> list[str]:
    """The first sentences of the hover on a loop."""
    source = Source(PROGRAM)
    report = analyse("p.py", PROGRAM, Settings(), schedules=False)
    found = hover(source, report, PROGRAM.index(f"for {iterator} in") + 4)
    assert found is not None
    return found.plain.split("\n\n")[:2]


def test_a_race_names_the_loop_the_access_and_two_iterations() -> None:
    first, second = sentences("i")
    assert first.startswith("prange lets iterations of i run at once, but a[i - 1, j] on line 9 reads what")
    assert "(for example (i, j) = (1, 0) writes a[1, 0], (2, 0) reads it)" in first
    assert second.startswith("i cannot run in parallel")


def test_a_loop_that_is_parallel_as_a_reduction_may_race_over_prange() -> None:
    first, second = sentences("k")
    assert "y[j] on line 16 reads what y[j] += … on line 16 wrote one iteration earlier" in first
    assert second.startswith("k can run in parallel as a + reduction of the elements of y")


@pytest.mark.parametrize(
    ("iterator", "told"),
    [
        (
            "m",
            "which is proven safe if a is an array of float64: each has its own x and Numba combines what "
            "threads find for s.",
        ),
        ("n", "on line 31 if at has repeated values: use range unless that cannot be."),
        ("q", "in parallel without a check that this is safe."),
    ],
)
def test_what_numba_does_without_saying_so(iterator: str, told: str) -> None:
    assert sentences(iterator)[0].endswith(told)


def test_nothing_of_that_where_numba_runs_nothing() -> None:
    assert sentences("p")[0].startswith("p can run in parallel")
