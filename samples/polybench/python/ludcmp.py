"""ludcmp: Solves A x = b: A = L U without pivoting, then L y = b forwards and U x = y backwards.

size  MINI (default)   SMALL  MEDIUM   LARGE
N                 40     120     400    2000
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

N = 40


def kernel_ludcmp(
    n: int,
    A: npt.NDArray[np.float64],
    b: npt.NDArray[np.float64],
    x: npt.NDArray[np.float64],
    y: npt.NDArray[np.float64],
) -> None:
    """Factorise A in place, then substitute forwards and backwards."""
    for i in range(n):
        for j in range(i):
            w = A[i, j]
            for k in range(j):
                w -= A[i, k] * A[k, j]
            A[i, j] = w / A[j, j]
        for j in range(i, n):
            w = A[i, j]
            for k in range(i):
                w -= A[i, k] * A[k, j]
            A[i, j] = w
    for i in range(n):
        w = b[i]
        for j in range(i):
            w -= A[i, j] * y[j]
        y[i] = w
    for i in range(n - 1, -1, -1):
        w = y[i]
        for j in range(i + 1, n):
            w -= A[i, j] * x[j]
        x[i] = w / A[i, i]


def kernel_ludcmp_numpy(
    n: int,
    A: npt.NDArray[np.float64],
    b: npt.NDArray[np.float64],
    x: npt.NDArray[np.float64],
    y: npt.NDArray[np.float64],
) -> None:
    """The same with inner products."""
    for i in range(n):
        for j in range(i):
            A[i, j] = (A[i, j] - A[i, :j] @ A[:j, j]) / A[j, j]
        for j in range(i, n):
            A[i, j] -= A[i, :i] @ A[:i, j]
    for i in range(n):
        y[i] = b[i] - A[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]


def init(n: int, A: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(n):
        b[i] = (i + 1.0) / n / 2.0 + 4.0
        for j in range(n):
            A[i, j] = (5 * i + 3 * j + 1) % 13 / 13.0 + (n if i == j else 0)


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_ludcmp) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    A = np.empty((N, N))
    b = np.empty(N)
    x = np.empty(N)
    y = np.empty(N)
    init(N, A, b)
    kernel(N, A, b, x, y)
    print(f"ludcmp {checksum(x):.12e}")


if __name__ == "__main__":
    main()
