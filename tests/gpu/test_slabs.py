"""Nests whose arrays are larger than the device's memory: it takes them in slabs, with the same results."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import Ask, Edited
from polylsp.targets.gpu import slabs

from .device import Device, Program, offloaded

SLABS = Settings(offload_threshold=0)
MAIN = """
#include <stdio.h>
{function}
static double a[38][23], b[38][23], c[38][23], x[80], y[80];
int main(void)
{{
    static const int sizes[4][2] = {{{{0, 23}}, {{37, 0}}, {{18, 9}}, {{37, 23}}}};
    for (int k = 0; k < 4; k++) {{
        double s = 0.25;
        for (int i = 0; i < 37; i++)
            for (int j = 0; j < 23; j++) {{
                a[i][j] = i % 7 - j % 3 + 0.5; b[i][j] = i * j % 11 - 4; c[i][j] = i - j;
                x[i] = i % 6 - 1.5; y[j] = j % 5 + 0.5;
            }}
        f(sizes[k][0], sizes[k][1], {arguments}, x, y, &s);
        for (int i = 0; i < 37; i++)
            for (int j = 0; j < 23; j++)
                printf("%.9e %.9e %.9e %.9e %.9e %.9e\\n", a[i][j], b[i][j], c[i][j], x[i], y[j], s);
    }}
    return 0;
}}
"""
ROWS = (
    "int n, int m, double a[restrict][23], double b[restrict][23], double c[restrict][23],"
    " double *restrict x, double *restrict y, double *restrict s"
)
FLAT = (
    "int n, int m, double *restrict a, double *restrict b, double *restrict c,"
    " double *restrict x, double *restrict y, double *restrict s"
)


@dataclass(frozen=True)
class Cut:
    """The body of a function, the arrays of which each slab has a part, what else the file says, and memories
    of devices of which the last one is too small for everything."""

    body: str
    parts: str
    has: tuple[str, ...] = ()
    parameters: str = ROWS
    memories: tuple[int, ...] = (12_000, 6_000, 3_500)


CUT = {
    "neighbours that are only read": Cut(
        "for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)"
        " a[i][j] = b[i - 1][j] + b[i + 1][j] - b[i][j - 1] / b[i][j + 1];",
        "a b",
        (
            "b + (ptrdiff_t)(first - 1) * 23",
            "(size_t)(end - first + 2) * 23",
            "long long slab = n - 2;",
            "if ((long long)(1 + n - 2) * 23 > INT_MAX)",
            "staged_a + ((ptrdiff_t)first * 23 - (ptrdiff_t)1 * 23)",
        ),
    ),
    "what all slabs read, and a sum of all": Cut(
        "for (int i = 0; i < n; i++)"
        " for (int j = 0; j < m; j++) { x[i] += a[i][j] * y[j]; s[0] += b[i][j]; }",
        "a b x",
    ),
    "sums in columns": Cut(
        "for (int i = 0; i < n; i++) { x[i] = 0; for (int j = 0; j < m; j++) x[i] += a[i][j];"
        " for (int j = 0; j < m; j++) y[j] += x[i] * a[i][j]; }",
        "a x",
    ),
    "pointers": Cut(
        "for (int i = 2; i < n; i++) for (int j = 0; j < m; j++)"
        " c[(long)i * m + j] += a[(i - 2) * m + j] * x[i + 3];",
        "a c x",
        (
            "c + (ptrdiff_t)first * m,",
            "a + (ptrdiff_t)((long long)first * m - 2 * m)",
            "(size_t)slab * m * sizeof(double)",
            "(size_t)((long long)m * n - 2 * m) * sizeof(double)",
        ),
        FLAT,
    ),
    "parts of rows": Cut(
        "for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 2; j++)"
        " a[i * m + j] = b[(i - 1) * m + j] + b[(i + 1) * m + j + 1];",
        "a b",
        (
            "a + (ptrdiff_t)((long long)first * m + 1)",
            "(size_t)((long long)end * m - (long long)first * m - (end < n - 1 ? 0 : 3))",
            "(size_t)slab * m * sizeof(double)",
        ),
        FLAT,
    ),
    "an array of which other slabs need elements stays": Cut(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i + 1][j] = b[i][j] * 3;"
        " for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) c[i][j] = a[i][j];",
        "b c",
        memories=(14_000, 10_500),
    ),
    "two elements in each iteration": Cut(
        "for (int i = 0; i < n; i++) { x[2 * i] += y[i]; x[2 * i + 1] -= y[i]; }", "x y", memories=(800, 300)
    ),
    "every other element": Cut(
        "for (int i = 1; i < n; i++) x[2 * i - 1] += y[i];",
        "x y",
        ("(size_t)(within(2 * end - 1, 1, 2 * n - 2) - (2 * first - 1))", "(size_t)2 * slab * sizeof"),
        memories=(800, 300),
    ),
    "columns, in rows": Cut(
        "for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) y[j] += a[i][j] * x[i];",
        "a x",
        ("A slab: the iterations of `i` (line 5) from",),
    ),
    "two products, of which one has columns": Cut(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i] += a[i][j] * 2;\n"
        "for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) y[j] += a[i][j] * 3;",
        "a x",
        ("`i` (line 5), `i` (line 6)", "cudaStreamCreate"),
    ),
    "what is set before and divided behind": Cut(
        "for (int j = 0; j < m; j++)"
        " { y[j] = 0; for (int i = 0; i < n; i++) y[j] += a[i][j]; y[j] /= n + 1; }"
        " for (int j = 0; j < m; j++) s[0] += y[j];",
        "a",
        ("if (slab < 1)\n        return cudaErrorInvalidValue;",),
    ),
    "as many rows as each loop has": Cut(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i][j] = b[i][j] + 1;\n"
        "for (int i = 0; i < m; i++) for (int j = 0; j < m; j++) c[i][j] += a[i][j] * b[i + 1][j];",
        "a b c",
    ),
    "every third row": Cut(
        "for (int i = 0; i < n; i += 3) for (int j = 0; j < m; j++) a[3 * i / 3][j] = b[i][j];", "a b"
    ),
    "rows of which a part is touched": Cut(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m && j <= i; j++) a[i][j] = b[i][j];", "a b"
    ),
}


def program_of(cut: Cut) -> str:
    """A program that prints what comes of it."""
    arguments = "a, b, c" if cut.parameters is ROWS else "&a[0][0], &b[0][0], &c[0][0]"
    function = f"static void f({cut.parameters})\n{{\n    {cut.body}\n}}\n"
    return MAIN.format(function=function, arguments=arguments)


@pytest.mark.sweep
@pytest.mark.parametrize("cut", CUT.values(), ids=CUT.keys())
def test_what_does_not_fit_is_cut(
    cut: Cut, program: Program, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slabs, "FEWEST_DIMENSIONS", 1)
    text = program_of(cut)
    done = offloaded("a.c", text, SLABS, "f", whole=True)
    assert not done.declined, done.declined
    (created,) = done.files.values()
    taken = re.findall(r"cudaMalloc\(\(void \*\*\)&device_(\w+), [^;]*\bslab\b", created)
    assert taken == cut.parts.split(), created
    for wanted in cut.has:
        assert wanted in created, created
    assert device.compiled(created, "sm_80") == ""
    expected = program.output(program.build(text, {}, "-w"))
    built = program.build(done.text, done.files, "-w")
    plenty = program.calls(built)
    assert program.output(built) == expected
    assert program.calls(built, cut.memories[-1]) > plenty
    for memory in cut.memories:
        assert program.output(built, memory=memory) == expected, memory


LOCKED = {
    "neighbours that are only read": "streams[turn]",
    "what all slabs read, and a sum of all": ", staged_x, streams);",
}
"""Overlap of transfers with computation, by nest: not if all add to one sum."""


@pytest.mark.parametrize(("name", "last"), LOCKED.items(), ids=LOCKED.keys())
def test_transfers_overlap_where_memory_is_locked(name: str, last: str, program: Program) -> None:
    text = program_of(CUT[name])
    done = offloaded("a.c", text, replace(SLABS, cuda_pinned=True), "f", whole=True)
    (created,) = done.files.values()
    called = re.search(r" error = run_f_cuda\([^;]*;", created)
    assert called is not None and last in called[0], created
    expected = program.output(program.build(text, {}, "-w"))
    built = program.build(done.text, done.files, "-w")
    for memory in (0, *CUT[name].memories):
        assert program.output(built, memory=memory) == expected, memory
    for failing in range(1, program.calls(built, 6_000) + 1, 7):
        assert program.output(built, failing, 6_000) == expected, failing


WHOLE = {
    "steps of time": (
        "for (int t = 0; t < n; t++) { for (int i = 1; i < m; i++) a[i][3] = b[i - 1][3] + b[i][3];"
        " for (int i = 1; i < m; i++) b[i][3] = a[i][3]; }",
        "each iteration of `t` needs all of `a`",
    ),
    "what comes first is needed last": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i][j] = a[n - i][j] * y[j];",
        "each iteration of `i` needs all of `a`",
    ),
    "two passes": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[j] += a[i][j];\n"
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i][j] -= y[j];",
        "line 6 needs to run behind a later iteration of line 5; choose the loops one by one instead",
    ),
    "from the last row to the first": (
        "for (int i = n - 1; i >= 0; i--)\n    for (int j = 0; j < m; j++) a[i][j] += a[i + 1][j];",
        "line 6 needs to run behind a later iteration of line 6",
    ),
    "rows that move up": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i][j] = a[i + 1][j] * 2;",
        "of `a`, a copy is made before the loops",
    ),
}


@pytest.mark.parametrize(("body", "reason"), WHOLE.values(), ids=WHOLE.keys())
def test_what_cannot_be_cut_is_told(body: str, reason: str) -> None:
    text = program_of(Cut(body, ""))
    (placed, *_) = analyse("a.c", text, SLABS, schedules=False).functions
    answer = edit("a.c", text, SLABS, Ask("cuda", "f", placed.start, 0))
    assert isinstance(answer, Edited), answer
    assert all("slab" not in each.text for each in answer.created)
    (remark,) = (each for each in answer.remarks if "not cut" in each)
    assert remark == f"Arrays that do not fit on the device are not cut: {reason}."


@pytest.mark.parametrize(
    "body", ["for (int i = 0; i < n; i++) x[i] += y[i];", "for (int i = 0; i < 30; i++) a[i][2] = b[i][3];"]
)
def test_what_is_small_or_has_no_rows_is_not_cut(body: str) -> None:
    done = offloaded("a.c", program_of(Cut(body, "")), SLABS, "f", whole=True)
    (created,) = done.files.values()
    assert "slab" not in created


def test_whatever_fails_the_results_are_the_same(program: Program) -> None:
    text = program_of(CUT["what all slabs read, and a sum of all"])
    done = offloaded("a.c", text, SLABS, "f", whole=True)
    expected = program.output(program.build(text, {}, "-w"))
    ((name, created),) = done.files.items()
    built = program.build(done.text, {name: f"#define DEVICE_MEMORY 9000\n{created}"}, "-w")
    calls = program.calls(built)
    assert calls > 70, "slabs were taken"
    for failing in (-1, *range(1, calls + 1, 5)):
        assert program.output(built, failing) == expected, failing


STRIDE = """
#include <stdio.h>
static void f(int m, double b[restrict 8][m])
{
    for (int i = 0; i < 4; i += 2)
        b[i][2 * i + 1] += i + 0.5;
}
int main(void)
{
    double b[8][9];
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 9; j++)
            b[i][j] = i - j;
    f(9, b);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 9; j++)
            printf("%g\\n", b[i][j]);
    return 0;
}
"""


@pytest.mark.parametrize("memory", [0, 250, 150, 80])
def test_each_slab_has_the_iterations_of_a_loop_with_steps(
    memory: int, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slabs, "SMALL", 0)
    done = offloaded("a.c", STRIDE, SLABS, "f", whole=True)
    assert "slab" in "".join(done.files.values())
    expected = program.output(program.build(STRIDE, {}, "-w"))
    assert program.output(program.build(done.text, done.files, "-w"), memory=memory) == expected


PART = """
#include <stdio.h>
static double a[24][24], b[24][24];
static void f(int n, int c)
{
    for (int i = 0; i < n; i++) {
        a[i][0] += b[c][i];
        for (int j = c; j < 12; j++)
            a[j][0] += 0.5;
    }
}
int main(void)
{
    for (int k = 0; k < 24; k++)
        a[k][k % 3] = b[3][k] = k;
    f(8, 3);
    for (int k = 0; k < 24; k++)
        printf("%g %g\\n", a[k][0], a[k][1]);
    return 0;
}
"""


def test_rows_that_no_slab_has_stay_as_they_are(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slabs, "SMALL", 0)
    done = offloaded("a.c", PART, SLABS, "f", whole=True)
    assert done.files, done.declined
    expected = program.output(program.build(PART, {}, "-w"))
    built = program.build(done.text, done.files, "-w")
    for memory in (0, 3_000, 600):
        assert program.output(built, memory=memory) == expected, memory
