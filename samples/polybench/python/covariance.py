"""covariance: The covariance matrix of m variables (columns) observed n times (rows).

size  MINI (default)   SMALL  MEDIUM   LARGE
M                 28      80     240    1200
N                 32     100     260    1400
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

M = 28
N = 32


def kernel_covariance(
    m: int, n: int, data: npt.NDArray[np.float64], cov: npt.NDArray[np.float64], mean: npt.NDArray[np.float64]
) -> None:
    """Centre the columns, then multiply them with each other."""
    for j in range(m):
        mean[j] = 0.0
        for i in range(n):
            mean[j] += data[i, j]
        mean[j] /= n
    for i in range(n):
        for j in range(m):
            data[i, j] -= mean[j]
    for i in range(m):
        for j in range(i, m):
            cov[i, j] = 0.0
            for k in range(n):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] /= n - 1.0
            cov[j, i] = cov[i, j]


def kernel_covariance_numpy(
    m: int, n: int, data: npt.NDArray[np.float64], cov: npt.NDArray[np.float64], mean: npt.NDArray[np.float64]
) -> None:
    """The same with array statements."""
    mean[:] = np.mean(data, axis=0)
    data -= mean
    cov[:] = data.T @ data / (n - 1.0)


def init(m: int, n: int, data: npt.NDArray[np.float64]) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(n):
        for j in range(m):
            data[i, j] = i * j % 13 / 13.0 + i / n


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_covariance) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    data = np.empty((N, M))
    cov = np.empty((M, M))
    mean = np.empty(M)
    init(M, N, data)
    kernel(M, N, data, cov, mean)
    print(f"covariance {checksum(cov):.12e}")


if __name__ == "__main__":
    main()
