"""Neighbouring elements that a thread loads at once, where they are aligned; one by one elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import Ask, Edited
from tests.codegen.editing import assert_same

from .device import Device, Program, offloaded
from .playing import Played, on_gpu, written

SETTINGS = Settings(offload_threshold=0)
SMALL = replace(SETTINGS, cuda_block_sizes=(32,))
"""Blocks with so few threads that small arrays have several."""


@dataclass(frozen=True)
class Nest:
    """The body of a function, what its kernels must say, and what they must not."""

    body: str
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


PARAMETERS = (
    "int n, int m, int lo, double a[restrict n][m], double b[restrict n][m], float c[restrict n][202],"
    " double *restrict x, double *restrict y, float *restrict u, float *restrict v, int *restrict k"
)
ROWS, COLUMNS = "for (int i = 0; i < n; i++)", "for (int j = 0; j < m; j++)"
TOGETHER = {
    "two numbers of 64 bits": Nest(
        f"{ROWS} y[i] = 3 * x[i] + y[i];",
        (
            "const double2 vector_x = *(const double2 *)&x[i];",
            "double2 vector_y = *(const double2 *)&y[i];",
            "vector_y.y = 3 * vector_x.y + vector_y.y;",
            "*(double2 *)&y[i] = vector_y;",
            "const int i = i0 + 2 * tx;",
        ),
    ),
    "four of 32 bits, which nobody reads before": Nest(
        f"{ROWS} v[i] = u[i] / 2;", ("        float4 vector_v;", "*(float4 *)&v[i] = vector_v;", "vector_u.w")
    ),
    "as many of each type": Nest(
        f"{ROWS} u[i] = x[i];", ("float2 vector_u", "double2 vector_x"), ("double4",)
    ),
    "whole numbers": Nest(f"{ROWS} k[i] = k[i] * 2 + i;", ("int4 vector_k", "vector_k.w * 2 + (i + 3)")),
    "elements around, from where most are together": Nest(
        "for (int i = 1; i < n - 1; i++) v[i] = u[i - 1] + u[i] + u[i + 1];",
        ("i0 = 1 + blockIdx.x", "*(const float4 *)&u[i - 1];", "vector_u.w + u[i + 3] + u[i + 4];"),
    ),
    "a block that begins before the first value": Nest(
        "for (int t = 0; t < 3; t++) { for (int i = 1; i < n - 1; i++) y[i] = x[i - 1] + x[i + 1];"
        " for (int i = 1; i < n - 1; i++) x[i] = y[i - 1] + y[i] * i; }",
        ("i0 = blockIdx.x", "i0 >= 1", "i >= 1"),
    ),
    "elements that begin where the loop does": Nest(
        "for (int i = lo; i < n; i++) y[i] = x[i];", ("i0 = lo + blockIdx.x", "vector_y.y = vector_x.y;")
    ),
    "rows, if they are as long as a multiple": Nest(
        f"{ROWS} {COLUMNS} b[i][j] += a[i][j] * x[i];",
        ("if (m % 2 == 0 && ", "vector_b.x += vector_a.x * x[i];"),
    ),
    "rows of a length that is known": Nest(
        f"{ROWS} for (int j = 0; j < 202; j++) c[i][j] = 2 * c[i][j] + j;",
        ("float2 vector_c", ".y = 2 * vector_c.y + (j + 1);"),
        ("%",),
    ),
    "two rows, of which one changes": Nest(
        "for (int i = lo + 1; i < n; i++) for (int j = lo + 1; j < m; j++) a[i][j] -= a[i][lo] * a[lo][j];",
        ("j0 = ((lo + 1) & ~1) + blockIdx.x", "lo < j0", "vector_a2.y -= a[i * m + lo] * vector_a.y;"),
    ),
    "what an iteration has set before": Nest(
        f"{ROWS} {{ double t = x[i] * 2; y[i] = t; t += y[i]; x[i] = t * t; }}",
        ("t += vector_y.y;", "*(double2 *)&x[i] = vector_x;"),
    ),
    "one loop behind another": Nest(
        f"{ROWS} {{ y[i] = x[i] * 2; }} {ROWS} {{ v[i] = y[i] + u[i]; }}",
        ("double2 vector_y", "float2 vector_v"),
    ),
}
ALONE = {
    "the other way round": Nest(f"{ROWS} y[i] = x[n - 1 - i];"),
    "every second one": Nest(f"{ROWS} y[i] = x[2 * i];"),
    "rows that are aligned where others are not": Nest(
        f"{ROWS} for (int j = 0; j < m - 1; j++) b[i][j] = a[i][j + 1];"
    ),
    "by a table": Nest(f"{ROWS} y[i] = c[lo][k[i] & 127];"),
    "under a condition on data": Nest(f"{ROWS} if (x[i] > 0) y[i] = x[i];"),
    "one that is not always read": Nest(f"{ROWS} y[i] = i + 1 < n ? x[i + 1] : x[i];"),
    "columns": Nest(f"{ROWS} for (int j = 0; j < n; j++) b[i][j] = x[j] + a[j][i];"),
    "few iterations": Nest("for (int i = 0; i < 500; i++) y[i] = x[i];"),
    "a sum of each": Nest(f"{ROWS} for (int l = 0; l < 9; l++) y[i] += x[i] * l;"),
    "many statements": Nest(f"{ROWS} {{ {' '.join(f'y[i] = x[i] / {2 + p} + y[i];' for p in range(9))} }}"),
    "elements an unknown number apart": Nest(f"{ROWS} y[i] = y[i + n] + x[i];"),
}


def function(name: str, nest: Nest) -> str:
    return f"void {name}({PARAMETERS})\n{{\n    {nest.body}\n}}\n"


def edited(nest: Nest, settings: Settings = SETTINGS, parameters: str = PARAMETERS) -> Edited:
    text = function("f", nest).replace(PARAMETERS, parameters)
    (placed,) = analyse("a.c", text, settings, schedules=False).functions
    answer = edit("a.c", text, settings, Ask("cuda", "f", placed.start, 0))
    assert isinstance(answer, Edited), answer
    return answer


def kernels(answer: Edited) -> str:
    return "\n".join(code.text for code in answer.device_code)


@pytest.mark.parametrize("nest", TOGETHER.values(), ids=TOGETHER.keys())
def test_neighbours_are_loaded_together(nest: Nest, device: Device) -> None:
    text = kernels(edited(nest))
    assert not [each for each in nest.has if each not in text], text
    assert not [each for each in nest.lacks if each in text], text
    for architecture in ("sm_75", "sm_90"):
        assert device.compiled_kernels(text, architecture) == ""


@pytest.mark.parametrize("nest", ALONE.values(), ids=ALONE.keys())
def test_others_are_loaded_one_by_one(nest: Nest) -> None:
    assert "vector_" not in kernels(edited(nest))


def test_it_can_be_switched_off() -> None:
    off = replace(SETTINGS, cuda_vectors=False)
    assert all("vector_" not in kernels(edited(nest, off)) for nest in TOGETHER.values())


# --- What they compute -------------------------------------------------------------------

MAIN = """
#include <stdio.h>
{functions}
static double a[33 * 150], b[33 * 150], x[640], y[640];
static float c[33 * 202], u[640], v[640];
static int k[640];
static void fill(void)
{{
    for (int p = 0; p < 33 * 150; p++)
        a[p] = p % 13 * 0.125, b[p] = p % 9 * 0.25;
    for (int p = 0; p < 33 * 202; p++)
        c[p] = p % 11;
    for (int p = 0; p < 640; p++)
        x[p] = p % 7 + 0.5, y[p] = 1 + p % 5 * 0.0625, u[p] = p % 3, v[p] = p % 4, k[p] = p % 17 - 8;
}}
static void print(const char *name)
{{
    double sum[8] = {{0}};
    for (int p = 0; p < 33 * 150; p++)
        sum[0] += (1 + p % 17) * a[p], sum[1] += (1 + p % 19) * b[p];
    for (int p = 0; p < 33 * 202; p++)
        sum[2] += (1 + p % 23) * c[p];
    for (int p = 0; p < 640; p++) {{
        sum[3] += (1 + p % 29) * x[p], sum[4] += (1 + p % 31) * y[p], sum[5] += (1 + p % 37) * u[p];
        sum[6] += (1 + p % 41) * v[p], sum[7] += (1 + p % 43) * k[p];
    }}
    printf("%s", name);
    for (int p = 0; p < 8; p++)
        printf(" %.9e", sum[p]);
    printf("\\n");
}}
int main(void)
{{
    static const int sizes[5][3] = {{{{0, 0, 0}}, {{2, 3, 1}}, {{32, 150, 3}}, {{33, 149, 4}}, {{33, 148}}}};
    for (int s = 0; s < 5; s++) {{
        const int n = sizes[s][0], m = sizes[s][1], lo = sizes[s][2];
{calls}
    }}
    return 0;
}}
"""
CALL = """\
        fill(), {name}({size}, m, lo, (double (*)[m])a, (double (*)[m])b, (float (*)[202])c, x, y, u, v, k);
        print("{name}");"""


RUN = (
    "as many of each type",
    "elements around, from where most are together",
    "a block that begins before the first value",
    "elements that begin where the loop does",
    "rows of a length that is known",
    "two rows, of which one changes",
)
"""Nests that differ in the start of their threads, or in the elements that they may change: a program takes a
while to build."""


@pytest.mark.timeout(300)
def test_they_compute_the_same(program: Program) -> None:
    nests = {f"f{number}": TOGETHER[name] for number, name in enumerate(RUN)}
    # Where there are no rows, there are more elements.
    calls = {
        name: "n" if COLUMNS in nest.body or "[j]" in nest.body else "m * 2" for name, nest in nests.items()
    }
    text = MAIN.format(
        functions="\n".join(function(name, nest) for name, nest in nests.items()),
        calls="\n".join(CALL.format(name=name, size=size) for name, size in calls.items()),
    )
    done = offloaded("a.c", text, SMALL, "f")
    wide = {name.partition("_")[0] for name, each in done.files.items() if "vector_" in each}
    assert wide == nests.keys()
    flags = ("-ffp-contract=off", "-Wno-unused-parameter")
    expected = program.output(program.build(text, {}, *flags))
    found = program.output(program.build(done.text, done.files, *flags))
    assert_same(expected, found)


# --- Where elements lie ------------------------------------------------------------------

ONE = """
#include <stdio.h>
{function}
int main(void)
{{
    static double x[101], y[101];
    for (int i = 0; i < 101; i++) x[i] = i % 7;
    f({n}, x, y);
    for (int i = 0; i < 101; i++) printf("%g\\n", y[i]);
    return 0;
}}
"""
SHIFT = """void f(int n, double *restrict x, double *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i];
}
"""


@pytest.mark.parametrize(("place", "said"), [("x[i + 1]", "is not aligned"), ("x[i + 38]", "beyond what")])
def test_the_played_device_refuses_vectors_that_are_not_aligned(place, said, program: Program) -> None:
    text = ONE.format(function=SHIFT, n=100)
    done = offloaded("a.c", text, SMALL, "f")
    (file,) = done.files.values()
    assert program.output(program.build(done.text, done.files)) == program.output(program.build(text, {}))
    wrong = file.replace("*(const double2 *)&x[i]", f"*(const double2 *)&{place}")
    assert wrong != file
    with pytest.raises(AssertionError, match=said):
        program.output(program.build(done.text, dict.fromkeys(done.files, wrong)))


REASONS = {
    "long rows": (
        f"{ROWS} for (int j = 0; j < 201; j++) c[i][j] *= 2;",
        "loads one element at a time: a row of `c` has 201 elements, which is no multiple of 2.",
    ),
    "columns": (f"{ROWS} {COLUMNS} b[i][j] = a[j][i];", ""),
    "unsigned bytes": (f"{ROWS} k[i] = x[i] > 0;", ""),
}


@pytest.mark.parametrize(("body", "said"), REASONS.values(), ids=REASONS.keys())
def test_where_elements_are_not_aligned_it_is_told(body: str, said: str) -> None:
    answer = edited(Nest(body), parameters=PARAMETERS.replace("202", "201"))
    found = [each for each in answer.remarks if "one element at a time" in each]
    assert ("".join(found).partition(" ")[2] == said) or (not said and not found), answer.remarks


def test_slabs_of_rows_are_aligned_as_rows_are() -> None:
    rows = Nest(f"{ROWS} {COLUMNS} b[i][j] = a[i][j] / 2;")
    slabs = replace(SETTINGS, cuda_slabs=True)
    assert "double2 vector_b" in kernels(edited(rows, slabs))
    # Arrays of one dimension are not cut.
    one = TOGETHER["two numbers of 64 bits"]
    assert kernels(edited(one, slabs)) == kernels(edited(one, replace(slabs, cuda_slabs=False)))


# --- Python ------------------------------------------------------------------------------

PYTHON = """import numpy as np
from numpy.typing import NDArray


def scale(n: int, a: NDArray[np.float64], b: NDArray[np.float64]) -> None:
    for i in range(n):
        b[i] = 2 * a[i] + b[i]


"""
CALLS = """
from pycuda.gpuarray import to_gpu
import pycuda.autoprimaryctx


class Part:
    \"\"\"Memory of the device from an element on.\"\"\"

    def __init__(self, whole, first):
        self.whole, self.first = whole, first

    def __int__(self):
        return int(self.whole) + 8 * self.first


a, b = np.arange(151.0), np.arange(151.0) % 7
scale(150, a, b)
print(b.sum(), b[[0, 1, 64, 148, 149, 150]])
there = to_gpu(b)
there.gpudata, there.shape, there.size, there.nbytes = Part(there.gpudata, 1), (150,), 150, 1200
scale(149, a[1:], there)
print(there.get().sum())
"""


def test_arrays_on_the_device_may_begin_anywhere(played: Played, tmp_path: Path) -> None:
    made = on_gpu("a.py", PYTHON, SMALL, "scale")
    assert "(size_t)a % 16 == 0 && (size_t)b % 16 == 0 && i0 + 64 <= n" in made.text
    (ran,) = played.run(*written(tmp_path, [("a", made.text + CALLS)]))
    assert ran.printed == "22797.0 [  0.   3. 129. 297. 300.   3.]\n45147.0\n"
