"""Estimates for absent devices: their derivation, and their presentation."""

from __future__ import annotations

from dataclasses import replace

import pytest
from runtime_plans import Planning

from polylsp.measuring.estimate import DEVICES, estimated
from polylsp.model.measurement import DeviceWork, Plan

STENCIL = """
void f(int steps, int n, double a[restrict n][n], double b[restrict n][n]) {
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                b[i][j] = 0.25 * (a[i][j - 1] + a[i][j + 1] + a[i - 1][j] + a[i + 1][j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = b[i][j];
    }
}
"""
TRIANGLE = """
void f(int n, float a[restrict n][n], const float b[restrict n][n]) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            for (int k = 0; k < n; k++)
                a[i][j] += b[i][k] * b[j][k];
}
"""
RECURRENCE = """
void f(int n, double *restrict x, const double *restrict y) {
    for (int i = 0; i < n; i++) x[i] = y[i];
    for (int i = 1; i < n; i++) x[i] = 0.5 * x[i] + x[i - 1];
}
"""


def planned(plan: object) -> Plan:
    assert isinstance(plan, Plan), plan
    return plan


def test_a_launch_for_each_step_and_what_it_moves(planning: Planning) -> None:
    plan = planned(planning(STENCIL, steps=10, n=102))
    ((_, (first, second)),) = plan.workloads
    moved = 10 * 8 * 2 * 100 * 100
    assert first == DeviceWork(10.0, 100.0 * 100, 10 * 100 * 100 * 4.0, 64, moved, moved)
    assert (second.operations, second.least_bytes) == (0.0, moved)


@pytest.mark.parametrize(
    ("columns", "read"),
    [(100, 32 * 50), (3, 24 * 50), (1, 8 * 50)],
    ids=["a sector for each", "whole rows", "one behind the other"],
)
def test_pieces_of_rows_bring_the_sectors_that_they_are_in(
    planning: Planning, columns: int, read: int
) -> None:
    text = "void f(int n, int m, const double a[restrict n][m], double *restrict b)"
    plan = planned(planning(text + "{ for (int i = 0; i < n; i++) b[i] = a[i][0]; }", n=50, m=columns))
    ((_, (work,)),) = plan.workloads
    assert work.least_bytes == read + 8 * 50


def test_triangles_are_counted_as_such_and_sums_are_no_parallelism(planning: Planning) -> None:
    plan = planned(planning(TRIANGLE, n=200))
    ((_, (work,)),) = plan.workloads
    assert work.parallel == pytest.approx(200 * 200 / 2, rel=0.2) and work.bits == 32
    assert work.operations == pytest.approx(2 * 200 * 200 * 200 / 2, rel=0.2)
    assert work.least_bytes < work.most_bytes


def test_a_box_around_a_diagonal_is_not_what_is_touched(planning: Planning) -> None:
    text = "void f(int n, const double a[restrict n][n], double *restrict b)"
    plan = planned(planning(text + "{ for (int i = 0; i < n; i++) b[i] = a[i][i]; }", n=50))
    ((_, (work,)),) = plan.workloads
    assert work.least_bytes == work.most_bytes == 2 * 8 * 50


def test_launches_are_those_of_the_order_that_kernels_have(planning: Planning) -> None:
    text = """
    void f(int n, int m, double a[n][m]) {
        for (int i = 1; i < n; i++)
            for (int j = 0; j < i; j++)
                for (int k = 0; k < m; k++)
                    a[i][k] = 0.5 * a[i][k] + a[i - 1][k] * a[j][k];
    }"""
    plan = planned(planning(text, n=100, m=8))
    ((_, (work,)),) = plan.workloads
    assert (work.launches, work.parallel) == (1, 8)


LU = """
void f(int n, double a[restrict n][n]) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                a[i][j] -= a[i][k] * a[k][j];
            a[i][j] /= a[j][j];
        }
        for (int j = i; j < n; j++)
            for (int k = 0; k < i; k++)
                a[i][j] -= a[i][k] * a[k][j];
    }
}
"""


def test_a_factorisation_is_launched_for_each_column_not_for_each_element(planning: Planning) -> None:
    plan = planned(planning(LU, n=400))
    ((_, works),) = plan.workloads
    assert max(each.launches for each in works) < 400
    assert max(each.parallel for each in works) > 400 * 400 / 4


def test_threads_share_a_sum(planning: Planning) -> None:
    text = "void f(int n, int m, double a[restrict n][m], double *restrict y)"
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[i] += a[i][j];"
    plan = planned(planning(f"{text} {{ {loops} }}", n=500, m=700))
    ((_, (work,)),) = plan.workloads
    assert work.parallel == 500 * 32 and work.operations == 500 * 700


def test_work_between_two_sizes_grows_as_a_power_does(planning: Planning) -> None:
    plan = planned(planning(TRIANGLE))
    number, known = plan.workloads[2]
    others = tuple(each for each in plan.workloads if each[0] != number)
    seconds = 1.0
    (exact,) = estimated(plan, plan.rungs[number], seconds, "H100")
    (guessed,) = estimated(replace(plan, workloads=others), plan.rungs[number], seconds, "H100")
    assert known and guessed.most == pytest.approx(exact.most, rel=0.2)


def test_loops_without_kernels_have_none(planning: Planning) -> None:
    assert planned(planning(RECURRENCE, n=10**6)).workloads == ()


def test_few_threads_make_a_device_slow(planning: Planning) -> None:
    text = "void f(int n, int m, double *restrict x, double a[restrict n][m])"
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i] = 0.5 * x[i] + a[i][j] * x[i];"
    plan = planned(planning(f"{text} {{ {loops} }}", n=20, m=10**6))
    (found,) = estimated(plan, plan.rungs[0], 0.05, "H100")
    assert found.most < 1


def test_an_estimate_is_a_range_and_transfers_make_it_smaller(planning: Planning) -> None:
    plan = planned(planning(STENCIL, steps=100, n=2000))
    for name in DEVICES:
        (found,) = estimated(plan, plan.rungs[0], 1.0, name)
        assert found.device == name and 1 < found.least < found.most
        assert found.least_moved < found.least and found.most_moved < found.most


@pytest.mark.parametrize("name", ["none", ""])
def test_no_device_no_estimate(planning: Planning, name: str) -> None:
    plan = planned(planning(STENCIL, steps=10, n=100))
    assert estimated(plan, plan.rungs[0], 1.0, name) == ()


def test_data_that_do_not_fit_into_its_memory(planning: Planning) -> None:
    plan = planned(planning(STENCIL, steps=10, n=60_000))
    assert (
        estimated(plan, plan.rungs[0], 1.0, "RTX 4090") == () != estimated(plan, plan.rungs[0], 1.0, "H200")
    )


def test_loops_that_are_not_modelled_have_none(planning: Planning) -> None:
    doubling = "    for (int k = 1; k < n; k *= 2) a[0][k] = 0.0;\n"
    text = STENCIL.replace("    for (int t", f"{doubling}    for (int t")
    plan = planned(planning(text, steps=10, n=100))
    assert plan.workloads == ()


def test_loops_that_do_not_run_have_none(planning: Planning) -> None:
    plan = planned(planning(STENCIL, steps=10, n=0))
    assert plan.workloads and estimated(plan, plan.rungs[0], 1.0, "H100") == ()
