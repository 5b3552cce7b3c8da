"""Conclusions from interleaved runs."""

from __future__ import annotations

from math import comb

import pytest

from polylsp.measuring.timing import interval, outcome, times


def test_times_are_a_median_and_the_middle_half() -> None:
    found = times([5.0, 1.0, 2.0, 4.0, 3.0, 9.0, 7.0, 8.0])
    assert (found.median, found.low, found.high, found.runs) == (4.5, 3.0, 7.0, 8)


@pytest.mark.parametrize("count", [5, 6, 9, 12, 25])
def test_the_interval_holds_the_median_nine_times_in_ten(count: int) -> None:
    values = [float(k) for k in range(count)]
    low, high = interval(values)
    left = int(low)
    assert high == count - 1 - left
    coverage = 1 - 2 * sum(comb(count, k) for k in range(left + 1)) / 2**count
    narrower = coverage - 2 * comb(count, left + 1) / 2**count
    assert coverage >= 0.9 > narrower


@pytest.mark.parametrize(
    ("least", "most", "expected"),
    [(1.1, 1.3, "faster"), (0.9, 1.3, "no difference"), (1.01, 1.01, "no difference"), (0.5, 0.9, "slower")],
)
def test_a_difference_is_claimed_only_beyond_the_spread(least: float, most: float, expected: str) -> None:
    assert outcome(least, most) == expected
