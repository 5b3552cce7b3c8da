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

from polylsp.core.settings import Settings
from polylsp.core.text import Source
from polylsp.engine.queries import analyse
from polylsp.ide.diagnostics import PRAGMA_CODES, diagnostics
from tests.codegen.editing import everywhere
from tests.codegen.test_directives_run import FILES, names

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


@pytest.mark.sweep(7)
@pytest.mark.parametrize("file", FILES, ids=names(FILES))
def test_no_edit_races(file: Path, races: Watch) -> None:
    done = everywhere(str(file), file.read_text(encoding="utf-8"), "openmp")
    assert races(done.edited) == ""


# --------------------------------------------------------------------------------------------------
# Parallel regions, right and wrong: what the check of directives says of them is what
# ThreadSanitizer sees when they run.
# --------------------------------------------------------------------------------------------------


__all__ = ["archer", "races"]

REGIONS = """\
#include <stdio.h>
#include <omp.h>
#define N 2000
static double a[N], b[N], c[N], total;
static void put(double *p, int k, double x) { p[k] = x; }
int main(void)
{
    double s = 0.0, t = 1.0;
    int i = 0;
    #pragma omp parallelREGION
    printf("%g\\n", s + t + total + a[3] + c[5] + i);
    return 0;
}
"""

FOR = "for (int k = 0; k < N; k++)"
WRITE = f"#pragma omp for nowait\n{FOR} a[k] = b[k] + 1.0;\n"
READ = "double mine = a[N - 1];\n#pragma omp critical\ntotal += mine;\n"

# All threads take part in each of these, so that what is seen does not hang on which of them is faster.
WRONG = {
    "a sum of all threads": "\n{ s += 1.0; }",
    "a loop that is not shared out": f"\n{{ {FOR} a[k] += 1.0; }}",
    "a shared iterator": "\n{ for (i = 0; i < 9; i++) b[omp_get_thread_num()] += 1.0; }",
    "read by all threads after nowait": f"\n{{\n{WRITE}{READ}}}",
    "read in another order after nowait": f"\n{{\n{WRITE}#pragma omp for\n{FOR} c[k] = a[N - 1 - k];\n}}",
    "nobody waits for master": f"\n{{\n#pragma omp master\nt = b[0];\n#pragma omp for\n{FOR} c[k] = t;\n}}",
    "a function": f" for\n{FOR} put(a, k % 2, k);\n",
}

RIGHT = {
    "a sum of all threads": " reduction(+:s)\n{ s += 1.0; }",
    "an atomic update": "\n{\n#pragma omp atomic\ns += 1.0;\n}",
    "a loop that is shared out": f"\n{{\n#pragma omp for\n{FOR} a[k] += 1.0; }}",
    "an iterator of each thread": " private(i)\n{ for (i = 0; i < 9; i++) b[omp_get_thread_num()] += 1.0; }",
    "read by all threads after a barrier": f"\n{{\n{WRITE}#pragma omp barrier\n{READ}}}",
    "read in the same order after nowait": f"\n{{\n{WRITE}#pragma omp for\n{FOR} c[k] = a[k];\n}}",
    "master and a barrier": "\n{\n#pragma omp master\nt = b[0];\n#pragma omp barrier\n"
    f"#pragma omp for\n{FOR} c[k] = t;\n}}",
    "sections": f" sections\n{{\n#pragma omp section\n{FOR} a[k] = 1;\n"
    f"#pragma omp section\n{FOR} c[k] = 1;\n}}",
    "tasks": f"\n#pragma omp single\n{FOR} {{\n#pragma omp task\nb[k] += 1.0;\n}}",
    "sums of each thread's own": f"\n{{ double mine = 0.0;\n#pragma omp for nowait\n{FOR} mine += b[k];\n"
    "#pragma omp critical\ns += mine;\n#pragma omp barrier\n#pragma omp single\nt = s;\n}",
    "parts by hand": "\n{ int me = omp_get_thread_num(), all = omp_get_num_threads();\n"
    "for (int k = me * N / all; k < (me + 1) * N / all; k++) a[k] = b[k];\n#pragma omp barrier\n"
    "for (int k = me; k < N; k += all) c[k] = a[N - 1 - k];\n}",
    "a function": f" for\n{FOR} put(a, k, b[k]);\n",
}


def program(region: str) -> str:
    return REGIONS.replace("REGION", region)


def findings(text: str) -> list[str]:
    report = analyse("program.c", text, Settings(), schedules=False)
    return [d.message for d in diagnostics(Source(text), report, Settings()) if d.code in PRAGMA_CODES]


@pytest.mark.parametrize("region", WRONG.values(), ids=WRONG)
def test_what_is_reported_races(region: str, races: Watch) -> None:
    assert findings(program(region))
    assert "data race" in races(program(region))


@pytest.mark.parametrize("name", RIGHT)
def test_what_does_not_race_is_not_reported(name: str, races: Watch) -> None:
    assert findings(program(RIGHT[name])) == []
    # The runtime uses the memory of a task that is over for the next one, which looks like a race at times.
    if name != "tasks":
        assert races(program(RIGHT[name])) == ""
