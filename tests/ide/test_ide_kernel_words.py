"""What hovers say of the kernels of a nest."""

from __future__ import annotations

from polylsp.ide.hover import Bullets, Table
from polylsp.ide.kernel_words import codes_of, kernel_parts
from polylsp.model.device_code import Compiled, CompilerWord, NotCompiled, Resources
from polylsp.pipeline import analyse
from polylsp.settings import Settings

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
    for (int k = 0; k < n; k++)
        b[k] *= 2;
}
"""
PYTHON = """\
import numpy as np

def scale(a: np.ndarray, n: int):
    for i in range(n):
        a[i] *= 2.0
"""


def parts(text: str, word: CompilerWord | None, ordinal: int, path: str = "a.c") -> tuple:
    report = analyse(path, text, Settings(), edits=True)
    function = report.functions[0].answer.facts.name
    return kernel_parts(report, lambda _: word, function, ordinal)


def test_nests_that_have_kernels_are_told_with_all_of_them() -> None:
    report = analyse("a.c", C, Settings(), edits=True)
    first, last = codes_of(report)
    assert dict(first.threads).keys() == {"sums_cuda_kernel0"} and "__global__" in first.text
    assert "b[k]" in last.text and "#include" not in last.text and "cudaMalloc" not in last.text
    (scaled,) = codes_of(analyse("a.py", PYTHON, Settings(), edits=True))
    assert "scale_cuda_kernel0" in dict(scaled.threads) and '"""' not in scaled.text


def test_kernels_are_told_on_all_loops_of_their_nest() -> None:
    report = analyse("a.c", C, Settings(), edits=True)
    first, last = codes_of(report)
    told = {
        ordinal: kernel_parts(report, lambda code: NotCompiled(75, code.text), "sums", ordinal)
        for ordinal in range(1, 5)
    }
    assert told[1] == told[2] != () and first.text in str(told[1][0].items[0])
    assert told[3] == ()
    assert last.text in str(told[4][0].items[0])


def test_figures_stand_once_where_architectures_agree() -> None:
    code = codes_of(analyse("a.c", C, Settings(), edits=True))[0]
    ((name, threads),) = code.threads
    word = Compiled((Resources(name, 75, 40, 4096, 0), Resources(name, 90, 92, 4096, 0)))
    sentence, table = parts(C, word, 1)
    assert "sm_75 and sm_90" in sentence
    assert isinstance(table, Table)
    ((kernel, count, registers, shared, spilled, occupancy),) = table.rows
    assert (kernel, count, registers, shared, spilled) == (f"`{name}`", str(threads), "40, 92", "4096", "0")
    assert occupancy.count("%") == 2


def test_what_the_compiler_refuses_is_called_a_bug_of_ours() -> None:
    (refused,) = parts(C, NotCompiled(80, 'error: identifier "x" is undefined'), 2)
    assert isinstance(refused, Bullets)
    assert "ERROR in polylsp" in refused.heading and "please report it" in refused.heading
    assert "sm_80" in refused.items[0] and '"x" is undefined' in refused.items[0]


def test_nothing_is_said_where_the_compiler_said_nothing() -> None:
    assert parts(C, None, 1) == ()
    untried = C.replace("sums", "others")
    report = analyse("b.c", untried, Settings())
    assert codes_of(report) == () and kernel_parts(report, lambda _: Compiled(()), "others", 1) == ()
