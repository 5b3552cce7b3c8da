"""trmm: B = alpha A^T B in place, where A is lower triangular with ones on its diagonal.

size  MINI (default)   SMALL  MEDIUM   LARGE
M                 20      60     200    1000
N                 30      80     240    1200
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

M = 20
N = 30


def kernel_trmm(m: int, n: int, alpha: float, A: npt.NDArray[np.float64], B: npt.NDArray[np.float64]) -> None:
    """Multiply in place, from the first row on."""
    for i in range(m):
        for j in range(n):
            for k in range(i + 1, m):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] *= alpha


def kernel_trmm_numpy(
    m: int, n: int, alpha: float, A: npt.NDArray[np.float64], B: npt.NDArray[np.float64]
) -> None:
    """The same with rows of B."""
    for i in range(m):
        B[i, :] += A[i + 1 :, i] @ B[i + 1 :, :]
        B[i, :] *= alpha


def init(m: int, n: int, A: npt.NDArray[np.float64], B: npt.NDArray[np.float64]) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(m):
        for j in range(m):
            A[i, j] = (3 * i + 5 * j + 1) % 11 / 11.0
        for j in range(n):
            B[i, j] = (7 * i + 2 * j + 2) % 13 / 13.0


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_trmm) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    A = np.empty((M, M))
    B = np.empty((M, N))
    init(M, N, A, B)
    kernel(M, N, 1.5, A, B)
    print(f"trmm {checksum(B):.12e}")


if __name__ == "__main__":
    main()
