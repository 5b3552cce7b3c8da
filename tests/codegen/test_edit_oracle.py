"""Whole programs of each class, drawn at random: no verdict is wrong, and every edit compiles, has no race,
and leaves what a program prints as it is."""

from __future__ import annotations

import pytest

from tests.codegen.edit_oracle.soaking import CLASSES, batch
from tests.extent import drawn

PROGRAMS = drawn(9, 9)
TOGETHER = 4
"""Number of classes of which at least one program gets an edit, or iterations in other orders."""


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("gcc")
@pytest.mark.parametrize("first", range(0, len(CLASSES), TOGETHER), ids=lambda first: [*CLASSES][first])
def test_every_verdict_and_edit_keeps_what_a_program_prints(first: int) -> None:
    changed = 0
    for group in [*CLASSES][first : first + TOGETHER]:
        harvest = batch(group, 1, 0, PROGRAMS, "few", 3)
        assert not harvest.failures, harvest.failures[0].report()
        changed += harvest.edits + harvest.reordered
    assert changed
