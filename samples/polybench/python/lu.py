"""lu: A = L U in place without pivoting; L has ones on its diagonal, which are not stored.

size  MINI (default)   SMALL  MEDIUM   LARGE
N                 40     120     400    2000
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

N = 40


def kernel_lu(n: int, A: npt.NDArray[np.float64]) -> None:
    """Factorise A in place, row by row."""
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]


def kernel_lu_numpy(n: int, A: npt.NDArray[np.float64]) -> None:
    """The same with inner products."""
    for i in range(n):
        for j in range(i):
            A[i, j] = (A[i, j] - A[i, :j] @ A[:j, j]) / A[j, j]
        for j in range(i, n):
            A[i, j] -= A[i, :i] @ A[:i, j]


def init(n: int, A: npt.NDArray[np.float64]) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(n):
        for j in range(n):
            A[i, j] = (3 * i + 7 * j + 1) % 11 / 11.0 + (n if i == j else 0)


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_lu) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    A = np.empty((N, N))
    init(N, A)
    kernel(N, A)
    print(f"lu {checksum(A):.12e}")


if __name__ == "__main__":
    main()
