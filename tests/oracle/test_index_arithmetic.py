"""Drawn index arithmetic: verdicts must agree with what runs of the loops do."""

from __future__ import annotations

from random import Random

import pytest

from tests.extent import drawn as extent
from tests.oracle.index_arithmetic import Draw, drawn, refuted


@pytest.mark.parametrize("seed", range(2))
def test_verdicts_agree_with_runs(seed: int) -> None:
    random = Random(seed)
    assert not list(refuted([drawn(random) for _ in range(extent(300))]))


def test_runs_have_their_conflicts() -> None:
    """A recorder without conflicts would agree with every claim."""
    from tests.oracle import index_arithmetic

    wrapping = Draw(
        Random(0), "", [], "unsigned char k = 0;", ["int i = 0; i < 20; i++"], ["W(k);", "k += 64;"]
    )
    apart = Draw(
        Random(0), "int", [], "", ["int i = 0; i < n; i++", "int j = 0; j < 3; j++"], ["W(3 * i + j);"]
    )
    inner = Draw(
        Random(0),
        "",
        [],
        "",
        ["int i = 0; i < 9; i++", "int j = 1; j < 5; j++"],
        ["W(5 * i + j);", "R(5 * i + j - 1);"],
    )
    found = index_arithmetic.runs_of([wrapping, apart, inner])
    assert found[0, 0] == (True, ["-"])
    assert not any(values for (number, _), (_, values) in found.items() if number == 1)
    assert (found[2, 0], found[2, 1]) == ((True, []), (True, ["-"]))
