"""Process that compiles kernels (`COMMAND`). It reads a text and some of its nests from standard input,
generates kernels of one after the other as the action would, and writes the report of NVIDIA's compiler to
standard output. It runs no kernel, and no request waits for it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from dataclasses import dataclass

from polylsp.core import processes
from polylsp.core.processes import contained, end_with_parent, limit_memory, take_standard_output
from polylsp.core.settings import Settings
from polylsp.launch import entry_point_command
from polylsp.measuring.nvrtc import compiler_word, is_installed
from polylsp.model.action import Answer, Ask, Edited
from polylsp.model.kernel_report import KernelWord

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
