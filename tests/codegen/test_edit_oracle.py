"""Whole programs of each class, drawn at random: no verdict is wrong, and every edit compiles, has no race,
and leaves what a program prints as it is."""

from __future__ import annotations

import pytest

from tests.codegen.edit_oracle.soaking import CLASSES, batch
from tests.extent import drawn

PROGRAMS = drawn(9)


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("gcc")
@pytest.mark.parametrize("group", CLASSES)
def test_every_verdict_and_edit_keeps_what_a_program_prints(group: str) -> None:
    harvest = batch(group, 1, 0, PROGRAMS, "few", 3)
    assert not harvest.failures, harvest.failures[0].report()
    assert harvest.edits or harvest.reordered
