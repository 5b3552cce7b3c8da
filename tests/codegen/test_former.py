"""Reads from copies of arrays in Python: drawn nests compute the same with them, and can run in parallel."""

from __future__ import annotations

import random

import pytest

from .python_nests import nest, trial


@pytest.mark.timeout(300)
def test_drawn_nests_compute_the_same() -> None:
    made = [text for number in range(60) for text in trial(nest(random.Random(number)), "copy").made]
    assert len(made) >= 4
    assert sum(len(trial(text, "numba").made) for text in made) >= len(made)
