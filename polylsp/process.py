"""Limits of a process that runs isl: memory and CPU time, and the life of its parent."""

from __future__ import annotations

import contextlib
import signal
import sys
from dataclasses import dataclass

EXIT_OUT_OF_MEMORY = 77
"""The exit status of a process that reached its memory limit."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The limit that the analysis of a function reached ("it took too long"), and advice."""

    reason: str
    advice: str


TOOK_TOO_LONG = Stop("it took too long", "raise `polylsp.max_seconds`, or split the function")


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


def limit_cpu_time(seconds: float) -> bool:
    """Let the system end this process, with `SIGPROF`, once it has taken so many more seconds of CPU time;
    0: no limit. Whether the system can."""
    if not hasattr(signal, "setitimer"):  # Windows
        return False
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    return True


def ran_out_of_cpu_time(status: int | None) -> bool:
    """True if `limit_cpu_time` ended a process with that exit status."""
    return status is not None and hasattr(signal, "SIGPROF") and status == -signal.SIGPROF


def end_with_parent(by: int = 9) -> None:
    """Ask Linux to end this process with the thread that started it, however that dies."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    set_parent_death_signal = 1
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(set_parent_death_signal, by)
