"""All samples in Python on the played device, at two sizes: `python -m tests.gpu.python_samples`."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import pytest

from polylsp.core.settings import Settings
from polylsp.model.action import KernelTarget
from tests.codegen.editing import assert_same

from .device import Device
from .playing import OnGpu, Played, Ran, on_gpu, written

FOLDER = Path(__file__).parents[2] / "samples" / "polybench" / "python"
FILES = sorted(FOLDER.glob("*.py"))
ROUNDED = {"deriche"}
"""Kernels on `float32`, with which NumPy computes and the device does not."""


def sized(text: str, sizes: dict[str, int]) -> str:
    """A sample with other sizes."""
    for name, value in sizes.items():
        text = re.sub(rf"^{name} = \d+$", f"{name} = {value}", text, flags=re.MULTILINE)
    return text


def tried(file: Path, sizes: dict[str, int], target: KernelTarget = "pycuda") -> tuple[str, OnGpu]:
    """A sample as it is, and with all nests of its kernel on the device."""
    text = sized(file.read_text(encoding="utf-8"), sizes)
    kernel, *_ = re.findall(r"^def (kernel_\w+)", text, re.MULTILINE)
    return text, on_gpu(str(file), text, Settings(offload_threshold=0), kernel, target=target)


def compared(file: Path, before: Ran, after: Ran) -> None:
    """Both print the same, and one of them does so with a device."""
    assert before.calls == 0 < after.calls, file
    if file.stem in ROUNDED:
        found = [float(each.printed.split()[1]) for each in (before, after)]
        assert found[1] == pytest.approx(found[0], rel=1e-6)
    else:
        assert_same(before.printed, after.printed)


def main() -> int:
    from .test_polybench import OWN, SIZES

    device = Device()
    failed = 0
    for sizes in SIZES:
        for file in FILES:
            chosen = {**sizes, **OWN.get(file.stem, {})} if sizes else sizes
            text, done = tried(file, chosen)
            with tempfile.TemporaryDirectory() as folder:
                played = Played("g++", Path(folder))
                programs = written(Path(folder), [("before", text), ("after", done.text)])
                try:
                    before, after = played.run(*programs)
                    compared(file, before, after)
                    for kernels in after.compiled:
                        device.compiled_kernels(kernels, "sm_80")
                    outcome = f"{after.calls} calls"
                except AssertionError as reason:
                    failed += 1
                    outcome = f"FAILED {reason}"
            print(file.stem, "odd" if sizes else "given", outcome, *done.declined, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
