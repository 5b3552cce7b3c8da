"""Every suite of actions, `tests/actions/*.md`: before and after, at a cursor.

    # What it is about
    ```c action=openmp
    void f(int n, double a[n]) {
        $0for (int i = 0; i < n; i++)
            a[i] = 0;
    }
    ```
    ```c after
    ...
    ```

`$0` is the cursor; `$<` and `$>` are the ends of a selection. Fences `python` and `python after` hold
programs in Python. `action` is the name of an action,
`ignore:CODE`, or `mend:CODE` for the first that mends a directive with such a finding. Instead of `c after`
there may be `text declined`: why the action is not offered, disabled or declined. Two more fences may follow:
`text remarks` (what the edit rests on, and what there is to know of it) and `text titles` (everything that
is offered at the cursor). A fence `c file=NAME` before the program is a header. After the action's name there
may be settings (`parallel_threshold=0`) and flags: `crlf` ends the program's lines as Windows does;
`fragment`: it does not compile by itself. Every other program is compiled after the action, with
`-Wall -Werror`, or run where it is Python. `pytest --update` rewrites all fences but the programs.
"""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from cases_markdown import Fence, rewrite
from suite import Case, play, suite

HERE = Path(__file__).parent
SUITES = sorted(HERE.glob("*.md"))
CASES = [case for path in SUITES for case in suite(path)]
FLAGS = (
    "-std=gnu99",
    "-O1",
    "-Wall",
    "-Werror",
    "-Wno-unknown-pragmas",
    "-fopenmp",
    "-fopenacc",
    "-c",
    "-o",
    os.devnull,
)


def name(case: Case) -> str:
    return f"{case.path.stem}: {case.title}".replace("::", ":")


@pytest.mark.parametrize("case", CASES, ids=name)
def test_action(case: Case, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    played = play(case, tmp_path)
    if case.compiles:
        assert_it_compiles(case, played.text, tmp_path)
    text = played.text
    if case.uses_crlf and played.kind.endswith(" after"):
        assert text.count("\n") == text.count("\r\n") == text.count("\r")
        text = text.replace("\r\n", "\n")
    told: list[tuple[Fence | None, str, str]] = [
        (case.outcome, played.kind, text),
        (case.remarks, "text remarks", played.remarks),
        (case.titles, "text titles", played.titles),
    ]
    assert case.outcome or case.titles, "the suite does not say what becomes of it"
    for fence, kind, got in told:
        expected = fence and (f"{fence.info} {fence.options}", fence.text)
        if fence is None or expected == (kind, got):
            continue
        if request.config.getoption("update"):
            rewrite(case.path, fence, got, kind)
        else:
            pytest.fail(f"{case.path.name}:{fence.line}: got `{kind}` (--update rewrites it)\n{got}", False)


@cache
def gcc() -> str:
    path = shutil.which("gcc")
    if path is not None:
        return path
    reason = "gcc is not installed: nothing is compiled"
    return pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


def assert_it_compiles(case: Case, text: str, folder: Path) -> None:
    """A program compiles without a warning, or runs where it is Python."""
    if case.program.info == "python":
        program = folder / "program.py"
        program.write_text(text, newline="")
        runpy.run_path(str(program))
        return
    path = folder / "case.c"
    path.write_text(text, newline="")
    ran = subprocess.run([gcc(), *FLAGS, str(path)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_a_suite_has_accepted_and_refused_cases(path: Path) -> None:
    kinds = {case.outcome.options for case in suite(path) if case.outcome}
    assert kinds == {"after", "declined"}
