"""Statistics of interleaved runs, without assumptions on the distribution of times."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from statistics import median
from typing import Literal

from polylsp.model.measurement import Times

_CONFIDENCE = 0.9
_NEGLIGIBLE = 0.02


def times(seconds: Sequence[float]) -> Times:
    """The median and the middle half."""
    ordered = sorted(seconds)
    quarter = len(ordered) // 4
    return Times(median(ordered), ordered[quarter], ordered[-1 - quarter], len(ordered))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Between which of the values the median lies with a probability of 90 % or more, or else the least
    and the greatest: each value is above it or below it with equal chance (David and Nagaraja, Order
    Statistics, section 7.1)."""
    ordered = sorted(values)
    count = len(ordered)
    outside = 0.0
    left = 0
    while left < (count - 1) // 2:
        outside += 2 * comb(count, left) / 2**count
        if 1 - outside - 2 * comb(count, left + 1) / 2**count < _CONFIDENCE:
            break
        left += 1
    return ordered[left], ordered[-1 - left]


def outcome(least: float, most: float) -> Literal["faster", "slower", "no difference"]:
    """Conclusion from the interval of a speedup."""
    if least > 1 + _NEGLIGIBLE:
        return "faster"
    return "slower" if most < 1 - _NEGLIGIBLE else "no difference"
