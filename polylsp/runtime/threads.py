"""Which programs have a single thread, and the processor that such a one is kept to: moved about, it would
lose what caches hold for it, and take another time in each run."""

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
"""What NumPy leaves to a library that uses all processors, decorators, and what hides names."""


def c_has_threads(text: str, flags: Sequence[str]) -> bool:
    """Whether a file in C may start threads, built with some flags of its project."""
    return not _FLAGS.isdisjoint(flags) or bool(_STARTED.search(text))


def python_has_threads(text: str) -> bool:
    """Whether a file of Python may start threads: whatever does not certainly do without."""
    named = (one or several for one, several in _IMPORTED.findall(text))
    modules = {each.split()[0].split(".")[0] for names in named for each in names.split(",") if each.strip()}
    return bool(_SPREAD.search(text)) or not modules <= _OF_ONE_THREAD


def own_processor() -> int | None:
    """The processor that programs of one thread are kept to: the first, on which the thread of other programs
    runs that waits with them for what to do. `None` where a system has no such thing."""
    return min(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else None
