"""Remarks on estimates beside measurements."""

from __future__ import annotations

import pytest

from tests.bench.estimates import Compared, lines, summary


@pytest.mark.parametrize(("found", "off"), [(30.0, 1.0), (20.0, 1.0), (60.0, 1.0), (120.0, 2.0), (5.0, 0.25)])
def test_how_far_off_a_range_is(found: float, off: float) -> None:
    assert Compared(found, 20.0, 60.0).off == off


def test_those_outside_of_their_ranges_are_told_apart() -> None:
    within, above, below = Compared(30.0, 20.0, 60.0), Compared(120.0, 20.0, 60.0), Compared(2.5, 20.0, 60.0)
    assert summary([within]) == "1 of 1 in their ranges"
    assert (
        summary([within, above, below])
        == "1 of 3 in their ranges, the others off by 4 times in the mean, 8 at most"
    )


def test_without_a_gpu_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.bench.estimates.gpu_here", lambda: "")
    assert list(lines(["*"])) == ["SKIPPED: there is no GPU here: the estimates are held against nothing"]
