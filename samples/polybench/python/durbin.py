"""durbin: The Levinson-Durbin recursion: solves T y = -r for the symmetric Toeplitz matrix T with ones on
its diagonal and r[|i - j| - 1] off it.

size  MINI (default)   SMALL  MEDIUM   LARGE
N                 40     120     400    2000
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

N = 40


def kernel_durbin(
    n: int, r: npt.NDArray[np.float64], y: npt.NDArray[np.float64], z: npt.NDArray[np.float64]
) -> None:
    """Solve for one more unknown in every round."""
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, n):
        sum = 0.0
        beta = (1.0 - alpha * alpha) * beta
        for i in range(k):
            sum += r[k - i - 1] * y[i]
        alpha = -(r[k] + sum) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha


def kernel_durbin_numpy(
    n: int, r: npt.NDArray[np.float64], y: npt.NDArray[np.float64], z: npt.NDArray[np.float64]
) -> None:
    """The same with inner products and reversed slices."""
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, n):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + r[:k][::-1] @ y[:k]) / beta
        z[:k] = y[:k] + alpha * y[:k][::-1]
        y[:k] = z[:k]
        y[k] = alpha


def init(n: int, r: npt.NDArray[np.float64]) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(n):
        r[i] = 1.0 / (i + 2)


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_durbin) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    r = np.empty(N)
    y = np.empty(N)
    z = np.empty(N)
    init(N, r)
    kernel(N, r, y, z)
    print(f"durbin {checksum(y):.12e}")


if __name__ == "__main__":
    main()
