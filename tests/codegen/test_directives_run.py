"""Every sample with every directive that is offered: it builds without a warning and prints the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from polylsp.model.action import Target
from tests.codegen.device_memory import played
from tests.codegen.editing import Build, assert_same, everywhere, printed
from tests.codegen.random_nests import FLAGS
from tests.codegen.random_regions import trial

SAMPLES = Path(__file__).parents[2] / "samples"
FILES = sorted(
    path
    for folder in ("polybench/c", "programs")
    for path in (SAMPLES / folder).glob("*.c")
    if path.stem != "broken"
)


CALLS_FUNCTIONS_OF_ITS_OWN = {"lbm_step"}
"""Whole functions of these cannot run on a device: loops call a function that is not compiled for it."""


def names(files: list[Path]) -> list[str]:
    return [path.stem for path in files]


@pytest.mark.sweep
@pytest.mark.parametrize("file", FILES, ids=names(FILES))
def test_openmp(file: Path, output: Build) -> None:
    done = everywhere(str(file), file.read_text(encoding="utf-8"), "openmp")
    assert done.edits
    expected = output(done.text)
    for threads in (1, 4):
        assert_same(expected, output(done.edited, "-fopenmp", threads=threads))


@pytest.mark.sweep(7)
@pytest.mark.parametrize("whole", [False, True], ids=["loops", "functions"])
@pytest.mark.parametrize("target", ["openacc", "openmp-target"])
@pytest.mark.parametrize("file", FILES, ids=names(FILES))
def test_with_the_memory_of_a_device(file: Path, target: Target, whole: bool, output: Build) -> None:
    done = everywhere(str(file), file.read_text(encoding="utf-8"), target, whole)
    assert done.edits or (whole and file.stem in CALLS_FUNCTIONS_OF_ITS_OWN)
    expected = output(done.text)
    assert_same(expected, output(done.edited, *FLAGS[target]))
    assert_same(expected, output(played(done.edited), "-w"))


# --------------------------------------------------------------------------------------------------
# Transfers between host and device in unusual code: programs, functions drawn at random, and
# clauses that are wrong on purpose.
# --------------------------------------------------------------------------------------------------


PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.c"))
TARGETS = pytest.mark.parametrize("target", ["openacc", "openmp-target"])
RIGHT = """\
#include <stdio.h>
static void f(int n, double *restrict a, double *restrict b, double *restrict c)
{
    double t[30];
    #pragma acc data copyin(b[0:n]) copy(a[0:n]) copyout(c[0:n]) create(t[0:30])
    {
    #pragma acc parallel loop present(a[0:n], b[0:n], t[0:30])
    for (int i = 0; i < n; i++)
        t[i] = a[i] + b[i];
    #pragma acc update host(t[3:1])
    a[3] = t[3];
    #pragma acc update device(a[3:1])
    #pragma acc parallel loop present(a[0:n], c[0:n], t[0:30])
    for (int i = 0; i < n; i++)
        c[i] = t[i] * a[i];
    }
}
int main(void)
{
    double a[30], b[30], c[30] = {0};
    for (int i = 0; i < 30; i++)
        a[i] = b[i] = i;
    f(30, a, b, c);
    for (int i = 0; i < 30; i++)
        printf("%g %g\\n", a[i], c[i]);
    return 0;
}
"""


def test_threads_find_the_positions_that_one_finds(output: Build) -> None:
    text = (Path(__file__).parent / "searches.c").read_text()
    done = everywhere("searches.c", text, "openmp")
    assert (done.edits, done.edited.count("omp critical")) == (13, 14)
    expected = output(text, "-fsanitize=address,undefined")
    for threads in (1, 3, 4):
        assert output(done.edited, "-fopenmp", "-fsanitize=address,undefined", threads=threads) == expected


@TARGETS
def test_a_device_finds_the_positions_that_one_thread_finds(target: Target, output: Build) -> None:
    text = (Path(__file__).parent / "searches.c").read_text()
    done = everywhere("searches.c", text, target)
    assert done.edited.count("_of_part[8192]") + done.edited.count("_of_part2[8192]") >= 8
    expected = output(text)
    assert output(done.edited, *FLAGS[target], "-fsanitize=address,undefined") == expected
    assert output(played(done.edited), "-w") == expected


@pytest.mark.sweep(7)
@pytest.mark.parametrize("whole", [False, True], ids=["loops", "functions"])
@TARGETS
@pytest.mark.parametrize("file", PROGRAMS, ids=lambda file: file.stem)
def test_a_program_keeps_its_meaning(file: Path, target: Target, whole: bool, output: Build) -> None:
    text = file.read_text()
    done = everywhere(str(file), text, target, whole)
    assert done.edits
    expected = output(text, "-w")
    assert output(done.edited, *FLAGS[target], "-w") == expected
    assert output(played(done.edited), "-w") == expected


@pytest.mark.sweep
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("gcc")
@TARGETS
@pytest.mark.parametrize("seed", range(3))
def test_host_and_device_may_take_turns(seed: int, target: Target) -> None:
    assert trial(seed, target) > 10


@pytest.mark.usefixtures("gcc")
def test_a_right_program_is_played_right() -> None:
    assert printed(played(RIGHT)) == printed(re.sub(r"#pragma.*", "", RIGHT))


@pytest.mark.usefixtures("gcc")
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("    #pragma acc update host(t[3:1])\n", ""),
        ("    #pragma acc update device(a[3:1])\n", ""),
        ("copyin(b[0:n])", "create(b[0:n])"),
        ("copyin(b[0:n])", "copyin(b[1:n - 1])"),
        ("copy(a[0:n])", "copyout(a[0:n])"),
        ("copyout(c[0:n])", "create(c[0:n])"),
        (" create(t[0:30])", ""),
    ],
)
def test_a_wrong_clause_shows(right: str, wrong: str) -> None:
    assert RIGHT.count(right) == 1
    expected = printed(re.sub(r"#pragma.*", "", RIGHT))
    assert printed(played(RIGHT.replace(right, wrong))) != expected
