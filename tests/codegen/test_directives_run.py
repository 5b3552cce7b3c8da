"""Every sample with every directive that is offered: it builds without a warning and prints the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from polylsp.model.action import Target

from .device_memory import played
from .editing import everywhere
from .random_nests import FLAGS
from .running import Build, assert_same

SAMPLES = Path(__file__).parents[2] / "samples"
FILES = sorted(
    path
    for folder in ("polybench/c", "programs")
    for path in (SAMPLES / folder).glob("*.c")
    if path.stem != "broken"
)


CALLS_FUNCTIONS_OF_ITS_OWN = {"lbm_step"}
"""No loop of these can run on a device: each calls a function that is not compiled for it."""


def names(files: list[Path]) -> list[str]:
    return [path.stem for path in files]


@pytest.mark.parametrize("file", FILES, ids=names(FILES))
def test_openmp(file: Path, output: Build) -> None:
    done = everywhere(str(file), file.read_text(encoding="utf-8"), "openmp")
    assert done.edits
    expected = output(done.text)
    for threads in (1, 4):
        assert_same(expected, output(done.edited, "-fopenmp", threads=threads))


@pytest.mark.sweep
@pytest.mark.parametrize("whole", [False, True], ids=["loops", "functions"])
@pytest.mark.parametrize("target", ["openacc", "openmp-target"])
@pytest.mark.parametrize("file", FILES, ids=names(FILES))
def test_with_the_memory_of_a_device(file: Path, target: Target, whole: bool, output: Build) -> None:
    done = everywhere(str(file), file.read_text(encoding="utf-8"), target, whole)
    assert bool(done.edits) == (file.stem not in CALLS_FUNCTIONS_OF_ITS_OWN)
    expected = output(done.text)
    assert_same(expected, output(done.edited, *FLAGS[target]))
    assert_same(expected, output(played(done.edited), "-w"))
