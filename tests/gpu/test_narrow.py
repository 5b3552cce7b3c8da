"""Numbers of 64 bits that only say where elements are have 32 on a GPU; others stay as they are."""

from __future__ import annotations

import re

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import Ask, Edited

from .device import Device

SETTINGS = Settings(offload_threshold=0, cuda_slabs=False, cuda_vectors=False)
TWO = "double a[restrict n][m], double b[restrict n][m]"
ONE = "double *restrict x, double *restrict y"

NARROW = {
    "rows and columns": (
        f"long n, long m, {TWO}",
        "for (long i = 1; i < n - 1; i++) for (long j = 0; j < m; j++) b[i][j] = a[i - 1][j] + a[i + 1][j];",
        ("int n, Index m,", "for (int i =", "for (int j =", "b[i * m + j] = a[(i - 1) * m + j]"),
    ),
    "a place that is given": (
        f"int n, long q, {ONE}",
        "for (int i = 0; i < n; i++) x[i] = y[q] + y[q + 1];",
        ("int n, int q,", "x[i] = y[q] + y[q + 1];"),
    ),
    "an unsigned size": (
        f"unsigned n, {ONE}",
        "for (unsigned i = 0; i < n; i++) x[i] = y[i];",
        ("kernel0(int n,", "i < n;"),
    ),
}
WIDE = {
    "a counter in the value": (
        f"long n, {ONE}",
        "for (long i = 0; i < n; i++) x[i] = y[i] * i;",
        ("kernel0(int n,", "const long i = c0;"),
    ),
    "a size in the value": (
        f"long n, {ONE}",
        "for (long i = 0; i < n; i++) x[i] = y[i] / n;",
        ("kernel0(long n,", "for (int i ="),
    ),
    "a counter in a condition": (
        f"long n, {ONE}",
        "for (long i = 0; i < n; i++) if (y[i] > i) x[i] = 1;",
        ("const long i = c0;",),
    ),
    "a sum of two": (
        f"long n, long q, {ONE}",
        "for (long i = 0; i < n; i++) x[i] = y[i + q];",
        ("long q,", "const long i = c0;", "y[i + q]"),
    ),
    "a product": (
        f"long n, {ONE}",
        "for (long i = 0; i < n; i++) x[i] = y[3 * i];",
        ("const long i = c0;", "y[3 * i]"),
    ),
    "a large number that is added": (
        f"long n, {ONE}",
        "for (long i = 0; i < n; i++) x[i] = y[i + 2000000000];",
        ("const long i = c0;",),
    ),
    "a number that the loops set": (
        f"long n, {ONE}",
        "long t; for (long i = 0; i < n; i++) { t = i; x[i] = y[t]; }",
        ("long t", "const long i = c0;"),
    ),
}


def kernel_of(parameters: str, body: str) -> str:
    text = f"void f({parameters})\n{{\n    {body}\n}}\n"
    (placed,) = analyse("a.c", text, SETTINGS, schedules=False).functions
    answer = edit("a.c", text, SETTINGS, Ask("cuda", "f", placed.start, 1))
    assert isinstance(answer, Edited), answer
    (code,) = answer.device_code
    return code.text


@pytest.mark.parametrize(("parameters", "body", "has"), NARROW.values(), ids=NARROW.keys())
def test_what_only_says_where_elements_are_is_an_int(parameters, body, has, device: Device) -> None:
    text = kernel_of(parameters, body)
    assert all(each in text for each in has), text
    assert not re.search(r"\b(long|unsigned)\b|\(int\)", text), "nothing has 64 bits, nothing is converted"
    assert device.compiled_kernels(text, "sm_90") == ""


@pytest.mark.parametrize(("parameters", "body", "has"), WIDE.values(), ids=WIDE.keys())
def test_what_is_computed_with_keeps_its_type(parameters, body, has) -> None:
    text = kernel_of(parameters, body)
    assert all(each in text for each in has), text
