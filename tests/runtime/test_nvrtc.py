"""Report of NVIDIA's compiler on kernels, which takes no GPU, and the number of threads that leaves room
for."""

from __future__ import annotations

import sys

import pytest

from polylsp.model.kernel_report import Compiled, DeviceCode, NotCompiled, Resources, occupancy
from polylsp.server.kernel_compiler import ARCHITECTURES, compiled, compiler_word, is_installed, resources

SHIFT = """\
__global__ void __launch_bounds__(64) shift_2_kernel0(int n, double *__restrict__ a)
{
    __shared__ double shared_a[64];
    shared_a[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = shared_a[(threadIdx.x + n) % 64];
}
"""
CODE = DeviceCode(SHIFT, (("shift_2_kernel0", 64),))


def test_a_kernel_is_told_for_each_architecture() -> None:
    word = compiler_word(CODE)
    assert isinstance(word, Compiled)
    assert [(each.kernel, each.architecture) for each in word.resources] == [
        ("shift_2_kernel0", each) for each in ARCHITECTURES
    ]
    assert all(each.registers >= 8 and each.shared >= 512 and each.spilled == 0 for each in word.resources)


def test_what_is_refused_is_told_as_the_compiler_does() -> None:
    word = compiler_word(DeviceCode(SHIFT.replace("double *", "dubble *"), ()), (90,))
    assert isinstance(word, NotCompiled) and word.architecture == 90
    assert 'identifier "dubble" is undefined' in word.message
    too_much = SHIFT.replace("[64]", "[64 * 1024]", 1)
    refused = compiler_word(DeviceCode(too_much, ()), (75,))
    assert isinstance(refused, NotCompiled) and "shared data" in refused.message


def test_the_compiler_writes_into_no_bytes_of_others() -> None:
    # An empty log is a single byte, and Python has one object for each string of one.
    for log in ("--ptxas-options=-v", "-lineinfo"):
        assert compiled(SHIFT, 90, log)[0]
    assert [each.encode()[0] for each in " \0"] == [32, 0]


def test_names_and_spills_are_read_from_the_log() -> None:
    log = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z9f_kernel0iPd' for 'sm_80'
ptxas         .     0 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 8704 bytes smem, 376 bytes cmem[0]
ptxas info    : Compiling entry function 'plain' for 'sm_80'
ptxas info    : Used 6 registers, used 0 barriers, 368 bytes cmem[0]
"""
    assert resources(log, 80) == [Resources("f_kernel0", 80, 255, 8704, 24), Resources("plain", 80, 6, 0, 0)]


@pytest.mark.parametrize(
    ("architecture", "registers", "shared", "threads", "expected"),
    [
        (90, 32, 0, 256, 1.0),
        (90, 92, 16896, 256, 0.25),  # 96 registers: 20 warps, of which blocks take 8
        (80, 32, 48 * 1024, 256, 3 * 256 / 2048),  # and 1 KiB of the system's own
        (75, 32, 32 * 1024, 256, 0.5),
        (75, 64, 0, 1024, 1.0),
        (90, 16, 0, 32, 0.5),  # 32 blocks
        (90, 255, 0, 512, 0.0),  # a launch fails
    ],
)
def test_what_blocks_take_bounds_the_threads(
    architecture: int, registers: int, shared: int, threads: int, expected: float
) -> None:
    taken = Resources("k", architecture, registers, shared, 0)
    assert occupancy(taken, threads) == pytest.approx(expected)


def test_where_a_package_is_missing_there_is_no_compiler(monkeypatch) -> None:
    assert is_installed()
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", None)
    assert not is_installed()
