"""Drawn programs as Python: CPython does what the oracle's interpreter does."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from .nests import Program
from .python.agreement import disagreements
from .python.drawing import affine_programs, programs
from .python.evidence import evidence

_DRAWN = settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.timeout(600)
@_DRAWN
@given(drawn=affine_programs())
def test_cpython_runs_affine_programs_as_the_interpreter_does(drawn: Program) -> None:
    assert not disagreements(evidence(drawn))


@pytest.mark.timeout(600)
@_DRAWN
@given(drawn=programs())
def test_cpython_runs_all_programs_as_the_interpreter_does(drawn: Program) -> None:
    assert not disagreements(evidence(drawn))
