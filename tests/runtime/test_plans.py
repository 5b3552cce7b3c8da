"""Calls of functions on generated data, and functions without valid data."""

from __future__ import annotations

from pathlib import Path

import pytest
from runtime_plans import Planning

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, measurable
from polylsp.measuring.plans.measurement_plan import usual_sizes
from polylsp.model.measurement import AskToMeasure, Extent, MemoryPlan, NoPlan, Number, Plan, Pointee, Size


def planned(plan: Plan | NoPlan) -> Plan:
    assert isinstance(plan, Plan), plan
    return plan


def memory(plan: Plan, name: str) -> tuple[MemoryPlan, Extent]:
    number = next(k for k, each in enumerate(plan.memories) if each.name == name)
    return plan.memories[number], plan.rungs[0].extents[number]


def test_declared_extents_and_what_is_written(planning: Planning) -> None:
    text = """
    void f(int n, int m, float factor, double a[restrict n][m], const float b[restrict m]) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                a[i][j] = factor * b[j];
    }"""
    plan = planned(planning(text, n=5, m=7))
    assert plan.arguments == (Size("n"), Size("m"), Number("factor", 1.125), Pointee(0), Pointee(1))
    a, b = memory(plan, "a"), memory(plan, "b")
    assert (a[0].kind, a[0].size, a[0].written, a[1]) == ("f", 8, True, Extent(0, 35))
    assert (b[0].kind, b[0].size, b[0].written, b[1]) == ("f", 4, False, Extent(0, 7))
    assert plan.rungs[0].instances == 35 and plan.given


def test_extents_that_only_the_model_knows(planning: Planning) -> None:
    text = """
    void f(long n, int w, short *a, double *p) {
        for (long i = 0; i < n; i++)
            for (int k = 0; k < w; k++)
                a[i * w + k] = p[2 * i + 5] + p[-3];
    }"""
    plan = planned(planning(text, n=10, w=4))
    assert memory(plan, "a")[1] == Extent(0, 40)
    assert memory(plan, "p")[1] == Extent(-3, 27)


def test_subscripts_that_are_data_stay_inside(planning: Planning) -> None:
    text = """
    void f(int n, const int *restrict where, const unsigned char *restrict bin, double *restrict a, int h[64])
    {
        for (int i = 0; i < n; i++) {
            int at = where[i];
            a[at] += 1.0;
            h[bin[i]]++;
        }
        for (int i = 0; i < n; i++)
            a[i] *= 2.0;
    }"""
    plan = planned(planning(text, n=100))
    assert memory(plan, "where")[1].limit == 100
    assert memory(plan, "bin")[1].limit == 64


def test_rows_of_sparse_matrices_start_in_ascending_order(planning: Planning) -> None:
    plan = planned(planning(CSR, n=100))
    start = memory(plan, "start")
    assert (start[0].fill, start[1].count, start[1].limit) == ("ascending", 101, 801)
    assert memory(plan, "value")[1].count == memory(plan, "column")[1].count == 801
    assert memory(plan, "column")[1].limit == 100
    declared = planned(planning(CSR.replace("*restrict value", "value[51]"), n=100))
    assert memory(declared, "start")[1].limit == 51 and memory(declared, "column")[1].count >= 51


def test_tables_of_pointers_lead_to_rows(planning: Planning) -> None:
    text = "void f(int n, int m, double **a, const float *const *b) {"
    text += "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i][j] = b[j][i + 1]; }"
    plan = planned(planning(text, n=5, m=7))
    assert (memory(plan, "a")[0].levels, memory(plan, "a")[1]) == (2, Extent(0, 35, shape=(5, 7)))
    assert (memory(plan, "b")[0].size, memory(plan, "b")[1]) == (4, Extent(0, 42, shape=(7, 6)))


def test_sizes_grow_together_around_those_that_are_given(planning: Planning) -> None:
    text = """
    void f(int n, int m, double a[n][m]) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                a[i][j] += 1.0;
    }"""
    plan = planned(planning(text, m=3))
    assert len(plan.rungs) > 20 and not plan.given
    assert all(rung.sizes[1] == 3 and rung.extents[0].count == 3 * rung.sizes[0] for rung in plan.rungs)
    assert plan.small.sizes == (37, 3)


def test_comments_say_sizes_and_what_matrices_are(planning: Planning) -> None:
    text = """
    // Something of it.
    // polylsp: n=20 a=positive-definite
    void f(int n, double a[n][n], double b[n]) {
        for (int i = 0; i < n; i++)
            b[i] = a[i][i];
    }"""
    plan = planned(planning(text))
    assert plan.rungs[0].sizes == (20,) and memory(plan, "a")[0].fill == "positive-definite"
    assert planned(planning(text, n=30)).rungs[0].sizes == (30,)


@pytest.mark.parametrize("wish", ["a=positive-definite", "spd a", "n=20 spd a", "spd a n=20"])
def test_matrices_that_have_to_be_positive_definite(planning: Planning, wish: str) -> None:
    text = f"// polylsp: {wish}\nvoid f(int n, double a[n][n], double b[n])"
    plan = planned(planning(f"{text} {{ for (int i = 0; i < n; i++) b[i] = a[i][i]; }}", n=20))
    assert [each.fill for each in plan.memories] == ["positive-definite", "random"]


@pytest.mark.parametrize(
    ("matrix", "statement", "fill"),
    [
        ("double a[n][n]", "b[i] /= a[i][i];", "positive-definite"),
        ("double a[n][n]", "b[i] = 1.0 / (a[i][i] + 0.5);", "positive-definite"),
        ("double a[n][n]", "b[i] = sqrt(a[i][i]);", "positive-definite"),
        ("double *a", "b[i] /= a[i * n + i];", "positive-definite"),
        ("float a[n][n]", "float w = a[i][i]; b[i] /= w;", "positive-definite"),
        ("double a[n][n]", "b[i] *= a[i][i];", "random"),
        ("double a[n][n]", "b[i] /= a[i][0];", "random"),
        ("double a[n][n]", "b[i] /= a[0][i];", "random"),
        ("double *a", "b[i] /= a[i * n];", "random"),
        ("int a[n][n]", "b[i] /= a[i][i];", "random"),
    ],
)
def test_a_matrix_whose_diagonal_is_divided_by_has_a_heavy_one(
    planning: Planning, matrix: str, statement: str, fill: str
) -> None:
    text = f"#include <math.h>\nvoid f(int n, {matrix}, double b[n])"
    plan = planned(planning(f"{text} {{ for (int i = 0; i < n; i++) {{ {statement} }} }}", n=20))
    assert memory(plan, "a")[0].fill == fill and memory(plan, "b")[0].fill == "random"


MACROS = """
#ifndef N
#define N 40
#endif
#define M 7
void f(double a[restrict N][M], const double b[restrict N][M]) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++)
            a[i][j] = b[i][j];
}
"""


def test_sizes_that_are_macros_which_the_compiler_may_be_told(planning: Planning) -> None:
    plan = planned(planning(MACROS))
    assert (plan.macros, plan.unset) == ((), ("N",)) and plan.rungs[0].extents[0].count == 40 * 7
    plan = planned(planning(MACROS, N=50))
    assert plan.sizes_at(plan.rungs[0]) == (("N", 50),) and plan.rungs[0].extents[0].count == 50 * 7
    plan = planned(planning(MACROS.replace("void f", "// polylsp: N=60\nvoid f")))
    assert plan.macros == (("N", 60),) and plan.unset == () and plan.rungs[0].extents[0].count == 60 * 7


@pytest.mark.parametrize(
    ("before", "size", "reason"),
    [
        ("", "M", "`M` is always what its `#define` says: put `#ifndef M` around it, or change it there."),
        ("", "K", "`f` has no size `K`: it has none."),
    ],
)
def test_macros_that_cannot_be_set(planning: Planning, before: str, size: str, reason: str) -> None:
    assert planning(before + MACROS, **{size: 9}) == NoPlan(reason)


def test_a_function_that_is_not_there_at_some_sizes(planning: Planning) -> None:
    text = MACROS.replace("void f", "#if N < 100\nvoid f") + "#endif\n"
    assert isinstance(planning(text, N=99), Plan)
    assert planning(text, N=100) == NoPlan("There is no function `f` in this file at these sizes.")


def test_macros_that_the_compiler_is_told_already(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    settings = Settings(defines=("N=50",))
    (one,) = analyse(str(path), MACROS, settings, schedules=False).functions
    found = measurable(str(path), MACROS, settings, AskToMeasure("f", one.start, 0, (("N", 60),)))
    assert found == NoPlan("`N` is set by the flags of the compiler already: change it there.")


def test_variables_of_the_file(planning: Planning) -> None:
    text = """
    #define N 10
    static double a[N][N];
    static int calls;
    static const int table[4] = {1, 2, 3, 4};
    void f(void) {
        calls++;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                a[i][j] = table[0] * a[i][j];
    }"""
    plan = planned(planning(text))
    assert [(m.name, m.is_global, m.written, m.fill) for m in plan.memories] == [
        ("a", True, True, "random"),
        ("calls", True, True, "kept"),
    ]
    assert plan.names == () and plan.rungs[0].extents[0] == Extent(0, 100)


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
LOOP = "for (int i = 0; i < n; i++)"
ROWS = "for (int k = s[i]; k < s[i + 1]; k++)"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            f"struct s {{ double *x; }}; void f(int n, struct s *p) {{ {LOOP} p[i].x[0] = 0; }}",
            "`p` holds structures",
        ),
        (f"void f(int n, double **p) {{ {LOOP} p[i] = p[0]; }}", "`p` holds pointers that may change"),
        (
            f"void f(int n, const int *s, double *x) {{ {LOOP} {ROWS} x[k + 1] = 0; }}",
            "A subscript of `x` on line 1 is computed from the contents of `s`",
        ),
        (
            f"void f(int n, const int *s, double *x) {{ {LOOP} {ROWS.replace('< s', '< 2 * s')} x[k] = 0; }}",
            "How often the loop on line 1 runs is told by the contents of `s`",
        ),
        (
            f"void f(int n, int *s, double *x) {{ {LOOP} s[i]++; {LOOP} {ROWS} x[k] = 0; }}",
            "is told by the contents of `s`",
        ),
        (
            f"void f(int n, const int *s, double *x) {{ {LOOP} x[2 * s[i]] = 0; }}",
            "computed from the contents of `s`",
        ),
        (f"void f(int n, double *x) {{ static int k; k++; {LOOP} x[i] = k; }}", "`k` keeps its value"),
        (
            f"int main(void) {{ int n = 9; double x[9]; {LOOP} x[i] = 0; return 0; }}",
            "`main` is the program itself",
        ),
        (f"void f(int n, double *x) {{ {LOOP} x[i + 1] = x[i]; }}", "No loop here is known to be parallel"),
        (
            f"// polylsp: m=3\nvoid f(int n, double *x) {{ {LOOP} x[i] = 0; }}",
            "no size `m`: its sizes are `n`",
        ),
        (f"// polylsp: n=big\nvoid f(int n, double *x) {{ {LOOP} x[i] = 0; }}", "`n=big` in a comment"),
        (
            f"// polylsp n=7\nvoid f(int n, double *x) {{ {LOOP} x[i] = 0; }}",
            "`polylsp n=7` in a comment lacks a colon",
        ),
        (
            f"// polylsp: y=positive-definite\nvoid f(int n, double *x) {{ {LOOP} x[i] = 0; }}",
            "`y` is no array",
        ),
    ],
)
def test_what_cannot_be_measured(planning: Planning, text: str, reason: str) -> None:
    plan = planning(text)
    assert isinstance(plan, NoPlan) and reason in plan.reason


CONVOLVE = """
#define W 640
void convolve(int w, int h, int k, const float *restrict in, const float *restrict f, float *restrict out) {
    for (int y = 0; y <= h - k; y++)
        for (int x = 0; x <= w - k; x++) {
            float s = 0;
            for (int j = 0; j < k; j++)
                for (int i = 0; i < k; i++)
                    s += in[(y + j) * w + x + i] * f[j * k + i];
            out[y * w + x] = s;
        }
}
"""


def test_sizes_that_slide_over_each_other_keep_their_proportions(planning: Planning) -> None:
    """With equal sizes the output would have one element."""
    plan = planned(planning(CONVOLVE))
    assert plan.usual is None and {rung.sizes[2] for rung in plan.rungs} == {5}
    assert plan.small.sizes[2] < plan.small.sizes[0]


def test_sizes_are_those_of_the_files_own_call(planning: Planning) -> None:
    call = "void blur(float *a, float *k, float *b) { int h = 480; convolve(W, h, 7, a, k, b); }"
    plan = planned(planning(CONVOLVE + call))
    assert plan.usual is not None and plan.rungs[plan.usual].sizes == (640, 480, 7)
    assert plan.basis == "the call `convolve(W, h, 7, a, k, b)`"
    assert {rung.sizes[2] for rung in plan.rungs} == {7}, "a filter does not grow with the image"
    assert plan.rungs[-1].sizes[0] > 640 > plan.rungs[0].sizes[0]


def test_time_steps_do_not_grow_with_the_data(planning: Planning) -> None:
    text = """
    void heat(int n, int steps, double *restrict u, double *restrict v) {
        for (int t = 0; t < steps; t++) {
            for (int i = 1; i < n - 1; i++)
                v[i] = u[i - 1] + u[i + 1];
            for (int i = 1; i < n - 1; i++)
                u[i] = v[i];
        }
    }"""
    plan = planned(planning(text))
    assert plan.rungs[-1].sizes[0] > 1000 and max(rung.sizes[1] for rung in plan.rungs) == 100


def test_elements_that_data_choose_do_not_hide_those_that_loops_do(planning: Planning) -> None:
    text = """
    void histogram(const unsigned char *img, int n, int *hist) {
        for (int i = 0; i < 256; i++)
            hist[i] = 0;
        for (int i = 0; i < n; i++)
            hist[img[i]]++;
    }"""
    plan = planned(planning(text, n=40))
    assert memory(plan, "hist")[1].count == 256 and memory(plan, "img")[1].limit == 256


@pytest.mark.parametrize(
    ("caller", "sizes"),
    [
        ("f(1000, np.zeros((64, n)))", {"k": 1000, "a.shape[0]": 64, "a.shape[1]": 300}),
        ("f(2 * n, img)", {"k": 600, "a.shape[0]": 512, "a.shape[1]": 512}),
        ("g.f(9, img)", {}),
        ("# f(9, img)", {}),
        ("f(unknown(), rows)", {}),
    ],
)
def test_sizes_of_calls_are_read_off_the_text(caller: str, sizes: dict[str, int]) -> None:
    function = "def f(k, a):\n    pass\n"
    text = f"{function}n = 300\nimg = np.random.rand(512, 512)\n{caller}\n"
    found = usual_sizes(text, 0, len(function), "f", ("k", "a"), ("k", "a.shape[0]", "a.shape[1]"))
    assert found.sizes == sizes


def test_without_a_call_defaults_give_sizes() -> None:
    text = "def f(x, steps: int = 50, n=10):\n    pass\n"
    assert usual_sizes(text, 0, len(text), "f", ("x", "steps", "n"), ("steps", "n")).sizes == {
        "steps": 50,
        "n": 10,
    }
