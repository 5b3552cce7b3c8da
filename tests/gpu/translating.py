"""Texts for NVIDIA's compiler as those of a compiler of C++ that has the header that plays CUDA."""

from __future__ import annotations

import re

_VECTOR = re.compile(r"\*\(((?:const )?(?:float|double|int)[24]) \*\)&")
_LAUNCH = re.compile(r"(\w+(?:<\w+>)?)<<<([^>]*?)(?:, 0, (\w+(?:\[\d+\])?))?>>>\((\))?")
WARNINGS = ("-Wall", "-Wextra", "-Werror")
CXX = (
    "-std=c++17", "-O1", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3", *WARNINGS, "-Wno-unknown-pragmas",
    "-Wno-sign-compare",
)  # fmt: skip


_MANY = re.compile(r"(const bool many\d* = )[^;]*;")
_TEMPLATE = re.compile(r"^template <typename (\w+)>\n", re.MULTILINE)


def counting(kernels: str, index: str) -> str:
    """Kernels that count elements in one type."""
    names = dict.fromkeys(_TEMPLATE.findall(kernels))
    return "".join(f"typedef {index} {name};\n" for name in names) + _TEMPLATE.sub("", kernels)


def played(text: str, many: bool = False) -> str:
    """The text of a `.cu` file with launches that a C++ compiler knows, and vectors that are looked at. With
    `many`, it counts elements as if there were more than an `int` counts."""
    text = _MANY.sub(r"\g<1>true;", text) if many else text
    barriers = "true" if "__syncthreads" in text or "__shfl" in text else "false"
    text = _VECTOR.sub(r"played::Vector<\1>() & ", text)
    return _LAUNCH.sub(
        lambda found: (
            f"played::launch({found[3] or 'nullptr'}, {barriers}, {found[1]}, {found[2]}{found[4] or ', '}"
        ),
        text,
    )
