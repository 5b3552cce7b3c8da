"""300 drawn programs: whatever is claimed of their loops must stand (`make soak` draws more)."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from .drawing import affine_programs, programs
from .nests import Program
from .trial import trial

_DRAWN = settings(
    max_examples=150,
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    # A failure is made small by the soak, which knows the programs.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.timeout(900)
@_DRAWN
@given(drawn=affine_programs())
def test_claims_about_affine_programs_stand(drawn: Program) -> None:
    done = trial(drawn, exact=True)
    assert not done.refutations, done.report()


@pytest.mark.timeout(900)
@_DRAWN
@given(drawn=programs())
def test_claims_about_all_programs_stand(drawn: Program) -> None:
    done = trial(drawn, exact=False)
    assert not done.refutations, done.report()
