"""Measurements from the plan to the figures, on sizes that take next to no time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from runtime_plans import Planning

from polylsp.core.settings import Settings
from polylsp.ide.measured import measured_label
from polylsp.measuring.c_versions import CTools
from polylsp.measuring.timing import chosen
from polylsp.measuring.trials import measured
from polylsp.model.measurement import Measurement, NotMeasured, Plan

SUM = """
double f(int n, const double *restrict x, const double *restrict y) {
    double s = 0.0;
    for (int i = 0; i < n; i++)
        s += x[i] * y[i];
    return s;
}
"""
CSR = """
void f(int n, const int *restrict start, const int *restrict column, const double *restrict value,
       const double *restrict x, double *restrict y)
{
    for (int i = 0; i < n; i++) {
        double s = 0.0;
        for (int k = start[i]; k < start[i + 1]; k++)
            s += value[k] * x[column[k]];
        y[i] = s;
    }
}
"""
SCALE = """
void f(int n, int *restrict a, double *restrict b) {
    for (int i = 0; i < n; i++) {
        a[i] = 3 * a[i] + i;
        b[i] = 0.0 / (b[i] - b[i]);
    }
}
"""


def outcome(plan: object, folder: str, settings: Settings | None = None) -> Measurement | NotMeasured:
    assert isinstance(plan, Plan), plan
    return measured(plan, settings or Settings(), folder, lambda *_: None)


def with_variant(plan: object, old: str, new: str) -> Plan:
    """The plan, its variants with an error in them."""
    assert isinstance(plan, Plan) and old in plan.variants[0].text
    variants = tuple(replace(each, text=each.text.replace(old, new)) for each in plan.variants)
    return replace(plan, variants=variants)


def test_a_sum_in_another_order_agrees_and_a_version_that_takes_too_long_costs_it_nothing(
    planning: Planning, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CTools, "seconds_at_first", 5.0)
    text = SUM.replace("double f", "extern int pause(void);\ndouble f")
    plan = planning(text, n=20000)
    late = with_variant(plan, "return s;", "while (n) pause(); return s;")
    assert isinstance(plan, Plan)
    found = outcome(replace(plan, variants=(*late.variants, *plan.variants)), folder)
    assert isinstance(found, Measurement)
    told = found.missing[len(plan.missing)]
    assert "did not come to its end within 5 s, which is far more" in told.reason and not told.is_error
    (figure,) = found.figures
    assert (figure.target, figure.form) == ("openmp", "directives")
    assert (
        0 <= figure.max_error < 1e-12
        and figure.times.runs >= 5
        and figure.least <= figure.speedup <= figure.most
    )
    assert found.sizes == (("n", 20000),) and found.original.median > 0 and "gcc" in found.compiler
    assert not list(Path(folder).glob("core*"))


def test_rows_of_a_sparse_matrix(planning: Planning, folder: str) -> None:
    found = outcome(planning(CSR, n=3000), folder)
    assert isinstance(found, Measurement) and found.figures and not any(m.is_error for m in found.missing)
    off = outcome(with_variant(planning(CSR, n=3000), "start[i + 1]", "start[i + 1] - (i == 7)"), folder)
    assert isinstance(off, Measurement) and "Element 7 of `y`" in off.missing[0].reason


@pytest.mark.parametrize(
    ("stars", "subscripts"), [("**", "[i][j]"), ("***", "[0][i][j]"), ("***", "[i][j][1]")]
)
def test_rows_that_pointers_lead_to(planning: Planning, folder: str, stars: str, subscripts: str) -> None:
    text = f"void f(int n, double {stars}a, const double *x) {{ for (int i = 0; i < n; i++) "
    text += f"for (int j = 0; j < n; j++) a{subscripts} += x[j]; }}"
    found = outcome(planning(text, n=150), folder)
    assert isinstance(found, Measurement) and found.figures and not any(m.is_error for m in found.missing)
    off = outcome(with_variant(planning(text, n=150), "x[j]", "x[j] + (i == 3)"), folder)
    assert isinstance(off, Measurement) and off.figures == ()
    assert [m.is_error for m in off.missing if "of `a` is" in m.reason] == [True]


def test_integers_agree_exactly_and_what_is_no_number_agrees_with_itself(
    planning: Planning, folder: str
) -> None:
    found = outcome(planning(SCALE, n=20000), folder)
    assert isinstance(found, Measurement) and found.figures and not any(m.is_error for m in found.missing)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ("1e300 * x[i]", "All 20,000 real numbers that come out"),
        ("i == 7 ? 0.0 / 0.0 : x[i]", "1 of the 20,000 real numbers that come out"),
    ],
)
def test_what_is_no_number_is_told_of(planning: Planning, folder: str, result: str, words: str) -> None:
    text = "void f(int n, double *restrict y, const double *restrict x) {"
    found = outcome(planning(f"{text} for (int i = 0; i < n; i++) y[i] = {result}; }}", n=20000), folder)
    assert isinstance(found, Measurement) and found.figures
    assert [each for each in found.remarks if words in each]


@pytest.mark.parametrize(
    ("value", "agrees"), [("1.0 / 0.0", True), ("0.0 / 0.0", True), ("1e300", False), ("1.0", False)]
)
def test_no_number_agrees_with_what_is_next_to_it(
    planning: Planning, folder: str, value: str, agrees: bool
) -> None:
    text = "void f(int n, double *restrict y) { for (int i = 0; i < n; i++) y[i] = 1.5e308; }"
    found = outcome(with_variant(planning(text, n=20000), "1.5e308", value), folder)
    assert isinstance(found, Measurement) and bool(found.figures) == agrees


MACRO = """
#ifndef N
#define N 40
#endif
void f(double a[restrict N], const double b[restrict N]) {
    for (int i = 0; i < N; i++)
        a[i] = b[i];
}
"""


def test_a_call_that_is_very_short_is_told_of_and_how_to_make_it_longer(
    planning: Planning, folder: str
) -> None:
    found = outcome(planning(MACRO), folder)
    assert isinstance(found, Measurement)
    assert [each for each in found.remarks if "very short" in each and "`polylsp: N=2000`" in each]
    assert measured_label(found).endswith(" a call")


def test_programs_have_the_sizes_that_are_macros(planning: Planning, folder: str) -> None:
    found = outcome(planning(MACRO, N=4_000_000), folder)
    assert isinstance(found, Measurement) and found.sizes == (("N", 4_000_000),)
    assert found.original.median > 1e-3 and not [each for each in found.remarks if "very short" in each]


def test_what_comes_out_has_to_be_the_same_each_time(planning: Planning, folder: str) -> None:
    text = "#include <stdlib.h>\nstatic double next(void) { return rand(); }\n"
    text += "void f(int n, double *a) { for (int i = 0; i < n; i++) a[i] += 1.0; if (n) a[0] = next(); }"
    found = outcome(planning(text, n=100), folder)
    assert isinstance(found, NotMeasured) and "when it is called again" in found.reason


@pytest.mark.parametrize(
    ("text", "old", "new", "words"),
    [
        (SCALE, "3 * a[i] + i", "3 * a[i] + i + (i == 36)", "Element 36 of `a`"),
        (SCALE, "b[i] = 0.0 / (b[i] - b[i])", "b[i] = 1.0", "is 1 where the original makes it"),
        (SUM, "x[i] * y[i]", "x[i] * y[i] * 1.0000001", "The value that it returns is"),
        (SUM, "return s;", "*(volatile int *)8 = 1; return s;", "touched memory that is not its own"),
        (SUM, "i < n", "i <= n", "touched memory that is not its own"),
    ],
)
def test_a_version_that_does_something_else_is_an_error_without_a_figure(
    planning: Planning, folder: str, text: str, old: str, new: str, words: str
) -> None:
    found = outcome(with_variant(planning(text, n=20000), old, new), folder)
    assert isinstance(found, Measurement) and found.figures == ()
    assert [m.is_error for m in found.missing if words in m.reason] == [True]


def test_sizes_are_chosen_so_that_the_original_takes_a_while(planning: Planning) -> None:
    plan = planning(SUM.replace("s += x[i] * y[i]", "for (int j = 0; j < n; j++) s += x[i] * y[j]"))
    assert isinstance(plan, Plan)
    tried: list[float] = []

    def timed(rung) -> float:
        """A nanosecond each, and twice as much where data do not fit into a cache."""
        tried.append(rung.instances * (1e-9 if rung.sizes[0] < 5000 else 2e-9))
        return tried[-1]

    rung = chosen(plan, 2, timed)
    assert 0.2 <= tried[-1] <= 1.0 and rung.instances * 1e-9 <= 1.0
    assert len(tried) <= 6 and max(tried) <= 1.0


def test_sizes_are_chosen_also_where_nobody_knows_how_often_loops_run(planning: Planning) -> None:
    plan = planning(
        "void f(int n, double *a, double *b) { for (int t = 0; t < n; t++) { double *c = a;"
        " for (int i = 0; i < n; i++) b[i] = a[i]; a = b; b = c; } }"
    )
    assert isinstance(plan, Plan) and not plan.rungs[0].counted
    tried: list[int] = []

    def timed(rung) -> float:
        tried.append(rung.sizes[0])
        return rung.sizes[0] ** 2 * 1e-9

    rung = chosen(plan, 2, timed)
    assert 0.2 <= rung.sizes[0] ** 2 * 1e-9 <= 1.0
    assert tried[0] == plan.rungs[0].sizes[0] and max(each**2 * 1e-9 for each in tried) <= 10.0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("while (1) ;", "did not come to its end within"),
        ('for (long k = 0; k < 300000; k++) fputs("word word", stdout);', "printed more than 1 MiB"),
        ("exit(3);", "ended by itself with status 3"),
        ("x[n + (int)(x[0] * 1e-9)] = 1;", "touched memory that is not its own"),
    ],
)
def test_a_function_that_misbehaves_is_told_of(
    planning: Planning, folder: str, body: str, words: str
) -> None:
    head = "#include <stdio.h>\n#include <stdlib.h>\n"
    text = f"{head}static void bad(int n, double *x) {{ {body} }}\nvoid f(int n, double *x)"
    text += "{ for (int i = 0; i < n; i++) x[i] = 0.0; if (n > 1) bad(n, x); }"
    found = outcome(
        planning(text, n=100), folder, Settings(max_measure_seconds=2.0 if "while" in body else 30.0)
    )
    assert isinstance(found, NotMeasured) and words in found.reason and found.reason.startswith("`f` ")


def test_a_function_that_reads_its_standard_input_finds_nothing_there(
    planning: Planning, folder: str
) -> None:
    text = (
        "#include <stdio.h>\n#include <stdlib.h>\nstatic void ask(void) { if (getchar() != EOF) abort(); }\n"
    )
    text += "void f(int n, double *x) { for (int i = 0; i < n; i++) x[i] = 0.0; ask(); }"
    found = outcome(planning(text, n=100), folder)
    assert isinstance(found, Measurement), found


def test_a_file_or_a_compiler_that_is_refused(planning: Planning, folder: str) -> None:
    broken = outcome(planning(SUM + "\nint g(void) { return undeclared; }\n", n=10), folder)
    assert isinstance(broken, NotMeasured) and "given.c" in broken.reason and "undeclared" in broken.reason
    refused = outcome(planning(SUM, n=10), folder, Settings(c_compiler="ccache"))
    assert isinstance(refused, NotMeasured) and "perhaps a wrapper" in refused.reason


def test_what_other_files_define_need_not_be_there(planning: Planning, folder: str) -> None:
    text = "extern void elsewhere(void);\nvoid unrelated(void) { elsewhere(); }\n" + SUM
    assert isinstance(outcome(planning(text, n=10), folder), Measurement)


def test_what_there_is_no_time_to_try_is_told(
    planning: Planning, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polylsp.measuring.trials._FOR_THE_LAST", 1.0)
    plan = planning(SUM, n=3000)
    assert isinstance(plan, Plan)
    found = outcome(replace(plan, is_search=True), folder)
    assert isinstance(found, Measurement) and not found.figures and found.original.runs >= 5
    told = [
        each
        for each in found.missing
        if each.reason == "There was no time left to try it: raise `max_measure_seconds`."
    ]
    assert len(told) == len(plan.variants) and not any(each.is_error for each in told)
