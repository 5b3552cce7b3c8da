"""Shadowed names: a variable that is set must not be read by later initialisers of the same group."""

from __future__ import annotations

import pytest

from polylsp.emit.affine_bounds import ShadowedError, in_turn


@pytest.mark.parametrize(
    "pairs", [[], [("i", "c1 + 1")], [("i", "ii - s.i"), ("j", "c0 - 1")], [("i", "j"), ("k", "j")]]
)
def test_values_of_other_names(pairs: list[tuple[str, str]]) -> None:
    assert in_turn(iter(pairs)) == pairs


@pytest.mark.parametrize("pairs", [[("i", "i + 1")], [("i", "c0"), ("j", "c0 - 2 * i")]])
def test_values_that_mention_what_is_set_by_then(pairs: list[tuple[str, str]]) -> None:
    with pytest.raises(ShadowedError):
        in_turn(pairs)
