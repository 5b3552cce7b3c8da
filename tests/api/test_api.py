"""The public Python API, as its page shows it."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import count
from pathlib import Path
from time import process_time

import pytest

import polylsp
from polylsp.engine import queries

AXPY = """void axpy(int n, double alpha, double *restrict x, double *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] += alpha * x[i];
}

void smooth(int n, double *x)
{
    for (int i = 1; i < n; i++)
        x[i] = 0.5 * (x[i - 1] + x[i]);
}
"""
PAGE = Path(__file__).parents[2] / "docs/api.md"


@pytest.fixture
def report(tmp_path: Path) -> polylsp.Report:
    path = tmp_path / "axpy.c"
    path.write_text(AXPY)
    return polylsp.analyse(path)


def test_actions_are_tried_on_request_where_there_was_no_time(
    report: polylsp.Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [polylsp.actions(report, loop) for loop in report.loops]
    path = tmp_path / "late.c"
    path.write_text(AXPY)
    settings = polylsp.Settings(cache=False)
    begun = process_time()
    # Each look at the clock takes a minute, so that the time of a file is over with its first function.
    monkeypatch.setattr(queries, "process_time", count(begun, 60).__next__)
    late = polylsp.analyse(path, AXPY.replace("0.5", "0.25"), settings)
    assert [each.answer.feasibility is None for each in late.facts.functions] == [True, True]
    monkeypatch.undo()
    assert [polylsp.actions(late, loop) for loop in late.loops] == expected


def test_verdicts_of_a_file(report: polylsp.Report) -> None:
    assert [(loop.function, loop.line, loop.verdict) for loop in report.loops] == [
        ("axpy", 3, "parallel"),
        ("smooth", 9, "sequential"),
    ]
    assert "reads what" in report.loops[1].message
    assert [each.code for each in report.findings] == ["parallel-loop", "sequential-loop"]


def test_an_action_makes_an_edit(report: polylsp.Report) -> None:
    best, *_ = polylsp.actions(report, report.loops[0])
    assert (best.name, best.preferred) == ("openmp", True)
    edit = polylsp.apply(report, best)
    assert "#pragma omp parallel for if(n > 10000)\n    for (int i = 0; i < n; i++)" in edit.text
    assert edit.assumptions == ()


def test_a_loop_that_is_sequential_gets_no_directive(report: polylsp.Report) -> None:
    assert "openmp" not in [each.name for each in polylsp.actions(report, report.loops[1])]


def test_measured_times_of_versions(report: polylsp.Report) -> None:
    found = polylsp.measure(report, report.loops[0], n=20_000)
    assert dict(found.sizes)["n"] == 20_000
    assert found.original.median > 0
    with pytest.raises(polylsp.Refused, match="no size `m`"):
        polylsp.measure(report, report.loops[0], m=3)


def test_text_that_is_not_saved_and_files_that_are_not_there(tmp_path: Path) -> None:
    unsaved = polylsp.analyse("b.py", "def f(a: list):\n    for k in {1: 2}:\n        print(k)\n")
    assert [loop.verdict for loop in unsaved.loops] == ["unknown"]
    with pytest.raises(FileNotFoundError):
        polylsp.analyse(tmp_path / "none.c")


def test_importing_the_package_loads_no_isl() -> None:
    loaded = "'islpy' in sys.modules"
    code = f"import sys, polylsp; assert not {loaded}; polylsp.Report; assert {loaded}"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError):
        _ = polylsp.nothing  # type: ignore[attr-defined]


def test_the_program_of_the_page_runs(tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE.read_text(), re.S)
    (tmp_path / "axpy.c").write_text(AXPY)
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout == shown
