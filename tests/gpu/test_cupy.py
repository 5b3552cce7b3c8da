"""Kernels that CuPy runs: the same as PyCUDA's, on a stand-in for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from .device import Device
from .playing import Played, many, on_gpu, written
from .python_samples import FOLDER, compared, tried
from .test_python import CALLS, FAILING, MOVED, SETTINGS, STENCIL, assert_left_to_the_loops

SAMPLES = {"atax": {"M": 35, "N": 43}, "durbin": {"N": 43}, "gemm": {"NI": 37, "NJ": 70, "NK": 53}}
"""Samples with sums over blocks, numbers that come back, and shared memory."""


@pytest.mark.timeout(300)
def test_samples_print_the_same(played: Played, device: Device, tmp_path: Path) -> None:
    files = [FOLDER / f"{name}.py" for name in SAMPLES]
    done = {file: tried(file, SAMPLES[file.stem], "cupy") for file in files}
    assert not [reason for _, made in done.values() for reason in made.declined]
    before = played.run(*written(tmp_path, [(file.stem, done[file][0]) for file in files]))
    texts = [done[file][1].text for file in files]
    texts = [many(text) if number % 2 else text for number, text in enumerate(texts)]
    assert all("import CuPy\n" in text and "PyCuda" not in text for text in texts)
    programs = [(f"{file.stem}_gpu", text) for file, text in zip(files, texts, strict=True)]
    after = played.run(*written(tmp_path, programs))
    for file, one, other in zip(files, before, after, strict=True):
        compared(file, one, other)
        for kernels in other.compiled:
            assert device.compiled_kernels(kernels, "sm_80") == ""


def test_arguments_that_kernels_were_not_made_for_are_left_to_the_loops(
    played: Played, tmp_path: Path
) -> None:
    done = on_gpu("smooth.py", STENCIL, SETTINGS, "smooth", target="cupy")
    assert not done.declined
    assert len(assert_left_to_the_loops(played, tmp_path, STENCIL, done.text, CALLS).compiled) == 1


def test_any_call_may_fail(played: Played, tmp_path: Path) -> None:
    done = on_gpu("smooth.py", STENCIL, SETTINGS, "smooth", whole=False, target="cupy")
    (ran,) = played.run(*written(tmp_path, [("failing", done.text + FAILING)]))
    assert 15 < int(ran.printed) < 39


RESIDENT = """
import cupy

wanted = np.arange(50.0) % 7
for i in range(30, 47):
    wanted[i] = wanted[i + 1] * 0.5 + wanted[i]
there = cupy.asarray(np.arange(50.0) % 7)
plain, copies = cupy.cuda.runtime.memcpy, []
cupy.cuda.runtime.memcpy = lambda *given: (copies.append(given[3]), plain(*given))
moved(30, 48, there)
cupy.cuda.runtime.memcpy = plain
print((there.get() == wanted).all(), set(copies) <= {cupy.cuda.runtime.memcpyDeviceToDevice})
"""


def test_arrays_that_are_on_the_device_stay_there(played: Played, tmp_path: Path) -> None:
    done = on_gpu("moved.py", MOVED, SETTINGS, "moved", target="cupy")
    (ran,) = played.run(*written(tmp_path, [("resident", done.text + RESIDENT)]))
    assert ran.printed == "True True\n" and ran.compiled


LOST = """
import cupy
import pycuda.driver

b = cupy.asarray(np.arange(50.0))
smooth(50, np.arange(50.0), b)
pycuda.driver.calls, pycuda.driver.failing = 0, 4
try:
    smooth(50, np.arange(50.0), b)
except cupy.cuda.runtime.CUDARuntimeError as error:
    print(error)
"""


def test_what_failed_on_an_array_of_the_device_is_told(played: Played, tmp_path: Path) -> None:
    done = on_gpu("smooth.py", STENCIL, SETTINGS, "smooth", whole=False, target="cupy")
    (ran,) = played.run(*written(tmp_path, [("lost", done.text + LOST)]))
    assert ran.printed == "call 4 fails\n"
