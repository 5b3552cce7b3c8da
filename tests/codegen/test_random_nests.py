"""Nests drawn at random keep their meaning under every edit that is offered."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from .drawn_programs import Drawn, drawn
from .random_nests import DRAWN, Kind, trial


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("gcc")
@pytest.mark.parametrize("kind", ["openmp", "openmp-target", "openacc", "restructure"])
@settings(DRAWN, max_examples=50)
@given(one=drawn())
def test_drawn_programs(kind: Kind, one: Drawn) -> None:
    trial(one, kind)
