"""symm: C = alpha A B + beta C where A is symmetric and only its lower triangle is stored.

size  MINI (default)   SMALL  MEDIUM   LARGE
M                 20      60     200    1000
N                 30      80     240    1200
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

M = 20
N = 30


def kernel_symm(
    m: int,
    n: int,
    alpha: float,
    beta: float,
    C: npt.NDArray[np.float64],
    A: npt.NDArray[np.float64],
    B: npt.NDArray[np.float64],
) -> None:
    """Multiply with a matrix of which only the lower triangle is stored."""
    for i in range(m):
        for j in range(n):
            above = 0.0
            # A[i, k] stands for A[k, i] too: it scatters to row k and gathers from it.
            for k in range(i):
                C[k, j] += alpha * A[i, k] * B[i, j]
                above += A[i, k] * B[k, j]
            C[i, j] = beta * C[i, j] + alpha * A[i, i] * B[i, j] + alpha * above


def kernel_symm_numpy(
    m: int,
    n: int,
    alpha: float,
    beta: float,
    C: npt.NDArray[np.float64],
    A: npt.NDArray[np.float64],
    B: npt.NDArray[np.float64],
) -> None:
    """The same with rows of C."""
    C *= beta
    for i in range(m):
        C[:i, :] += alpha * np.outer(A[i, :i], B[i, :])
        C[i, :] += alpha * (A[i, i] * B[i, :] + A[i, :i] @ B[:i, :])


def init(
    m: int, n: int, C: npt.NDArray[np.float64], A: npt.NDArray[np.float64], B: npt.NDArray[np.float64]
) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(m):
        for j in range(n):
            C[i, j] = (3 * i + 4 * j + 1) % 11 / 11.0
            B[i, j] = (8 * i + 3 * j + 2) % 13 / 13.0
    for i in range(m):
        for j in range(m):
            A[i, j] = (5 * i + 2 * j + 1) % 17 / 17.0 if j <= i else -999.0


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_symm) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    C = np.empty((M, N))
    A = np.empty((M, M))
    B = np.empty((M, N))
    init(M, N, C, A, B)
    kernel(M, N, 1.5, 1.2, C, A, B)
    print(f"symm {checksum(C):.12e}")


if __name__ == "__main__":
    main()
