"""Process that compiles kernels (`COMMAND`). It reads a text and some of its nests from standard input,
generates kernels of one after the other as the action would, and writes the report of NVIDIA's compiler to
standard output. It runs no kernel, and no request waits for it.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from polylsp.core import processes
from polylsp.core.processes import contained, end_with_parent, limit_memory, take_standard_output
from polylsp.core.settings import Settings
from polylsp.launch import entry_point_command
from polylsp.model.action import Answer, Ask, Edited
from polylsp.model.kernel_report import Compiled, CompilerWord, DeviceCode, KernelWord, NotCompiled, Resources

COMMAND: tuple[str, ...] = entry_point_command("polylsp.server.kernel_compiler:main")

NOT_INSTALLED = 3
"""The exit status where there is no compiler."""


@dataclass(frozen=True, slots=True)
class Errand:
    """Nests of a text of which there may be kernels."""

    path: str
    text: str
    settings: Settings
    asks: tuple[Ask, ...]


def main() -> None:
    """Carry out one errand."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)
    replies = take_standard_output()
    errand: Errand | None = processes.read(sys.stdin.buffer.read)
    if errand is None:
        return
    if not is_installed():
        raise SystemExit(NOT_INSTALLED)
    for ask in errand.asks:
        replies.write(processes.frame(_word(errand, ask)))
        replies.flush()


def _word(errand: Errand, ask: Ask) -> KernelWord | None:
    """Report of the compiler on the kernels of a nest; `None` where there are none."""
    # Loaded here: where there is no compiler, isl is not needed.
    from polylsp.engine.queries import edit

    def made() -> Answer | None:
        return edit(errand.path, errand.text, errand.settings, ask)

    limit_memory(errand.settings.max_memory_mb)
    try:
        found = contained(f"making kernels of `{ask.function}`", made, lambda _: None)
    except MemoryError:
        return None
    finally:
        limit_memory(0)
    if not isinstance(found, Edited) or not found.device_code:
        return None
    return KernelWord(found.device_code[0], compiler_word(found.device_code[0]))


# --------------------------------------------------------------------------------------------------
# NVIDIA's compiler for kernels (NVRTC), which needs no GPU, and its report.
#
# It comes in the packages `cuda-bindings` and `nvidia-cuda-nvrtc`.
# --------------------------------------------------------------------------------------------------


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
