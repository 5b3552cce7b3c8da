"""Edited programs print what the originals do: every transform on every loop of the PolyBench samples, and
every edit of drawn nests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import Ask, Edited, applied
from polylsp.transforms import MODULES as TRANSFORMS
from tests.codegen.drawn_programs import Drawn, of_oracle, whole
from tests.codegen.drawn_sums import sums
from tests.codegen.editing import assert_same, everywhere
from tests.codegen.transform.drawn_nests import nests, stencils
from tests.codegen.transform.edited import WARNINGS, answers, printed
from tests.codegen.transform.trials import Outcome, stencil_trial, trial, whole_trial
from tests.extent import drawn
from tests.oracle.drawing import affine_programs, programs

SAMPLES = Path(__file__).parents[3] / "samples"
PROGRAMS = sorted((SAMPLES / "polybench/c").glob("*.c"))
# What `overlap-check` adds is a directive; the rest of the programs has none.
FLAGS = (*WARNINGS, "-fopenmp")


@pytest.mark.sweep(7)
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


# --------------------------------------------------------------------------------------------------
# Restructured samples print what the originals do, however many threads run them.
# --------------------------------------------------------------------------------------------------


RESTRUCTURED = {
    *("2mm", "3mm", "gemm", "syr2k", "syrk", "trmm", "doitgen"),
    *("correlation", "covariance", "gramschmidt", "lu", "gemver", "mvt"),
    *("jacobi-1d", "jacobi-2d", "heat-3d", "fdtd-2d", "seidel-2d", "symm", "floyd-warshall"),
    *("cholesky", "durbin", "gesummv", "ludcmp", "trisolv", "atax", "bicg", "nussinov"),
}
# Tiles so small that the samples have several, whole ones and others.
SMALL_TILES = Settings(parallel_threshold=0, tile_sizes=(6, 7, 9))


def restructured(path: Path, settings: Settings) -> str | None:
    """The sample with its kernel restructured; `None` where that is declined."""
    text = path.read_text()
    report = analyse(str(path), text, settings, schedules=False)
    kernel = next(p for p in report.functions if p.answer.facts.name.startswith("kernel_"))
    ask = Ask("restructure", kernel.answer.facts.name, kernel.start, 1)
    answer = edit(str(path), text, settings, ask)
    return applied(text, answer.replacements) if isinstance(answer, Edited) else None


def _run(program: Path, threads: int) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.sweep(7)
@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_a_restructured_sample_prints_the_same(path: Path, tmp_path: Path) -> None:
    text = path.read_text()
    wanted = printed(text, tmp_path, *WARNINGS)
    after = restructured(path, SMALL_TILES)
    assert (after is not None) == (path.stem in RESTRUCTURED)
    edited = after or everywhere(str(path), text, "openmp").edited
    printed(edited, tmp_path, *WARNINGS, "-fopenmp", "-fsanitize=undefined,address")
    printed(edited, tmp_path, *WARNINGS, "-fopenmp")
    for threads in (1, 2, 3):
        assert_same(wanted, _run(tmp_path / "program", threads))


# --------------------------------------------------------------------------------------------------
# Choice of the loops that run several iterations together for the vector unit.
# --------------------------------------------------------------------------------------------------


HEAD = "void f(int n, double a[restrict n][n + 9], double b[restrict n][n + 9], const double *restrict x)\n"
LOOPS = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"


def jammed(body: str) -> str:
    text = f"{HEAD}{{ {LOOPS} {{ {body} }} }}\n"
    (placed,) = analyse("f.c", text, Settings(), schedules=False).functions
    answer = edit("f.c", text, Settings(), Ask("unroll-and-jam", "f", placed.start, 1))
    assert isinstance(answer, Edited), answer
    return applied(text, answer.replacements)


def test_iterations_that_are_apart_are() -> None:
    assert "omp simd" in jammed("b[j][i + 5] -= 0.3 * a[j][i + 7]; b[j][n + 6] = 0.2 * x[j];")


def test_iterations_that_meet_at_times_are_not() -> None:
    # `a[j][j + 4]` is what another iteration of `i` loads, for one of the values of `j`.
    assert "omp simd" not in jammed("b[j][i + 5] -= 0.3 * a[j][i + 7]; a[j][j + 4] = 0.2 * x[j];")
