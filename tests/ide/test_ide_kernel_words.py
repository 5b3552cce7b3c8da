"""Hovers on the kernels of a nest."""

from __future__ import annotations

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse
from polylsp.ide.hover import Bullets, Table, asks_of, kernel_parts
from polylsp.model.kernel_report import Compiled, CompilerWord, DeviceCode, KernelWord, NotCompiled, Resources

C = """\
void sums(int n, double a[n][n], double b[n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            b[i] += a[i][j];
    b[0] = 1;
    for (int i = 1; i < n; i++)
        b[i] = b[i - 1] * b[i];
    b[1] = 1;
    #pragma omp parallel for
    for (int k = 0; k < n; k++)
        b[k] *= 2;
}
void jumps(int n, double *restrict b, int *restrict at)
{
    for (int t = 0; t < 9; t++)
        for (int k = 0; k < n; k++)
            b[at[k]] = b[k] + t;
    for (int i = 0; i < n; i++)
        b[i] = at[i];
}
"""
PYTHON = """\
import numpy as np

def scale(a: np.ndarray, n: int):
    for i in range(n):
        a[i] *= 2.0
"""
REPORT = analyse("a.c", C, Settings())
CODE = DeviceCode("__global__ …", (("sums_cuda_kernel0", 256),))


def parts(word: CompilerWord | None, ordinal: int, function: str = "sums") -> tuple:
    key = REPORT.functions[0].answer.key
    known = {(key, 1): KernelWord(CODE, word)} if word is not None else {}
    return kernel_parts(REPORT, known.get, function, ordinal)


def test_each_nest_is_asked_about_that_may_have_kernels() -> None:
    asked = asks_of(REPORT)
    assert [(each.action, each.function, each.ordinal) for each in asked.values()] == [
        ("cuda", "sums", 1),
        ("cuda", "jumps", 3),
    ], "a sequential loop has none, a directive's loop is parallel already, nobody knows what `at` holds"
    assert [name for name, _ in asked] == [each.answer.key for each in REPORT.functions]
    (scaled,) = asks_of(analyse("a.py", PYTHON, Settings())).values()
    assert (scaled.action, scaled.function, scaled.starts) == ("pycuda", "scale", PYTHON.index("def"))


def test_a_nest_that_was_refused_is_not_asked_about() -> None:
    called = "double g(double);\nvoid f(int n, double *a) { for (int i = 0; i < n; i++) a[i] = sin(a[i]); }\n"
    assert len(asks_of(analyse("c.c", "#include <math.h>\n" + called, Settings(), edits=True))) == 1
    pure = called.replace("double g", "__attribute__((const)) double g").replace("sin", "g")
    assert len(asks_of(analyse("d.c", pure, Settings()))) == 1
    assert not asks_of(analyse("d.c", pure, Settings(), edits=True))


def test_kernels_are_told_on_all_loops_of_their_nest() -> None:
    word = NotCompiled(80, 'error: identifier "x" is undefined')
    assert parts(word, 1) == parts(word, 2) != ()
    assert parts(word, 3) == parts(word, 1, "jumps") == parts(None, 1) == parts(word, 9) == ()


def test_figures_stand_once_where_architectures_agree() -> None:
    ((name, _),) = CODE.threads
    word = Compiled((Resources(name, 75, 40, 4096, 0), Resources(name, 90, 92, 4096, 0)))
    sentence, table = parts(word, 1)
    assert "sm_75 and sm_90" in sentence
    assert isinstance(table, Table)
    assert table.rows == ((f"`{name}`", "256", "40, 92", "4096", "0", "100%, 25%"),)


def test_what_the_compiler_refuses_is_called_a_bug_of_ours() -> None:
    (refused,) = parts(NotCompiled(80, 'error: identifier "x" is undefined'), 2)
    assert isinstance(refused, Bullets)
    assert "ERROR in polylsp" in refused.heading and "please report it" in refused.heading
    assert "sm_80" in refused.items[0] and '"x" is undefined' in refused.items[0]
