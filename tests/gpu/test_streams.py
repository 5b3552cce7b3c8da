"""Kernels that have nothing to do with each other run at once, on the device and on what plays it."""

from __future__ import annotations

import re

import pytest

from polylsp.core.settings import Settings

from .device import Offloaded, Program, offloaded

MAIN = """
#include <stdio.h>
{function}
int main(void) {{
    static double a[40], b[40], c[40], d[40], s, t;
    for (int i = 0; i < 40; i++) {{ a[i] = i % 7 + 0.5; b[i] = i % 5; c[i] = i % 3; d[i] = i; }}
    f(40, a, b, c, d, &s, &t);
    for (int i = 0; i < 40; i++) printf("%.9e %.9e %.9e %.9e %.9e %.9e\\n", a[i], b[i], c[i], d[i], s, t);
    return 0;
}}
"""
PARAMETERS = (
    "int n, double *restrict a, double *restrict b, double *restrict c, double *restrict d,"
    " double *restrict s, double *restrict t"
)

APART = {
    "nothing in common": (
        "for (int i = 0; i < n; i++) a[i] = 2 * b[i];\n    for (int i = 1; i < n; i++) c[i] = d[i - 1];"
    ),
    "an array that both read": (
        "for (int i = 0; i < n; i++) a[i] += d[i];\n    for (int i = 1; i < n; i++) c[i] = d[i - 1] + c[i];"
    ),
    "two of three": (
        "for (int i = 0; i < n; i++) a[i] = 2 * d[i];\n"
        "    for (int i = 1; i < n; i++) c[i] += d[i];\n"
        "    for (int i = 1; i < n; i++) b[i] = a[i - 1] + d[n - i];"
    ),
    "loops of the host": (
        "for (int k = 0; k < 3; k++) {\n"
        "        for (int i = 1; i < n; i++) a[i] = b[i - 1] + b[i];\n"
        "        for (int i = 1; i < n; i++) b[i] = a[i - 1];\n"
        "        for (int i = 1; i < n; i++) c[i] = d[i - 1] + d[i];\n"
        "        for (int i = 1; i < n; i++) d[i] = c[i - 1];\n"
        "    }"
    ),
}
TOGETHER = {
    "one reads what the other writes": (
        "for (int i = 0; i < n; i++) a[i] = 2 * b[i];\n    for (int i = 1; i < n; i++) c[i] = a[n - i];"
    ),
    "one writes what the other reads": (
        "for (int i = 0; i < n; i++) a[i] = 2 * b[n - 1 - i];\n    for (int i = 1; i < n; i++) b[i] = c[i];"
    ),
    "both write": (
        "for (int i = 0; i < n; i++) a[i] = b[i];\n    for (int i = 1; i < n - 5; i++) a[n - i] = c[i];"
    ),
    "sums of blocks that lie in one place": (
        "for (int i = 0; i < n; i++) s[0] += a[i];\n    for (int i = 0; i < n; i++) t[0] += b[i];"
    ),
}


def made(body: str, fusion: str = "auto") -> tuple[str, Offloaded]:
    text = MAIN.format(function=f"static void f({PARAMETERS})\n{{\n    {body}\n}}\n")
    return text, offloaded("a.c", text, Settings(offload_threshold=0, cuda_fusion=fusion), "f", whole=True)


@pytest.mark.parametrize("body", APART.values(), ids=APART.keys())
def test_kernels_apart_have_streams_of_their_own(body) -> None:
    _, done = made(body)
    (created,) = done.files.values()
    assert "cudaStream_t streams[2] = {};" in created, created
    assert {*re.findall(r"<<<grid, threads, 0, (streams\[\d\])>>>", created)} == {"streams[0]", "streams[1]"}


@pytest.mark.parametrize("name", ["an array that both read", "loops of the host"])
def test_whatever_fails_the_results_are_the_same(name: str, program: Program) -> None:
    text, done = made(APART[name])
    expected = program.output(program.build(text, {}, "-w"))
    built = program.build(done.text, done.files, "-w")
    for failing in (-1, *range(1, program.calls(built) + 1)):
        assert program.output(built, failing) == expected, failing


@pytest.mark.parametrize("body", TOGETHER.values(), ids=TOGETHER.keys())
def test_kernels_that_wait_for_each_other_have_none(body) -> None:
    _, done = made(body, "min")
    (created,) = done.files.values()
    assert "Stream" not in created and created.count("<<<grid, threads>>>") >= 2, created


def test_many_kernels_share_few_streams() -> None:
    body = "\n    ".join(f"for (int i = {k}; i < n; i++) {name}[i] = {k};" for k, name in enumerate("abcdst"))
    _, done = made(body, "min")
    (created,) = done.files.values()
    assert "cudaStream_t streams[4] = {};" in created
    assert re.findall(r"<<<grid, threads, 0, streams\[(\d)\]>>>", created) == ["0", "1", "2", "3", "0", "1"]


def test_what_both_read_is_there_before_either_begins() -> None:
    _, done = made(APART["an array that both read"])
    (created,) = done.files.values()
    shared = created.index("TRY(cudaMemcpy(device_d, d,")
    assert shared < created.index("TRY(cudaDeviceSynchronize());") < created.index("TRY(cudaMemcpyAsync(")
    assert "cudaMemcpyAsync(device_d" not in created


def test_the_device_that_is_played_notices_when_nobody_waits(program: Program) -> None:
    _, done = made(APART["nothing in common"])
    ((name, created),) = done.files.items()
    hasty = re.sub(r"^.*cudaDeviceSynchronize.*$", "", created, flags=re.MULTILINE)
    with pytest.raises(AssertionError, match="a stream is destroyed while it has work"):
        program.output(program.build(done.text, {name: hasty}, "-w"))
