"""floyd-warshall: All shortest paths of a directed graph with n nodes, from its matrix of edge lengths.

size  MINI (default)   SMALL  MEDIUM   LARGE
N                 60     180     500    2800
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

N = 60
NO_EDGE = 9999


def kernel_floyd_warshall(path: npt.NDArray[np.int64]) -> None:
    """Allow one more node on the way in every round."""
    for k in range(N):
        for i in range(N):
            for j in range(N):
                path[i, j] = path[i, j] if path[i, j] < path[i, k] + path[k, j] else path[i, k] + path[k, j]


def kernel_floyd_warshall_numpy(path: npt.NDArray[np.int64]) -> None:
    """The same with one array statement per round."""
    for k in range(N):
        path[:] = np.minimum(path, path[:, k, np.newaxis] + path[k, :])


def init(path: npt.NDArray[np.int64]) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(N):
        for j in range(N):
            path[i, j] = (5 * i + 11 * j) % 17 + 1
            if (i + 2 * j) % 3 == 0:
                path[i, j] = NO_EDGE
            if i == j:
                path[i, j] = 0


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_floyd_warshall) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    path = np.empty((N, N), np.int64)
    init(path)
    kernel(path)
    print(f"floyd-warshall {checksum(path):.12e}")


if __name__ == "__main__":
    main()
