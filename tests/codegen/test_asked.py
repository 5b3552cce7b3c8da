"""Requests for kernels are declined when they take too long to find, with the alternatives."""

from __future__ import annotations

import islpy as isl
import pytest

from polylsp.core.settings import Settings
from polylsp.edits.answer import asked
from polylsp.engine import queries
from polylsp.engine.queries import subject_of
from polylsp.model.action import Ask, Declined, Edited
from polylsp.poly.budget import Exhausted
from polylsp.targets.gpu import alternatives, schedule_choice

USUAL = Settings(offload_threshold=0)
FEW = Settings(offload_threshold=0, max_operations=60_000)
PRODUCT = """\
void f(int n, double c[n][n], double a[n][n], double b[n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                c[i][j] += a[i][k] * b[k][j];
}
"""
PYTHON = """\
def f(n: int, c: "float64[:, :]", a: "float64[:, :]", b: "float64[:, :]"):
    for i in range(n):
        for j in range(n):
            for k in range(n):
                c[i, j] += a[i, k] * b[k, j]
"""
SWEEPS = """\
void f(int n, double a[restrict n][n])
{
    for (int t = 0; t < n; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = (a[i - 1][j] + a[i][j - 1] + a[i][j] + a[i][j + 1] + a[i + 1][j]) / 5;
}
"""


ROWS = """\
void f(int n, double a[restrict n][n], double b[restrict n][n])
{
    double row[n];
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            row[j] = 2 * a[i][j];
        for (int j = 1; j < n; j++)
            b[i][j] = row[j - 1];
    }
}
"""


def answered(text: str, ask: Ask, settings: Settings, path: str = "a.c") -> Edited | Declined:
    subject = subject_of(path, text, USUAL, "f", ask.starts)
    assert subject is not None
    return asked(subject, ask, settings, lambda _: None)


def test_kernels_that_take_too_long_are_declined_with_what_runs_there_instead() -> None:
    found = answered(PRODUCT, Ask("cuda", "f", 0, 1), FEW)
    assert found == Declined(
        "An order of the loop `i` in line 3 for a GPU takes too long to find:"
        " OpenMP offloading (`openmp-target`) can run it in parallel instead."
    )
    assert isinstance(answered(PRODUCT, Ask("openmp-target", "f", 0, 1), USUAL), Edited)
    assert isinstance(answered(PRODUCT, Ask("cuda", "f", 0, 1), USUAL), Edited)


def test_nothing_is_promised_that_cannot_be_had_either() -> None:
    found = answered(SWEEPS, Ask("cuda", "f", 0, 1), FEW)
    assert isinstance(found, Declined)
    assert found.reason.endswith("split it into smaller ones, or raise `polylsp.max_operations`.")


def test_the_loops_of_a_function_are_named_by_it() -> None:
    found = answered(PRODUCT, Ask("cuda", "f", 0, 0), FEW)
    assert isinstance(found, Declined) and "of the loops of `f` for a GPU" in found.reason


def test_in_python_numba_runs_them_instead() -> None:
    found = answered(PYTHON, Ask("pycuda", "f", 0, 1), FEW, "a.py")
    assert isinstance(found, Declined) and "Numba (`numba`) can run it" in found.reason
    assert isinstance(answered(PYTHON, Ask("pycuda", "f", 0, 1), USUAL, "a.py"), Edited)


def test_a_better_order_that_takes_too_long_costs_nothing_but_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def exhausted(operations: int, _work: object) -> Exhausted:
        tried.append(operations)
        return Exhausted()

    best = answered(ROWS, Ask("cuda", "f", 0, 1), USUAL)
    monkeypatch.setattr(schedule_choice, "budgeted", exhausted)
    first = answered(ROWS, Ask("cuda", "f", 0, 1), USUAL)
    assert isinstance(best, Edited) and isinstance(first, Edited)
    assert tried and first.created != best.created


@pytest.mark.parametrize("strategies", [1, 3])
def test_where_isl_gives_up_another_strategy_is_asked(
    monkeypatch: pytest.MonkeyPatch, strategies: int
) -> None:
    computed, asked_for = alternatives.computed, list[object]()

    def giving_up(constraints: isl.ScheduleConstraints) -> isl.Schedule | None:
        asked_for.append(constraints)
        if len(asked_for) <= 2 * strategies:  # Each is queried twice.
            raise isl.Error("call failed: too many schedule rows in isl_scheduler.c:2984")
        return computed(constraints)

    monkeypatch.setattr(alternatives, "computed", giving_up)
    found = answered(PRODUCT, Ask("cuda", "f", 0, 1), USUAL)
    assert isinstance(found, Edited)
    # After three strategies the source's own order is left.
    assert (len(asked_for) > 2 * strategies) == (strategies == 1)


def test_the_limit_holds_for_who_asks_by_name() -> None:
    few = Settings(offload_threshold=0, max_operations=60_000)
    heavy = "double " + ", ".join(f"a{k}[n][n]" for k in range(3))
    body = "\n".join(
        f"    for (int i = 2; i < n - 2; i++) for (int j = 2; j < n - 2; j++)"
        f" a{k % 3}[i][j] = a{(k + 1) % 3}[i - {k % 2}][j + 1] + a{(k + 2) % 3}[i + 1][j - {k % 3}];"
        for k in range(8)
    )
    parameters = ", ".join(f"double {each}" for each in heavy.removeprefix("double ").split(", "))
    text = f"void f(int n, {parameters})\n{{\n    for (int t = 0; t < 100; t++) {{\n{body}\n    }}\n}}\n"
    found = queries.edit("a.c", text, few, Ask("cuda", "f", 0, 1))
    assert isinstance(found, Declined) and "takes too long to find" in found.reason
