"""3mm: G = (A B) (C D) through E = A B and F = C D: three matrix products.

size  MINI (default)   SMALL  MEDIUM   LARGE
NI                16      40     180     800
NJ                18      50     190     900
NK                20      60     200    1000
NL                22      70     210    1100
NM                24      80     220    1200
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

NI = 16
NJ = 18
NK = 20
NL = 22
NM = 24


def kernel_3mm(
    ni: int,
    nj: int,
    nk: int,
    nl: int,
    nm: int,
    E: npt.NDArray[np.float64],
    A: npt.NDArray[np.float64],
    B: npt.NDArray[np.float64],
    F: npt.NDArray[np.float64],
    C: npt.NDArray[np.float64],
    D: npt.NDArray[np.float64],
    G: npt.NDArray[np.float64],
) -> None:
    """Three matrix products, two of which do not depend on each other."""
    for i in range(ni):
        for j in range(nj):
            E[i, j] = 0.0
            for k in range(nk):
                E[i, j] += A[i, k] * B[k, j]
    for j in range(nj):
        for l in range(nl):
            F[j, l] = 0.0
            for m in range(nm):
                F[j, l] += C[j, m] * D[m, l]
    for i in range(ni):
        for l in range(nl):
            G[i, l] = 0.0
            for j in range(nj):
                G[i, l] += E[i, j] * F[j, l]


def kernel_3mm_numpy(
    ni: int,
    nj: int,
    nk: int,
    nl: int,
    nm: int,
    E: npt.NDArray[np.float64],
    A: npt.NDArray[np.float64],
    B: npt.NDArray[np.float64],
    F: npt.NDArray[np.float64],
    C: npt.NDArray[np.float64],
    D: npt.NDArray[np.float64],
    G: npt.NDArray[np.float64],
) -> None:
    """The same with array statements."""
    E[:] = A @ B
    F[:] = C @ D
    G[:] = E @ F


def init(
    ni: int,
    nj: int,
    nk: int,
    nl: int,
    nm: int,
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
        for m in range(nm):
            C[j, m] = (5 * j + 3 * m + 3) % 17 / 17.0
    for m in range(nm):
        for l in range(nl):
            D[m, l] = (4 * m + 7 * l + 4) % 19 / 19.0


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_3mm) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    E = np.empty((NI, NJ))
    A = np.empty((NI, NK))
    B = np.empty((NK, NJ))
    F = np.empty((NJ, NL))
    C = np.empty((NJ, NM))
    D = np.empty((NM, NL))
    G = np.empty((NI, NL))
    init(NI, NJ, NK, NL, NM, A, B, C, D)
    kernel(NI, NJ, NK, NL, NM, E, A, B, F, C, D, G)
    print(f"3mm {checksum(G):.12e}")


if __name__ == "__main__":
    main()
