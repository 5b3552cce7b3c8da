"""Findings about directives: where they stand, what they say, and the pragma that is right."""

from __future__ import annotations

import pytest

from polylsp.core.settings import Settings
from polylsp.core.text import Source
from polylsp.engine.queries import analyse
from polylsp.ide.diagnostics import diagnostics
from polylsp.ide.directive_faults import mended
from polylsp.ir.directive import Lacking
from polylsp.model.action import applied
from polylsp.model.facts import FileReport


def report(text: str) -> FileReport:
    return analyse("pragmas.c", text, Settings())


def after_mending(text: str) -> str:
    """The text with the clause of its only finding."""
    (placed,) = report(text).functions
    ((directive, finding),) = [(d, f) for d in placed.answer.facts.directives for f in d.findings]
    assert isinstance(finding, Lacking)
    edit = mended(Source(text), placed, directive, finding.mend)
    return applied(text, (edit,)) if edit is not None else "no edit"


RACE = """\
void f(int n, double *a) {
    #pragma omp parallel for  // threads
    for (int i = 1; i < n; i++)
        a[i] = a[i - 1];
}
"""


def test_a_race_is_an_error_on_the_pragma_with_both_accesses() -> None:
    found = [d for d in diagnostics(Source(RACE), report(RACE), Settings()) if d.code == "wrong-pragma"]
    (error,) = found
    assert (error.severity, error.function, error.ordinal) == ("error", "f", 1)
    assert RACE[error.span.start : error.span.end] == "#pragma omp parallel for"
    assert error.message == (
        "`omp parallel for` lets iterations of `i` run at once, but `a[i - 1]` on line 4 reads what "
        "`a[i] = …` on line 4 wrote one iteration earlier (for example i = 1 writes a[1], i = 2 reads it)."
    )
    told = [(RACE[r.span.start : r.span.end], r.message) for r in error.related]
    assert told == [
        ("a[i]", "`a` is first written here: `a[i] = …`"),
        ("a[i - 1]", "`a` is then read here: `a[i - 1]`"),
    ]


def test_a_finding_moves_with_what_stands_above_it() -> None:
    text = "int x;\n\n" + RACE.replace("    #pragma", "    /* why */\n    #pragma")
    (error,) = [d for d in diagnostics(Source(text), report(text), Settings()) if d.code == "wrong-pragma"]
    assert text[error.span.start : error.span.end] == "#pragma omp parallel for"
    assert "on line 7 reads" in error.message


def test_a_disabled_code_is_not_shown() -> None:
    settings = Settings(disabled_diagnostics=("wrong-pragma",))
    codes = {d.code for d in diagnostics(Source(RACE), report(RACE), settings)}
    assert codes == {"sequential-loop"}


def test_facts_name_the_loops_that_a_directive_hands_out_and_those_inside() -> None:
    text = """\
void f(int n, double a[n][n][n]) {
#pragma omp parallel
    {
#pragma omp for collapse(2)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                for (int k = 0; k < n; k++)
                    a[i][j][k] = 0.0;
    }
#pragma acc loop seq
    for (int i = 0; i < n; i++)
        a[i][0][0] = 1.0;
}
"""
    (placed,) = report(text).functions
    told = [(d.family, d.words, d.loops, d.inside, d.parallel) for d in placed.answer.facts.directives]
    assert told == [
        ("omp", "parallel", (), (1, 2, 3), True),
        ("omp", "for", (1, 2), (1, 2, 3), True),
        ("acc", "loop", (4,), (4,), False),
    ]
    pragmas = [text[s.start : s.end] for s in placed.answer.pragmas]
    assert pragmas == ["#pragma omp parallel", "#pragma omp for collapse(2)", "#pragma acc loop seq"]


@pytest.mark.parametrize(
    ("pragma", "right"),
    [
        ("#pragma omp parallel for", "#pragma omp parallel for reduction(+:s)"),
        ("#pragma omp parallel for // sum", "#pragma omp parallel for reduction(+:s) // sum"),
        ("#pragma omp parallel for \\\n  if(n)\t", "#pragma omp parallel for \\\n  if(n) reduction(+:s)\t"),
        ("#pragma omp parallel for private(s)", "#pragma omp parallel for reduction(+:s)"),
        ("#pragma omp parallel for private(s) if(n)", "#pragma omp parallel for if(n) reduction(+:s)"),
        ("#pragma omp parallel for private(t, s)", "#pragma omp parallel for private(t) reduction(+:s)"),
        ('_Pragma("omp parallel for")', "no edit"),
    ],
)
def test_the_clause_that_is_missing_goes_to_the_end_of_the_pragma(pragma: str, right: str) -> None:
    before = "double f(int n, double *a) {\n    double s = 0.0, t;\n    "
    after = "\n    for (int i = 0; i < n; i++)\n        s += a[i];\n    return s;\n}\n"
    wanted = before + right + after if right != "no edit" else right
    assert after_mending(before + pragma + after) == wanted
    if right != "no edit":
        (placed,) = report(wanted).functions
        assert [d.findings for d in placed.answer.facts.directives] == [()]


@pytest.mark.parametrize(
    ("pragma", "right"),
    [
        ("omp target map(to: y[0:n])", "omp target map(tofrom: y[0:n])"),
        ("omp target map(to : x[0:n], y[ 0 : n ])", "omp target map(to : x[0:n]) map(tofrom: y[0:n])"),
        ("acc parallel loop copyin(y[0:n], x[0:n])", "acc parallel loop copyin(x[0:n]) copy(y[0:n])"),
    ],
)
def test_a_clause_about_data_takes_the_place_of_the_one_that_is_wrong(pragma: str, right: str) -> None:
    before = "void f(int n, const double *x, double *restrict y) {\n#pragma "
    after = "\n    for (int i = 0; i < n; i++)\n        y[i] += x[i];\n}\n"
    wanted = before + right + after
    assert after_mending(before + pragma + after) == wanted
    (placed,) = report(wanted).functions
    assert [d.findings for d in placed.answer.facts.directives] == [()]


KERNEL = """\
static void scale(int n, double *a) {
#pragma omp target teams distribute parallel for map(to: a[0:n])
    for (int i = 0; i < n; i++)
        a[i] *= 2.0;
}
void f(int n, double *a) {
DATA
    scale(n, a);
}
"""


def test_data_that_another_function_comes_to_keep_on_the_device_is_no_longer_spoken_of() -> None:
    found = [
        [f for placed in report(text).functions for d in placed.answer.facts.directives for f in d.findings]
        for text in (
            KERNEL.replace("DATA", ""),
            KERNEL.replace("DATA", "#pragma omp target data map(tofrom: a[0:n])"),
            KERNEL.replace("DATA", "    /* nothing */"),
        )
    ]
    assert [[type(f) for f in each] for each in found] == [[Lacking], [], [Lacking]]
