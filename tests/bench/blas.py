"""The kernels that a library of linear algebra has, as calls of it: a bound for what the edits may reach."""

from __future__ import annotations

import re
from pathlib import Path

_PLAIN = "CblasRowMajor, CblasNoTrans, CblasNoTrans"
_OPERANDS = "{}, {}, {}, {}, &{}[0][0], {}, &{}[0][0], {}, {}, &{}[0][0], {}"
_GEMM = f"cblas_dgemm({_PLAIN}, {_OPERANDS});"


def _product(
    rows: str, columns: str, depth: str, factors: tuple[str, str], left: str, right: str, out: str
) -> str:
    """`out = factors[0] * left * right + factors[1] * out`."""
    return _GEMM.format(
        rows, columns, depth, factors[0], left, depth, right, columns, factors[1], out, columns
    )


_ONTO_ZERO = ("1.0", "0.0")

_BODIES = {
    "gemm": _product("ni", "nj", "nk", ("alpha", "beta"), "A", "B", "C"),
    "2mm": _product("ni", "nj", "nk", ("alpha", "0.0"), "A", "B", "tmp")
    + _product("ni", "nl", "nj", ("1.0", "beta"), "tmp", "C", "D"),
    "3mm": _product("ni", "nj", "nk", _ONTO_ZERO, "A", "B", "E")
    + _product("nj", "nl", "nm", _ONTO_ZERO, "C", "D", "F")
    + _product("ni", "nl", "nj", _ONTO_ZERO, "E", "F", "G"),
    "syrk": "cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, m, "
    "alpha, &A[0][0], m, beta, &C[0][0], n);",
    "syr2k": "cblas_dsyr2k(CblasRowMajor, CblasLower, CblasNoTrans, n, m, "
    "alpha, &A[0][0], m, &B[0][0], m, beta, &C[0][0], n);",
    "symm": "cblas_dsymm(CblasRowMajor, CblasLeft, CblasLower, m, n, "
    "alpha, &A[0][0], m, &B[0][0], n, beta, &C[0][0], n);",
    "doitgen": "for (int r = 0; r < nr; r++) { double rows[nq][np];"
    + _product("nq", "np", "np", _ONTO_ZERO, "A[r]", "C", "rows")
    + "__builtin_memcpy(A[r], rows, sizeof rows); }"
    + "__builtin_memcpy(sum, A[nr - 1][nq - 1], sizeof sum[0] * np);",
    "trmm": "cblas_dtrmm(CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasUnit, m, n, "
    "alpha, &A[0][0], m, &B[0][0], n);",
    # Columns are rows there: the upper triangle of the transpose is the lower one here.
    "cholesky": "int info; dpotrf_(&(char){'U'}, &n, &A[0][0], &n, &info);",
    # The diagonal is in the other factor then. Rows that were swapped would show in the output.
    "lu": "int info, *rows = malloc(n * sizeof *rows);"
    "dgetrf_(&n, &n, &A[0][0], &n, rows, &info); free(rows);"
    "for (int i = 0; i < n; i++) { for (int j = 0; j < i; j++) A[i][j] /= A[j][j];"
    "for (int j = i + 1; j < n; j++) A[i][j] *= A[i][i]; }",
}


# The header names parameters like the macros that set sizes.
_HEADER = """#pragma push_macro("M")
#pragma push_macro("N")
#undef M
#undef N
#include <cblas.h>
void dpotrf_(char *, int *, double *, int *, int *);
void dgetrf_(int *, int *, double *, int *, int *, int *);
#pragma pop_macro("M")
#pragma pop_macro("N")
"""


def with_blas(path: Path, text: str) -> str | None:
    """The sample with the body of its kernel in terms of the library, if it has that."""
    body = _BODIES.get(path.stem)
    if body is None:
        return None
    kernel = re.compile(r"^(static void kernel_\w+\(.*?\)\n)\{.*?^\}", re.MULTILINE | re.DOTALL)
    return _HEADER + kernel.sub(lambda found: f"{found[1]}{{\n    {body}\n}}", text, count=1)
