"""Recall and false alarms of the check of directives: `python -m tests.bench.directive_races [--sanitizer]`.

A fence of the suites in `tests/cases/c/directives` says `racy` where its program has a data race that
ThreadSanitizer with Archer reports, `racy=unseen` where it has one that they do not (lanes of one thread,
teams of a device, a copy without a value, threads that seldom meet), and neither where it has none. With
`--sanitizer` each program that has a `main` is built and run several times, and those are listed of which the
fence says something else.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from polylsp.core.settings import Settings
from polylsp.core.text import Source
from polylsp.engine.queries import analyse
from polylsp.ide.diagnostics import PRAGMA_CODES, diagnostics

ROOT = Path(__file__).parent.parent
SUITES = ROOT / "cases/c/directives"
STEMS = ("racy_programs", "correct_programs", "twins_*")
RUNS = 6
_REPORT = "WARNING: ThreadSanitizer: data race"


@dataclass(frozen=True)
class Program:
    """A program of a suite. `seen`: ThreadSanitizer reports its race."""

    suite: str
    title: str
    text: str
    racy: bool
    seen: bool


def programs() -> Iterator[Program]:
    """The programs of the suites, in order."""
    sys.path.insert(0, str(ROOT))
    from cases_markdown import cases

    for path in (path for stem in STEMS for path in sorted(SUITES.glob(f"{stem}.md"))):
        for case in cases(path):
            options = case.program.options.split()
            racy = any(option.partition("=")[0] == "racy" for option in options)
            yield Program(path.stem, case.title, case.program.text, racy, "racy" in options)


def is_reported(program: Program) -> bool:
    """True if the check of directives says that the program races, or may do so."""
    source = Source(program.text)
    report = analyse("case.c", program.text, Settings())
    lines = program.text.split("\n")
    return any(
        found.code in PRAGMA_CODES
        or (found.code == "needs-assumption" and "#pragma" in lines[source.line_of(found.span.start)])
        for found in diagnostics(source, report, Settings())
    )


def sanitized(program: Program, folder: Path) -> bool | None:
    """True if ThreadSanitizer reports a race in any of several runs; `None` where the program cannot be built
    or ends with an error."""
    compiler = next(c for c in ("clang-19", "clang-18", "clang") if shutil.which(c))
    source, built = folder / "case.c", folder / "case"
    source.write_text(program.text, encoding="utf-8")
    flags = ("-g", "-O1", "-w", "-fopenmp", "-fsanitize=thread")
    made = subprocess.run([compiler, *flags, source, "-o", built, "-lm"], capture_output=True, check=False)
    if made.returncode:
        return None
    version = compiler.rpartition("-")[2]
    options = {
        "OMP_TOOL_LIBRARIES": f"/usr/lib/llvm-{version}/lib/libarcher.so",
        "OMP_MAX_ACTIVE_LEVELS": "2",
        "TSAN_OPTIONS": "ignore_noninstrumented_modules=1 exitcode=66",
    }
    for run in range(RUNS):
        environment = {**os.environ, **options, "OMP_NUM_THREADS": str((4, 2, 8)[run % 3])}
        try:
            ran = subprocess.run([built], capture_output=True, env=environment, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            return None
        if _REPORT.encode() in ran.stderr:
            return True
    return False


def main() -> None:
    """Print the figures of each suite, and where they come from."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--sanitizer", action="store_true", help="hold the suites against ThreadSanitizer")
    chosen = arguments.parse_args()
    every = list(programs())
    for suite in dict.fromkeys(program.suite for program in every):
        mine = [(program, is_reported(program)) for program in every if program.suite == suite]
        racy = [found for program, found in mine if program.racy]
        alarms = [program.title for program, found in mine if found and not program.racy]
        print(f"{suite}: {sum(racy)} of {len(racy)} races found, {len(alarms)} false alarms in {len(mine)}")
        for title in [p.title for p, found in mine if p.racy and not found]:
            print(f"    not found: {title}")
        for title in alarms:
            print(f"    false alarm: {title}")
    if chosen.sanitizer:
        for line in _disagreements([program for program in every if "int main(" in program.text]):
            print(line)


def _disagreements(every: list[Program]) -> Iterator[str]:
    def checked(program: Program) -> bool | None:
        with tempfile.TemporaryDirectory() as folder:
            return sanitized(program, Path(folder))

    with ThreadPoolExecutor(2) as pool:
        for program, outcome in zip(every, pool.map(checked, every), strict=True):
            if outcome is None:
                yield f"{program.suite}: {program.title}: cannot be built or does not end"
            elif outcome != program.seen:
                found = "a race" if outcome else "no race"
                yield f"{program.suite}: {program.title}: ThreadSanitizer reports {found}"


if __name__ == "__main__":
    main()
