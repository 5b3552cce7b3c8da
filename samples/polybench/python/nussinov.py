"""nussinov: The largest number of base pairs in a folding of an RNA sequence, by dynamic programming over
its intervals (Nussinov). Bases are 0 to 3; two that add up to 3 pair; neighbours never do.

size  MINI (default)   SMALL  MEDIUM   LARGE
N                 60     180     500    2500
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

N = 60


def kernel_nussinov(n: int, seq: npt.NDArray[np.uint8], table: npt.NDArray[np.int64]) -> None:
    """Fill the table of intervals from the last row upwards."""
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i, j], table[i, j - 1])
            table[i, j] = max(table[i, j], table[i + 1, j])
            if i < j - 1:
                table[i, j] = max(table[i, j], table[i + 1, j - 1] + (1 if seq[i] + seq[j] == 3 else 0))
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])


def init(n: int, seq: npt.NDArray[np.uint8], table: npt.NDArray[np.int64]) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(n):
        seq[i] = (7 * i * i + 3 * i + i // 5) % 4
        for j in range(n):
            table[i, j] = 0


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_nussinov) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    seq = np.empty(N, np.uint8)
    table = np.empty((N, N), np.int64)
    init(N, seq, table)
    kernel(N, seq, table)
    print(f"nussinov {checksum(table):.12e}")


if __name__ == "__main__":
    main()
