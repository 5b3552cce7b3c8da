"""Shadowed names: a variable that is set must not be read by later initialisers of the same group."""

from __future__ import annotations

import pytest

from polylsp.core.settings import Settings
from polylsp.emit.affine_bounds import ShadowedError, in_turn
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import Ask, Edited


@pytest.mark.parametrize(
    "pairs", [[], [("i", "c1 + 1")], [("i", "ii - s.i"), ("j", "c0 - 1")], [("i", "j"), ("k", "j")]]
)
def test_values_of_other_names(pairs: list[tuple[str, str]]) -> None:
    assert in_turn(iter(pairs)) == pairs


@pytest.mark.parametrize("pairs", [[("i", "i + 1")], [("i", "c0"), ("j", "c0 - 2 * i")]])
def test_values_that_mention_what_is_set_by_then(pairs: list[tuple[str, str]]) -> None:
    with pytest.raises(ShadowedError):
        in_turn(pairs)


def test_a_counter_is_not_firstprivate() -> None:
    text = (
        "static int m[36][36];\nstatic double r;\n"
        "void kernel(int n, int *a)\n{\n    int y = 7;\n    for (int x = 3; x < n; ++x) {\n"
        "        if ((const char *)(a + n) <= (const char *)(m + x)) {\n"
        "            #pragma omp parallel for lastprivate(y) if(n > 0)\n"
        "            for (y = x; y < n; y++)\n                a[y] += m[x][y];\n"
        "        } else {\n            for (y = x; y < n; y++)\n                a[y] += m[x][y];\n        }\n"
        "        m[x][n] = a[x];\n    }\n    r = y;\n}\n"
    )
    settings = Settings(parallel_threshold=0)
    placed = analyse("a.c", text, settings, schedules=False).functions[-1]
    answer = edit("a.c", text, settings, Ask("openmp", "kernel", placed.start, 3))
    assert isinstance(answer, Edited), answer
    assert not any("firstprivate(y)" in each.text for each in answer.replacements)
