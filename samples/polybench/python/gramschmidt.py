"""gramschmidt: A = Q R by the modified Gram-Schmidt method, column by column. There are more rows than
columns, so that the columns are independent.

size  MINI (default)   SMALL  MEDIUM   LARGE
M                 30      80     240    1200
N                 20      60     200    1000
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

M = 30
N = 20


def kernel_gramschmidt(
    m: int, n: int, A: npt.NDArray[np.float64], R: npt.NDArray[np.float64], Q: npt.NDArray[np.float64]
) -> None:
    """Take one column after the other out of all that follow."""
    for k in range(n):
        norm = 0.0
        for i in range(m):
            norm += A[i, k] * A[i, k]
        R[k, k] = math.sqrt(norm)
        for i in range(m):
            Q[i, k] = A[i, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = 0.0
            for i in range(m):
                R[k, j] += Q[i, k] * A[i, j]
            for i in range(m):
                A[i, j] = A[i, j] - Q[i, k] * R[k, j]


def kernel_gramschmidt_numpy(
    m: int, n: int, A: npt.NDArray[np.float64], R: npt.NDArray[np.float64], Q: npt.NDArray[np.float64]
) -> None:
    """The same with whole columns."""
    for k in range(n):
        R[k, k] = math.sqrt(A[:, k] @ A[:, k])
        Q[:, k] = A[:, k] / R[k, k]
        R[k, k + 1 :] = Q[:, k] @ A[:, k + 1 :]
        A[:, k + 1 :] -= np.outer(Q[:, k], R[k, k + 1 :])


def init(m: int, n: int, A: npt.NDArray[np.float64], R: npt.NDArray[np.float64]) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(m):
        for j in range(n):
            A[i, j] = (3 * i + 5 * j + i * j % 7) % 13 / 13.0 + (2.0 if i == j else 0.0)
    for i in range(n):
        for j in range(n):
            R[i, j] = 0.0


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_gramschmidt) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    A = np.empty((M, N))
    R = np.empty((N, N))
    Q = np.empty((M, N))
    init(M, N, A, R)
    kernel(M, N, A, R, Q)
    print(f"gramschmidt {checksum(R) + checksum(Q):.12e}")


if __name__ == "__main__":
    main()
