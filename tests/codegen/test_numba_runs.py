"""Numba on the samples in Python, and on small programs: it compiles them, with the same results."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.codegen.editing import assert_same, everywhere
from tests.extent import stride

SAMPLES = Path(__file__).parents[2] / "samples" / "polybench" / "python"
KERNELS = sorted(SAMPLES.glob("*.py"))

NOTHING_TO_DO = {"nussinov"}
"""Kernels of which no loop that pays runs in parallel with Numba: it reads integers that wrap around in NumPy
alone."""
ROUNDED = {"deriche"}
"""Kernels on `float32`, with which NumPy computes and Numba does not."""

RUN_ALL = "import runpy, sys\nfor path in sys.argv[1:]:\n    runpy.run_path(path, run_name='__main__')\n"


def printed(*paths: Path) -> str:
    """Output of programs, run one after the other by one Python, which then loads Numba once."""
    ran = subprocess.run(
        [sys.executable, "-c", RUN_ALL, *map(str, paths)],
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_NUM_THREADS": "2"},
        timeout=500,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.timeout(900)
def test_the_kernels_of_polybench_compute_the_same(tmp_path: Path) -> None:
    made: dict[str, Path] = {}
    kernels = KERNELS[:: stride(7)]
    for path in kernels:
        done = everywhere(str(path), path.read_text(encoding="utf-8"), "numba", prefix="kernel_")
        if done.edits:
            made[path.stem] = tmp_path / path.name
            made[path.stem].write_text(done.edited, encoding="utf-8")
    tried = {path.stem for path in kernels}
    assert tried - made.keys() == NOTHING_TO_DO & tried
    expected = printed(*(SAMPLES / path.name for path in made.values())).splitlines()
    found = printed(*made.values()).splitlines()
    for before, after in zip(expected, found, strict=True):
        name, checksum = after.split()
        if name in ROUNDED:
            assert float(checksum) == pytest.approx(float(before.split()[1]), rel=1e-6)
        else:
            assert_same(before, after)


PROGRAM = """
import numpy as np


def sums(a, start: float):
    s = start
    for i in range(a.shape[0]):
        for j in range(3):
            if a[i] > 0.5:
                s += a[i] * j
    return s


def less(a):
    s = 1.0
    for i in range(a.shape[0]):
        s -= a[i]
    return s


def product(a):
    p = 2.0
    for i in range(a.shape[0]):
        p = p * (1.0 + a[i] / 1000.0)
    return p


def extremes(a):
    low = a[0]
    high = a[0]
    for i in range(a.shape[0]):
        low = min(low, a[i])
        if a[i] < 0.9:
            high = max(a[i], high)
    return low * 100 + high


def count(a):
    k = 0
    for i in range(a.shape[0]):
        if a[i] < 0.25:
            continue
        k += 1
    return k


def around(a):
    b = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        before = a[i - 1]
        b[i] = before - a[i]
    return b[0] + 3 * b[5]


def one_after_the_other(a):
    b = np.zeros(a.shape[0])
    c = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        for j in range(i % 7):
            b[i] += a[i] * j
    for i in range(a.shape[0]):
        if i == 0:
            continue
        c[i] = b[i] - b[i - 1]
    s = 0.0
    for i in range(a.shape[0]):
        s += c[i] * i
    return s


def backwards(a):
    b = np.zeros(a.shape[0])
    first = 0
    for i in range(first, a.shape[0]):
        b[i] += a[-i] - (-i) // 7 + np.exp(-i)
    c = np.zeros(a.shape[0])
    for i in range(0, a.shape[0]):
        c[i] = b[i] - i * 0.5 + (-i) % 3
    return b[3] + b[999] + c[500]


def differences(a):
    b = np.zeros(90)
    for i in range(b.shape[0]):
        for j in range(i):
            b[i] += a[j - i] * (j - i) + abs(j - i) + (i - i * j) / 2
    return b.sum()


def smallest_places(a):
    b = np.zeros(90)
    for i in range(b.shape[0]):
        best = i
        low, high = 0, i
        for j in range(i + 1, 90):
            if a[j] < a[best]:
                best = j
        while low < high:
            low += 1
            high -= 1
        b[i] = best + low * 2 ** (i % 5) + 2.0 ** -i
    return b.sum()


def flags(a):
    large = np.zeros(a.shape[0], dtype=bool)
    counts = np.full(a.shape[0], 3, dtype=int)
    for i in range(a.shape[0]):
        large[i] = a[i] > 0.5
        counts[i] -= i
    return large.sum() + counts.sum() * 2


def own_rows(a):
    b = np.zeros(50)
    for i in range(b.shape[0]):
        row = np.empty(20)
        for j in range(20):
            row[j] = a[i * 20 + j] * 2
        for j in range(1, 20):
            row[j] += row[j - 1]
        b[i] = row[19]
    return b[7] + 2 * b[49]


def steps(a):
    b = np.zeros(a.shape[0])
    for t in range(5):
        for i in range(1, a.shape[0] - 1):
            b[i] = 0.5 * (a[i - 1] + a[i + 1])
        for i in range(1, a.shape[0] - 1):
            a[i] = b[i]
    return a[400]


def vectors(a):
    m = np.ndarray((25, 40), dtype=a.dtype)
    for i in range(25):
        for j in range(40):
            m[i, j] = a[i * 40 + j]
    mean = np.mean(m, axis=0)
    m -= mean
    found = np.zeros([40, 40], dtype=float)
    for i in range(40):
        found[i, i:40] = m[:, i] @ m[:, i:40]
    for i in range(40):
        for j in range(i, 40):
            found[i, j] -= np.dot(found[i, :i], found[:i, j])
    return found[3, 7] + found[39, 39]


def columns(a):
    y = np.ones((30, 20))
    y[:, 1] = a[1] * y[:, 0] + a[2]
    y[:, 2] = y[:, 2] * y[:, 1] / np.sum(y[:, 2])
    total = 0.0
    for i in range(30):
        total += y[i, 1] + y[i, 2]
    return total


def escapes(a):
    out = np.zeros((12, 15), dtype=np.int64)
    for i in range(12):
        for j in range(15):
            c = complex(3.0 * a[j] - 2.0, 2.0 * a[i] - 1.0)
            z = 0j
            for _ in range(40):
                if abs(z) > 2.0:
                    break
                z = z * z + c
                out[i, j] += 1
    return out.sum() + out[3, 4]


def nearest(a):
    out = np.zeros(20)
    for i in range(20):
        least = float("inf")
        for j in range(30, 60):
            least = min(least, abs(a[i] - a[j]))
        out[i] = least
    return out.sum()


FUNCTIONS = (
    escapes, nearest, less, product, extremes, count, around, one_after_the_other, backwards, differences,
    smallest_places, flags, own_rows, steps, vectors, columns,
)  # fmt: skip

if __name__ == "__main__":
    numbers = np.random.default_rng(1).random(1000)
    print("sums", sums(numbers, 3.0))
    for function in FUNCTIONS:
        print(function.__name__, function(numbers))
"""


@pytest.mark.release
@pytest.mark.timeout(600)
def test_reductions_and_copies_mean_the_same(tmp_path: Path) -> None:
    done = everywhere("program.py", PROGRAM, "numba")
    assert done.declined == ("Numba compiles functions: put the loop into one first.",)
    before, after = tmp_path / "before.py", tmp_path / "after.py"
    before.write_text(done.text, encoding="utf-8")
    after.write_text(done.edited, encoding="utf-8")
    assert_same(printed(before), printed(after))


OVERTAKEN = """
import numpy as np
from numba import njit


def forward(a):
    a[1:] += a[:-1]


def backward(a):
    a[:-1] += a[1:]


def computed(a):
    a[1:] += 2.0 * a[:-1]


if __name__ == "__main__":
    for function in (forward, backward, computed):
        plain, compiled = np.arange(8.0), np.arange(8.0)
        function(plain)
        njit(function)(compiled)
        print(function.__name__, np.array_equal(plain, compiled))
"""


@pytest.mark.timeout(600)
def test_one_thread_overtakes_itself_in_updates_by_a_part_before(tmp_path: Path) -> None:
    path = tmp_path / "overtaken.py"
    path.write_text(OVERTAKEN, encoding="utf-8")
    assert printed(path).split() == ["forward", "False", "backward", "True", "computed", "True"]


OBJECTS = '''
import numpy as np


class Filter:
    """Points in rows."""

    def __init__(self, n: int):
        self.n = n
        self.points = np.zeros((n, 4))
        self.weights = np.full(n, 0.5)
        self.small = np.zeros(n, dtype=np.uint8)

    def fill(self, start: float):
        if start < 0:
            raise ValueError(f"{start} is negative")
        for i in range(self.n):
            # Each row has its own numbers.
            for j in range(4):
                self.points[i, j] = start + i * j

    def mean(self, *columns, power: int = 1):
        total = 0.0
        for i in range(self.n):
            total += self.weights[i] * self.points[i, 1] ** power
        names = [str(each) for each in columns]
        return total / self.n, names

    def double(self):
        for i in range(self.n):
            self.small[i] = self.small[i] + self.small[i] + 200

    def largest(self):
        high, text = self.points[0, 0], {}
        for i in range(self.n):
            for j in range(4):
                high = max(high, self.points[i, j])
        text["high"] = float(high)
        return text


def rows(a, **options):
    """Rows, told of."""
    print(sorted(options))
    b = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        row = np.zeros(a.shape[1])
        for j in range(a.shape[1]):
            row[j] = a[i, j] * 2
        b[i] = row.sum()
    return b[3]


def counted(a):
    c = np.zeros(a.shape[0])
    for i, x in enumerate(a):
        c[i] = x * 2
    return c[7]


def from_one(b):
    c = np.zeros(b.shape[0])
    for k, row in enumerate(b[1:, :2], 1):
        c[k] += row[0] + row[1]
    return c[3] + 2 * c[29]


def ranged(c):
    for i in np.arange(1, 20):
        c[i] = c[i] * i
    return c[19]


def zipped(a, b):
    total = 0.0
    for x, row in zip(a[1:], b):
        total += x * row[3]
    return total


def halved(values, flag):
    print(flag)
    if flag:
        b = np.zeros(values.shape[0])
    for i in range(values.shape[0]):
        if flag:
            b[i] = values[i] / 2
    return b[1] if flag else 0.0


if __name__ == "__main__":
    one = Filter(1000)
    one.fill(1.5)
    one.double()
    print(one.points.sum(), one.small.sum(), *one.mean(1, 2, power=2), one.largest())
    print(rows(one.points, name=1), halved(one.weights, True), halved(one.weights[:0], False))
    some, rest = np.linspace(0.0, 9.0, 30), one.points[:30]
    print(counted(some), from_one(rest), zipped(some, rest), ranged(some))
    table = np.zeros((50, 50))
    for i in range(50):
        for j in range(50):
            table[i, j] = i * one.points[j, 1]
    print(table.sum())
'''


@pytest.mark.timeout(600)
def test_loops_of_methods_and_beside_other_code_get_functions_of_their_own(tmp_path: Path) -> None:
    done = everywhere("objects.py", OBJECTS, "numba")
    assert done.edited.count("@njit(parallel=True)\ndef _") == 4
    # Integers that wrap around, and an array that is made under a condition.
    assert [each.split("`")[1] for each in done.declined[1:]] == ["small", "print(flag)"]
    before, after = tmp_path / "before.py", tmp_path / "after.py"
    before.write_text(done.text, encoding="utf-8")
    after.write_text(done.edited, encoding="utf-8")
    assert_same(printed(before), printed(after))
