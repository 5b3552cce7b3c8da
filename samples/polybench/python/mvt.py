"""mvt: x1 = x1 + A y1 and x2 = x2 + A^T y2, two matrix-vector products that share A.

size  MINI (default)   SMALL  MEDIUM   LARGE
N                 40     120     400    2000
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

N = 40


def kernel_mvt(
    n: int,
    x1: npt.NDArray[np.float64],
    x2: npt.NDArray[np.float64],
    y1: npt.NDArray[np.float64],
    y2: npt.NDArray[np.float64],
    A: npt.NDArray[np.float64],
) -> None:
    """Two products that share A."""
    for i in range(n):
        for j in range(n):
            x1[i] = x1[i] + A[i, j] * y1[j]
    for i in range(n):
        for j in range(n):
            x2[i] = x2[i] + A[j, i] * y2[j]


def kernel_mvt_numpy(
    n: int,
    x1: npt.NDArray[np.float64],
    x2: npt.NDArray[np.float64],
    y1: npt.NDArray[np.float64],
    y2: npt.NDArray[np.float64],
    A: npt.NDArray[np.float64],
) -> None:
    """The same with array statements."""
    x1 += A @ y1
    x2 += y2 @ A


def init(
    n: int,
    x1: npt.NDArray[np.float64],
    x2: npt.NDArray[np.float64],
    y1: npt.NDArray[np.float64],
    y2: npt.NDArray[np.float64],
    A: npt.NDArray[np.float64],
) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(n):
        x1[i] = i / n
        x2[i] = (i + 1.0) / n
        y1[i] = (i + 3.0) / n
        y2[i] = (i + 4.0) / n
        for j in range(n):
            A[i, j] = (3 * i + 5 * j + 1) % 11 / 11.0


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_mvt) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    x1 = np.empty(N)
    x2 = np.empty(N)
    y1 = np.empty(N)
    y2 = np.empty(N)
    A = np.empty((N, N))
    init(N, x1, x2, y1, y2, A)
    kernel(N, x1, x2, y1, y2, A)
    print(f"mvt {checksum(x1) + checksum(x2):.12e}")


if __name__ == "__main__":
    main()
