"""Texts for NVIDIA's compiler as those of a compiler of C++ that has the header that plays CUDA."""

from __future__ import annotations

import re

_VECTOR = re.compile(r"\*\(((?:const )?(?:float|double|int)[24]) \*\)&")
_LAUNCH = re.compile(r"(\w+)<<<([^>]*?)(?:, 0, (\w+(?:\[\d+\])?))?>>>\(")
WARNINGS = ("-Wall", "-Wextra", "-Werror")
CXX = ("-std=c++17", "-O1", "-U_FORTIFY_SOURCE", *WARNINGS, "-Wno-unknown-pragmas", "-Wno-sign-compare")


def played(text: str) -> str:
    """The text of a `.cu` file with launches that a C++ compiler knows, and vectors that are looked at."""
    barriers = "true" if "__syncthreads" in text or "__shfl" in text else "false"
    text = _VECTOR.sub(r"played::Vector<\1>() & ", text)
    return _LAUNCH.sub(
        lambda found: f"played::launch({found[3] or 'nullptr'}, {barriers}, {found[1]}, {found[2]}, ", text
    )
