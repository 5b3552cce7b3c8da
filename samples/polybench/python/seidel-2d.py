"""seidel-2d: The mean of a point and its eight neighbours, repeated in place (Gauss-Seidel): half of the
neighbours are new already.

size    MINI (default)   SMALL  MEDIUM   LARGE
TSTEPS              20      40     100     500
N                   40     120     400    2000
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

TSTEPS = 20
N = 40


def kernel_seidel_2d(A: npt.NDArray[np.float64]) -> None:
    """Step in place."""
    for t in range(TSTEPS):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                A[i, j] = (
                    A[i - 1, j - 1]
                    + A[i - 1, j]
                    + A[i - 1, j + 1]
                    + A[i, j - 1]
                    + A[i, j]
                    + A[i, j + 1]
                    + A[i + 1, j - 1]
                    + A[i + 1, j]
                    + A[i + 1, j + 1]
                ) / 9.0


def init(A: npt.NDArray[np.float64]) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(N):
        for j in range(N):
            A[i, j] = (3 * i + 5 * j + 2) % 13 / 13.0


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_seidel_2d) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    A = np.empty((N, N))
    init(A)
    kernel(A)
    print(f"seidel-2d {checksum(A):.12e}")


if __name__ == "__main__":
    main()
