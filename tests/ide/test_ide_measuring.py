"""Where a measurement can be asked for."""

from __future__ import annotations

import pytest

from polylsp.ide.measuring import Kept, code_name, lenses
from polylsp.model.measurement import Measurement, Times
from polylsp.model.report import FileReport
from polylsp.pipeline import analyse
from polylsp.settings import Settings
from polylsp.text import Source

C = """
void scale(int n, double *a) {
    for (int i = 0; i < n; i++)
        a[i] *= 2.0;
}
int main(void) {
    double a[9];
    for (int i = 0; i < 9; i++) a[i] = 0.0;
    return 0;
}
"""
PYTHON = """
import numpy as np

def scale(a):
    for i in range(len(a)):
        a[i] *= 2.0

class Held:
    def scale(self, a):
        for i in range(len(a)):
            a[i] *= 2.0

def running(a):
    for i in range(1, len(a)):
        a[i] += a[i - 1]

b = np.zeros(9)
for i in range(9):
    b[i] = 1.0
"""


def analysed(path: str, text: str) -> FileReport:
    return analyse(path, text, Settings(), schedules=False)


@pytest.mark.parametrize(("path", "text"), [("/p/a.c", C), ("/p/a.py", PYTHON)])
def test_loops_of_functions_that_can_be_called_and_run_in_parallel_have_a_lens(path: str, text: str) -> None:
    found = lenses(Source(text), analysed(path, text), {})
    assert [(each.title, each.function, each.ordinal) for each in found] == [("Measure", "scale", 1)]


def test_a_lens_tells_what_was_measured_and_whether_the_code_is_still_that() -> None:
    report, source = analysed("/p/a.py", PYTHON), Source(PYTHON)
    times = Times(1.0, 1.0, 1.0, 5)
    measured = Measurement("scale", 1, (("a.shape[0]", 9),), times, (), (), "Python", "a processor", 2, 0.0)
    placed = next(each for each in report.functions if each.answer.facts.name == "scale")
    code = code_name(source, report, placed)
    titles = [
        lenses(source, report, {("scale", 1): Kept(each, measured)})[0].title for each in (code, "other")
    ]
    assert titles == [
        "Measure again (not measured · a.shape[0]=9)",
        "Measure again (the code has changed)",
    ]


def test_notebooks_have_none() -> None:
    report = analysed("/p/a.py", PYTHON)
    notebook = FileReport("/p/a.ipynb", report.language, report.functions, report.problems)
    assert lenses(Source(PYTHON), notebook, {}) == ()
