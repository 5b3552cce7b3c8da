"""Nests drawn at random keep their meaning on a device."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis.strategies import booleans

from tests import extent
from tests.codegen.drawn_sums import sums
from tests.codegen.random_nests import DRAWN
from tests.oracle.drawing import affine_programs
from tests.oracle.nests import Program as Drawn

from .random_nests import trial


@pytest.mark.timeout(600)
@settings(DRAWN, max_examples=extent.drawn(30, 7))
@given(drawn=affine_programs() | sums(), slabs=booleans())
def test_nests_keep_their_meaning(headers: Path, drawn: Drawn | str, slabs: bool) -> None:
    trial(drawn, headers, slabs)


SEVERAL = """#include <stdio.h>
#include <math.h>
double b[1];
void kernel(int n, int m, double a[restrict n + 4][m + 7])
{
    double s = 0.0;
    int e = 0;
    double w[2];
    for (int i = 1; 4 > i; i += 2) {
        a[i][2 * i + 1] += fabs(a[i][i + 2]);
        e = n / 2 - 1;
        while (1 < e) {
            s = 1.0;
            if (e % 3 == 1) {
                for (int j = (n > 2 ? 3 : n) - 1; j >= 1; j--) {
                    w[0] = b[i] + b[j + e];
                    w[1] = s + a[j + 2][j];
                    b[i] = w[0] + w[0];
                    s = (j / 2 != 1 ? a[e][j + 2] : a[2 * j][i]);
                }
            }
            a[i][1] = a[i][e];
            e -= 1;
        }
        if (i % 3 == 1 || i % 2 == 0) {
            a[i][i] = s + a[i][i + i];
        }
    }
}

static double storage_a[10][13];
int main(void)
{
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 13; j++)
            storage_a[i][j] = (3 * i + 5 * j) % 7;
    kernel(6, 6, storage_a);
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 13; j++)
            printf("%.17g\\n", storage_a[i][j]);
    return 0;
}
"""
"""Parts of an iteration access several elements, or, at these sizes, none."""


def test_each_iteration_runs_once(headers: Path) -> None:
    assert trial(SEVERAL, headers).files
