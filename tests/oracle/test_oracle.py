"""Drawn programs: whatever is claimed of their loops must stand (`make soak` draws more)."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.extent import drawn as extent
from tests.oracle.drawing import affine_programs, programs
from tests.oracle.nests import Program
from tests.oracle.reading import program
from tests.oracle.trial import trial

_DRAWN = settings(
    max_examples=extent(270),
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    # The soak, which has the programs, reduces a failure.
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


@pytest.mark.parametrize("start", ["a + i * m", "a", "a + i"])
def test_pointers_that_move_toward_each_other(start: str) -> None:
    """A row is reversed: distinct rows have no conflict; otherwise a witness names the pointer that
    counts."""
    text = f"""double kernel(int n, int m, double a[restrict n * m + n + m + 1])
{{
    double s = 0.0;
    for (int i = 0; i < n; i++) {{
        double *p = {start};
        double *q = p + m;
        while (p < q) {{
            double t = *p;
            *p++ = *--q;
            *q = t;
        }}
    }}
    return s;
}}
"""
    done = trial(program(text), exact=False)
    assert not done.refutations, done.report()
    assert [claim.verdict for claim in done.claims] == [
        "parallel" if "*" in start else "sequential",
        "parallel",
    ]
