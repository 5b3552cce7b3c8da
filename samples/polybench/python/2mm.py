"""2mm: D = alpha A B C + beta D through tmp = alpha A B: two matrix products, one after the other.

size  MINI (default)   SMALL  MEDIUM   LARGE
NI                16      40     180     800
NJ                18      50     190     900
NK                22      70     210    1100
NL                24      80     220    1200
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

NI = 16
NJ = 18
NK = 22
NL = 24


def kernel_2mm(
    ni: int,
    nj: int,
    nk: int,
    nl: int,
    alpha: float,
    beta: float,
    tmp: npt.NDArray[np.float64],
    A: npt.NDArray[np.float64],
    B: npt.NDArray[np.float64],
    C: npt.NDArray[np.float64],
    D: npt.NDArray[np.float64],
) -> None:
    """Two matrix products, one after the other."""
    for i in range(ni):
        for j in range(nj):
            tmp[i, j] = 0.0
            for k in range(nk):
                tmp[i, j] += alpha * A[i, k] * B[k, j]
    for i in range(ni):
        for l in range(nl):
            D[i, l] *= beta
            for j in range(nj):
                D[i, l] += tmp[i, j] * C[j, l]


def kernel_2mm_numpy(
    ni: int,
    nj: int,
    nk: int,
    nl: int,
    alpha: float,
    beta: float,
    tmp: npt.NDArray[np.float64],
    A: npt.NDArray[np.float64],
    B: npt.NDArray[np.float64],
    C: npt.NDArray[np.float64],
    D: npt.NDArray[np.float64],
) -> None:
    """The same with array statements."""
    tmp[:] = alpha * A @ B
    D *= beta
    D += tmp @ C


def init(
    ni: int,
    nj: int,
    nk: int,
    nl: int,
    A: npt.NDArray[np.float64],
    B: npt.NDArray[np.float64],
    C: npt.NDArray[np.float64],
    D: npt.NDArray[np.float64],
) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(ni):
        for k in range(nk):
            A[i, k] = (7 * i + 2 * k + 1) % 11 / 11.0
    for k in range(nk):
        for j in range(nj):
            B[k, j] = (2 * k + 9 * j + 2) % 13 / 13.0
    for j in range(nj):
        for l in range(nl):
            C[j, l] = (5 * j + 3 * l + 3) % 17 / 17.0
    for i in range(ni):
        for l in range(nl):
            D[i, l] = (4 * i + 7 * l + 4) % 19 / 19.0


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_2mm) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    tmp = np.empty((NI, NJ))
    A = np.empty((NI, NK))
    B = np.empty((NK, NJ))
    C = np.empty((NJ, NL))
    D = np.empty((NI, NL))
    init(NI, NJ, NK, NL, A, B, C, D)
    kernel(NI, NJ, NK, NL, 1.5, 1.2, tmp, A, B, C, D)
    print(f"2mm {checksum(D):.12e}")


if __name__ == "__main__":
    main()
