"""bicg: q = A p and s = A^T r in one pass over A, the heart of the biconjugate gradient method.

size  MINI (default)   SMALL  MEDIUM   LARGE
M                 38     116     390    1900
N                 42     124     410    2100
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

M = 38
N = 42


def kernel_bicg(
    m: int,
    n: int,
    A: npt.NDArray[np.float64],
    s: npt.NDArray[np.float64],
    q: npt.NDArray[np.float64],
    p: npt.NDArray[np.float64],
    r: npt.NDArray[np.float64],
) -> None:
    """Two products in one pass over A."""
    for i in range(m):
        s[i] = 0.0
    for i in range(n):
        q[i] = 0.0
        for j in range(m):
            s[j] = s[j] + r[i] * A[i, j]
            q[i] = q[i] + A[i, j] * p[j]


def kernel_bicg_numpy(
    m: int,
    n: int,
    A: npt.NDArray[np.float64],
    s: npt.NDArray[np.float64],
    q: npt.NDArray[np.float64],
    p: npt.NDArray[np.float64],
    r: npt.NDArray[np.float64],
) -> None:
    """The same with array statements."""
    s[:] = r @ A
    q[:] = A @ p


def init(
    m: int, n: int, A: npt.NDArray[np.float64], p: npt.NDArray[np.float64], r: npt.NDArray[np.float64]
) -> None:
    """Fill the arrays that the kernel reads."""
    for j in range(m):
        p[j] = j % 9 / 9.0
    for i in range(n):
        r[i] = i % 8 / 8.0
        for j in range(m):
            A[i, j] = (4 * i + 3 * j + 1) % 13 / 13.0


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_bicg) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    A = np.empty((N, M))
    s = np.empty(M)
    q = np.empty(N)
    p = np.empty(M)
    r = np.empty(N)
    init(M, N, A, p, r)
    kernel(M, N, A, s, q, p, r)
    print(f"bicg {checksum(s) + checksum(q):.12e}")


if __name__ == "__main__":
    main()
