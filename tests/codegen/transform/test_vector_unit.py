"""Choice of the loops that run several iterations together for the vector unit."""

from __future__ import annotations

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import Ask, Edited, applied

HEAD = "void f(int n, double a[restrict n][n + 9], double b[restrict n][n + 9], const double *restrict x)\n"
LOOPS = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"


def jammed(body: str) -> str:
    text = f"{HEAD}{{ {LOOPS} {{ {body} }} }}\n"
    (placed,) = analyse("f.c", text, Settings(), schedules=False).functions
    answer = edit("f.c", text, Settings(), Ask("unroll-and-jam", "f", placed.start, 1))
    assert isinstance(answer, Edited), answer
    return applied(text, answer.replacements)


def test_iterations_that_are_apart_are() -> None:
    assert "omp simd" in jammed("b[j][i + 5] -= 0.3 * a[j][i + 7]; b[j][n + 6] = 0.2 * x[j];")


def test_iterations_that_meet_at_times_are_not() -> None:
    # `a[j][j + 4]` is what another iteration of `i` loads, for one of the values of `j`.
    assert "omp simd" not in jammed("b[j][i + 5] -= 0.3 * a[j][i + 7]; a[j][j + 4] = 0.2 * x[j];")
