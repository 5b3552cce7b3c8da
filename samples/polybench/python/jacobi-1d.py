"""jacobi-1d: The mean of three neighbours in one dimension, repeated, two grids in turn.

size    MINI (default)   SMALL  MEDIUM   LARGE
TSTEPS              20      40     100     500
N                   30     120     400    2000
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

TSTEPS = 20
N = 30


def kernel_jacobi_1d(tsteps: int, n: int, A: npt.NDArray[np.float64], B: npt.NDArray[np.float64]) -> None:
    """Step from A to B and back."""
    for t in range(tsteps):
        for i in range(1, n - 1):
            B[i] = (A[i - 1] + A[i] + A[i + 1]) / 3.0
        for i in range(1, n - 1):
            A[i] = (B[i - 1] + B[i] + B[i + 1]) / 3.0


def kernel_jacobi_1d_numpy(
    tsteps: int, n: int, A: npt.NDArray[np.float64], B: npt.NDArray[np.float64]
) -> None:
    """The same with array statements."""
    for _ in range(tsteps):
        B[1:-1] = (A[:-2] + A[1:-1] + A[2:]) / 3.0
        A[1:-1] = (B[:-2] + B[1:-1] + B[2:]) / 3.0


def init(n: int, A: npt.NDArray[np.float64], B: npt.NDArray[np.float64]) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(n):
        A[i] = (7 * i + 2) % 11 / 11.0
        B[i] = A[i]


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_jacobi_1d) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    A = np.empty(N)
    B = np.empty(N)
    init(N, A, B)
    kernel(TSTEPS, N, A, B)
    print(f"jacobi-1d {checksum(A):.12e}")


if __name__ == "__main__":
    main()
