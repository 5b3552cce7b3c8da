"""Arrays that each time step copies anew, on the device: `un = u.copy()` fills one array again."""

from __future__ import annotations

from pathlib import Path

import pytest

from polylsp.core.settings import Settings

from .playing import Played, on_gpu, written

SETTINGS = Settings(offload_threshold=0)
REFILLED = """import numpy as np


def alone(u, v, steps):
    for t in range(steps):
        un = u.copy()
        u[1:-1] = un[2:] + 0.5 * un[:-2]
        u[0] = 1.0
    return u


def both(u, v, steps):
    un = np.empty_like(u)
    if steps > 1:
        for s in range(2):
            for t in range(steps):
                un = u.copy()
                vn = v.copy()
                u[1:-1] = un[2:] + vn[:-2]
                v[1:-1] = vn[2:] - un[:-2]
    return u + v


def loops(u, v, steps):
    for t in range(steps):
        un = u.copy()
        for i in range(1, len(u) - 1):
            u[i] = un[i + 1] + v[i] * un[i - 1]
    return u


"""
PRINTED = """
u, v = np.arange(40.0) % 7, np.arange(40.0) % 5
for call in (alone, both, loops):
    for steps in (0, 1, 4):
        print(call(u.copy(), v.copy(), steps).tolist())
print(loops([1.0, 2.0, 3.0, 5.0], [1.0] * 4, 2))
"""
OTHERS = {
    "the array is used after the loop": ("un = u.copy()", "u[1:-1] = un[2:]", "return un"),
    "the array of the step before is used": ("u[1:-1] = un[2:]", "un = u.copy()", "return u"),
    "the array has another name": ("un = u.copy()", "kept.append(un)", "return kept"),
    "a part of it has another name": ("un = u.copy()", "u[1:-1] = un[2:] + v[2:]; v = un[:]", "return u"),
    "another array is copied in each step": ("un = u.copy()", "u[1:-1] = un[2:]; u = u[1:]", "return u"),
}


def test_a_step_refills_its_copy(played: Played, tmp_path: Path) -> None:
    text = REFILLED
    for name in ("alone", "both", "loops"):
        done = on_gpu("a.py", text, SETTINGS, name, whole=False)
        assert not done.declined, done.declined
        text = done.text
    assert text.count("= np.empty_like(u)\n") == 4 and text.count("un = u.copy()\n") == 3
    before, after = played.run(
        *written(tmp_path, [("before", REFILLED + PRINTED), ("after", text + PRINTED)])
    )
    assert before.printed == after.printed and before.calls == 0 < after.calls


@pytest.mark.parametrize(("first", "then", "last"), OTHERS.values(), ids=OTHERS.keys())
def test_a_copy_that_is_seen_elsewhere_stays(first: str, then: str, last: str) -> None:
    text = (
        "import numpy as np\n\n\ndef f(u, v, steps):\n    kept = []\n    un = u + 1.0\n"
        f"    for t in range(steps):\n        {first}\n        {then}\n    {last}\n"
    )
    done = on_gpu("a.py", text, SETTINGS, "f", whole=False)
    assert "empty_like" not in done.text


MADE = """import numpy as np


def twice(A, x):
    return (A @ x) @ A


def differences(u, v):
    change = u[1:] - u[:-1]
    kept = np.where(change * v[1:] > 0, 0, change)
    return kept, kept * 2.0 + v[1:]


"""
MADE_PRINTED = """
A, x = np.arange(35.0).reshape(5, 7) % 6, np.arange(7.0) % 5
u, v = np.arange(40.0) % 7, 2 - np.arange(40.0) % 5
for made in (twice(A, x), twice(A[:1], x), *differences(u, v), *differences(u[:1], v[:1])):
    print(made.dtype, made.tolist())
"""


def test_new_arrays_are_made_before_kernels_fill_them(played: Played, tmp_path: Path) -> None:
    text = MADE
    for name in ("twice", "differences"):
        done = on_gpu("a.py", text, SETTINGS, name)
        assert not done.declined, done.declined
        text = done.text
    before, after = played.run(
        *written(tmp_path, [("before", MADE + MADE_PRINTED), ("after", text + MADE_PRINTED)])
    )
    assert before.printed == after.printed and before.calls == 0 < after.calls


@pytest.mark.parametrize(
    "body",
    ["c = u\n    c[:] = v + 1.0\n    return c", "return u[0:1] + w", "u = u + 1.0\n    return u[0]"],
    ids=["another name", "one that may have more dimensions", "of its own elements"],
)
def test_other_arrays_stay(body: str) -> None:
    done = on_gpu("a.py", f"import numpy as np\n\n\ndef f(u, v, w):\n    {body}\n", SETTINGS, "f")
    assert "np.empty" not in done.text
