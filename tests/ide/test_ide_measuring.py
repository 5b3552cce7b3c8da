"""Places where a measurement can be requested."""

from __future__ import annotations

import pytest

from polylsp.core.notebook import notebook
from polylsp.core.settings import Settings
from polylsp.core.text import Source
from polylsp.engine.queries import analyse
from polylsp.ide.lookup import function_on_line
from polylsp.ide.measurement_view import Kept, code_name, lenses
from polylsp.model.facts import FileReport
from polylsp.model.measurement import Measurement, Times

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


def test_methods_have_a_lens_where_there_is_something_to_compare_them_with() -> None:
    text = f"{PYTHON}\ndef outer():\n  def inner(a):\n    for i in range(len(a)):\n      a[i] = 0.0\n"
    report = analyse("/p/a.py", text.replace("running", "main"), Settings(), edits=True)
    assert [each.function for each in lenses(Source(text), report, {})] == ["scale", "Held.scale"]


@pytest.mark.parametrize(("line", "name"), [(0, "f"), (1, "f"), (2, ""), (5, ""), (6, "g"), (8, "")])
def test_a_function_of_python_is_that_whose_header_a_line_is_part_of(line: int, name: str) -> None:
    header = "def f(a,\n      b: dict[str, int] = {}):\n"
    text = f"{header}    return a\n\n\nc = {{}}\ndef g(): return 0\n\nprint(f'{{c}}')\n"
    found = function_on_line(Source(text), analysed("/p/a.py", text), line)
    assert (found.answer.facts.name if found is not None else "") == name


def test_a_lens_tells_what_was_measured_and_whether_the_code_is_still_that() -> None:
    report, source = analysed("/p/a.py", PYTHON), Source(PYTHON)
    times = Times(1.0, 1.0, 1.0, 5)
    measured = Measurement("scale", 1, (("a.shape[0]", 9),), times, (), (), "Python", "a processor", 2, 0.0)
    placed = next(each for each in report.functions if each.answer.facts.name == "scale")
    code = code_name(source, report, placed)
    titles = [
        next(lenses(source, report, {("scale", 1): Kept(each, measured)})).title for each in (code, "other")
    ]
    assert titles == [
        "Measure again (not measured · a.shape[0]=9)",
        "Measure again (the code has changed)",
    ]


def test_of_two_functions_of_one_name_the_one_that_counts_has_the_lens() -> None:
    text = notebook([(0, PYTHON), (2, PYTHON)])
    report = analysed("/p/a.ipynb", text.text)
    (found,) = lenses(text, report, {})
    assert (found.function, text.cell(found.span.start)) == ("scale", 2)
