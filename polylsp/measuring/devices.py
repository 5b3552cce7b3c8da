"""Names of the compiler and the processor of this machine."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path

from polylsp.measuring.toolchains import Compiler

_SECONDS = 20
_PROCESSORS = Path("/sys/devices/system/cpu")


def compiler_name(compiler: Compiler) -> str:
    """Version line of a compiler."""
    return next((each for each in _said(compiler.path, compiler.environment) if each.strip()), compiler.path)


def cuda_name(path: str) -> str:
    """Release line of `nvcc`, which stands below the copyright."""
    release = (each for each in _said(path, {"PATH": "/usr/bin:/bin"}) if "release" in each)
    return next(release, path)


def _said(path: str, environment: Mapping[str, str]) -> list[str]:
    """The lines that a compiler says of itself."""
    try:
        return (
            subprocess.run(
                [path, "--version"],
                capture_output=True,
                timeout=_SECONDS,
                check=False,
                env=environment,
                stdin=subprocess.DEVNULL,
                cwd=Path(path).parent,
            )
            .stdout.decode(errors="replace")
            .splitlines()
        )
    except (OSError, subprocess.TimeoutExpired):
        return []


def processors() -> int:
    """Number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def governor(processors: Path = _PROCESSORS) -> str:
    """Governor of the processor's frequency, if the system reports it: `performance` leaves it at its
    maximum."""
    found = {each.read_text().strip() for each in processors.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    return ", ".join(sorted(found))


def processor_name() -> str:
    """The name of the processor, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    found = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(found, platform.processor() or platform.machine())
