"""Programs of ordinary style with their loops on a device: structures, functions, subscripts that are data.
They print what the originals print, at sizes that fill no block and at such that fill several."""

from __future__ import annotations

from pathlib import Path

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import Ask, Declined, Edited
from tests.codegen.editing import assert_same

from .device import Device, Program, offloaded

FOLDER = Path(__file__).parents[1] / "codegen" / "programs"
LEFT = {
    "structures": 1, "subscripts": 0, "inspected": 0, "helpers": 1, "counted": 0, "row_pointers": 0,
    "scalar_sums": 0, "scattered": 3, "optional": 0, "walked": 7,
}  # fmt: skip
"""Numbers of loops without kernels: a `continue` in one of two branches skips what the other runs; a running
sum."""
LITTLE = 3_000
"""Bytes of a device that is too small for the larger sizes."""


@pytest.mark.sweep
@pytest.mark.parametrize("name", LEFT)
def test_prints_the_same(name: str, program: Program, device: Device) -> None:
    file = FOLDER / f"{name}.c"
    text = file.read_text(encoding="utf-8")
    done = offloaded(str(file), text, Settings(offload_threshold=0), "f_")
    assert len(done.declined) == LEFT[name], done.declined
    for content in done.files.values():
        for architecture, index in (("sm_75", "int"), ("sm_90", "long long")):
            assert device.compiled(content, architecture, index) == ""
    expected = program.output(program.build(text, {}))
    built = program.build(done.text, done.files)
    assert program.calls(built) > 0
    assert_same(expected, program.output(built))
    assert_same(expected, program.output(built, memory=LITTLE))


def test_searches_find_the_positions_that_one_thread_finds(program: Program) -> None:
    file = FOLDER.parent / "searches.c"
    text = file.read_text(encoding="utf-8")
    done = offloaded(str(file), text, Settings(offload_threshold=0), "")
    assert sum(each.count("_of_part") > 0 for each in done.files.values()) >= 8
    built = program.build(done.text, done.files)
    assert program.calls(built) > 0
    assert program.output(built) == program.output(program.build(text, {}))


@pytest.mark.parametrize(
    ("rows", "size"),
    [
        ("rows / 2", "(size_t)((long long)(rows / 2) * cols) * sizeof(double)"),
        ("rows - 1", "(size_t)((long long)cols * rows - cols) * sizeof(double)"),
    ],
)
def test_sizes_are_computed_with_64_bits(rows: str, size: str) -> None:
    text = (
        "void f(int rows, int cols, double *restrict out)\n{\n"
        f"    for (int i = 0; i < {rows}; i++)\n        for (int j = 0; j < cols; j++)\n"
        "            out[(long)i * cols + j] = 3;\n}\n"
    )
    (made,) = offloaded("f.c", text, Settings(offload_threshold=0, cuda_slabs=False), "f").files.values()
    assert f"malloc({size})" in made and f"cudaMalloc((void **)&device_out, {size})" in made


REFUSED = {
    "a null test of a member of a structure that may be absent": (
        "typedef struct { double *w; } table;\n"
        "void f(int n, const table *t, double *restrict y)\n"
        "{\n    for (int i = 0; i < n; i++)\n        if (t && t->w)\n            y[i] += t->w[i];\n}\n",
        "structure",
    ),
    "a member of a union": (
        "typedef union { double x; long y; } both;\n"
        "void f(int n, both *a)\n{\n    for (int i = 0; i < n; i++)\n        a[i].x = i;\n}\n",
        "structure",
    ),
    "bit-fields": (
        "typedef struct { unsigned a : 8, b : 8; } bits;\n"
        "void f(int n, bits *s)\n{\n    for (int i = 0; i < n; i++)\n        s[i].a = i;\n}\n",
        "structure",
    ),
    "bit-field alone": (
        "typedef struct { unsigned a : 8; } bits;\n"
        "void f(int n, bits *s)\n{\n    for (int i = 0; i < n; i++)\n        s[i].a = i;\n}\n",
        "structure",
    ),
    "a pointer of a structure that the loop sets": (
        "typedef struct { int n; double *x; } table;\n"
        "void f(table *t, double *y)\n"
        "{\n    for (int i = 0; i < t->n; i++) {\n        t->x = y + i;\n        t->x[i] = 1;\n    }\n}\n",
        "at once",
    ),
    "rows that pointers in structures lead to": (
        "typedef struct { double *x; } row;\n"
        "void f(int n, row *r)\n"
        "{\n    for (int i = 0; i < n; i++)\n        r[i].x[0] = 1;\n}\n",
        "structure",
    ),
    "a function with a variable of the file": (
        "double most;\nstatic double less(double x) { return x < most ? x : most; }\n"
        "void f(int n, double *restrict a)\n"
        "{\n    for (int i = 0; i < n; i++)\n        a[i] = less(a[i]);\n}\n",
        "`most`",
    ),
    "complex numbers": (
        "void f(int n, double _Complex *restrict a)\n"
        "{\n    for (int i = 0; i < n; i++)\n        a[i] = a[i] * 2;\n}\n",
        "complex numbers",
    ),
    "complex numbers of one iteration": (
        "void f(int n, double *restrict a)\n"
        "{\n    for (int i = 0; i < n; i++) {\n        double _Complex z = a[i];\n        z = z * z;\n"
        "        a[i] = (double)z;\n    }\n}\n",
        "omplex",
    ),
    "a value that a function changes in the statement that calls it": (
        "static int next(int *s) { *s = *s * 5 + 1; return *s / 3; }\n"
        "void f(int n, int *restrict a)\n"
        "{\n    for (int i = 0; i < n; i++) {\n        int s = i;\n        a[i] = s + next(&s);\n    }\n}\n",
        "order",
    ),
    "a function that returns a structure, called under a condition": (
        "typedef struct { int x, y; } pair;\n"
        "static pair parts(int a, int b) { pair r = {a / b, a % b}; return r; }\n"
        "void f(int n, int *restrict a, const int *restrict b)\n{\n    for (int i = 0; i < n; i++)\n"
        "        a[i] = b[i] && parts(i, b[i]).x > 1;\n}\n",
        "",
    ),
    "a function with a macro that means something else where it is called": (
        "typedef struct { int x, y; } pair;\n#define STEP 2\n"
        "static pair moved(pair a) { pair r = {a.x + STEP, a.y}; return r; }\n"
        "#undef STEP\n#define STEP 3\n"
        "void f(int n, pair *p)\n{\n    for (int i = 0; i < n; i++)\n        p[i] = moved(p[i]);\n}\n",
        "",
    ),
    "two variables of one name in one iteration": (
        "void f(int n, double *restrict a, const int *restrict b)\n{\n    for (int i = 0; i < n; i++) {\n"
        "        int k;\n        { int t = b[i]; k = t / 2; }\n        { int t = b[i] + 1; k += t / 2; }\n"
        "        a[i] = k;\n        if (k == 1)\n            for (int j = 0; j < 2; j++)\n"
        "                a[i] += j;\n    }\n}\n",
        "`t`",
    ),
    "a function that calls itself": (
        "static double down(double x, int k) { return k ? down(x / 2, k - 1) : x; }\n"
        "void f(int n, double *restrict a)\n"
        "{\n    for (int i = 0; i < n; i++)\n        a[i] = down(a[i], 3);\n}\n",
        "`down`",
    ),
    "a pointer to a row that is set again": (
        "void f(int n, int m, double *x)\n"
        "{\n    for (int i = 0; i < n; i++) {\n        double *row = x + i * m;\n"
        "        for (int j = 0; j < m; j++)\n            row[j] = 1;\n"
        "        row = x + i * m + 1;\n        row[0] = 2;\n    }\n}\n",
        "index the array itself",
    ),
    "a pointer to a row of an array that the loop changes": (
        "typedef struct { int n; double *x; } table;\n"
        "void f(int n, table *t, double *y)\n"
        "{\n    for (int i = 0; i < n; i++) {\n        double *row = t->x + i;\n"
        "        t->x = y;\n        row[0] = 1;\n    }\n}\n",
        "at once",
    ),
    "a pointer to a row whose number changes": (
        "void f(int n, int m, double *x)\n"
        "{\n    for (int i = 0; i < n; i++) {\n        int k = i;\n        double *row = x + k * m;\n"
        "        k = 0;\n        row[k] = 1;\n    }\n}\n",
        "index the array itself",
    ),
    "subscripts that only some iterations have": (
        "void f(int n, double *restrict a, const double *restrict b, const int *restrict at)\n"
        "{\n    for (int i = 1; i < n; i++)\n        if (a[i] > 0)\n            a[i] = b[at[i]];\n}\n",
        "How much of `b`",
    ),
    "subscripts that the loop sets": (
        "void f(int n, double *restrict a, const double *restrict b, int *restrict at)\n"
        "{\n    for (int i = 0; i < n; i++) {\n        at[i] /= 2;\n        a[i] = b[at[i]];\n    }\n}\n",
        "How much of `b`",
    ),
    "a test for null inside of a macro": (
        "#define BOTH(p, q) ((p) != 0 && (q) != 0)\n"
        "void f(int n, double *restrict a, const double *restrict b, const double *restrict c)\n"
        "{\n    for (int i = 0; i < n; i++)\n        a[i] = BOTH(b, c) ? b[i] * c[i] : 1;\n}\n",
        "computation with numbers",
    ),
    "a pointer that is tested and set": (
        "void f(int n, double *restrict a, const double *restrict b)\n"
        "{\n    for (int i = 0; i < n; i++) {\n        if (b)\n            a[i] = 1;\n"
        "        b = 0;\n    }\n}\n",
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_is_left_alone(text: str, reason: str) -> None:
    placed = analyse("a.c", text, Settings(), schedules=False).functions[-1]
    answer = edit("a.c", text, Settings(), Ask("cuda", "f", placed.start, 1))
    assert isinstance(answer, Declined), answer
    assert reason in answer.reason


def test_structures_and_arrays_that_overlap_are_left_to_the_host(program: Program) -> None:
    text = """#include <stdio.h>
typedef struct { double x, y; } pair;
static void f(int n, pair *p, double *a)
{
    for (int i = 0; i < n; i++)
        p[i].x = a[i] + 1;
}
int main(void)
{
    pair p[40] = {{0, 0}};
    f(20, p, (double *)p + 1);
    for (int i = 0; i < 40; i++)
        printf("%g %g\\n", p[i].x, p[i].y);
    return 0;
}
"""
    done = offloaded("a.c", text, Settings(offload_threshold=0), "f")
    assert done.files and not done.declined
    expected = program.output(program.build(text, {}, "-w"))
    built = program.build(done.text, done.files, "-w")
    assert program.calls(built) == 0
    assert program.output(built) == expected


def test_types_of_one_size_are_converted_in_calls(program: Program) -> None:
    text = """#include <stdio.h>
#define ARRAY(name, n) name[n]
typedef char base;
typedef long long big;
typedef struct { char c; long long v; } item;
static void f_named(int n, const base *a, big *b)
{
    for (int i = 0; i < n; i++)
        b[i] += a[i];
}
static void f_made_by_macros(int n, const char ARRAY(a, n), long long ARRAY(b, n))
{
    for (int i = 0; i < n; i++)
        b[i] += a[i] * 2;
}
static void f_members(int n, item *p)
{
    for (int i = 0; i < n; i++)
        p[i].v += p[i].c;
}
static void f_plain(int n, const char *a, long long *b, long *c, const unsigned long long *d)
{
    for (int i = 0; i < n; i++)
        c[i] = a[i] + (long)(b[i] - (long long)d[i]);
}
int main(void)
{
    base a[30];
    big b[30];
    item p[30];
    long c[30];
    unsigned long long d[30];
    for (int i = 0; i < 30; i++) {
        a[i] = (char)(i * 9 - 100);
        b[i] = p[i].v = i * 1000000007LL;
        p[i].c = a[i];
        d[i] = i;
    }
    f_named(30, a, b);
    f_made_by_macros(30, a, b);
    f_members(30, p);
    f_plain(30, a, b, c, d);
    for (int i = 0; i < 30; i++)
        printf("%lld %lld %ld\\n", b[i], p[i].v, c[i]);
    return 0;
}
"""
    done = offloaded("a.c", text, Settings(offload_threshold=0), "f_")
    assert len(done.files) == 4 and not done.declined
    expected = program.output(program.build(text, {}))
    built = program.build(done.text, done.files)
    assert program.calls(built) > 0
    assert program.output(built) == expected
    assert "f_named_cuda(n, (const signed char *)a, (long *)b)" in done.text
    assert "f_plain_cuda(n, a, b, c, d)" in done.text


def test_calls_of_functions_that_return_structures_stay_in_the_source() -> None:
    text = (FOLDER / "structures.c").read_text(encoding="utf-8")
    done = offloaded("structures.c", text, Settings(offload_threshold=0), "f_stepped")
    for call in ("plus(b[i].at,\n", "times(t, b[i].by)); // in parts", "if (plus(b[i].at, b[i].by).x > 1)"):
        assert done.text.count(call) == 1
    (kernels,) = done.files.values()
    assert "b_at_x[i] + times_value_x" in kernels


def test_macros_in_functions_are_compared() -> None:
    text = (
        "#define LIMIT 3\nstatic int less(int x) { return x < LIMIT ? x : LIMIT; }\n"
        "void f(int n, int *restrict a)\n{\n    for (int i = 0; i < n; i++)\n        a[i] = less(a[i]);\n}\n"
    )
    placed = analyse("a.c", text, Settings(), schedules=False).functions[-1]
    answer = edit("a.c", text, Settings(), Ask("cuda", "f", placed.start, 1))
    assert isinstance(answer, Edited), answer
    assert any("LIMIT != 3" in each.text for each in answer.replacements)
