"""Functions of Python with objects: loops that are claimed independent leave the same in other orders."""

from __future__ import annotations

import pytest

from tests.codegen.python_object_programs import GROUPS, written
from tests.codegen.python_objects import trial
from tests.extent import drawn


@pytest.mark.timeout(300)
@pytest.mark.parametrize("group", GROUPS)
def test_no_claim_depends_on_the_order_of_iterations(group: str) -> None:
    count = 0
    for number in range(drawn(150)):
        tried = trial(written(group, 1, number))
        assert not tried.failures, tried.failures[0].report()
        count += tried.run
    assert count > 0, "no claim was run"
