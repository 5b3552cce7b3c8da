"""cholesky: A = L L^T in place for a symmetric positive definite A; L replaces the lower triangle, row by
row.

size  MINI (default)   SMALL  MEDIUM   LARGE
N                 40     120     400    2000
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

N = 40


def kernel_cholesky(n: int, A: npt.NDArray[np.float64]) -> None:
    """Factorise A in place, row by row."""
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = math.sqrt(A[i, i])


def kernel_cholesky_numpy(n: int, A: npt.NDArray[np.float64]) -> None:
    """The same with inner products."""
    for i in range(n):
        for j in range(i):
            A[i, j] = (A[i, j] - A[i, :j] @ A[j, :j]) / A[j, j]
        A[i, i] = math.sqrt(A[i, i] - A[i, :i] @ A[i, :i])


def init(n: int, A: npt.NDArray[np.float64]) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(n):
        for j in range(n):
            A[i, j] = 2.0 if i == j else 1.0 / (1 + abs(i - j))


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements of the lower triangle, each times its flat index modulo 7, plus 1."""
    return float(np.sum(np.tril(A).ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_cholesky) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    A = np.empty((N, N))
    init(N, A)
    kernel(N, A)
    print(f"cholesky {checksum(A):.12e}")


if __name__ == "__main__":
    main()
