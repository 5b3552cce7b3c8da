"""What a process of ours that runs isl is held to: a limit on memory, and no life after its parent's."""

from __future__ import annotations

import contextlib
import sys

EXIT_OUT_OF_MEMORY = 77
"""The exit status of a process that reached its memory limit."""


def limit_memory(mebibytes: int) -> None:
    """Limit the address space, where the system can; 0: no limit."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = mebibytes * 2**20 if mebibytes else hard
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def end_with_parent(by: int = 9) -> None:
    """Ask Linux to end this process with the thread that started it, however that dies."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    set_parent_death_signal = 1
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(set_parent_death_signal, by)
