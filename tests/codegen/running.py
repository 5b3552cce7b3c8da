"""Comparison of the outputs of programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest

Build = Callable[..., str]

_NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)")


def assert_same(expected: str, found: str) -> None:
    """The same words, and numbers as close as another order of addition leaves them."""
    assert _NUMBER.sub("#", expected) == _NUMBER.sub("#", found)
    assert _numbers(found) == pytest.approx(_numbers(expected), rel=1e-9, abs=1e-12)


def _numbers(text: str) -> Sequence[float]:
    return [float(word) for word in _NUMBER.findall(text)]
