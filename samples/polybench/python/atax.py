"""atax: y = A^T (A x): a matrix-vector product, then one with the transpose, in one pass over A.

size  MINI (default)   SMALL  MEDIUM   LARGE
M                 38     116     390    1900
N                 42     124     410    2100
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

M = 38
N = 42


def kernel_atax(
    m: int,
    n: int,
    A: npt.NDArray[np.float64],
    x: npt.NDArray[np.float64],
    y: npt.NDArray[np.float64],
    tmp: npt.NDArray[np.float64],
) -> None:
    """Multiply by A and by its transpose in one pass over A."""
    for j in range(n):
        y[j] = 0.0
    for i in range(m):
        tmp[i] = 0.0
        for j in range(n):
            tmp[i] = tmp[i] + A[i, j] * x[j]
        for j in range(n):
            y[j] = y[j] + A[i, j] * tmp[i]


def kernel_atax_numpy(
    m: int,
    n: int,
    A: npt.NDArray[np.float64],
    x: npt.NDArray[np.float64],
    y: npt.NDArray[np.float64],
    tmp: npt.NDArray[np.float64],
) -> None:
    """The same with array statements."""
    tmp[:] = A @ x
    y[:] = tmp @ A


def init(m: int, n: int, A: npt.NDArray[np.float64], x: npt.NDArray[np.float64]) -> None:
    """Fill the arrays that the kernel reads."""
    for j in range(n):
        x[j] = 1.0 + j / n
    for i in range(m):
        for j in range(n):
            A[i, j] = (3 * i + 7 * j + 1) % 11 / 11.0


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_atax) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    A = np.empty((M, N))
    x = np.empty(N)
    y = np.empty(N)
    tmp = np.empty(M)
    init(M, N, A, x)
    kernel(M, N, A, x, y, tmp)
    print(f"atax {checksum(y):.12e}")


if __name__ == "__main__":
    main()
