"""Nests of Python as kernels: a stand-in for PyCUDA runs them, and what they leave is compared."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import KERNEL_TARGETS_OF, Answer, Ask, Declined, Edited, KernelTarget, applied
from tests.codegen.python_nests import nest
from tests.extent import drawn

from . import drawn_functions
from .device import Device
from .playing import SHARED, Played, Ran, many, on_gpu, written
from .python_nests import trial, without_types
from .python_samples import FOLDER, compared, tried
from .simulating import simulated

SETTINGS = Settings(offload_threshold=0)
SAMPLES = {
    "atax": {"M": 35, "N": 43},
    "deriche": {},
    "durbin": {"N": 43},
    "gemm": {"NI": 37, "NJ": 70, "NK": 53},
    "gramschmidt": {},
    "nussinov": {"N": 43},
    "seidel-2d": {"N": 43, "TSTEPS": 4},
}
"""Samples that together cover all features of a kernel of Python; `python_samples.py` runs all thirty."""


@pytest.mark.timeout(300)
def test_samples_print_the_same(played: Played, device: Device, tmp_path: Path) -> None:
    files = [FOLDER / f"{name}.py" for name in SAMPLES]
    done = {file: tried(file, SAMPLES[file.stem]) for file in files}
    assert not [reason for _, made in done.values() for reason in made.declined]
    before = played.run(*written(tmp_path, [(file.stem, done[file][0]) for file in files]))
    texts = [done[file][1].text for file in files]
    texts = [many(text) if number % 2 else text for number, text in enumerate(texts)]
    programs = [(f"{file.stem}_gpu", text) for file, text in zip(files, texts, strict=True)]
    after = played.run(*written(tmp_path, programs))
    for number, (file, one, other) in enumerate(zip(files, before, after, strict=True)):
        compared(file, one, other)
        if number % 2:
            assert any("typedef long long Index;" in kernels for kernels in other.compiled)
        for kernels in other.compiled:
            assert device.compiled_kernels(kernels, "sm_80") == ""


SHIFTED = """import numpy as np
from numpy.typing import NDArray


def kernel(n: int, m: int, a: NDArray[np.float64], b: NDArray[np.float64], u: NDArray[np.float64]):
    for i in range(1, n + 2):
        b[i + 1, i] = a[i, i + 2] + u[i - 1]
        for j in range(2, n + 2):
            a[i + 1, j] = b[i, j + 1] - u[i - 1]
"""


def test_loops_that_count_something_else_than_a_statement_have_names_of_their_own(
    played: Played, tmp_path: Path
) -> None:
    (done,), refuted = trial([SHIFTED], played, tmp_path)
    assert "const int i = c1 + 1;" in done.text and not refuted


ENUMERATED = """import numpy as np
from numpy.typing import NDArray


def kernel(n: int, m: int, a: NDArray[np.float64], b: NDArray[np.float64], u: NDArray[np.float64]):
    for (i, j), x in np.ndenumerate(a):
        b[i, j] = 2.0 * x + a[i, j]
"""


def test_elements_with_their_subscripts_are_read_where_they_stand(played: Played, tmp_path: Path) -> None:
    (done,), refuted = trial([ENUMERATED], played, tmp_path)
    assert "double *__restrict__ b" in done.text and not refuted


# --- What a function takes ---------------------------------------------------------------

STENCIL = """import numpy as np
from numpy.typing import NDArray

SCALE = 0.25


def smooth(n: int, a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    total = 0.5
    for i in range(1, n - 1):
        b[i] = SCALE * (a[i - 1] + 2 * a[i] + a[i + 1])
    for i in range(n):
        total += b[i] * i
    return total


"""
CALLS = {
    "as it was made for": ("smooth(50, a, b)", True),
    "a size of NumPy": ("smooth(np.int32(50), a, b)", True),
    "parts whose rows lie one behind the other": ("smooth(30, a[5:40], b[:32])", True),
    "another type of elements": ("smooth(50, a.astype(np.float32), b)", False),
    "elements that lie apart": ("smooth(25, a[::2], b)", False),
    "one memory": ("smooth(30, b[10:], b[:40])", False),
    "the same array twice": ("smooth(50, b, b)", False),
    "too few elements": ("smooth(51, a, b)", False),
    "lists": ("smooth(50, list(a), b)", False),
    "a kind of array": ("smooth(50, np.ma.masked_array(a), b)", False),
    "a size that is no whole number": ("smooth(50.0, a, b)", False),
    "an array that must not change": ("smooth(50, a, frozen)", False),
    "nothing to do": ("smooth(0, a, b)", True),
}
MAIN = """
import pycuda.driver


def tried(call):
    before = pycuda.driver.calls
    try:
        found = eval(call)
    except Exception as error:
        found = type(error).__name__
        if found.startswith("As"): raise
    print(call, pycuda.driver.calls > before and pycuda.driver.Context.current is not None)
    print(f"{found if isinstance(found, str) else float(found):.9} {b.sum():.9}")


a, b, frozen = np.arange(50.0) % 7, np.arange(50.0) % 5, np.zeros(50)
frozen.flags.writeable = False
"""


def test_arguments_that_kernels_were_not_made_for_are_left_to_the_loops(
    played: Played, tmp_path: Path
) -> None:
    done = on_gpu("smooth.py", STENCIL, SETTINGS, "smooth")
    assert not done.declined
    assert len(assert_left_to_the_loops(played, tmp_path, STENCIL, done.text, CALLS).compiled) == 1


def test_a_device_that_fails_is_told(played: Played, tmp_path: Path) -> None:
    done = on_gpu("smooth.py", STENCIL, SETTINGS, "smooth")
    told = """
import warnings

a, b = np.arange(50.0) % 7, np.arange(50.0) % 5
with warnings.catch_warnings(record=True) as said:
    print(f"{float(smooth(50, a, b)):.9} {b.sum():.9}")
print(*(f"{each.category.__name__}: {each.message}" for each in said))
"""
    files = written(tmp_path, [("before", STENCIL + told), ("after", done.text + told)])
    (before,), (fine,), (failed,) = (
        played.run(files[0]),
        played.run(files[1]),
        played.run(files[1], failing=1),
    )
    assert fine.printed == before.printed
    assert failed.printed.splitlines()[0] == before.printed.splitlines()[0]
    assert "RuntimeWarning: `smooth` runs its loops on the CPU: " in failed.printed


def assert_left_to_the_loops(
    played: Played, folder: Path, text: str, edited: str, calls: Mapping[str, tuple[str, bool]]
) -> Ran:
    """Calls of an edited program find what those of the original one do, on the device where they should."""
    main = MAIN + "".join(f"tried({call!r})\n" for call, _ in calls.values())
    before, after = played.run(*written(folder, [("before", text + main), ("after", edited + main)]))
    results = [each.printed.splitlines()[1::2] for each in (before, after)]
    assert results[0] == results[1]
    # Where it is allocated at all: there is no memory of no elements.
    on_device = [line.rpartition(" ")[2] for line in after.printed.splitlines()[::2]]
    assert on_device == [str(wanted) for _, wanted in calls.values()]
    return after


STATEMENTS = """import numpy as np
from numpy.typing import NDArray


def smooth(n: int, a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    b[0, 1:-1] = (a[0, 1:-1] +
                  a[1, 1:-1])  # the edge
    for _ in range(n):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
                               + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] += 0.5 * b[1:-1, 1:-1]
    return a[3, 4]


"""
STATEMENT_CALLS = {
    "as it was made for": ("smooth(3, a, b)", True),
    "nothing to do": ("smooth(0, a, b)", True),
    "elements that lie apart": ("smooth(2, a[::2, ::2], b[::2, ::2])", False),
    "another type of elements": ("smooth(2, a.astype(np.float32), b)", False),
    "one memory": ("smooth(2, b, b)", False),
    "fewer rows than are read": ("smooth(2, a[:20], b)", False),
}


def test_array_statements_run_on_the_device_and_stay_for_where_there_is_none(
    played: Played, tmp_path: Path
) -> None:
    done = on_gpu("smooth.py", STATEMENTS, SETTINGS, "smooth")
    assert not done.declined
    # The statements are what runs otherwise, not loops over elements.
    assert "a[1:-1, 1:-1] += 0.5 * b[1:-1, 1:-1]" in done.text and "range(1, b.shape" not in done.text
    main = MAIN.replace("np.arange(50.0) % 7, np.arange(50.0) % 5", "grid(7), grid(5)")
    main = "def grid(k):\n    return np.arange(1600.0).reshape(40, 40) % k\n\n\n" + main
    calls = "".join(f"tried({call!r})\n" for call, _ in STATEMENT_CALLS.values())
    programs = [("before", STATEMENTS + main + calls), ("after", done.text + main + calls)]
    before, after = played.run(*written(tmp_path, programs))
    assert before.printed.splitlines()[1::2] == after.printed.splitlines()[1::2]
    on_device = [line.rpartition(" ")[2] for line in after.printed.splitlines()[::2]]
    assert on_device == [str(wanted) for _, wanted in STATEMENT_CALLS.values()]


def test_array_statements_that_are_no_loops_over_single_elements_have_no_kernels() -> None:
    own = """import numpy as np
from numpy.typing import NDArray


def smooth(n: int, a: NDArray[np.float64]):
    for _ in range(n):
        a[1:-1] = a[:-2] + a[2:]
"""
    done = on_gpu("smooth.py", own, SETTINGS, "smooth")
    assert done.declined and done.text == own


BOUNDED = """import numpy as np
from numpy.typing import NDArray


def factors(n: int, m: int, a: NDArray[np.float64], b: NDArray[np.float64]):
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= 8.0
        b[i, 0] = a[i, 1:m] @ a[1:m, 0]
        b[i, :m - 1] += 0.25 * a[:m - 1, i]
        b[i:n, i] = b[i, i:n] = np.dot(a[:, i], a[:, i:n]) / 9.0
    a[:n, :m] += np.outer(b[0, :n], b[1, :m])
    return np.sum(a[:n, 3])


"""
BOUNDED_CALLS = {
    "as it was made for": ("factors(12, 11, a, b)", True),
    "nothing to do": ("factors(0, 1, a, b)", True),
    "a bound that counts from the end": ("factors(12, 0, a, b)", False),
    "sizes that count from the end": ("factors(-5, 11, a, b)", False),
    "slices that are cut off": ("factors(12, 11, a, b[:, :12])", False),
}


def test_slices_that_end_at_counters_and_products_run_on_the_device(played: Played, tmp_path: Path) -> None:
    done = on_gpu("factors.py", BOUNDED, SETTINGS, "factors")
    assert not done.declined and "b[i:n, i] = b[i, i:n] = np.dot" in done.text
    main = MAIN.replace("np.arange(50.0) % 7, np.arange(50.0) % 5", "grid(7), grid(5)")
    main = "def grid(k):\n    return np.arange(225.0).reshape(15, 15) % k\n\n\n" + main
    calls = "".join(f"tried({call!r})\n" for call, _ in BOUNDED_CALLS.values())
    programs = [("before", BOUNDED + main + calls), ("after", done.text + main + calls)]
    before, after = played.run(*written(tmp_path, programs))
    assert before.printed.splitlines()[1::2] == after.printed.splitlines()[1::2]
    on_device = [line.rpartition(" ")[2] for line in after.printed.splitlines()[::2]]
    assert on_device == [str(wanted) for _, wanted in BOUNDED_CALLS.values()]


ORDERED = {
    "a product that reads what is stored": "a[1, :] = a[:, 1] @ b",
    "the transpose of what is stored": "a[:, 2] = a[1, :]",
    "a row that is computed of itself, one element further": "a[0, 2:] = a[0, 1:-1]",
    "a bound that the loop changes": "a[0, :m - t] = b[0, :m - t]; m = m - 1",
    "a sum for each of several elements": "a[1, :] = b[1, :] + np.sum(b[2, :])",
}


@pytest.mark.parametrize("statement", ORDERED.values(), ids=ORDERED.keys())
def test_statements_whose_loops_are_others_have_no_kernels(statement: str) -> None:
    own = f"""import numpy as np
from numpy.typing import NDArray


def turned(n: int, m: int, a: NDArray[np.float64], b: NDArray[np.float64]):
    for t in range(n):
        {statement}
"""
    done = on_gpu("turned.py", own, SETTINGS, "turned")
    assert done.declined and done.text == own


BETWEEN = """import numpy as np
from numpy.typing import NDArray


def smooth(n: int, a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    c = np.empty_like(a)
    for i in range(n):
        c[i] = 2.0 * a[i]
    d = np.empty_like(a)
    for i in range(n):
        d[i] = c[i] + b[i]
    return d[3]


"""


def test_an_array_made_between_two_loops_is_there_after_them(played: Played, tmp_path: Path) -> None:
    done = on_gpu("smooth.py", BETWEEN, SETTINGS, "smooth")
    assert done.text.count("if not smooth_cuda") == 2 and not done.declined
    calls = {"as it was made for": ("smooth(50, a, b)", True)}
    assert_left_to_the_loops(played, tmp_path, BETWEEN, done.text, calls)


def test_sizes_of_an_array_that_the_loops_do_not_use_are_those_of_one_that_a_function_of_their_own_gets() -> (
    None
):
    text = BETWEEN.replace("d[i] = c[i] + b[i]", "d[i] = 1.0").replace("range(n)", "range(d.shape[0])")
    text = text.replace("    d = np.empty_like(a)\n", "").replace(
        "    c =", "    d = np.empty_like(a)\n    c ="
    )
    done = on_gpu("smooth.py", text, SETTINGS, "smooth", whole=False)
    assert done.text.count("if not smooth_cuda") == 1 and not done.declined
    assert "if not _smooth_i_cuda(d):" in done.text and "    _smooth_i(d)\n    return d[3]" in done.text


FIXED = """import numpy as np
from numpy.typing import NDArray

N = 24
Matrix = NDArray[np.float64]


def product(x: Matrix, y: Matrix, z: Matrix) -> float:
    for i in range(N):
        for j in range(N):
            for k in range(N):
                z[i, j] += x[i, k] * y[k, j]
    return z[3, 4]


def matrix(rows: int, columns: int, size: int = 24) -> Matrix:
    globals()["N"] = size
    return np.arange(1.0 * rows * columns).reshape(rows, columns) % 7


"""
OTHER_SIZES = {
    "the size that the kernels have": ("product(matrix(24, 24), matrix(24, 24), np.zeros((24, 24)))", True),
    "rows that are longer": ("product(matrix(24, 30), matrix(30, 26), np.ones((25, 24)))", True),
    "arrays that are smaller": ("product(matrix(24, 24), matrix(24, 16), np.zeros((24, 24)))", False),
    "another constant": ("product(matrix(24, 24), matrix(24, 24, 16), np.zeros((24, 24)))", False),
    "another number of dimensions": ("product(matrix(24, 24), matrix(24, 24)[0], np.zeros((24, 24)))", False),
}


def test_sizes_in_kernels_are_compared_with_the_arguments(played: Played, tmp_path: Path) -> None:
    done = on_gpu("product.py", FIXED, SETTINGS, "product")
    assert not done.declined
    assert_left_to_the_loops(played, tmp_path, FIXED, done.text, OTHER_SIZES)


LOOKED_UP = """import numpy as np
from numpy.typing import NDArray


def looked_up(n: int, a: NDArray[np.float64], b: NDArray[np.float64], at: NDArray[np.int64]) -> float:
    for i in range(n):
        b[i] = a[at[i]]
    for i in range(n):
        a[at[i]] += b[i] * 0.5
    return a[3]


"""
LOOKING_UP = {
    "in range": ("looked_up(50, a, b, np.arange(50) * 7 % 50)", True),
    "one element for all": ("looked_up(50, a, b, np.full(50, 3))", True),
    "from the end": ("looked_up(50, a, b, -1 - np.arange(50))", True),
    "beyond the end": ("looked_up(50, a, b, np.arange(50) + 1)", False),
    "before the start": ("looked_up(50, a, b, -2 - np.arange(50))", False),
    "behind what is used": ("looked_up(50, a, b, np.arange(60))", False),
}


def test_subscripts_that_are_data_are_looked_through_first(played: Played, tmp_path: Path) -> None:
    done = on_gpu("looked_up.py", LOOKED_UP, SETTINGS, "looked_up")
    assert not done.declined
    assert "atomicAdd(&a[" in done.text
    assert_left_to_the_loops(played, tmp_path, LOOKED_UP, done.text, LOOKING_UP)


UNCOUNTED = """import numpy as np
from numpy.typing import NDArray


def halved(n: int, x: NDArray[np.float64], y: NDArray[np.float64]):
    for i in range(n):
        while x[i] > 4.0:
            x[i] = x[i] / 2.0 + y[-2]


"""


def test_a_subscript_may_count_from_the_end_in_a_loop_that_nothing_counts(
    played: Played, tmp_path: Path
) -> None:
    done = on_gpu("halved.py", UNCOUNTED, SETTINGS, "halved", whole=False)
    assert "y[y_shape0 - 2]" in done.text, done
    main = "x = np.arange(30.0)\nhalved(30, x, np.linspace(0, 1, 9))\nprint(x.tolist())\n"
    before, after = played.run(
        *written(tmp_path, [("before", UNCOUNTED + main), ("after", done.text + main)])
    )
    assert after.compiled and before.printed == after.printed


FLOORED = """import numpy as np
from numpy.typing import NDArray


def floored(n: int, m: int, x: NDArray[np.float64], w: NDArray[np.int64], y: NDArray[np.float64]) -> None:
    for i in range(n):
        x[i] = i // 3 + 10 * ((i - 5) // 4) + 100 * ((m - i) % 7) + 1000 * (w[i] // 2)
        x[i] += y[i // 2] + y[(i + 1) % 5]
    for i in range(n):
        if i % 2 == 0:
            w[i] = (w[i] - 9) % 4
        else:
            w[i] = (3 - i) // 2


x, w, y = np.zeros(40), np.arange(40) * 3 % 11 - 5, np.arange(40.0) * 1e-3
for n, m in ((40, 3), (40, -8), (1, 1), (0, 2)):
    floored(n, m, x, w, y)
    print(x.tolist(), w.tolist())
"""


@pytest.mark.parametrize("target", ["pycuda", "numba-cuda"])
def test_whole_numbers_are_divided_as_in_python(target: KernelTarget, played: Played, tmp_path: Path) -> None:
    done = on_gpu("floored.py", FLOORED, SETTINGS, "floored", whole=False, target=target)
    assert not done.declined
    programs = [("before", FLOORED), ("after", done.text)]
    if target == "numba-cuda":
        before, after = (printed for printed, _ in simulated(tmp_path, *programs))
        assert before == after
        return
    assert "i / 3" in done.text and "i % 2 == 0" in done.text
    before, after = played.run(*written(tmp_path, programs))
    assert before.printed == after.printed and after.compiled


HELPED = """import math

import numpy as np
from numpy.typing import NDArray

LIMIT = 4.0


def squared(x: float) -> float:
    return x * x


def steps(x: float, y: float, most: int) -> int:
    'Number of steps until a point leaves a circle.'
    # The point.
    a = b = 0.0
    for i in range(most):
        a, b = squared(a) - squared(b) + x, 2.0 * a * b + y
        if squared(a) + squared(b) > LIMIT:
            return i
    return most


def halved(k: int) -> int:
    while k > 5:
        k = k // 2
    return k - 7


def bent(x: float) -> float:
    if x < -0.5:
        return 0
    return np.arcsin(x / 40.0) + math.copysign(0.5, x) + abs(x)


def fractal(n: int, m: int, most: int, image: NDArray[np.float64], x: NDArray[np.float64]) -> None:
    for i in range(n):
        real = i * 0.1 - 2.0
        for j in range(m):
            image[j, i] = steps(real, j * 0.2 - 1.0, most) + steps(0.1, 2.0, 3)
    for i in range(n):
        x[i] = bent(x[i]) + halved(i) * 10.0


image, x = np.zeros((11, 31)), np.arange(31.0) - 9.0
for most in (50, 0):
    fractal(31, 11, most, image, x)
    print(image.tolist(), *(f"{value:.12}" for value in x))
globals()["LIMIT"] = 2.0
fractal(31, 11, 50, image, x)
print(image.tolist())
"""


@pytest.mark.parametrize("target", ["pycuda", "cupy", "numba-cuda"])
def test_functions_of_the_file_have_copies_on_the_device(
    target: KernelTarget, played: Played, tmp_path: Path
) -> None:
    done = on_gpu("fractal.py", HELPED, SETTINGS, "fractal", whole=False, target=target)
    assert not done.declined and "steps_device(" in done.text
    programs = [("before", HELPED), ("after", done.text)]
    if target == "numba-cuda":
        assert "@cuda.jit(device=True)\ndef steps_device(x, y, most):\n" in done.text
        # Neighbouring threads set neighbouring elements.
        assert "first_i, first_j = cuda.grid(2)\n" in done.text
        before, after = (printed for printed, _ in simulated(tmp_path, *programs))
        assert before == after
        return
    # Neither a kernel nor an array for what one statement computes.
    assert done.text.count("__global__") == 2 and "real = i * 0.1 - 2.0;" in done.text
    if target == "pycuda":
        before, after = played.run(*written(tmp_path, programs))
        assert before.printed == after.printed and after.compiled


def test_functions_drawn_at_random_compute_the_same_on_the_device(played: Played, tmp_path: Path) -> None:
    ran, refuted, _ = drawn_functions.trial(range(drawn(12)), played, tmp_path)
    assert not refuted, refuted[0]
    assert ran >= drawn(4)


TAKEN = {
    "a whole number for another one": ("x[i] = f(i)", "annotate `x` as `int`, or pass `float(i)`"),
    "an array": ("x[i] = g(y)", "takes the array `y`"),
    "one that is not known before": ("x[i] = h(y[i])", "cannot be called on the device"),
    "one that changes a variable of the file": ("x[i] = k(y[i])", "`k`"),
    "one that reads a variable of the file": ("x[i] = m(y[i])", "uses `CALLS`"),
}


@pytest.mark.parametrize(("body", "reason"), TAKEN.values(), ids=TAKEN.keys())
def test_functions_that_have_no_copy_are_told(body: str, reason: str) -> None:
    text = (
        "import math\nimport numpy as np\n\nCALLS = 0\n\n\ndef f(x):\n    return x / 2.0\n\n\n"
        "def g(y: np.ndarray):\n    return y[0]\n\n\ndef h(x: float):\n    return math.gamma(x)\n\n\n"
        "def k(x: float):\n    global CALLS\n    CALLS += 1\n    return x\n\n\n"
        "def m(x: float):\n    return x + CALLS\n\n\n"
        f"def loop(n: int, x: np.ndarray, y: np.ndarray):\n    for i in range(n):\n        {body}\n"
    )
    placed = analyse("a.py", text, SETTINGS, schedules=False).functions[-1]
    answer = edit("a.py", text, SETTINGS, Ask("pycuda", "loop", placed.start, 1))
    assert isinstance(answer, Declined) and reason in answer.reason, answer


def test_a_private_complex_number_has_no_type_on_the_device() -> None:
    text = (
        "import numpy as np\n\n\ndef escapes(n: int, most: int):\n    out = np.zeros(n, dtype=np.int32)\n"
        "    x = np.linspace(-2.0, 1.0, n)\n    for i in range(n):\n        c = complex(x[i], 0.5)\n"
        "        z = 0\n        k = 0\n        while abs(z) <= 2 and k < most:\n            z = z * z + c\n"
        "            k += 1\n        out[i] = k\n    return out\n"
    )
    placed = analyse("a.py", text, SETTINGS, schedules=False).functions[-1]
    answer = edit("a.py", text, SETTINGS, Ask("pycuda", "escapes", placed.start, 1))
    assert isinstance(answer, Declined) and "on the device" in answer.reason, answer


@pytest.mark.parametrize("target", KERNEL_TARGETS_OF["python"])
def test_kernels_do_not_work_on_lists(target: KernelTarget) -> None:
    text = (
        "def doubled(n, a, b):\n    out = [0.0] * n\n    for i in range(n):\n        out[i] = 2.0 * a[i]\n"
        "    for i in range(n):\n        b[i] = 2.0 * a[i]\n    return out\n"
    )
    placed = analyse("a.py", text, SETTINGS, schedules=False).functions[-1]
    own, given = (edit("a.py", text, SETTINGS, Ask(target, "doubled", placed.start, k)) for k in (1, 2))
    assert isinstance(own, Declined) and "`out` is a list" in own.reason, own
    assert isinstance(given, Edited), given


OF_SIZES = """import numpy as np
from numpy.typing import NDArray


def kernel(n: int, m: int, a: NDArray[np.float64], b: NDArray[np.float64], u: NDArray[np.float64]):
    for i in range(n):
        least = np.inf
        for j in range(m):
            least = min(least, a[i, j])
        u[i] = least + (i - 9) // n + (2 * i - n) % n
        b[i, 0] = float("-inf") if u[i] > 1.0 else u[i] / (2 * n + 1) ** 2
"""


def test_numbers_without_end_and_divisions_by_sizes_are_those_of_python(
    played: Played, tmp_path: Path
) -> None:
    (done,), refuted = trial([OF_SIZES], played, tmp_path)
    assert "__longlong_as_double(0xfff0" in done.text and "(i - 9) / n" in done.text, done
    assert not refuted


SPARSE = """import numpy as np


def product(data, indices, indptr, x, y):
    for i in range(len(indptr) - 1):
        s = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            s += data[k] * x[indices[k]]
        y[i] = s
    for i in range(len(indptr) - 1):
        first, last = indptr[i], indptr[i + 1]
        for k in range(first, last):
            column = indices[k]
            if column != i:
                y[i] -= x[column] / 8


draw = np.random.default_rng(4)
rows = draw.integers(0, 6, 90)
ends = np.concatenate(([0], np.cumsum(rows)))
number = int(ends[-1])
data, columns = draw.integers(-9, 9, number) * 1.0, draw.integers(0, 70, number)
x, y = draw.integers(-9, 9, 70) * 1.0, np.zeros(90)
bent, beyond = ends.copy(), columns.copy()
bent[7], beyond[number // 2] = number + 3, 70
for calls in (
    (data, columns, ends, x, y),
    (data, columns.astype("i4"), ends.astype("i4"), x, y),
    (data.astype("f4"), columns, ends, x.astype("f4"), y.astype("f4")),
    (data, columns.astype("i4"), ends, x, y),
    (data, columns.astype("u8"), ends.astype("u8"), x, y),
    (data, columns - 70, ends, x, y),
    (data, columns, bent, x, y),
    (data, beyond, ends, x, y),
):
    calls[4][:] = 0.0
    try:
        product(*calls)
    except IndexError as error:
        print("no such element", end=" ")
    print(calls[4].tolist())
"""


@pytest.mark.parametrize("target", ["pycuda", "numba-cuda"])
def test_rows_of_sparse_matrices_are_those_of_each_call(
    target: KernelTarget, played: Played, tmp_path: Path
) -> None:
    done = on_gpu("sparse.py", SPARSE, SETTINGS, "product", whole=False, target=target)
    assert not done.declined and "gpu.spans(indptr, data.shape[0])" in done.text
    programs = [("before", SPARSE), ("after", done.text)]
    if target == "numba-cuda":
        (before, _), (after, launched) = simulated(tmp_path, *programs)
        assert before == after and launched == 8
        return
    one, other = played.run(*written(tmp_path, programs))
    assert one.printed == other.printed
    heads = [" ".join(re.findall("typedef ([a-z ]+) (?:Real|Whole);", each)) for each in other.compiled]
    assert sorted(heads) == sorted(2 * ["double int", "double long long", "float long long"])


NAMED_LENGTH = """import numpy as np
from numpy.typing import NDArray


def transposed(
    data: NDArray[np.float64], indices: NDArray[np.int64], ends: NDArray[np.int64], x: NDArray[np.float64]
):
    n = len(ends) - 1
    y = np.zeros(n)
    for i in range(n):
        for k in range(ends[i], ends[i + 1]):
            y[indices[k]] += data[k] * x[i]
    return y


x = np.arange(5.0)
print(transposed(np.arange(8.0), np.array([4, 0, -5, 1, -1, 4, 3, 2]), np.array([0, 2, 2, 5, 7, 8]), x))
"""


def test_lengths_that_negative_subscripts_count_from_are_given_to_kernels(
    played: Played, tmp_path: Path
) -> None:
    done = on_gpu("length.py", NAMED_LENGTH, SETTINGS, "transposed", whole=False)
    assert not done.declined and "indices[k] < 0 ? n + indices[k]" in done.text
    one, other = played.run(*written(tmp_path, [("before", NAMED_LENGTH), ("after", done.text)]))
    assert one.printed == other.printed and other.compiled


CHANGED = {
    "the ends of rows": "for k in range(p[i], p[i + 1]): y[i] += x[k]; p[i] = 0",
    "ends of two arrays": "for k in range(p[i], q[i]): y[i] += x[k]",
    "a number that is no subscript": "for k in range(p[i], p[i + 1]): y[i] += k * k * k",
}


@pytest.mark.parametrize("loop", CHANGED.values(), ids=CHANGED.keys())
def test_other_ranges_between_elements_have_no_kernels(loop: str) -> None:
    head = "import numpy as np\nfrom numpy.typing import NDArray\n\n\ndef f(n: int, "
    types = "x: NDArray[np.float64], y: NDArray[np.float64], p: NDArray[np.int64], q: NDArray[np.int64]"
    text = f"{head}{types}):\n    for i in range(n):\n        {loop}\n"
    (placed,) = analyse("a.py", text, SETTINGS, schedules=False).functions
    assert isinstance(edit("a.py", text, SETTINGS, Ask("pycuda", "f", placed.start, 1)), Declined)


LARGE = """import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def relaxed(n: int, m: int, a: Matrix, b: Matrix, x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    total = 0.5
    for i in range(1, n - 1):
        for j in range(m):
            b[i, j] = 0.25 * (a[i - 1, j] + 2.0 * a[i, j] + a[i + 1, j])
            x[i] += a[i, j] * y[j]
    for i in range(1, n - 1):
        total += x[i]
    return total


"""
PRINTED = """
a, b = np.arange(37.0 * 23).reshape(37, 23) % 7, np.ones((37, 23))
x, y = np.zeros(37), np.arange(23.0) % 5
for n, m in ((37, 23), (37, 0), (2, 23), (30, 9)):
    print(relaxed(n, m, a, b, x, y), b.tolist(), x.tolist())
"""


def test_arrays_that_do_not_fit_on_the_device_are_cut(played: Played, tmp_path: Path) -> None:
    done = on_gpu("relaxed.py", LARGE, SETTINGS, "relaxed")
    assert not done.declined
    for wanted in (
        "gpu.taken(b, slab)",
        "gpu.taken(a, slab + 2)",
        "a_there = gpu.place(a, first - 1, end - first + 2)",
    ):
        assert wanted in done.text, done.text
    (before,) = played.run(*written(tmp_path, [("whole", LARGE + PRINTED)]))
    (after,) = played.run(*written(tmp_path, [("cut", done.text + PRINTED)]), memory=6_000)
    assert before.printed == after.printed
    assert after.calls > CALLS_OF_ONE_SLAB


PASSES = """import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def means(n: int, m: int, a: Matrix, b: Matrix, mean: NDArray[np.float64]) -> None:
    for j in range(m):
        mean[j] = 0.0
        for i in range(n):
            mean[j] += a[i, j]
        mean[j] /= n + 1
    for i in range(1, n - 1):
        for j in range(m):
            b[i, j] = a[i - 1, j] * 2.0


def both(n: int, m: int, k: int, a: Matrix, b: Matrix) -> None:
    for i in range(n):
        for j in range(m):
            a[i, j] += 1.5
    for i in range(k):
        for j in range(m):
            b[i, j] = a[i, j] * 2.0


a, b, mean = np.arange(720.0).reshape(40, 18) % 11, np.zeros((40, 18)), np.ones(18)
for n, k in ((37, 20), (20, 37), (0, 9), (9, 0), (0, 0)):
    means(n, 18, a, b, mean)
    both(n, 18, k, a, b)
    print(f"{mean.sum():.9} {(b * np.arange(18)).sum():.9}")
"""


def test_what_runs_once_and_slabs_without_rows(played: Played, tmp_path: Path) -> None:
    first = on_gpu("means.py", PASSES, SETTINGS, "means", whole=True)
    done = on_gpu("means.py", first.text, SETTINGS, "both", whole=True)
    assert not first.declined
    assert not done.declined
    for wanted in ("and 0 < n", "gpu.taken(a, slab + 1)", "gpu.slabs(0, max(n, k), "):
        assert wanted in done.text, done.text
    (before,) = played.run(*written(tmp_path, [("whole", PASSES)]))
    for memory in (0, 6_000, 2_000):
        (after,) = played.run(*written(tmp_path, [("cut", done.text)]), memory=memory)
        assert before.printed == after.printed, memory


CALLS_OF_ONE_SLAB = 60
"""More than there are where there is room for everything."""


def test_arrays_that_cannot_be_cut_are_told() -> None:
    text = f"{HEAD}    for i in range(n):\n        for j in range(n): z[i, j] = z[n - 1 - i, j] * 2\n"
    (placed,) = analyse("a.py", text, SETTINGS, schedules=False).functions
    answer = edit("a.py", text, SETTINGS, Ask("pycuda", "f", placed.start, 1))
    assert isinstance(answer, Edited), answer
    assert any("not cut: each iteration of `i` needs all of `z`" in each for each in answer.remarks)


RESIDENT = """
import pycuda.autoprimaryctx
import pycuda.driver
from pycuda import gpuarray

a, b = np.arange(50.0) % 7, np.arange(50.0) % 5
there = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
copies = []
plain = pycuda.driver.memcpy_htod, pycuda.driver.memcpy_dtoh
pycuda.driver.memcpy_htod = lambda to, what: (copies.append(what.size), plain[0](to, what))
pycuda.driver.memcpy_dtoh = lambda to, what: (copies.append(to.size), plain[1](to, what))
found = smooth(50, *there)
wanted = smooth(50, a, b) if not copies.append("|") else None
print(f"{found:.9}" == f"{wanted:.9}", (there[1].get() == b).all(), copies)
"""


def test_arrays_that_are_on_the_device_stay_there(played: Played, tmp_path: Path) -> None:
    done = on_gpu("smooth.py", STENCIL, SETTINGS, "smooth")
    (ran,) = played.run(*written(tmp_path, [("resident", done.text + RESIDENT)]))
    same, changed, *copies = ran.printed.split()
    assert (same, changed) == ("True", "True")
    # Of one element only: the number that is added up.
    assert set("".join(copies).partition("'|'")[0].strip("[,").split(",")) == {"1"}


FAILING = """
import pycuda.driver

wanted = None
for failing in range(40):
    pycuda.driver.calls, pycuda.driver.failing = 0, failing
    a, b = np.arange(50.0) % 7, np.arange(50.0) % 5
    found = f"{smooth(50, a, b):.9} {b.tolist()}"
    wanted = wanted or found
    assert found == wanted, failing
    if failing > pycuda.driver.calls:
        break
print(failing)
"""


def test_any_call_may_fail(played: Played, tmp_path: Path) -> None:
    done = on_gpu("smooth.py", STENCIL, SETTINGS, "smooth", whole=False)
    (ran,) = played.run(*written(tmp_path, [("failing", done.text + FAILING)]))
    assert 15 < int(ran.printed) < 39


LOST = """
import pycuda.autoprimaryctx
import pycuda.driver
from pycuda import gpuarray

b = gpuarray.to_gpu(np.arange(50.0))
smooth(50, np.arange(50.0), b)
pycuda.driver.calls, pycuda.driver.failing = 0, 4
try:
    smooth(50, np.arange(50.0), b)
except pycuda.driver.Error as error:
    print(error)
"""


def test_what_failed_on_an_array_of_the_device_is_told(played: Played, tmp_path: Path) -> None:
    done = on_gpu("smooth.py", STENCIL, SETTINGS, "smooth", whole=False)
    (ran,) = played.run(*written(tmp_path, [("lost", done.text + LOST)]))
    assert ran.printed == "call 4 fails\n"


MOVED = """import numpy as np
from numpy.typing import NDArray


def moved(k: int, n: int, b: NDArray[np.float64]) -> None:
    for i in range(max(k, 0), n - 1):
        b[i] = b[i + 1] * 0.5 + b[i]


"""
COPIED = """
import pycuda.autoprimaryctx
from pycuda import gpuarray

wanted = np.arange(50.0) % 7
for i in range(30, 47):
    wanted[i] = wanted[i + 1] * 0.5 + wanted[i]
for size in int, np.int8:
    b = np.arange(50.0) % 7
    there = gpuarray.to_gpu(b)
    moved(size(30), size(48), b)
    moved(size(30), size(48), there)
    print((b == wanted).all(), (there.get() == wanted).all())
"""


def test_what_is_read_before_it_changes_is_read_from_a_copy(played: Played, tmp_path: Path) -> None:
    done = on_gpu("moved.py", MOVED, SETTINGS, "moved")
    assert "b[i] = old_b[i + 1] * 0.5 + b[i];" in done.text
    (ran,) = played.run(*written(tmp_path, [("copied", done.text + COPIED)]))
    assert ran.printed == "True True\nTrue True\n" and ran.compiled


SELDOM = """import numpy as np
from numpy.typing import NDArray


def beyond(m: int, s: NDArray[np.float64], x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    for c in range(m):
        for i in range(m):
            x[i] = y[m - 1 - i] + c
        for i in range(m):
            y[i] = x[i]
        for i in range(m):
            if i > c:
                s[c] += y[i]


"""
FEWER = """
s, x, y = np.zeros(6), np.zeros(7), np.arange(7.0)
beyond(7, s, x, y)
print(s.tolist())
"""


def test_nothing_is_added_to_an_element_that_an_array_does_not_have(played: Played, tmp_path: Path) -> None:
    done = on_gpu("beyond.py", SELDOM, SETTINGS, "beyond")
    assert "            if 0 <= c < (m - 1 if m > 1 else 0):\n                grid = " in done.text
    before, ran = played.run(*written(tmp_path, [("plain", SELDOM + FEWER), ("seldom", done.text + FEWER)]))
    assert ran.printed == before.printed and ran.calls > 0


TWICE = """import numpy as np
from numpy.typing import NDArray


def doubled(n: int, a: NDArray[np.float64], b: NDArray[np.float64]) -> None:
    for i in range(n):
        b[i] = a[i] * 2.0


def tripled(n: int, a: NDArray[np.float64], b: NDArray[np.float64]) -> None:
    for i in range(n):
        for j in range(n):
            b[i] += a[j] * 3.0
"""


@pytest.mark.parametrize("target", KERNEL_TARGETS_OF["python"])
def test_kernels_share_a_module_beside_the_file(target: KernelTarget, tmp_path: Path) -> None:
    runner = {"pycuda": "PyCuda", "cupy": "CuPy", "numba-cuda": "NumbaCuda"}[target]
    first = on_gpu(str(tmp_path / "twice.py"), TWICE, SETTINGS, "doubled", target=target)
    done = on_gpu(str(tmp_path / "twice.py"), first.text, SETTINGS, "tripled", target=target)
    assert not done.declined
    assert done.text.count("import") == TWICE.count("import") + (2 if target == "numba-cuda" else 1)
    assert f"\nfrom polylsp_gpu import {runner}\n" in done.text
    # Names of the first kernel are free again.
    assert not re.search(r"\b(tx|i0|gpu|grid|n)2\b", done.text)


def test_a_file_of_a_package_finds_the_module_however_it_is_run(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").touch()
    done = on_gpu(str(tmp_path / "twice.py"), TWICE, SETTINGS, "doubled")
    both = (
        "try:\n    from .polylsp_gpu import PyCuda\nexcept ImportError:\n    from polylsp_gpu import PyCuda\n"
    )
    assert f"NDArray\n{both}\n\nDOUBLED_CUDA_KERNELS" in done.text
    again = on_gpu(str(tmp_path / "twice.py"), done.text, SETTINGS, "tripled")
    assert not again.declined and again.text.count("import PyCuda") == 2


def test_a_name_of_the_file_is_not_taken() -> None:
    text = TWICE.replace("import NDArray\n", "import NDArray\n\nPyCuda = 3\n")
    done = on_gpu("twice.py", text, SETTINGS, "doubled")
    assert done.declined == ("`PyCuda` is something else in this file: give it another name first.",)


@pytest.mark.parametrize(("there", "makes"), [(None, True), ("", False), ("ours", False), ("theirs", None)])
def test_the_module_is_made_once(there: str | None, makes: bool | None, tmp_path: Path) -> None:
    own = (SHARED / "polylsp_gpu.py").read_text("utf-8")
    if there is not None:
        (tmp_path / "polylsp_gpu.py").write_text(own if there == "ours" else there, "utf-8")
    path = str(tmp_path / "twice.py")
    start = next(
        f.start for f in analyse(path, TWICE, SETTINGS).functions if f.answer.facts.name == "doubled"
    )
    answer = edit(path, TWICE, SETTINGS, Ask("pycuda", "doubled", start, 1))
    if makes is None:
        assert isinstance(answer, Declined) and "`polylsp_gpu.py` is there already" in answer.reason
        assert [(each.text, each.wanted) for each in answer.kept] == [("theirs", own)]
    else:
        assert isinstance(answer, Edited)
        assert [each.text for each in answer.created] == ([own] if makes else [])


# --- What has no kernels -----------------------------------------------------------------

HEAD = """import numpy as np
from numpy.typing import NDArray


def f(n: int, x: NDArray[np.float64], y: NDArray[np.float64], w: NDArray[np.int64], c: NDArray[np.uint8],
      z: NDArray[np.float64]):
"""
REFUSED = {
    "subscripts that are data": ("for i in range(n): x[i] = y[w[i] + 1]", "Subscripts of `y` are data"),
    "whole numbers without limits": ("for i in range(n): w[i] = i * i * i", "`i * i * i` may be larger"),
    "division that rounds down": ("for i in range(n): x[i] = i // (n - 5)", "`i // (n - 5)` is not computed"),
    "division of real numbers that rounds down": ("for i in range(n): x[i] = y[i] // 2.0", "`y[i] // 2.0`"),
    "a function of Python alone": (
        "for i in range(n): x[i] = round(y[i])",
        "`round(y[i])`",
    ),
    "extremes with NaN": ("for i in range(n): x[i] = np.maximum(x[i], y[i])", "`np.maximum(x[i], y[i])`"),
    "a value that the host needs": (
        "for i in range(n): t = x[i]; x[i] = t + 1\n    print(t)",
        "can run at once",
    ),
    "an array statement": ("x[:] = y * 2.0\n    for i in range(n): x[i] += y[i]", ""),
    "nothing at once": ("for i in range(1, n): x[i] += x[i - 1]", "can run at once"),
    "a subscript from the end at times, in a loop that nothing counts": (
        "for i in range(n):\n        while x[i] > 4: x[i] = x[i] / 2 + y[i - 2]",
        "Which elements of `y` the loops use",
    ),
    "a first cell that may count from the end": (
        "for i in range(n - 1, 50): x[i] = 1.0 * i",
        "in order where `n - 1` is negative: write `max(n - 1, 0)` instead",
    ),
    "two types of whole numbers": ("for i in range(n): c[i] = c[i] + i", "mixes types"),
}


@pytest.mark.timeout(300)
def test_nests_drawn_at_random_keep_their_meaning(played: Played, tmp_path: Path) -> None:
    done, refuted = trial([nest(random.Random(number)) for number in DRAWN], played, tmp_path)
    assert not refuted, refuted[0]
    assert not any(each.declined for each in done)


def test_arrays_of_no_known_type_may_be_float32(played: Played, tmp_path: Path) -> None:
    texts = [without_types(nest(random.Random(number))) for number in DRAWN]
    done, refuted = trial(texts, played, tmp_path, single=True)
    assert not refuted, refuted[0]
    assert all("Real *__restrict__" in each.text and '"real"' in each.text for each in done)
    program = f"{done[0].text}{MIXED}"
    (ran,) = played.run(*written(tmp_path, [("mixed", program)]))
    assert [kernels.partition(" Real;")[0].split()[-1] for kernels in ran.compiled] == ["float", "double"]


MIXED = """
for types in ("fff", "ddd", "ffd", "iii"):
    kernel(4, 5, *(np.ones((11, 11), each) for each in types[:2]), np.ones(11, types[2]))
"""
"""Arrays of other types, and of several, are left to the loops."""

DRAWN = (0, 3, 8)
"""Nests that have kernels: `python_nests.py` draws more."""

ELSEWHERE = {
    "a method": ("class A:\n    def f(self, n: int, x: {0}):\n        {1}\n", "_f_i(n, x)"),
    "code outside of functions": ("x = np.zeros(10)\nn = 10\n{1}\n", "_loop_i(n, x)"),
    "a function in a statement": ("if True:\n    def f(n: int, x: {0}):\n        {1}\n", "_f_i(n, x)"),
    "a statement that is not analysed": (
        "def f(n: int, x: {0}):\n    try:\n        {1}\n    finally:\n        n = 0\n",
        "_f_i(n, x)",
    ),
}


@pytest.mark.parametrize(("text", "call"), ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_a_loop_that_stands_elsewhere_gets_a_function_of_its_own(text: str, call: str) -> None:
    text, answer = offloaded_loop(text)
    assert isinstance(answer, Edited), answer
    made = applied(text, answer.replacements)
    assert f"    {call}\n" in made or f"\n{call}\n" in made
    ast.parse(made)


def test_what_a_decorator_may_compile_is_left_alone() -> None:
    _, answer = offloaded_loop("@fast\ndef f(n: int, x: {0}):\n    {1}\n")
    assert isinstance(answer, Declined) and "`@fast` may compile" in answer.reason, answer


def offloaded_loop(text: str) -> tuple[str, Answer]:
    """A text with a loop in its place, and the edit of it."""
    loop = "for i in range(n): x[i] *= 2"
    text = "import numpy as np\nfrom lib import fast\n\n" + text.format("np.ndarray", loop)
    functions = analyse("a.py", text, SETTINGS, schedules=False).functions
    placed = next(each for each in functions if each.answer.facts.loops)
    return text, edit("a.py", text, SETTINGS, Ask("pycuda", placed.answer.facts.name, placed.start, 1))


@pytest.mark.parametrize(("body", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_is_left_alone(body: str, reason: str) -> None:
    text = f"{HEAD}    {body}\n"
    (placed,) = analyse("a.py", text, SETTINGS, schedules=False).functions
    answer = edit("a.py", text, SETTINGS, Ask("pycuda", "f", placed.start, 1))
    assert isinstance(answer, Declined) or not reason, answer
    if isinstance(answer, Declined):
        assert reason in answer.reason


def test_is_not_done_twice() -> None:
    done = on_gpu("smooth.py", STENCIL, SETTINGS, "smooth", whole=False)
    (placed,) = (f for f in analyse("a.py", done.text, SETTINGS).functions if f.answer.facts.name == "smooth")
    answer = edit("a.py", done.text, SETTINGS, Ask("pycuda", "smooth", placed.start, 1))
    assert isinstance(answer, Declined) and "already" in answer.reason, answer
