"""trisolv: Solves L x = b by forward substitution, L lower triangular.

size  MINI (default)   SMALL  MEDIUM   LARGE
N                 40     120     400    2000
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

N = 40


def kernel_trisolv(
    n: int, L: npt.NDArray[np.float64], x: npt.NDArray[np.float64], b: npt.NDArray[np.float64]
) -> None:
    """Substitute forwards."""
    for i in range(n):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]


def kernel_trisolv_numpy(
    n: int, L: npt.NDArray[np.float64], x: npt.NDArray[np.float64], b: npt.NDArray[np.float64]
) -> None:
    """The same with inner products."""
    for i in range(n):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]


def init(n: int, L: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(n):
        b[i] = i % 9 + 1.0
        for j in range(n):
            L[i, j] = (i + n - j + 1) * 2.0 / n / n if j < i else 2.0 if j == i else -999.0


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_trisolv) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    L = np.empty((N, N))
    x = np.empty(N)
    b = np.empty(N)
    init(N, L, b)
    kernel(N, L, x, b)
    print(f"trisolv {checksum(x):.12e}")


if __name__ == "__main__":
    main()
