"""Kernels of Numba-CUDA: Numba's simulator runs them, and what they leave is compared."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from polylsp.engine.queries import analyse, edit
from polylsp.model.action import Ask, Declined
from tests.codegen.editing import assert_same
from tests.codegen.python_nests import nest

from .playing import on_gpu
from .python_nests import main_of
from .python_samples import FOLDER, sized
from .simulating import simulated
from .test_python import SETTINGS, STENCIL


def edited(text: str, name: str, declined: Sequence[str] = ()) -> str:
    """A program whose loops are kernels where they can."""
    done = on_gpu("a.py", text, SETTINGS, name, whole=False, target="numba-cuda")
    assert [any(words in each for each in done.declined) for words in declined] == [True] * len(declined)
    return done.text


SAMPLES = {
    "gemver": {"N": 13},
    "jacobi-2d": {"N": 9, "TSTEPS": 3},
    "3mm": {"NI": 7, "NJ": 9, "NK": 5, "NM": 6},
}


@pytest.mark.timeout(300)
def test_samples_print_the_same(tmp_path: Path) -> None:
    texts = {name: sized((FOLDER / f"{name}.py").read_text("utf-8"), own) for name, own in SAMPLES.items()}
    kernels = {name: f"kernel_{name.replace('-', '_')}" for name in SAMPLES}
    before = simulated(tmp_path, *texts.items())
    after = simulated(tmp_path, *((n, edited(text, kernels[n])) for n, text in texts.items()))
    for (printed, none), (same, launched) in zip(before, after, strict=True):
        assert none == 0 < launched
        assert_same(printed, same)


GRID = """import numpy as np
from numpy.typing import NDArray


def blur(u: NDArray[np.float64], v: NDArray[np.float64], w: float):
    n, m = u.shape
    # Neighbours of each point.
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            t = u[i - 1, j] + u[i + 1, j]  # above and below
            v[i, j] = w * (t + u[i, j - 1] + u[i, j + 1])


"""


def test_two_parallel_loops_are_a_grid_of_two_dimensions_with_their_statements_as_they_are() -> None:
    made = edited(GRID, "blur")
    assert "from numba import cuda\n" in made and "from polylsp_gpu import NumbaCuda\n" in made
    kernel = made.partition("@cuda.jit\n")[2].partition("\n\n")[0]
    assert kernel == (
        "def blur_cuda_kernel0(m, n, u, v, w):\n"
        "    first_j, first_i = cuda.grid(2)\n"
        "    step_j, step_i = cuda.gridsize(2)\n"
        "    for i in range(1 + first_i, n - 1, step_i):\n"
        "        for j in range(1 + first_j, m - 1, step_j):\n"
        "            t = u[i - 1, j] + u[i + 1, j]  # above and below\n"
        "            v[i, j] = w * (t + u[i, j - 1] + u[i, j + 1])"
    )


CALLS = """
from numba import cuda

u = np.arange(63.0).reshape(7, 9) % 5
calls = "u, v, 0.25", "u, v, 2", "u[::2], v, 0.25", "u.astype('f4'), v, 0.25", "v, v, 0.5", "u[:2], v, 1.0"
for call in calls:
    v = np.zeros((7, 9))
    eval(f"blur({call})")
    print(call, v.tolist())
v = np.zeros((7, 9))
there = cuda.to_device(u), cuda.to_device(v)
try:
    blur(*there, 0.25)
    v = there[1].copy_to_host()
except TypeError:
    blur(u, v, 0.25)
print(v.tolist())
"""


def test_arguments_that_kernels_were_not_made_for_are_left_to_the_loops(tmp_path: Path) -> None:
    before, after = simulated(tmp_path, ("before", GRID + CALLS), ("after", edited(GRID, "blur") + CALLS))
    assert before[0] == after[0] and after[1] == 4


TIMES = """import numpy as np
from numpy.typing import NDArray

STEPS = 3


def steps(n: int, a: NDArray[np.float64], b: NDArray[np.float64], s: NDArray[np.int64]):
    for t in range(STEPS):
        for i in range(1, n - 1):
            b[i] = 0.5 * (a[i - 1] + a[i + 1]) + t
        for i in range(1, n - 1):
            a[i] = b[i]
    for i in range(n):
        if s[i] > 2:
            b[i] = a[s[i]] / 3.0


a, b, s = np.arange(300.0) % 7, np.zeros(300), np.arange(300)[::-1].copy()
steps(290, a, b, s)
print(a.tolist(), b.tolist())
"""


def test_a_loop_in_order_runs_on_the_host_around_the_launches(tmp_path: Path) -> None:
    made = edited(TIMES, "steps")
    assert "for t in range(STEPS):\n            grid = " in made
    before, after = simulated(tmp_path, ("before", TIMES), ("after", made))
    assert before[0] == after[0] and after[1] == 7


REFUSED = {
    "a sum": ("t = 0.0\n    for i in range(n): t += x[i]\n    return t", "set `t`, which the function needs"),
    "a value that is needed afterwards": (
        "for i in range(n): t = x[i]; y[i] = t\n    return t",
        "can run at once",
    ),
    "iterations in order": ("for i in range(1, n): x[i] = x[i - 1] + y[i]", "No iterations"),
    "a copy of what is read before it changes": (
        "for i in range(n - 1): x[i] = x[i + 1] * 0.5",
        "not parallel as it stands",
    ),
    "elements that data choose": ("for i in range(n): x[int(y[i])] = 1.0", "may set an element of `x` twice"),
    "updates of elements that data choose": ("for i in range(n): x[k[i]] += y[i]", "adds up `x`"),
    "a step": ("for i in range(0, n, 2): x[i] = y[i]", "does not count up by one"),
    "a function that gets an array": ("for i in range(n): x[i] = total(y)", "takes the array `y`"),
    "a function that calls itself": ("for i in range(n): x[i] = again(y[i])", "calls itself"),
    "arguments that have default values": ("for i in range(n): x[i] = own(y[i])", "to their defaults"),
    "a function with lists": ("for i in range(n): x[i] = odd(y[i])", "line 18 has no place on the device"),
}
HEAD = """import numpy as np
from numpy.typing import NDArray


def own(x: float, y: float = 1.0) -> float:
    return x * y


def total(y: NDArray[np.float64]) -> float:
    return y[0] + y[1]


def again(x: float) -> float:
    return again(x - 1.0) if x > 0.0 else x


def odd(x: float) -> float:
    return x if not x < 1.0 else [x, 2.0][1]


def f(n: int, x: NDArray[np.float64], y: NDArray[np.float64], k: NDArray[np.int64]):
"""


@pytest.mark.parametrize(("body", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_is_left_alone(body: str, reason: str) -> None:
    text = f"{HEAD}    {body}\n"
    placed = next(each for each in analyse("a.py", text, SETTINGS).functions if each.answer.facts.name == "f")
    answer = edit("a.py", text, SETTINGS, Ask("numba-cuda", "f", placed.start, 1))
    assert isinstance(answer, Declined) and reason in answer.reason, answer


def test_a_kernel_that_does_not_compile_leaves_the_loops_to_run(tmp_path: Path) -> None:
    made = edited(STENCIL, "smooth", ("set `total`",))
    main = """
import numba.core.errors, warnings

def failing(self, kernel, *given):
    self._begin()
    raise numba.core.errors.TypingError("no such type")

a, b = np.arange(50.0) % 7, np.arange(50.0) % 5
with warnings.catch_warnings(record=True) as said:
    print(f"{float(smooth(50, a, b)):.9} {b.sum():.9}")
print(*(f"{each.category.__name__}: {each.message}" for each in said))
"""
    broken = main.replace("a, b =", "polylsp_gpu.NumbaCuda.launch = failing\na, b =", 1)
    programs = [("before", STENCIL + main), ("after", f"{made}import polylsp_gpu\n{broken}")]
    before, after = simulated(tmp_path, *programs)
    assert after[0].splitlines()[0] == before[0].splitlines()[0]
    # Where colorama is installed, Numba's errors are in bold.
    plain = re.sub(r"\x1b\[\d*m", "", after[0])
    assert "RuntimeWarning: `smooth` runs its loops on the CPU: no such type" in plain


DRAWN = (0, 1, 3, 4, 8, 11)
"""Nests that have kernels; `python -m tests.gpu.test_numba_cuda` draws more."""


def drawn(numbers: Sequence[int], folder: Path) -> tuple[int, list[str]]:
    """The number of nests that have kernels, and the texts of those that do something else then."""
    texts = [nest(random.Random(number)) for number in numbers]
    pairs = [(text, edited(text, "kernel")) for text in texts]
    pairs = [(text, made) for text, made in pairs if made != text]
    programs = [
        (f"drawn{k}_{v}", main_of(text)) for k, pair in enumerate(pairs) for v, text in enumerate(pair)
    ]
    found = simulated(folder, *programs)
    wrong = [
        made for (_, made), one, two in zip(pairs, found[::2], found[1::2], strict=True) if one[0] != two[0]
    ]
    return len(pairs), wrong


@pytest.mark.timeout(300)
def test_nests_drawn_at_random_keep_their_meaning(tmp_path: Path) -> None:
    count, wrong = drawn(DRAWN, tmp_path)
    assert not wrong, wrong[0]
    assert count > 1


def main() -> int:
    """Draw nests from a number on, so many."""
    import tempfile

    first, count = map(int, sys.argv[1:3])
    for start in range(first, first + count, 10):
        with tempfile.TemporaryDirectory() as folder:
            made, wrong = drawn(range(start, start + 10), Path(folder))
        print(start, made, len(wrong), *wrong[:1], flush=True)
        if wrong:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
