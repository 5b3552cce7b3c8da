"""Nests of Python drawn at random keep their meaning when Numba is to run them, whatever comes first."""

from __future__ import annotations

import random
from collections import Counter

from .python_nests import how, nest, trial


def test_edited_nests_compute_the_same_in_other_orders() -> None:
    made = Counter[str]()
    for number in range(90):
        text = nest(random.Random(number))
        made.update(how(edited, text) for edited in trial(text).made)
    assert made.keys() >= {"as it is", "skewed", "interchanged", "split or cut", "summed apart"}
