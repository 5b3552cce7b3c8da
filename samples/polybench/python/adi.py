"""adi: The two-dimensional heat equation by alternating directions: each time step solves a tridiagonal
system per column, then one per row, by elimination and back substitution. The border is kept at one.

size    MINI (default)   SMALL  MEDIUM   LARGE
TSTEPS              20      40     100     500
N                   20      60     200    1000
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

TSTEPS = 20
N = 20


def kernel_adi(
    tsteps: int,
    n: int,
    u: npt.NDArray[np.float64],
    v: npt.NDArray[np.float64],
    p: npt.NDArray[np.float64],
    q: npt.NDArray[np.float64],
) -> None:
    """Sweep along columns, then along rows, in every time step."""
    # Twice as conductive along columns as along rows.
    along = 2.0 / tsteps * n * n
    across = 1.0 / tsteps * n * n
    a = -along / 2.0
    b = 1.0 + along
    c = a
    d = -across / 2.0
    e = 1.0 + across
    f = d
    for t in range(1, tsteps + 1):
        for i in range(1, n - 1):
            v[0, i] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = v[0, i]
            for j in range(1, n - 1):
                p[i, j] = -c / (a * p[i, j - 1] + b)
                q[i, j] = (
                    -d * u[j, i - 1] + (1.0 + 2.0 * d) * u[j, i] - f * u[j, i + 1] - a * q[i, j - 1]
                ) / (a * p[i, j - 1] + b)
            v[n - 1, i] = 1.0
            for j in range(n - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in range(1, n - 1):
            u[i, 0] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = u[i, 0]
            for j in range(1, n - 1):
                p[i, j] = -f / (d * p[i, j - 1] + e)
                q[i, j] = (
                    -a * v[i - 1, j] + (1.0 + 2.0 * a) * v[i, j] - c * v[i + 1, j] - d * q[i, j - 1]
                ) / (d * p[i, j - 1] + e)
            u[i, n - 1] = 1.0
            for j in range(n - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]


def kernel_adi_numpy(
    tsteps: int,
    n: int,
    u: npt.NDArray[np.float64],
    v: npt.NDArray[np.float64],
    p: npt.NDArray[np.float64],
    q: npt.NDArray[np.float64],
) -> None:
    """The same with all lines of a sweep at once."""
    along = 2.0 / tsteps * n * n
    across = 1.0 / tsteps * n * n
    a, b = -along / 2.0, 1.0 + along
    d, e = -across / 2.0, 1.0 + across
    for _ in range(tsteps):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            p[1:-1, j] = -a / (a * p[1:-1, j - 1] + b)
            q[1:-1, j] = (
                -d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - d * u[j, 2:] - a * q[1:-1, j - 1]
            ) / (a * p[1:-1, j - 1] + b)
        v[n - 1, 1:-1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, n - 1):
            p[1:-1, j] = -d / (d * p[1:-1, j - 1] + e)
            q[1:-1, j] = (
                -a * v[:-2, j] + (1.0 + 2.0 * a) * v[1:-1, j] - a * v[2:, j] - d * q[1:-1, j - 1]
            ) / (d * p[1:-1, j - 1] + e)
        u[1:-1, n - 1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]


def init(n: int, u: npt.NDArray[np.float64]) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(n):
        for j in range(n):
            u[i, j] = (i + n - j) / n


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_adi) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    u = np.empty((N, N))
    v = np.empty((N, N))
    p = np.empty((N, N))
    q = np.empty((N, N))
    init(N, u)
    kernel(TSTEPS, N, u, v, p, q)
    print(f"adi {checksum(u):.12e}")


if __name__ == "__main__":
    main()
