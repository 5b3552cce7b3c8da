"""Loops that are restructured, or get a directive, under a check for overlap compute the same wherever their
arrays lie: apart, side by side, or over each other."""

from __future__ import annotations

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import ActionName, Ask, Edited, applied
from tests.codegen.editing import outputs

SMALL = Settings(parallel_threshold=0, tile_sizes=(3, 4, 5))

# The functions work on arrays of `N` by `N` elements that begin anywhere in one buffer.
KERNELS = {
    "a product": """void kernel(int n, double (*c)[n], double (*a)[n], double (*b)[n]) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                c[i][j] += a[i][k] * b[k][j];
}""",
    "a product of flat arrays": """void kernel(int n, double *c, const double *a, const double *b) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
}""",
    "several nests and a variable": """void kernel(int n, double c[n][n], double a[n][n], double b[n][n]) {
    int i, j, k;
    double sum;

    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            b[i][j] = 0.5 * a[i][j];
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            sum = 0.0;
            for (k = 0; k < n; k++)
                sum += a[i][k] * b[j][k];
            c[i][j] = sum;
        }
}""",
    "columns": """void kernel(int n, double c[n][n], double a[n][n], double *b) {
    double *x = c[0];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x[i] += a[j][i] * b[j];
}""",
    "time steps": """void kernel(int n, double c[n][n], double a[n][n], double b[n][n]) {
    for (int t = 0; t < 4; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                c[i][j] = 0.2 * (a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]) + b[0][0];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = 0.2 * (c[i][j] + c[i - 1][j] + c[i + 1][j] + c[i][j - 1] + c[i][j + 1]);
    }
}""",
    "rows that one condition bounds": """void kernel(int n, double c[n][n], double a[n][n], double b[n][n]) {
    for (int t = 0; t < 4; t++) {
        for (int j = 0; j < n; j++)
            a[0][j] = b[0][t];
        for (int i = 1; i < n; i++)
            for (int j = 0; j < n; j++)
                a[i][j] = a[i][j] - 0.5 * (c[i][j] - c[i - 1][j]);
        for (int i = 0; i < n - 1; i++)
            for (int j = 0; j < n - 1; j++)
                c[i][j] = c[i][j] - 0.7 * (a[i + 1][j] - a[i][j]);
    }
}""",
    "sums of a row": """void kernel(int n, double c[n][n], double a[n][n], double *b) {
    double *x = c[0], *y = c[n - 1];
    for (int i = 0; i < n; i++) {
        x[i] = 0.0;
        for (int j = 0; j < n; j++)
            x[i] += a[i][j] * b[j];
        y[i] = x[i] - y[i];
    }
}""",
    "sums of columns": """void kernel(int n, double c[n][n], double *a, double *b) {
    double *x = c[0];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x[j] += a[i] * b[j];
}""",
}

MAIN = """
#include <stdio.h>
#define N 11
static double buffer[9 * N * N];
int main(void)
{
    static const int starts[][3] = {
        {0, N * N, 2 * N * N}, {2 * N * N, N * N, 0}, {0, 0, 0}, {0, N * N, N * N}, {N * N, 0, N * N},
        {1, 0, 3 * N * N}, {0, 1, 3 * N * N}, {N, 0, 3 * N * N}, {0, 3 * N * N, N * N - 1},
        {3 * N * N, 0, 2 * N * N + 1}, {2 * N, 3 * N, N}, {N * N - N, 0, 4 * N * N},
    };
    for (int n = 1; n <= N; n += 5)
        for (unsigned s = 0; s < sizeof starts / sizeof *starts; s++) {
            for (int k = 0; k < 9 * N * N; k++)
                buffer[k] = (k * 37 % 101) / 64.0 - 0.5;
            double *first = buffer + starts[s][0], *second = buffer + starts[s][1];
            kernel(n, (void *)first, (void *)second, (void *)(buffer + starts[s][2]));
            double sum = 0.0;
            for (int k = 0; k < 9 * N * N; k++)
                sum += buffer[k] * (k % 97 + 1);
            printf("%d %u %.17g\\n", n, s, sum);
        }
}
"""


def edited(kernel: str, action: ActionName = "restructure") -> Edited:
    (placed,) = analyse("f.c", kernel, SMALL, schedules=False).functions
    answer = edit("f.c", kernel, SMALL, Ask(action, "kernel", placed.start, 1))
    assert isinstance(answer, Edited), answer
    return answer


@pytest.mark.parametrize("beside", ["b[0][0] += 1.0;", "/* counts */ int count = 0;"])
def test_code_on_the_line_of_a_loop_is_not_repeated(beside: str) -> None:
    kernel = KERNELS["a product"].replace("    for (int i", f"    {beside} for (int i", 1)
    assert applied(kernel, edited(kernel).replacements).count(beside) == 1


@pytest.mark.usefixtures("gcc")
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_arrays_of_restructured_loops_may_lie_anywhere(kernel: str) -> None:
    after = compared(kernel, edited(kernel))
    assert "} else {" in after


CHECKED = {
    "a product": False,
    "a product of flat arrays": False,
    "several nests and a variable": False,
    "columns": False,
    "sums of a row": False,
    "sums of columns": True,
}
"""Kernels whose first loop gets a directive under a check; true where each thread has a copy of an array, so
that there are two versions."""


@pytest.mark.usefixtures("gcc")
@pytest.mark.parametrize(("name", "twice"), CHECKED.items(), ids=CHECKED)
def test_arrays_of_loops_with_a_directive_may_lie_anywhere(name: str, twice: bool) -> None:
    after = compared(KERNELS[name], edited(KERNELS[name], "overlap-check"))
    assert ("} else {" in after) is twice


def compared(kernel: str, answer: Edited) -> str:
    """The kernel after an edit, which computes the same."""
    assert not answer.assumptions
    after = applied(kernel, answer.replacements)
    texts = [f"{kernel}\n{MAIN}", f"{after}\n{MAIN}"]
    before, found = outputs(texts, "-fopenmp", "-fsanitize=undefined", threads=(1, 3))
    assert len(before[0].splitlines()) == 36
    assert found == before, after
    return after
