"""On failure of any call of CUDA, the program prints the same: it runs its loops on the host, on data that
are whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from polylsp.core.settings import Settings

from .device import Program, offloaded

FOLDER = Path(__file__).parents[2] / "samples" / "polybench" / "c"


@pytest.mark.parametrize("name", ["atax", "jacobi-1d", "gemm"])
def test_any_call_may_fail(name: str, program: Program) -> None:
    file = FOLDER / f"{name}.c"
    settings = Settings(offload_threshold=0, defines=("TSTEPS=3",))
    done = offloaded(str(file), file.read_text(encoding="utf-8"), settings, "kernel_")
    expected = program.output(program.build(file.read_text(encoding="utf-8"), {}, "-DTSTEPS=3"))
    built = program.build(done.text, done.files, "-DTSTEPS=3")
    calls = program.calls(built)
    assert calls > 5
    for number in range(1, calls + 1):
        assert program.output(built, number) == expected, number


def test_memory_is_locked_where_it_can_be(program: Program) -> None:
    file = FOLDER / "mvt.c"
    text = file.read_text(encoding="utf-8")
    done = offloaded(str(file), text, Settings(offload_threshold=0, cuda_pinned=True), "kernel_", whole=True)
    (made,) = done.files.values()
    assert "const int pinned_A = error == cudaSuccess && pin(A, (size_t)n * n * sizeof(double));" in made
    assert made.count("cudaMallocHost(") == 2
    assert "= (double *)malloc(" not in made
    expected = program.output(program.build(text, {}))
    built = program.build(done.text, done.files)
    for number in range(1, program.calls(built) + 1):
        assert program.output(built, number) == expected, number


def test_other_sizes_than_those_that_were_read_run_the_loops(program: Program) -> None:
    file = FOLDER / "heat-3d.c"
    text = file.read_text(encoding="utf-8")
    done = offloaded(str(file), text, Settings(offload_threshold=0, defines=("N=9",)), "kernel_")
    expected = program.output(program.build(text, {}, "-DN=13"))
    built = program.build(done.text, done.files, "-DN=13")
    assert program.calls(built) == 0
    assert program.output(built) == expected
    assert program.calls(program.build(done.text, done.files, "-DN=9")) > 0
