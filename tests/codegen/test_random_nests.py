"""Nests drawn at random keep their meaning under every edit that is offered."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from polylsp.model.action import Target
from tests.oracle.drawing import affine_programs
from tests.oracle.nests import Program

from .drawn_sums import sums
from .random_nests import DRAWN, trial


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("gcc")
@settings(DRAWN, max_examples=100)
@given(drawn=affine_programs())
def test_openmp(drawn: Program) -> None:
    trial(drawn, "openmp")


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("gcc")
@settings(DRAWN, max_examples=40)
@given(drawn=affine_programs())
def test_openacc_with_the_memory_of_a_device(drawn: Program) -> None:
    trial(drawn, "openacc")


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("gcc")
@pytest.mark.parametrize("target", ["openmp", "openmp-target", "openacc"])
@settings(DRAWN, max_examples=15)
@given(drawn=sums())
def test_sums_and_counters(target: Target, drawn: str) -> None:
    trial(drawn, target)
