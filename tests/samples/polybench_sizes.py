"""The sizes of the PolyBench samples."""

from __future__ import annotations

import re
from pathlib import Path

ODD_SIZES: dict[str, dict[str, int]] = {
    "2mm": {"NI": 5, "NJ": 7, "NK": 9, "NL": 11},
    "3mm": {"NI": 5, "NJ": 7, "NK": 9, "NL": 11, "NM": 6},
    "adi": {"TSTEPS": 3, "N": 9},
    "correlation": {"M": 9, "N": 13},
    "covariance": {"M": 9, "N": 13},
    "deriche": {"W": 11, "H": 9},
    "doitgen": {"NR": 5, "NQ": 4, "NP": 7},
    "fdtd-2d": {"TMAX": 5, "NX": 9, "NY": 11},
    "gemm": {"NI": 5, "NJ": 9, "NK": 11},
    "gramschmidt": {"M": 11, "N": 8},
    "heat-3d": {"TSTEPS": 3, "N": 7},
    "jacobi-1d": {"TSTEPS": 5, "N": 11},
    "jacobi-2d": {"TSTEPS": 4, "N": 9},
    "seidel-2d": {"TSTEPS": 4, "N": 9},
} | {name: {"M": 9, "N": 11} for name in ("atax", "bicg", "symm", "syrk", "syr2k", "trmm")}
"""A second set of sizes, all different, so that two swapped extents show; the others take N = 13."""


def default_sizes(source: Path) -> dict[str, int]:
    found = re.findall(r"^#ifndef (\w+)\n#define \1 (\d+)\n#endif$", source.read_text(), re.MULTILINE)
    return {name: int(value) for name, value in found}
