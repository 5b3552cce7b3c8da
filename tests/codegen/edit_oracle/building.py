"""Compilation of several programs together, and their runs one after the other, each in a separate
process."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.codegen.edit_oracle.writing import PRELUDE, Drawn

HERE = Path(__file__).parent
SUPPORT, RUNTIME = HERE / "support.c", HERE / "virtual_threads.c"
_PLAIN = ("-std=gnu11", "-w", "-ffp-contract=off")
_MARK = "@@ "

RUN_ALL = """\
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
void virtual_threads(int count, int order);
int main(int argc, char **argv)
{
    int runs = argc > 1 ? atoi(argv[1]) : 1;
    for (int k = 0; k < COUNT; k++)
        for (int run = 0; run < runs; run++) {
            int status;
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) {
                dup2(1, 2);
                alarm(LIMIT);
                PREPARE
                run_of_program = run;
                versions[k]();
                fflush(stdout);
                _exit(0);
            }
            waitpid(child, &status, 0);
            printf("\\n@@ %d %d\\n", k, status);
        }
    return 0;
}
"""
ORDER = """\
static int run_of_program;
static long place_in_order(long q, long count, int keep)
{
    count -= keep;
    if (q >= count)
        return q;
    if (run_of_program == 0)
        return count - 1 - q;
    if (run_of_program == 1)
        return q < count / 2 ? 2 * q + 1 : 2 * (q - count / 2) < count ? 2 * (q - count / 2) : q;
    return count % 7 ? (q * 7 + 3) % count : count - 1 - q;
}
"""
"""Other orders of the numbers below `count`; the last one stays where it is if `keep` is set."""
VIRTUAL = "static const int counts[] = {64, 64, 3, 64, 5}, orders[] = {0, 2, 0, 1, 1};\n"


@dataclass(frozen=True)
class Version:
    """A program's text under test, with the names of its file scope: where programs are compiled together,
    each gets unique names."""

    text: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Build:
    """A way to build and run programs: `runs` with other orders of virtual threads, or with real ones."""

    name: str
    compiler: str
    flags: tuple[str, ...]
    virtual: bool = False
    watched: bool = False
    runs: int = 1
    environment: dict[str, str] = field(default_factory=dict)


@cache
def clang() -> tuple[str, str] | None:
    """clang with OpenMP, and its library that tells ThreadSanitizer of OpenMP's synchronisation."""
    for version in range(21, 13, -1):
        library = Path(f"/usr/lib/llvm-{version}/lib/libarcher.so")
        compiler = shutil.which(f"clang-{version}")
        if compiler is not None and library.exists():
            return compiler, str(library)
    return None


def virtual(level: str = "-O1") -> Build:
    """Threads that run one after the other, in orders that are chosen."""
    return Build(f"gcc {level}, ordered threads", "gcc", (level, "-fopenmp"), virtual=True, runs=5)


def real(compiler: str, level: str, runs: int = 3) -> Build:
    """Four threads."""
    return Build(
        f"{Path(compiler).name} {level}, threads",
        compiler,
        (level, "-fopenmp", *_offload(compiler)),
        runs=runs,
    )


def accelerated(level: str = "-O1") -> Build:
    """OpenACC on the host."""
    return Build(f"gcc {level}, OpenACC", "gcc", (level, "-fopenacc", "-foffload=disable"))


def watched() -> Build:
    """ThreadSanitizer with Archer."""
    found = clang()
    assert found is not None, "clang with OpenMP and Archer is not installed"
    environment = {
        "OMP_TOOL_LIBRARIES": found[1],
        "TSAN_OPTIONS": "ignore_noninstrumented_modules=1 report_bugs=1",
    }
    flags = ("-O1", "-g", "-fopenmp", "-fsanitize=thread")
    return Build("ThreadSanitizer", found[0], flags, watched=True, environment=environment)


def _offload(compiler: str) -> tuple[str, ...]:
    return () if "clang" in compiler else ("-foffload=disable",)


Outcome = tuple[str, ...]
"""Output of a program in each run, or its failure."""
UNTRIED = "needs more of OpenMP than ordered threads have"


def outcomes(build: Build, programs: Sequence[Version]) -> list[Outcome]:
    """Output of each of some programs; `("does not compile: ...",)` for one that a compiler refuses."""
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        support = _compiled(build, at, SUPPORT.read_text(), "support")
        whole, problem = _linked(build, at, programs, support)
        if problem:
            good: list[int] = []
            found: dict[int, Outcome] = {}
            for k, one in enumerate(programs):
                _, wrong = _linked(build, at, [one], support)
                if build.virtual and "undefined reference to `GOMP" in wrong:
                    found[k] = (UNTRIED,)
                elif wrong:
                    found[k] = (f"does not compile: {_first(wrong)}",)
                else:
                    good.append(k)
            if good:
                whole, problem = _linked(build, at, [programs[k] for k in good], support)
                assert not problem, problem
                for k, each in zip(good, _ran(build, whole, len(good)), strict=True):
                    found[k] = each
            return [found[k] for k in range(len(programs))]
        return list(_ran(build, whole, len(programs)))


def _first(problem: str) -> str:
    lines = [line for line in problem.splitlines() if "error" in line or "undefined" in line]
    return re.sub(r"^\S*?(?=\w+\.c:)", "", (lines or problem.splitlines() or ["?"])[0])


def _compiled(build: Build, folder: Path, text: str, name: str) -> Path:
    source, target = folder / f"{name}.c", folder / f"{name}.o"
    source.write_text(text)
    command = [build.compiler, *_PLAIN, *build.flags, "-c", str(source), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise SyntaxError(done.stderr)
    return target


def _linked(build: Build, folder: Path, programs: Sequence[Version], support: Path) -> tuple[Path, str]:
    """The program that runs all of some, or why there is none."""
    parts = [PRELUDE, ORDER]
    for k, one in enumerate(programs):
        parts.append(_of_its_own(one, k))
    table = ", ".join(f"main_v{k}" for k in range(len(programs)))
    parts += [f"static int (*const versions[])(void) = {{{table}}};"]
    prepare = "virtual_threads(counts[run], orders[run]);" if build.virtual else ""
    driver = (
        RUN_ALL.replace("COUNT", str(len(programs)))
        .replace("PREPARE", prepare)
        .replace("LIMIT", "60" if build.watched else "20")
    )
    parts += [VIRTUAL if build.virtual else "", driver]
    try:
        objects = [_compiled(build, folder, "\n".join(parts), "whole"), support]
        if build.virtual:
            objects.append(_compiled(build, folder, RUNTIME.read_text(), "runtime"))
    except SyntaxError as problem:
        return folder, str(problem)
    program = folder / "whole"
    # What the ordered threads do not have must not come from a library that knows nothing of them.
    flags = [each for each in build.flags if not (build.virtual and each == "-fopenmp")]
    command = [build.compiler, *flags, *map(str, objects), "-o", str(program), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    return program, "" if done.returncode == 0 else done.stderr or "link"


def _of_its_own(one: Version, k: int) -> str:
    """A text whose names are no other's."""
    names = "|".join(map(re.escape, (*one.names, "main")))
    text = one.text.replace(PRELUDE, "")
    return re.sub(rf"\b({names})\b", rf"\1_v{k}", text)


def _ran(build: Build, program: Path, count: int) -> Iterator[Outcome]:
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "4",
        "OMP_WAIT_POLICY": "passive",
        "OMP_DYNAMIC": "false",
        **build.environment,
    }
    done = subprocess.run(
        [str(program), str(build.runs)], capture_output=True, env=environment, check=False, timeout=1200
    )
    printed = done.stdout.decode(errors="replace")
    pieces = re.split(r"\n@@ (\d+) (\d+)\n", printed)
    texts, numbers, states = pieces[0::3], pieces[1::3], pieces[2::3]
    found: list[list[str]] = [[] for _ in range(count)]
    for text, number, state in zip(texts, numbers, states, strict=False):
        if build.watched and "WARNING: ThreadSanitizer" in text:
            text = "races: " + " ".join(
                re.findall(r"(?:Write|Read|Previous \w+|Atomic \w+) of size \d+|#0 \w+", text)[:6]
            )
        elif state != "0":
            signal = int(state) & 127
            text = f"ends with {'signal ' + str(signal) if signal else 'status ' + str(int(state) >> 8)}"
        found[int(number)].append(text)
    assert all(len(each) == build.runs for each in found), (
        done.returncode,
        done.stderr[-2000:],
        printed[-500:],
    )
    return (tuple(each) for each in found)


def version(one: Drawn, text: str | None = None) -> Version:
    """A drawn program, or an edited version of it."""
    return Version(text or one.whole, one.names)
