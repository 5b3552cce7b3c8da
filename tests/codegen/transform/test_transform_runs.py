"""Edited programs print what the originals do: every transform on every loop of the PolyBench samples, and
every edit of drawn nests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from polylsp.model.action import Edited, applied
from polylsp.transforms import MODULES as TRANSFORMS
from tests.codegen.drawn_programs import Drawn, of_oracle, whole
from tests.codegen.drawn_sums import sums
from tests.extent import drawn
from tests.oracle.drawing import affine_programs, programs

from .drawn_nests import nests
from .drawn_stencils import stencils
from .edited import WARNINGS, answers, printed
from .trials import Outcome, stencil_trial, trial, whole_trial

SAMPLES = Path(__file__).parents[3] / "samples"
PROGRAMS = sorted((SAMPLES / "polybench/c").glob("*.c"))
# What `overlap-check` adds is a directive; the rest of the programs has none.
FLAGS = (*WARNINGS, "-fopenmp")


@pytest.mark.sweep
@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_an_edited_sample_prints_the_same(path: Path, tmp_path: Path) -> None:
    text = path.read_text()
    wanted = printed(text, tmp_path, *FLAGS)
    tried: set[str] = set()
    for action in TRANSFORMS:
        for placed, ordinal, answer in answers(str(path), text, action):
            after = applied(text, answer.replacements) if isinstance(answer, Edited) else text
            if after not in tried and after != text:
                tried.add(after)
                label = f"{action} of loop {ordinal} of {placed.answer.facts.name}"
                assert printed(after, tmp_path, *FLAGS) == wanted, f"{label}\n{after}"


_DRAWN = settings(
    max_examples=drawn(50),
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.timeout(600)
@_DRAWN
@given(kernel=nests())
def test_edits_of_drawn_nests_compute_the_same(kernel: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    outcome = Outcome()
    trial(kernel, tmp_path_factory.mktemp("drawn"), outcome)
    assert not outcome.wrong, outcome.wrong[0]


@pytest.mark.timeout(600)
@settings(_DRAWN, max_examples=drawn(20))
@given(kernel=stencils())
def test_blocks_of_drawn_time_loops_compute_the_same(
    kernel: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outcome = Outcome()
    stencil_trial(kernel, tmp_path_factory.mktemp("drawn"), outcome)
    assert not outcome.wrong, outcome.wrong[0]


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("gcc")
@settings(_DRAWN, max_examples=drawn(40))
@given(one=(affine_programs() | programs()).map(of_oracle) | sums().map(whole))
def test_edits_of_drawn_programs_compute_the_same(one: Drawn) -> None:
    outcome = Outcome()
    whole_trial(one, outcome)
    assert not outcome.wrong, outcome.wrong[0]
