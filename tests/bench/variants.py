"""The ways to build a sample that are compared for speed: as it stands, edited by polylsp, and as other
compilers restructure it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from polylsp import api
from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import ActionName, Ask, Edited, applied

from .blas import with_blas

GCC = ("gcc", "-std=gnu11", "-O3", "-march=native")
PLUTO = ("-ftree-parallelize-loops=2", "-floop-nest-optimize")
POLLY = ("clang-19", "-std=gnu11", "-O3", "-march=native", "-mllvm", "-polly", "-mllvm", "-polly-parallel")


@dataclass(frozen=True)
class Variant:
    """A column of the table. `text` makes the program of a sample's text, or `None` where there is none;
    `ours`: it counts as what polylsp reaches, else, but for `bound`, as what others reach."""

    name: str
    command: tuple[str, ...]
    text: Callable[[Path, str], str | None]
    ours: bool = False
    bound: bool = False
    libraries: tuple[str, ...] = ()

    @property
    def missing(self) -> str:
        """Reason why it cannot be built on this machine; empty if it can."""
        if shutil.which(self.command[0]) is None:
            return f"{self.command[0]} is not installed"
        probe = "void f(double *a) { for (int i = 0; i < 9; i++) a[i] += 1; } int main(void) { return 0; }"
        command = [*self.command, "-x", "c", "-o", "/dev/null", "-", *self.libraries]
        made = subprocess.run(command, input=probe, capture_output=True, text=True, timeout=60)
        return made.stderr.strip().splitlines()[-1] if made.returncode else ""


def as_it_stands(_: Path, text: str) -> str:
    """The sample itself."""
    return text


def openmp(path: Path, text: str) -> str:
    """Directives on all outermost loops of the kernel that take one."""
    return _everywhere(path, text, "openmp")


def restructured(path: Path, text: str) -> str:
    """The kernel restructured; where there is nothing to restructure, with directives alone."""
    answer = edit(str(path), text, Settings(), _ask(path, text, "restructure", 1))
    return applied(text, answer.replacements) if isinstance(answer, Edited) else openmp(path, text)


def preferred(path: Path, text: str) -> str:
    """The preferred action of each outermost loop of the kernel, or of those inside where it has none; the
    last loop first."""
    for ordinal in reversed(list(_outermost(path, text))):
        text = _with_fix(path, text, ordinal)
    return text


VARIANTS = (
    Variant("gcc", GCC, as_it_stands),
    Variant("preferred", (*GCC, "-fopenmp"), preferred, ours=True),
    Variant("openmp", (*GCC, "-fopenmp"), openmp, ours=True),
    Variant("restructure", (*GCC, "-fopenmp"), restructured, ours=True),
    Variant("gcc -ftree…", (*GCC, *PLUTO), as_it_stands),
    Variant("polly", (*POLLY, "-fopenmp"), as_it_stands),
    Variant("openblas", GCC, with_blas, bound=True, libraries=("-lopenblas",)),
)


# --- Edits -------------------------------------------------------------------------------


def _everywhere(path: Path, text: str, action: ActionName) -> str:
    """The text after an action on each outermost loop of the kernel, the last one first, so that the loops
    before it keep their numbers."""
    for ordinal in reversed(list(_outermost(path, text))):
        answer = edit(str(path), text, Settings(), _ask(path, text, action, ordinal))
        if isinstance(answer, Edited):
            text = applied(text, answer.replacements)
    return text


def _outermost(path: Path, text: str) -> Iterator[int]:
    for placed in analyse(str(path), text, Settings(), schedules=False).functions:
        if placed.answer.facts.name.startswith("kernel_"):
            yield from (loop.ordinal for loop in placed.answer.facts.loops if loop.depth == 1)


def _with_fix(path: Path, text: str, ordinal: int) -> str:
    report = api.analyse(path, text)
    kernel = [each for each in report.loops if each.function.startswith("kernel_")]
    own = next((each for each in kernel if each.ordinal == ordinal), None)
    if own is None:
        return text
    fix = next((each for each in api.actions(report, own) if each.preferred), None)
    if fix is not None:
        return api.apply(report, fix).text
    behind = (each.ordinal for each in kernel if each.ordinal > ordinal and each.depth <= own.depth)
    end = next(behind, len(kernel) + 1)
    for inside in reversed(
        [o.ordinal for o in kernel if o.depth == own.depth + 1 and ordinal < o.ordinal < end]
    ):
        text = _with_fix(path, text, inside)
    return text


def _ask(path: Path, text: str, action: ActionName, ordinal: int) -> Ask:
    functions = analyse(str(path), text, Settings(), schedules=False).functions
    kernel = next(p for p in functions if p.answer.facts.name.startswith("kernel_"))
    return Ask(action, kernel.answer.facts.name, kernel.start, ordinal)


# --- Programs ----------------------------------------------------------------------------

CLOCK = """#include <time.h>
static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}
"""


def timed(text: str) -> str:
    """The program, which says on standard error how long its call of the kernel takes."""
    around = r'\1double began = seconds_now();\n\1\2\n\1fprintf(stderr, "%.9f\\n", seconds_now() - began);'
    return CLOCK + with_call(text, around)


def with_call(text: str, around: str) -> str:
    """The program with other code where it calls the kernel: in `around`, `\\1` is the indentation and `\\2`
    the call."""
    call = re.compile(r"^( +)(kernel_\w+ ?\(.*?\);)", re.MULTILINE | re.DOTALL)
    head, main, tail = text.partition("int main(")
    return head + main + call.sub(around, tail, count=1)


_SIZES = ("MINI", "SMALL", "MEDIUM", "LARGE")


def size_flags(text: str, size: str) -> tuple[str, ...]:
    """The macros that give a sample a named size, as the comment at its top lists them."""
    column = _SIZES.index(size)
    rows = re.findall(r"^ \* (\w+) +(\d+) +(\d+) +(\d+) +(\d+)$", text, re.MULTILINE)
    return tuple(f"-D{row[0]}={row[column + 1]}" for row in rows)


def upstream_flags(path: Path, size: str) -> tuple[str, ...]:
    """The same for a kernel of PolyBench as downloaded, whose arrays are printed; with its harness."""
    utilities = next(p / "utilities" for p in path.parents if (p / "utilities/polybench.c").is_file())
    headers = (f"-I{utilities}", f"-I{path.parent}")
    return (*headers, f"-D{size}_DATASET", "-DPOLYBENCH_DUMP_ARRAYS", str(utilities / "polybench.c"))
