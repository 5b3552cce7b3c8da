"""correlation: The Pearson correlation matrix of m variables (columns) observed n times (rows).

size  MINI (default)   SMALL  MEDIUM   LARGE
M                 28      80     240    1200
N                 32     100     260    1400
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

M = 28
N = 32


def kernel_correlation(
    m: int,
    n: int,
    data: npt.NDArray[np.float64],
    corr: npt.NDArray[np.float64],
    mean: npt.NDArray[np.float64],
    stddev: npt.NDArray[np.float64],
) -> None:
    """Standardise the columns, then multiply them with each other."""
    smallest = 0.1
    for j in range(m):
        mean[j] = 0.0
        for i in range(n):
            mean[j] += data[i, j]
        mean[j] /= n
    for j in range(m):
        stddev[j] = 0.0
        for i in range(n):
            stddev[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        stddev[j] = math.sqrt(stddev[j] / n)
        # A constant variable would be divided by zero below.
        stddev[j] = 1.0 if stddev[j] <= smallest else stddev[j]
    for i in range(n):
        for j in range(m):
            data[i, j] -= mean[j]
            data[i, j] /= math.sqrt(n) * stddev[j]
    for i in range(m - 1):
        corr[i, i] = 1.0
        for j in range(i + 1, m):
            corr[i, j] = 0.0
            for k in range(n):
                corr[i, j] += data[k, i] * data[k, j]
            corr[j, i] = corr[i, j]
    corr[m - 1, m - 1] = 1.0


def kernel_correlation_numpy(
    m: int,
    n: int,
    data: npt.NDArray[np.float64],
    corr: npt.NDArray[np.float64],
    mean: npt.NDArray[np.float64],
    stddev: npt.NDArray[np.float64],
) -> None:
    """The same with array statements."""
    mean[:] = np.mean(data, axis=0)
    stddev[:] = np.sqrt(np.mean((data - mean) ** 2, axis=0))
    stddev[stddev <= 0.1] = 1.0
    data -= mean
    data /= math.sqrt(n) * stddev
    corr[:] = data.T @ data
    np.fill_diagonal(corr, 1.0)


def init(m: int, n: int, data: npt.NDArray[np.float64]) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(n):
        for j in range(m):
            data[i, j] = i * j % 13 / 13.0 + i / n


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_correlation) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    data = np.empty((N, M))
    corr = np.empty((M, M))
    mean = np.empty(M)
    stddev = np.empty(M)
    init(M, N, data)
    kernel(M, N, data, corr, mean, stddev)
    print(f"correlation {checksum(corr):.12e}")


if __name__ == "__main__":
    main()
