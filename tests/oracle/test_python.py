"""Drawn programs as Python: CPython runs them as the oracle does, and what is claimed must stand."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.extent import drawn as extent
from tests.oracle.nests import Program
from tests.oracle.python.drawing import affine_programs, programs
from tests.oracle.trial import trial

_DRAWN = settings(
    max_examples=extent(90),
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.timeout(900)
@_DRAWN
@given(drawn=affine_programs())
def test_claims_about_affine_programs_stand(drawn: Program) -> None:
    done = trial(drawn, exact=True, language="python")
    assert not done.refutations, done.report()


@pytest.mark.timeout(900)
@_DRAWN
@given(drawn=programs())
def test_claims_about_all_programs_stand(drawn: Program) -> None:
    done = trial(drawn, exact=False, language="python")
    assert not done.refutations, done.report()
