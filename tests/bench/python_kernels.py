"""Functions in Python of ten lines each; `@` is the function's number."""

from __future__ import annotations

HEAD = """\
\"\"\"A file of many functions.\"\"\"

import numpy as np
from numpy.typing import NDArray


"""

KERNELS = (
    """\
def scale_@(n: int, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    # Scale one array, and add up what came before.
    for i in range(n):
        x[i] = @.5 * y[i]
    for i in range(1, n):
        x[i] += x[i - 1]
    return None



""",
    """\
def dot_@(n: int, x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    # Return a sum of products.
    total = 0.0
    for i in range(n):
        t = x[i] * y[i]
        total += t + @
    return total



""",
    """\
def matmul_@(a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]):
    # Multiply two matrices.
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = @
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]



""",
    """\
def seidel_@(steps: int, n: int, a: NDArray[np.float64]) -> None:
    # Relax in place.
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = (
                    a[i - 1, j] + a[i, j - 1] + a[i, j] + a[i, j + 1] + a[i + 1, j]
                ) / (5.0 + @)


""",
    """\
def blur_@(out: NDArray[np.float64], image: NDArray[np.float64]) -> None:
    # Blur by slices, then scale.
    out[1:-1, 1:-1] = (
        image[:-2, 1:-1] + image[2:, 1:-1] + image[1:-1, :-2] + image[1:-1, 2:]
    ) / 4.0
    for row in out:
        row *= @.0



""",
    """\
def histogram_@(key: NDArray[np.int64], count: NDArray[np.int64]) -> None:
    # Count keys.
    for i in range(len(key)):
        count[key[i]] += @
    for i in range(len(count)):
        if count[i] < 0:
            count[i] = 0



""",
    """\
def scan_@(n: int, x: NDArray[np.float64]) -> int:
    # Return where the largest element is.
    best = k = 0
    for i in range(1, n):
        if x[i] > x[best]:
            best = i
        k += 2
    return best + k + @


""",
    """\
def triangle_@(n: int, l: NDArray[np.float64], x: NDArray[np.float64], b: NDArray[np.float64]):
    # Solve by substitution.
    for i in range(n):
        x[i] = b[i] + @
        for j in range(i):
            x[i] -= l[i, j] * x[j]




""",
)
