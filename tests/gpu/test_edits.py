"""Code that becomes kernels, and code that is left alone, with the reasons."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import Ask, Declined, Edited, applied

from .device import Device, Program

SETTINGS = Settings(offload_threshold=0)
MAIN = """
#include <stdio.h>
#include <math.h>
{function}
int main(void) {{
    double x[{size}], y[{size}];
    for (int i = 0; i < {size}; i++) {{ x[i] = i % 7 + 0.5; y[i] = i % 5 - 1.25; }}
    {call}
    for (int i = 0; i < {size}; i++) printf("%.9e %.9e\\n", x[i], y[i]);
    return 0;
}}
"""


def asked(text: str, path: str = "a.c") -> Edited | Declined:
    """The action on the first loop of the first function."""
    (placed, *_) = analyse(path, text, SETTINGS, schedules=False).functions
    answer = edit(path, text, SETTINGS, Ask("cuda", placed.answer.facts.name, placed.start, 1))
    assert isinstance(answer, (Edited, Declined))
    return answer


@dataclass(frozen=True)
class Run:
    """A function `f(n, x, y)`, and what its kernels and their launches must, and must not, say."""

    body: str
    has: tuple[str, ...] = ()
    parameters: str = "int n, double x[restrict n], double y[restrict n]"
    arguments: str = "70, x, y"


RUN = {
    "steps": Run("for (int i = n - 1; i >= 0; i -= 3) x[i] += 2 * y[i];"),
    "code behind it that is not analysed": Run(
        'for (int i = 0; i < n; i++) x[i] += y[i];\n__asm__ volatile("");',
        parameters="int n, double *restrict x, double *restrict y",
    ),
    "a size that is computed in several steps": Run(
        "const int half = n / 2 - n % 3; for (int i = 0; i < half; i++) x[i] += 2 * y[i];",
        ("(size_t)half * sizeof",),
        parameters="int n, double *restrict x, double *restrict y",
    ),
    "rows of a length that is computed in several steps": Run(
        "int w = (n / 16 + 1) * 2, h = n < 4 ? n : 4;\n"
        "for (int i = 0; i < h - 1; i++) for (int j = 0; j < w; j++) x[i * w + j] += 2 * y[(i + 1) * w + j];",
        ("(size_t)((long long)h * w - w) * sizeof",),
        parameters="int n, double *restrict x, double *restrict y",
    ),
    "a counter that is not int": Run("for (long i = 0; i < n; i++) x[i] += y[i] * i;"),
    "an unsigned size": Run(
        "for (unsigned long i = 1; i < n; i++) x[i] = y[i - 1];",
        ("(int)n",),
        "unsigned long n, double x[restrict n], double y[restrict n]",
    ),
    "counters and sizes that only say where elements are": Run(
        "for (long i = 1; i < n; i++) x[i] = y[i - 1];",
        ("kernel0(int n, ", "for (int i0 = 1 + ", "i < n;", "x[i] = y[i - 1];", "if (n > 67108864 ||"),
        "long n, double x[restrict n], double y[restrict n]",
    ),
    "a loop that is much longer than its size": Run(
        "double s = 0; for (long i = 0; i < 1000 * n; i++) s += x[i % 9]; y[0] = s;",
        ("1000 * n;", "if (n > 1048576 || n < -1048576)"),
        "long n, double x[restrict n], double y[restrict n]",
    ),
    "a variable of each iteration": Run(
        "double t; for (int i = 0; i < n; i++) { t = x[i] * y[i]; x[i] = t - 1; y[i] = t / 4; }",
        ("double t;",),
    ),
    "an inner loop that breaks": Run(
        "for (int i = 0; i < n; i++) { int k; for (k = 0; k < 9; k++) { if (k > y[i]) break; x[i] += k; } }",
        ("break;",),
    ),
    "a value that the host needs": Run(
        "double s = 0; for (int i = 0; i < n; i++) { x[i] *= 3; s += x[i]; } y[0] = s;",
        ("own_s += x[i];", "&s"),
    ),
    "conditions on data": Run(
        "for (int i = 0; i < n; i++) { if (x[i] > 2 && i % 2) x[i] = 1; else y[i] = 0; }", ("else",)
    ),
    "pointers that may overlap": Run(
        "for (int i = 0; i < n; i++) x[i] = y[i] + 1;",
        ("x and y must not overlap",),
        "int n, double *x, double *y",
    ),
    "a part of an array": Run(
        "for (int i = 5; i < n - 5; i++) x[i] = y[i - 1] + y[i + 1];", ("device_x - (ptrdiff_t)5",)
    ),
    "functions of math.h": Run(
        "for (int i = 0; i < n; i++) x[i] = sqrt(fabs(y[i])) + pow(x[i], 2);", ("pow(x[i], (double)2)",)
    ),
    "functions of math.h that round to integers": Run(
        "for (int i = 0; i < n; i++) x[i] = lrint(2 * y[i]) + llroundf(x[i]) + lround(x[i] * y[i]);",
        ("llroundf((float)x[i])",),
    ),
    "names that C++ keeps for itself": Run(
        "for (int i = 0; i < n; i++) { double new = x[i], this = y[i]; x[i] = new * this; }",
        ("new_ * this_",),
    ),
    "parameters that C++ and the host function keep for themselves": Run(
        "for (int class = 0; class < status; class++) grid[class] += 2 * error[class];",
        ("int status_", "(status, error, grid) != 0", "grid[class] += 2 * error[class];"),
        parameters="int status, double grid[restrict status], double error[restrict status]",
    ),
    "rows whose number and length are called as the sizes of a launch": Run(
        "for (int i = 0; i < grid / 10; i++) for (int j = 0; j < threads; j++)"
        " x[i * threads + j] += y[i * threads + j];",
        parameters="int grid, double *restrict x, double *restrict y, int threads",
        arguments="70, x, y, 7",
    ),
    "a condition that says nothing to the model": Run(
        "for (int t = 0; t < 10; t++) for (int i = 1; i < n; i++) { y[i] -= n; if (n > 0.5) x[i] += 0.25; }",
        ("if (n > 0.5)", "x[i] += 0.25;"),
    ),
    "a counter that hides another": Run(
        "for (int i = 0; i < n; i++) { x[i] = 0.5; for (int i = 0; i < n; i++) y[i] += x[i] * i; }",
    ),
    "a loop on the host that swaps pointers": Run(
        "for (int t = 0; t < 3; t++) { for (int i = 1; i < n - 1; i++) y[i] = (x[i - 1] + x[i + 1]) / 2;"
        " double *w = x; x = y; y = w; }",
        parameters="int n, double *x, double *y",
    ),
    "a wavefront": Run(
        "for (int t = 0; t < 4; t++) for (int i = 1; i < n - 1; i++)"
        " x[i] = (x[i - 1] + x[i] + x[i + 1]) / 3 + y[i];",
        ("<<<grid, threads>>>(",),
    ),
}


@pytest.mark.sweep
@pytest.mark.parametrize("run", RUN.values(), ids=RUN.keys())
def test_runs(run: Run, program: Program, device: Device) -> None:
    function = f"static void f({run.parameters})\n{{\n    {run.body}\n}}\n"
    text = MAIN.format(function=function, size=70, call=f"f({run.arguments});")
    answer = asked(text)
    assert isinstance(answer, Edited), answer
    (created,) = answer.created
    after = applied(text, answer.replacements)
    for wanted in run.has:
        assert wanted in created.text + after, created.text
    assert device.compiled(created.text, "sm_80") == ""
    expected = program.output(program.build(text, {}))
    built = program.build(after, {created.name: created.text})
    assert program.calls(built) > 0
    assert program.output(built) == expected


@pytest.mark.parametrize(("size", "runs"), [(70, False), (69, True)])
def test_rows_that_an_array_is_not_said_to_have_are_left_alone(
    size: int, runs: bool, program: Program
) -> None:
    function = "static void f(int n, double x[restrict 70], double y[restrict n])\n{\n" + (
        "    for (int i = 0; i < n; i += 4)\n        x[i + 1] = y[i];\n}\n"
    )
    text = MAIN.format(function=function, size=70, call=f"f({size}, x, y);")
    answer = asked(text)
    assert isinstance(answer, Edited)
    assert [each.subjects for each in answer.assumptions] == [("y",)]
    (created,) = answer.created
    assert "if ((long long)(1 + n) > 70)" in created.text
    expected = program.output(program.build(text, {}))
    built = program.build(applied(text, answer.replacements), {created.name: created.text})
    assert program.output(built) == expected
    assert (program.calls(built) > 0) == runs


def test_arrays_that_overlap_are_left_to_the_host(program: Program) -> None:
    function = "static void f(int n, double *x, double *y)\n{\n" + (
        "    for (int i = 0; i < n; i++)\n        x[i] = y[i] + 1;\n}\n"
    )
    text = MAIN.format(function=function, size=70, call="f(60, x + 1, x);")
    answer = asked(text)
    assert isinstance(answer, Edited)
    built = program.build(applied(text, answer.replacements), {c.name: c.text for c in answer.created})
    assert program.calls(built) == 0
    assert program.output(built) == program.output(program.build(text, {}))


REFUSED = {
    "nothing at once": ("for (int i = 1; i < n; i++) x[i] += x[i - 1];", "can run at once"),
    "a call": ("for (int i = 0; i < n; i++) x[i] = g(y[i]);", "`g`"),
    "a return": ("for (int i = 0; i < n; i++) { x[i] = 1; if (y[i] > 3) return; }", "`return` in line 2"),
    "a counter that is needed": (
        "int i; for (i = 0; i < n; i += n / 7 + 1) x[i] = 1; y[0] = i;",
        "The value of `i` is needed",
    ),
    "an index on data": ("for (int i = 0; i < n; i++) x[(int)y[i]] = 1;", "`x`"),
    "long double": ("for (int i = 0; i < n; i++) { long double t = x[i]; x[i] = t * t; }", "type"),
    "sizeof": ("for (int i = 0; i < n; i++) x[i] = y[i] * sizeof(double) * n;", ""),
    "a pointer as a number": (
        "for (int i = (long)y; i < n; i++) x[i] = 1;",
        "`i` is not known before the loop",
    ),
    "a subscript that counts": (
        "int k = 0; for (int i = 1; i < n; i++) x[k++ % 24] = 0.25 * i; y[0] = k;",
        "The value of `k` is needed",
    ),
    "a pointer that the loop inside sets": (
        "double *p = x; for (int t = 0; t < 3; t++) { for (int i = 0; i < n; i++) { p[i] = i;"
        " if (y[i] > t) p = y; } p = x; }",
        "The value of `p` is needed",
    ),
    "no memory": ("double t = 1; for (int i = 2; i < n; i++) t = 1.0 + 1.0;", "line 2 leaves nothing"),
    "a directive": ("\n#pragma omp parallel for\nfor (int i = 0; i < n; i++) x[i] = 1;\n", "directive"),
}


@pytest.mark.parametrize(("body", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_is_left_alone(body: str, reason: str) -> None:
    text = f"double g(double);\nvoid f(int n, double x[restrict n], double y[restrict n]) {{ {body} }}\n"
    answer = asked(text)
    assert isinstance(answer, Declined) or not reason, answer
    if isinstance(answer, Declined):
        assert reason in answer.reason


MACROS = {
    "a number": ("16", "K * i", True),
    "a computation": ("(1 << 4)", "K * i", True),
    "a converted number": ("((double)3)", "K * i", True),
    "a macro for a number": ("OTHER", "K * i", True),
    "an initialiser": ("{3, 3}", "3 * i", False),
    "an assignment": ("count += 3", "3 * i", False),
    "a call": ("touch(3)", "3 * i", False),
    "a return": ("if (n == 3) return", "3 * i", False),
    "a value of a variable": ("(n + 3)", "K * i", False),
}


@pytest.mark.parametrize(("meaning", "value", "is_number"), MACROS.values(), ids=MACROS.keys())
def test_a_macro_is_compared_with_its_number_only_if_it_is_one(
    meaning: str, value: str, is_number: bool
) -> None:
    before = "K;" if meaning.startswith(("count", "if")) else ""
    before = "count = K;" if meaning.startswith("touch") else before
    before = "int t[2] = K; count = t[0];" if meaning.startswith("{") else before
    text = (
        f"#define OTHER 5\n#define K {meaning}\nstatic int count;\n"
        "int touch(int);\n"
        f"void f(int n, double *restrict x)\n{{\n    {before}\n    for (int i = 0; i < n; i++)\n"
        f"        x[i] = {value};\n}}\n"
    )
    answer = asked(text)
    if is_number:
        assert isinstance(answer, Edited)
        assert any("K != " in each.text for each in answer.replacements)
    else:
        assert answer == Declined("The macro `K` is more than a number: put its value into a variable first.")


def test_a_macro_for_a_call_before_the_loop_is_no_number_of_it() -> None:
    text = (
        "#define START timer_start(3)\nvoid timer_start(int);\nvoid f(int n, double *restrict x)\n{\n"
        "    START;\n    for (int i = 0; i < n; i++)\n        x[i] = 3 * i;\n}\n"
    )
    answer = asked(text)
    assert isinstance(answer, Edited)
    assert not any("START" in each.text for each in answer.replacements)


@pytest.mark.parametrize("name", ["error", "blocks", "new", "this", "min", "status", "grid", "free"])
def test_a_name_that_the_file_of_kernels_gives_another_meaning_is_another_one_there(name: str) -> None:
    loop = f"for (int i = 0; i < n; i++) {name}[i] *= 2;"
    answer = asked(f"struct s {{ int {name}; }};\nvoid f(int n, double *restrict {name}) {{ {loop} }}\n")
    assert isinstance(answer, Edited)
    (created,) = answer.created
    assert f"double *{name}_" in created.text and f"(n, {name})" in "".join(
        e.text for e in answer.replacements
    )
    # Other functions use a variable of the file.
    shared = f"double {name}[100];\nvoid f(int n) {{ {loop} }}\n"
    assert asked(shared) == Declined(f"`{name}` means something else in C++: rename it.")


def test_all_loops_of_a_function_are_those_in_its_branches_too(program: Program) -> None:
    parts = [f"for (int i = 0; i < n; i++) {each};" for each in ("x[i] = 1 + y[i]", "y[i] = 2 - x[i]")]
    body = f"if (n > 50) {{ {parts[0]} }} else {parts[1]}\n{parts[0]}"
    function = f"static void f(int n, double *restrict x, double *restrict y)\n{{\n{body}\n}}\n"
    text = MAIN.format(function=function, size=70, call="f(70, x, y);\nf(50, x, y);")
    answer = edit("a.c", text, SETTINGS, Ask("cuda", "f", text.index("static void f"), 0))
    assert isinstance(answer, Edited) and len(answer.created) == 3
    files = {each.name: each.text for each in answer.created}
    after = program.build(applied(text, answer.replacements), files)
    assert program.output(after) == program.output(program.build(text, {}))


def test_no_table_is_declared_inside_the_loop() -> None:
    body = "static const double t[2] = {1, 2}; x[i] = t[i % 2];"
    text = f"void f(int n, double *restrict x) {{ for (int i = 0; i < n; i++) {{ {body} }} }}\n"
    answer = asked(text)
    assert isinstance(answer, Declined) and "`t` is static and declared inside" in answer.reason
    outside = text.replace("static const double t[2] = {1, 2}; ", "").replace(
        "{ for", "{ static const double t[2] = {1, 2}; for"
    )
    assert isinstance(asked(outside), Edited)


def test_is_not_done_twice() -> None:
    text = "void f(int n, double x[n])\n{\n    for (int i = 0; i < n; i++)\n        x[i] = 1;\n}\n"
    answer = asked(text)
    assert isinstance(answer, Edited)
    again = asked(applied(text, answer.replacements))
    assert again == Declined("`f_cuda` runs this loop on a GPU already.")


SPLIT = """double b[10];
void kernel(int n, int m, double a[restrict n + 7][m])
{
    int k = 0;
    for (int i = m / 2 - 1; i > 1 && i < (n > 2 ? 3 : n); i -= 2)
        for (int j = 0; j < n + 1; j++) {
            b[k] = a[i][j];
            k += 1;
            b[j] = a[j][j];
        }
    for (int i = 0; i != m; i += 1)
        a[2 * i][0] = b[2 * i + 1];
}
"""


def test_rows_that_only_the_model_sees_are_no_rows_of_the_array() -> None:
    (placed,) = analyse("a.c", SPLIT, SETTINGS, schedules=False).functions
    answer = edit("a.c", SPLIT, SETTINGS, Ask("cuda", "kernel", placed.start, 3))
    assert isinstance(answer, Declined) or all("1 * sizeof" not in c.text for c in answer.created)


UNCOUNTED = """double b[5];
void kernel(int n, int m, double a[restrict 1], double c[restrict n + 2])
{
    double s = 0;
    int e = 0;
    for (int i = 1; i != m; i++) {
        s = i * s;
        c[i - 1] = b[i - 1] * i;
        e = 0;
        while (n != e) {
            e++;
            c[e % 3] = e - s;
        }
    }
    for (int i = 0; i < m - 1; i++)
        if (i <= 0)
            b[0] = 1 * a[0];
}
"""


def test_a_loop_that_nothing_counts_may_stand_before() -> None:
    (placed,) = analyse("a.c", UNCOUNTED, SETTINGS, schedules=False).functions
    answer = edit("a.c", UNCOUNTED, SETTINGS, Ask("cuda", "kernel", placed.start, 3))
    assert isinstance(answer, Edited), answer
    first = edit("a.c", UNCOUNTED, SETTINGS, Ask("cuda", "kernel", placed.start, 1))
    assert isinstance(first, Declined) and "line 6" in first.reason
