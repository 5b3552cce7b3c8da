"""jacobi-2d: The mean of a point and its four neighbours, repeated, two grids in turn.

size    MINI (default)   SMALL  MEDIUM   LARGE
TSTEPS              20      40     100     500
N                   30      90     250    1300
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

TSTEPS = 20
N = 30


def kernel_jacobi_2d(tsteps: int, n: int, A: npt.NDArray[np.float64], B: npt.NDArray[np.float64]) -> None:
    """Step from A to B and back."""
    for t in range(tsteps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])


def kernel_jacobi_2d_numpy(
    tsteps: int, n: int, A: npt.NDArray[np.float64], B: npt.NDArray[np.float64]
) -> None:
    """The same with array statements."""
    for _ in range(tsteps):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])


def init(n: int, A: npt.NDArray[np.float64], B: npt.NDArray[np.float64]) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(n):
        for j in range(n):
            B[i, j] = (3 * i + 5 * j + 2) % 13 / 13.0
            A[i, j] = B[i, j]


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_jacobi_2d) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    A = np.empty((N, N))
    B = np.empty((N, N))
    init(N, A, B)
    kernel(TSTEPS, N, A, B)
    print(f"jacobi-2d {checksum(A):.12e}")


if __name__ == "__main__":
    main()
