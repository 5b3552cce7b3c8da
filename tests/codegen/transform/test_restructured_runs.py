"""Restructured samples print what the originals do, however many threads run them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import Ask, Edited, applied
from tests.codegen.editing import everywhere
from tests.codegen.running import assert_same

from .edited import WARNINGS, printed

PROGRAMS = sorted((Path(__file__).parents[3] / "samples/polybench/c").glob("*.c"))
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


@pytest.mark.sweep
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
