"""The process that compiles kernels: `python -m polylsp.runtime.kernel_compiler`. It is told several nests'
kernels on standard input, and says of one after the other on standard output what NVIDIA's compiler makes of
them; nothing where that is not installed. It runs nothing, and what it compiles is ours alone.
"""

from __future__ import annotations

import contextlib
import os
import sys

from polylsp import frames
from polylsp.model.device_code import CompilerWord, DeviceCode
from polylsp.process import end_with_parent
from polylsp.runtime.nvrtc import compiler_word

COMMAND: tuple[str, ...] = (sys.executable, "-m", "polylsp.runtime.kernel_compiler")

NOT_THERE = 3
"""The exit status where NVIDIA's compiler is not installed."""


def main() -> None:
    """Compile what is asked for."""
    end_with_parent()
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)  # Nobody waits for this.
    asked: tuple[DeviceCode, ...] | None = frames.read(sys.stdin.buffer.read)
    for code in asked or ():
        _say(_word(code))


def _word(code: DeviceCode) -> CompilerWord:
    try:
        return compiler_word(code)
    except ImportError:
        raise SystemExit(NOT_THERE) from None


def _say(word: CompilerWord) -> None:
    sys.stdout.buffer.write(frames.frame(word))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
