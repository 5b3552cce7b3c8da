"""heat-3d: The heat equation in three dimensions, explicit, seven points, two grids in turn.

size    MINI (default)   SMALL  MEDIUM   LARGE
TSTEPS              20      40     100     500
N                   10      20      40     120
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

TSTEPS = 20
N = 10


def kernel_heat_3d(A: npt.NDArray[np.float64], B: npt.NDArray[np.float64]) -> None:
    """Step from A to B and back."""
    for t in range(TSTEPS):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                for k in range(1, N - 1):
                    B[i, j, k] = (
                        0.125 * (A[i + 1, j, k] - 2.0 * A[i, j, k] + A[i - 1, j, k])
                        + 0.125 * (A[i, j + 1, k] - 2.0 * A[i, j, k] + A[i, j - 1, k])
                        + 0.125 * (A[i, j, k + 1] - 2.0 * A[i, j, k] + A[i, j, k - 1])
                        + A[i, j, k]
                    )
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                for k in range(1, N - 1):
                    A[i, j, k] = (
                        0.125 * (B[i + 1, j, k] - 2.0 * B[i, j, k] + B[i - 1, j, k])
                        + 0.125 * (B[i, j + 1, k] - 2.0 * B[i, j, k] + B[i, j - 1, k])
                        + 0.125 * (B[i, j, k + 1] - 2.0 * B[i, j, k] + B[i, j, k - 1])
                        + B[i, j, k]
                    )


def kernel_heat_3d_numpy(A: npt.NDArray[np.float64], B: npt.NDArray[np.float64]) -> None:
    """The same with array statements."""
    for _ in range(TSTEPS):
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, :-2])
            + A[1:-1, 1:-1, 1:-1]
        )
        A[1:-1, 1:-1, 1:-1] = (
            0.125 * (B[2:, 1:-1, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[:-2, 1:-1, 1:-1])
            + 0.125 * (B[1:-1, 2:, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, :-2, 1:-1])
            + 0.125 * (B[1:-1, 1:-1, 2:] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, 1:-1, :-2])
            + B[1:-1, 1:-1, 1:-1]
        )


def init(A: npt.NDArray[np.float64], B: npt.NDArray[np.float64]) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(N):
        for j in range(N):
            for k in range(N):
                B[i, j, k] = (i + j + (N - k)) * 10.0 / N + i * j * k % 5
                A[i, j, k] = B[i, j, k]


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_heat_3d) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    A = np.empty((N, N, N))
    B = np.empty((N, N, N))
    init(A, B)
    kernel(A, B)
    print(f"heat-3d {checksum(A):.12e}")


if __name__ == "__main__":
    main()
