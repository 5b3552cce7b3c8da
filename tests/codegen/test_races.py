"""The samples with OpenMP edits, watched by ThreadSanitizer while they run.

gcc's libomp reports races at every barrier, since ThreadSanitizer does not see its synchronisation. clang's
with its tool Archer, which tells it, is quiet on right programs and loud on wrong ones; the first
two tests say so of one pair.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .editing import everywhere
from .test_directives_run import FILES, names

Watch = Callable[[str], str]

PROGRAM = """\
#include <stdio.h>
static double a[1000], b[1000];
int main(void)
{
    double s = 0.0, t = 0.0;
    #pragma omp parallel for CLAUSES
    for (int i = 0; i < 1000; i++) {
        t = b[i];
        a[i] = 2.0 * t;
        s += t;
    }
    printf("%g\\n", s + a[3] + t);
    return 0;
}
"""


@pytest.fixture(scope="module")
def archer() -> tuple[str, str]:
    """The compiler and its library."""
    for version in range(21, 13, -1):
        library = Path(f"/usr/lib/llvm-{version}/lib/libarcher.so")
        compiler = shutil.which(f"clang-{version}")
        if compiler is not None and library.exists():
            return compiler, str(library)
    reason = "clang with OpenMP and Archer is not installed: races are not looked for"
    return pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


@pytest.fixture
def races(archer: tuple[str, str], tmp_path: Path) -> Watch:
    """Report of ThreadSanitizer on a run with four threads."""

    def watch(text: str) -> str:
        source, program = tmp_path / "program.c", tmp_path / "program"
        source.write_text(text, encoding="utf-8")
        flags = ("-g", "-O1", "-w", "-fopenmp", "-fsanitize=thread")
        subprocess.run([archer[0], *flags, str(source), "-o", str(program), "-lm"], check=True, timeout=60)
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "4",
            "OMP_TOOL_LIBRARIES": archer[1],
            "TSAN_OPTIONS": "ignore_noninstrumented_modules=1",
        }
        ran = subprocess.run(
            [str(program)], capture_output=True, text=True, env=environment, timeout=100, check=False
        )
        assert ran.stdout, ran.stderr
        return ran.stderr if "WARNING: ThreadSanitizer" in ran.stderr else ""

    return watch


def test_a_right_program_is_quiet(races: Watch) -> None:
    assert races(PROGRAM.replace("CLAUSES", "lastprivate(t) reduction(+: s)")) == ""


def test_a_wrong_program_is_loud(races: Watch) -> None:
    assert "data race" in races(PROGRAM.replace("CLAUSES", "lastprivate(t)"))


@pytest.mark.sweep
@pytest.mark.parametrize("file", FILES, ids=names(FILES))
def test_no_edit_races(file: Path, races: Watch) -> None:
    done = everywhere(str(file), file.read_text(encoding="utf-8"), "openmp")
    assert races(done.edited) == ""
