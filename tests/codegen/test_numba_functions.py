"""Numba on whole functions: array statements that make new arrays run as loops, with the same results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import Answer, Ask, Declined, Edited, applied

SETTINGS = Settings(parallel_threshold=0)

PROGRAM = """
import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def twice(A, x):
    return (A @ x) @ A


def both(A, p, r):
    return r @ A, A @ p


def limited(u, v):
    flux = u[1:, :] - u[:-1, :]
    kept = np.where(flux * v[1:, :] > 0, 0, flux)
    v[1:, :] = v[1:, :] + 0.5 * kept


def steps(u: Matrix, n: int):
    for t in range(n):
        change = u[:-2, 1:-1] + u[2:, 1:-1] - 2.0 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += 0.1 * change
    return u


def rebound(a: Matrix, b: Matrix):
    c = a[:, :] * b[:, :]
    d = np.sqrt(np.abs(c)) + 1.0
    return c / d + a[:, 2:3]
"""
CALLS = """

def main():
    rng = np.random.default_rng(1)
    a, x, r = rng.random((7, 9)), rng.random(9), rng.random(7)
    u, v, w = rng.random((7, 9)) - 0.5, rng.random((7, 9)) - 0.5, rng.random((1, 9))
    limited(u, v)
    limited(w, rng.random((1, 9)))
    made = (twice(a, x), *both(a, x, r), u, v, w, steps(u.copy(), 4), steps(w.copy(), 2), rebound(a, u))
    for one in made:
        print(one.shape, one.dtype, *(f"{each:.10g}" for each in one.ravel()))


main()
"""
NAMES = ("twice", "both", "limited", "steps", "rebound")


def on_function(text: str, name: str) -> Answer:
    """The edit of a whole function."""
    found = analyse("a.py", text, SETTINGS, schedules=False).functions
    start = next(each.start for each in found if each.answer.facts.name == name)
    return edit("a.py", text, SETTINGS, Ask("numba", name, start, 0))


@pytest.mark.timeout(300)
def test_functions_of_array_statements_compute_the_same(tmp_path: Path) -> None:
    text = PROGRAM
    for name in NAMES:
        answer = on_function(text, name)
        assert isinstance(answer, Edited), (name, answer)
        text = applied(text, answer.replacements)
    assert text.count("prange(") >= 9
    before, after = tmp_path / "before.py", tmp_path / "after.py"
    before.write_text(PROGRAM + CALLS, encoding="utf-8")
    after.write_text(text + CALLS, encoding="utf-8")
    ran = [
        subprocess.run([sys.executable, str(each)], capture_output=True, text=True, timeout=250, check=True)
        for each in (before, after)
    ]
    assert ran[0].stdout == ran[1].stdout


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "return a @ a",
            "`a @ a` is a product of matrices, which NumPy's library computes faster than loops.",
        ),
        (
            "c = 0.0\n    for t in range(3):\n        c = a * 2.0\n    return c",
            "`c` is an array in one place and none in another, which Numba does not compile.",
        ),
        (
            "b = a * 2.0\n    if z > 1:\n        return b\n    return 0.0",
            "The result is an array in one place and none in another, which Numba does not compile.",
        ),
        ("a += 2.0 * a + z", "`z` on line 5 may be a number or an array: annotate it."),
        (
            "d = a * 2.0\n    e = d\n    e[1:] = d[:-1] + 1.0",
            "`f` has no loop and no array statement that is known to run in parallel.",
        ),
        (
            "c = a\n    c[1:] = a[:-1] + 1.0",
            "`f` has no loop and no array statement that is known to run in parallel.",
        ),
        (
            "a[:, 0:1] = a[:, 1:3] + 1.0",
            "`f` has no loop and no array statement that is known to run in parallel.",
        ),
        (
            "b = np.asarray(z, dtype=np.float64)\n    return a * b",
            "`f` has no loop and no array statement that is known to run in parallel.",
        ),
    ],
)
def test_other_functions_stay(body: str, reason: str) -> None:
    matrix = "np.ndarray[tuple[int, int], np.dtype[np.float64]]"
    answer = on_function(f"import numpy as np\n\n\ndef f(a: {matrix}, z):\n    {body}\n", "f")
    assert isinstance(answer, Declined)
    assert answer.reason == reason


def test_lengths_and_numbers_are_assumed() -> None:
    answer = on_function(
        PROGRAM.replace("return c / d", "return z * c / d").replace("b: Matrix)", "b: Matrix, z)"), "rebound"
    )
    assert isinstance(answer, Edited)
    told = {each.sentence for each in answer.assumptions}
    assert {"`a.shape[0]` and `b.shape[0]` are equal", "`z` is a number"} <= told
