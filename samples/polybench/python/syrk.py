"""syrk: C = alpha A A^T + beta C, the lower triangle of a symmetric rank-m update.

size  MINI (default)   SMALL  MEDIUM   LARGE
M                 20      60     200    1000
N                 30      80     240    1200
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

M = 20
N = 30


def kernel_syrk(
    m: int, n: int, alpha: float, beta: float, C: npt.NDArray[np.float64], A: npt.NDArray[np.float64]
) -> None:
    """Update the lower triangle of C."""
    for i in range(n):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]


def kernel_syrk_numpy(
    m: int, n: int, alpha: float, beta: float, C: npt.NDArray[np.float64], A: npt.NDArray[np.float64]
) -> None:
    """The same with rows of C."""
    for i in range(n):
        C[i, : i + 1] *= beta
        C[i, : i + 1] += alpha * A[: i + 1, :] @ A[i, :]


def init(m: int, n: int, C: npt.NDArray[np.float64], A: npt.NDArray[np.float64]) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(n):
        for j in range(n):
            C[i, j] = (2 * i + 3 * j + 1) % 11 / 11.0
        for k in range(m):
            A[i, k] = (5 * i + 4 * k + 2) % 13 / 13.0


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements of the lower triangle, each times its flat index modulo 7, plus 1."""
    return float(np.sum(np.tril(A).ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_syrk) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    C = np.empty((N, N))
    A = np.empty((N, M))
    init(M, N, C, A)
    kernel(M, N, 1.5, 1.2, C, A)
    print(f"syrk {checksum(C):.12e}")


if __name__ == "__main__":
    main()
