"""Programs damaged at random, the same ones each time: `fuzz.py` says what must hold, and draws more."""

from __future__ import annotations

import pytest

from tests.bad_input.fuzz import SAMPLES, drawn
from tests.extent import drawn as extent


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_damaged_programs_are_answered(first: int) -> None:
    assert [(seed, name, wrong) for seed, name, wrong, _ in drawn(SAMPLES, first, extent(20))] == []
