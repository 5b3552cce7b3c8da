"""Calls that let no thread wait for another one."""

from __future__ import annotations

from polylsp.analysis.summaries import Calls
from polylsp.model.program import Call

# Library functions that keep no order among threads, and change no memory that a model is about.
_PLAIN = {
    "printf", "fprintf", "puts", "putchar", "fflush", "malloc", "calloc", "free",
    "omp_get_thread_num", "omp_get_num_threads", "omp_get_max_threads", "omp_get_num_procs",
    "omp_get_wtime", "omp_get_wtick", "omp_in_parallel", "omp_get_level", "omp_get_team_size",
}  # fmt: skip


def keeps_no_order(call: Call, calls: Calls) -> bool:
    """Whether nothing in a function that is called lets threads wait for each other."""
    summary = calls.summaries.get(call.function)
    if call.pure or call.reads_memory or call.function in _PLAIN:
        return True
    return summary is not None and not summary.directed
