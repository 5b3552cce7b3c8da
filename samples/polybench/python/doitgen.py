"""doitgen: A[r][q][p] = sum over s of A[r][q][s] C[s][p], in place: one matrix product per (r, q), through
a row buffer.

size  MINI (default)   SMALL  MEDIUM   LARGE
NR                10      25      50     150
NQ                 8      20      40     140
NP                12      30      60     160
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

NR = 10
NQ = 8
NP = 12


def kernel_doitgen(
    nr: int,
    nq: int,
    width: int,
    A: npt.NDArray[np.float64],
    C: npt.NDArray[np.float64],
    sum: npt.NDArray[np.float64],
) -> None:
    """One matrix product per (r, q), through a row buffer."""
    for r in range(nr):
        for q in range(nq):
            for p in range(width):
                sum[p] = 0.0
                for s in range(width):
                    sum[p] += A[r, q, s] * C[s, p]
            for p in range(width):
                A[r, q, p] = sum[p]


def kernel_doitgen_numpy(
    nr: int,
    nq: int,
    width: int,
    A: npt.NDArray[np.float64],
    C: npt.NDArray[np.float64],
    sum: npt.NDArray[np.float64],
) -> None:
    """The same with array statements."""
    A[:] = A @ C


def init(nr: int, nq: int, width: int, A: npt.NDArray[np.float64], C: npt.NDArray[np.float64]) -> None:
    """Fill the arrays that the kernel reads."""
    for r in range(nr):
        for q in range(nq):
            for p in range(width):
                A[r, q, p] = (5 * r + 3 * q + 2 * p + 1) % 11 / 11.0
    for s in range(width):
        for p in range(width):
            C[s, p] = (3 * s + 7 * p + 2) % 13 / 13.0


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_doitgen) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    A = np.empty((NR, NQ, NP))
    C = np.empty((NP, NP))
    sum = np.empty(NP)
    init(NR, NQ, NP, A, C)
    kernel(NR, NQ, NP, A, C, sum)
    print(f"doitgen {checksum(A):.12e}")


if __name__ == "__main__":
    main()
