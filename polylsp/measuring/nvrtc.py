"""NVIDIA's compiler for kernels (NVRTC), which needs no GPU, and its report.

It comes in the packages `cuda-bindings` and `nvidia-cuda-nvrtc`.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from polylsp.model.kernel_report import Compiled, CompilerWord, DeviceCode, NotCompiled, Resources

ARCHITECTURES = (75, 80, 90)

_NAME = re.compile(r"'(?:_Z(\d+))?(\w+)'")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_SPILLED = re.compile(r"(\d+) bytes spill stores")


def is_installed() -> bool:
    """True if the compiler is installed."""
    try:
        import_module("cuda.bindings.nvrtc").nvrtcVersion()
    except (ImportError, OSError, RuntimeError):
        return False
    return True


def compiler_word(code: DeviceCode, architectures: tuple[int, ...] = ARCHITECTURES) -> CompilerWord:
    """Report of the compiler on kernels, for each architecture or the first for which it refuses them."""
    found: list[Resources] = []
    for architecture in architectures:
        is_compiled, log = compiled(code.text, architecture, "--ptxas-options=-v")
        if not is_compiled:
            return NotCompiled(architecture, _first_error(log))
        found += resources(log, architecture)
    return Compiled(tuple(found))


def resources(log: str, architecture: int) -> list[Resources]:
    """Resources of each kernel, from the assembler's report (`--ptxas-options=-v`)."""
    entries = log.split("Compiling entry function ")[1:]
    return [
        Resources(
            _name_of(entry),
            architecture,
            _number(_REGISTERS, entry),
            _number(_SHARED, entry),
            _number(_SPILLED, entry),
        )
        for entry in entries
    ]


def _name_of(entry: str) -> str:
    """The name of a function, of which C++ tells the length before it (`_Z4nameiPd`)."""
    found = _NAME.match(entry)
    if found is None:
        return ""
    return found[2][: int(found[1])] if found[1] else found[2]


def _number(pattern: re.Pattern[str], entry: str) -> int:
    found = pattern.search(entry)
    return int(found[1]) if found is not None else 0


def _first_error(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), lines[0] if lines else "no reason is given")


def compiled(text: str, architecture: int, option: str) -> tuple[bool, str]:
    """Compile a text to machine code: success, and the compiler's log; where that is empty for a refused
    text, the status."""
    nvrtc: Any = import_module("cuda.bindings.nvrtc")
    _, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernels.cu", 0, None, None)
    options = [f"--gpu-architecture=sm_{architecture}".encode(), option.encode()]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    # NVRTC writes into this object. A string of a single byte is one that all of Python shares: writing into
    # it changes that byte everywhere in the process.
    log = bytes(size + 1)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(program)
    is_compiled = status == nvrtc.nvrtcResult.NVRTC_SUCCESS
    said = log.decode(errors="replace").strip("\0 \n")
    return is_compiled, said if is_compiled else said or str(status)
