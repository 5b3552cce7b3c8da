"""What things are called here: the compiler, the processor."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

from polylsp.runtime.compiler import Compiler

_SECONDS = 20


def compiler_name(compiler: Compiler) -> str:
    """What a compiler says of itself, in a line."""
    try:
        said = subprocess.run(
            [compiler.path, "--version"],
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            env=compiler.environment,
            stdin=subprocess.DEVNULL,
        ).stdout.decode(errors="replace")
    except (OSError, subprocess.TimeoutExpired):
        said = ""
    return next(iter(said.splitlines()), compiler.path)


def processor_name() -> str:
    """The name of the processor, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    found = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(found, platform.processor() or platform.machine())
