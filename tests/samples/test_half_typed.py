"""In a file that is being edited, a broken function is rejected alone: the others keep their answers."""

from __future__ import annotations

import re
from pathlib import Path

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse
from polylsp.ir.program import Rejection
from polylsp.ir.verdict import Unknown, word
from polylsp.model.facts import FileReport

BROKEN = Path(__file__).parents[2] / "samples" / "programs" / "python" / "half_typed.py"


def report() -> FileReport:
    return analyse(str(BROKEN), BROKEN.read_text(), Settings(), schedules=False)


def test_good_functions_between_broken_ones_keep_their_verdicts() -> None:
    facts = [placed.answer.facts for placed in report().functions]
    words = {f.name: [word(loop.verdict) for loop in f.loops] for f in facts if "good_" in f.name}
    assert words == {
        "good_scale": ["parallel"],
        "good_chain": ["sequential"],
        "good_sum": ["reduction"],
        "good_copy": ["parallel"],
        "good_matrix": ["parallel", "parallel"],
        "good_sweep": ["sequential", "sequential"],
        "Grid.good_clear": ["parallel"],
        "Grid.good_shift": ["sequential"],
        "good_last": ["parallel"],
    }


def test_every_broken_function_is_said_to_be_broken_without_lines_of_its_own() -> None:
    broken: dict[str, list[Rejection]] = {}
    for placed in report().functions:
        facts = placed.answer.facts
        undecided = [loop.verdict.rejection for loop in facts.loops if isinstance(loop.verdict, Unknown)]
        if facts.problems or undecided:
            broken[facts.name] = [*facts.problems, *undecided]
    names = re.findall(r"^ *def (?!good_)(\w+)", BROKEN.read_text(), re.MULTILINE)
    assert {name.removeprefix("Grid.") for name in broken} == {*names}
    for rejection in (r for found in broken.values() for r in found):
        assert rejection.code == "syntax-error"
        assert "line" not in rejection.message
