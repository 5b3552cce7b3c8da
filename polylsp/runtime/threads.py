"""Detection of single-threaded programs, and the processor that they are pinned to: migration would lose
cached data and vary the times."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

_FLAGS = frozenset(("-fopenmp", "-fiopenmp", "-fopenacc", "-pthread"))
_STARTED = re.compile(r"\b(?:pthread_create|thrd_create|fork)\b")
_IMPORTED = re.compile(
    r"(?:^|[;:])[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b|import[ \t]+([^\n#;]+))", re.MULTILINE
)
_OF_ONE_THREAD = frozenset(
    ("__future__", "numpy", "math", "cmath", "typing", "dataclasses", "functools", "itertools", "collections")
)
"""Modules that start no threads but in what `_SPREAD` names."""

_SPREAD = re.compile(
    r"@|\b(?:dot|vdot|inner|outer|matmul|tensordot|einsum|linalg|cov|corrcoef|polyfit|__import__|exec|eval)\b"
)
"""Calls that NumPy leaves to a library that uses all processors, decorators, and constructs that hide
names."""


def c_has_threads(text: str, flags: Sequence[str]) -> bool:
    """True if a file in C may start threads, built with some flags of its project."""
    return not _FLAGS.isdisjoint(flags) or bool(_STARTED.search(text))


def python_has_threads(text: str) -> bool:
    """True unless a file of Python provably runs without threads."""
    named = (one or several for one, several in _IMPORTED.findall(text))
    modules = {each.split()[0].split(".")[0] for names in named for each in names.split(",") if each.strip()}
    return bool(_SPREAD.search(text)) or not modules <= _OF_ONE_THREAD


def own_processor() -> int | None:
    """Processor that single-threaded programs are pinned to: the first, which also runs the threads of other
    programs that wait for commands. `None` where a system has no affinity."""
    return min(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else None
