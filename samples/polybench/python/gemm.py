"""gemm: C = alpha A B + beta C, a matrix product that accumulates.

size  MINI (default)   SMALL  MEDIUM   LARGE
NI                20      60     200    1000
NJ                25      70     220    1100
NK                30      80     240    1200
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

NI = 20
NJ = 25
NK = 30


def kernel_gemm(
    ni: int,
    nj: int,
    nk: int,
    alpha: float,
    beta: float,
    C: npt.NDArray[np.float64],
    A: npt.NDArray[np.float64],
    B: npt.NDArray[np.float64],
) -> None:
    """Multiply two matrices into a third."""
    for i in range(ni):
        for j in range(nj):
            C[i, j] *= beta
        for k in range(nk):
            for j in range(nj):
                C[i, j] += alpha * A[i, k] * B[k, j]


def kernel_gemm_numpy(
    ni: int,
    nj: int,
    nk: int,
    alpha: float,
    beta: float,
    C: npt.NDArray[np.float64],
    A: npt.NDArray[np.float64],
    B: npt.NDArray[np.float64],
) -> None:
    """The same with array statements."""
    C *= beta
    C += alpha * A @ B


def init(
    ni: int,
    nj: int,
    nk: int,
    C: npt.NDArray[np.float64],
    A: npt.NDArray[np.float64],
    B: npt.NDArray[np.float64],
) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(ni):
        for j in range(nj):
            C[i, j] = (3 * i + 5 * j + 1) % 11 / 11.0
    for i in range(ni):
        for k in range(nk):
            A[i, k] = (7 * i + 2 * k + 2) % 13 / 13.0
    for k in range(nk):
        for j in range(nj):
            B[k, j] = (2 * k + 9 * j + 3) % 17 / 17.0


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_gemm) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    C = np.empty((NI, NJ))
    A = np.empty((NI, NK))
    B = np.empty((NK, NJ))
    init(NI, NJ, NK, C, A, B)
    kernel(NI, NJ, NK, 1.5, 1.2, C, A, B)
    print(f"gemm {checksum(C):.12e}")


if __name__ == "__main__":
    main()
