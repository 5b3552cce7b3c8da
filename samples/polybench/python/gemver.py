"""gemver: A' = A + u1 v1^T + u2 v2^T, x = beta A'^T y + z, w = alpha A' x: a rank-two update and two
matrix-vector products.

size  MINI (default)   SMALL  MEDIUM   LARGE
N                 40     120     400    2000
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

N = 40


def kernel_gemver(
    n: int,
    alpha: float,
    beta: float,
    A: npt.NDArray[np.float64],
    u1: npt.NDArray[np.float64],
    v1: npt.NDArray[np.float64],
    u2: npt.NDArray[np.float64],
    v2: npt.NDArray[np.float64],
    w: npt.NDArray[np.float64],
    x: npt.NDArray[np.float64],
    y: npt.NDArray[np.float64],
    z: npt.NDArray[np.float64],
) -> None:
    """Update A, then multiply by its transpose and by A itself."""
    for i in range(n):
        for j in range(n):
            A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    # Walks A by columns: interchanging the two loops makes the accesses contiguous.
    for i in range(n):
        for j in range(n):
            x[i] = x[i] + beta * A[j, i] * y[j]
    for i in range(n):
        x[i] = x[i] + z[i]
    for i in range(n):
        for j in range(n):
            w[i] = w[i] + alpha * A[i, j] * x[j]


def kernel_gemver_numpy(
    n: int,
    alpha: float,
    beta: float,
    A: npt.NDArray[np.float64],
    u1: npt.NDArray[np.float64],
    v1: npt.NDArray[np.float64],
    u2: npt.NDArray[np.float64],
    v2: npt.NDArray[np.float64],
    w: npt.NDArray[np.float64],
    x: npt.NDArray[np.float64],
    y: npt.NDArray[np.float64],
    z: npt.NDArray[np.float64],
) -> None:
    """The same with array statements."""
    A += np.outer(u1, v1) + np.outer(u2, v2)
    x += beta * y @ A
    x += z
    w += alpha * A @ x


def init(
    n: int,
    A: npt.NDArray[np.float64],
    u1: npt.NDArray[np.float64],
    v1: npt.NDArray[np.float64],
    u2: npt.NDArray[np.float64],
    v2: npt.NDArray[np.float64],
    w: npt.NDArray[np.float64],
    x: npt.NDArray[np.float64],
    y: npt.NDArray[np.float64],
    z: npt.NDArray[np.float64],
) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(n):
        u1[i] = i / n
        u2[i] = (i + 1) / 2.0 / n
        v1[i] = (i + 1) / 4.0 / n
        v2[i] = (i + 1) / 6.0 / n
        y[i] = (i + 1) / 8.0 / n
        z[i] = (i + 1) / 9.0 / n
        x[i] = 0.0
        w[i] = 0.0
        for j in range(n):
            A[i, j] = (5 * i + 3 * j + 1) % 19 / 19.0


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_gemver) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    A = np.empty((N, N))
    u1 = np.empty(N)
    v1 = np.empty(N)
    u2 = np.empty(N)
    v2 = np.empty(N)
    w = np.empty(N)
    x = np.empty(N)
    y = np.empty(N)
    z = np.empty(N)
    init(N, A, u1, v1, u2, v2, w, x, y, z)
    kernel(N, 1.5, 1.2, A, u1, v1, u2, v2, w, x, y, z)
    print(f"gemver {checksum(w) + checksum(x):.12e}")


if __name__ == "__main__":
    main()
