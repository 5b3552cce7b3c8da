"""Elements are counted in an `int`, or with more bits where there are too many of them."""

from __future__ import annotations

import pytest

from polylsp.core.settings import Settings

from .device import Device, Program, offloaded

SETTINGS = Settings(offload_threshold=0, cuda_slabs=False)
MAIN = """
#include <stdio.h>
{function}
static double a[40][23], b[23][40], c[40][23][5];
static unsigned u[40];
int main(void)
{{
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < 23; j++) {{
            a[i][j] = i % 7 - j % 3 + 0.5; b[j][i] = i * j % 11 - 4; u[i] = i * 3u;
            for (int k = 0; k < 5; k++) c[i][j][k] = i + j - k;
        }}
    f(40, 23, 5, a, b, c, u);
    double s = 0;
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < 23; j++)
            s = 0.75 * s + a[i][j] + 3 * b[j][i] + c[i][j][j % 5] + u[i], printf("%.9e\\n", s);
    return 0;
}}
"""
HEAD = """static void f(int n, int m, int l, double a[restrict n][m], double b[restrict m][n],
              double c[restrict n][m][l], unsigned u[restrict n])
"""
GUARD = "> INT_MAX)\n        return cudaErrorInvalidValue;"

COUNTED = {
    "rows": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i][j] += b[j][i];",
        ("Index n, Index m,", "const bool many = (long long)n * m > INT_MAX", "kernel0<Index><<<"),
        (GUARD,),
    ),
    "planes": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k < l; k++)"
        " c[i][j][k] *= a[i][j];",
        ("Index m,", "c[(i * m + j) * l + k]", "(long long)n * m * l > INT_MAX"),
        (GUARD, "Index l"),
    ),
    "a size without sign, and one that is computed with": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i][j] += u[i] / (3u + m);",
        ("int m,", GUARD),
        ("Index",),
    ),
    "a row in each launch": (
        "for (int i = 1; i < n; i++) for (int j = 0; j < m; j++) a[i][j] += a[i - 1][m - 1 - j];",
        ("Index m,",),
        (GUARD,),
    ),
    "an element to which the host's blocks add": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[l][l - 1] += b[j][i];",
        ("Index n,", "const bool many = (long long)m * n > INT_MAX;", GUARD),
        (),
    ),
}


@pytest.mark.parametrize(("body", "has", "lacks"), COUNTED.values(), ids=COUNTED.keys())
def test_elements_are_counted(
    body: str, has: tuple[str, ...], lacks: tuple[str, ...], program: Program, device: Device
) -> None:
    text = MAIN.format(function=f"{HEAD}{{\n    {body}\n}}\n")
    done = offloaded("a.c", text, SETTINGS, "f")
    assert not done.declined, done.declined
    (created,) = done.files.values()
    for each in has:
        assert each in created, created
    for each in lacks:
        assert each not in created, created
    expected = program.output(program.build(text, {}, "-w"))
    for index, many in (("int", False), ("long long", True)):
        assert device.compiled(created, "sm_80", index) == ""
        built = program.build(done.text, done.files, "-w", many=many)
        assert program.calls(built) > 0
        assert program.output(built) == expected
