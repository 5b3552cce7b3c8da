"""Programs of Python with kernels of Numba-CUDA, without a GPU: Numba's simulator runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from .playing import SHARED, written

_RUN = """
import contextlib, io, json, sys
import polylsp_gpu

launched, plain = [], polylsp_gpu.NumbaCuda.launch
polylsp_gpu.NumbaCuda.launch = lambda self, kernel, *given: (launched.append(1), plain(self, kernel, *given))
# The simulator's arrays have no interface that tells where they are.
polylsp_gpu.NumbaCuda._address = lambda self, array: array._ary.ctypes.data
for path in sys.argv[1:]:
    launched.clear()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(open(path, encoding="utf-8").read(), path, "exec"), {"__name__": "__main__"})
    print(json.dumps([printed.getvalue(), len(launched)]))
"""


def simulated(folder: Path, *programs: tuple[str, str]) -> list[tuple[str, int]]:
    """Output of programs, by name, with the number of kernels that each launches."""
    ran = subprocess.run(
        [sys.executable, "-c", _RUN, *map(str, written(folder, programs))],
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(SHARED)},
        timeout=250,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return [(printed, launched) for printed, launched in map(json.loads, ran.stdout.splitlines())]
