"""Single-threaded programs run on one processor."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from runtime_plans import Planning

from polylsp.core.settings import Settings
from polylsp.measuring.confined_program import run
from polylsp.measuring.timing import c_has_threads, own_processor, python_has_threads
from polylsp.measuring.tools import ORIGINAL, Runnable
from polylsp.measuring.trials import tools_for
from polylsp.model.measurement import Plan

C = "void f(int n, double *restrict a) { for (int i = 0; i < n; i++) a[i] *= 2.0; }\n"
PYTHON = "import numpy as np\n\ndef f(a: np.ndarray):\n    for i in range(len(a)):\n        a[i] = 0.0\n"


@pytest.mark.parametrize(
    ("text", "flags", "has_threads"),
    [
        (C, ("-O2", "-fopenmp-simd"), False),
        (C, ("-fopenmp",), True),
        (C, ("-pthread",), True),
        ("#include <pthread.h>\nvoid g(void) { pthread_create(0, 0, 0, 0); }\n" + C, (), True),
    ],
)
def test_what_starts_threads_in_c(text: str, flags: tuple[str, ...], has_threads: bool) -> None:
    assert c_has_threads(text, flags) == has_threads


@pytest.mark.parametrize(
    ("before", "has_threads"),
    [
        ("", False),
        ("import math, itertools as it\nfrom typing import Any\n", False),
        ("import math, numba\n", True),
        ("import math; import torch\n", True),
        ("from .fast import add\n", True),
        ("from concurrent.futures import ThreadPoolExecutor\n", True),
        ("def g(a, b):\n    return a @ b\n", True),
        ("def g(a, b):\n    return np.dot(a, b)\n", True),
    ],
)
def test_what_may_start_threads_in_python(before: str, has_threads: bool) -> None:
    assert python_has_threads(before + PYTHON) == has_threads


@pytest.mark.parametrize(("text", "suffix"), [(C, ".c"), (PYTHON, ".py")])
def test_the_original_is_kept_to_one_processor_and_its_versions_are_not(
    planning: Planning, folder: str, text: str, suffix: str
) -> None:
    plan = planning(text, suffix)
    assert isinstance(plan, Plan)
    tools = tools_for(plan, Settings())
    made = tools.build(plan, folder, 2, lambda *_: None)
    kept = {name: each.processor for name, each in made.items() if isinstance(each, Runnable)}
    assert kept.pop(ORIGINAL) == own_processor() and kept and set(kept.values()) == {None}


def test_a_program_stays_on_its_processor(folder: str) -> None:
    own = own_processor()
    told = Path("/proc/self/status")
    runnable = Runnable(("/bin/grep", "^Cpus_allowed_list:", str(told)), {})
    for processor, wanted in ((own, {own}), (None, os.sched_getaffinity(0))):
        limits = replace(runnable, processor=processor).limits(0, 5.0, 1)
        words = run(runnable.command, folder, limits, {}, 20.0).words
        assert allowed(words.split()[1]) == wanted


def allowed(ranges: str) -> set[int]:
    """The processors of a list such as `0-3,8`."""
    ends = (each.partition("-") for each in ranges.split(","))
    return {k for first, _, last in ends for k in range(int(first), int(last or first) + 1)}
