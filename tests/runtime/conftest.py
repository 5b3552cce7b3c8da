"""Programs that are built and run for a test, in a folder that is gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from runtime_plans import Planning

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, measurable
from polylsp.measuring.confinement import open_to_programs
from polylsp.measuring.remote import new_folder, remove
from polylsp.model.action import ActionName
from polylsp.model.measurement import AskToMeasure, NoPlan, Plan


@pytest.fixture
def folder() -> Iterator[str]:
    """A folder as measurements have it."""
    made = new_folder()
    open_to_programs(made)
    yield made
    remove(made)


@pytest.fixture
def planning(tmp_path: Path) -> Planning:
    """Plans the last function of a text that has loops; in C, unless it is said to be something else."""

    def plan(
        text: str, suffix: str = ".c", targets: tuple[ActionName, ...] = (), **sizes: int
    ) -> Plan | NoPlan:
        path = tmp_path / f"given{suffix}"
        path.write_text(text)
        report = analyse(str(path), text, Settings(), schedules=False)
        last = [each for each in report.functions if each.answer.facts.loops][-1]
        wanted = AskToMeasure(last.answer.facts.name, last.start, 0, tuple(sizes.items()), targets)
        return measurable(str(path), text, Settings(), wanted)

    return plan
