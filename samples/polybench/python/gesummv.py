"""gesummv: y = alpha A x + beta B x, two matrix-vector products added.

size  MINI (default)   SMALL  MEDIUM   LARGE
N                 30      90     250    1300
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

N = 30


def kernel_gesummv(
    n: int,
    alpha: float,
    beta: float,
    A: npt.NDArray[np.float64],
    B: npt.NDArray[np.float64],
    x: npt.NDArray[np.float64],
    y: npt.NDArray[np.float64],
) -> None:
    """Two products in one pass."""
    for i in range(n):
        from_a = 0.0
        from_b = 0.0
        for j in range(n):
            from_a += A[i, j] * x[j]
            from_b += B[i, j] * x[j]
        y[i] = alpha * from_a + beta * from_b


def kernel_gesummv_numpy(
    n: int,
    alpha: float,
    beta: float,
    A: npt.NDArray[np.float64],
    B: npt.NDArray[np.float64],
    x: npt.NDArray[np.float64],
    y: npt.NDArray[np.float64],
) -> None:
    """The same with array statements."""
    y[:] = alpha * A @ x + beta * B @ x


def init(n: int, A: npt.NDArray[np.float64], B: npt.NDArray[np.float64], x: npt.NDArray[np.float64]) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(n):
        x[i] = i % 9 / 9.0
        for j in range(n):
            A[i, j] = (4 * i + 7 * j + 1) % 13 / 13.0
            B[i, j] = (3 * i + 2 * j + 2) % 17 / 17.0


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_gesummv) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    A = np.empty((N, N))
    B = np.empty((N, N))
    x = np.empty(N)
    y = np.empty(N)
    init(N, A, B, x)
    kernel(N, 1.5, 1.2, A, B, x, y)
    print(f"gesummv {checksum(y):.12e}")


if __name__ == "__main__":
    main()
