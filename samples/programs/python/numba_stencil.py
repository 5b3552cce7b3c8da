"""Stencils compiled by Numba: signatures, `prange`, functions that call each other."""

import numpy as np
from numba import njit, prange

N, STEPS = 40, 25


@njit("f8(f8, f8, f8, f8, f8)")
def mean(a, b, c, d, e):
    """Return the mean of five numbers."""
    return 0.2 * (a + b + c + d + e)


@njit("void(f8[:,:], f8[:,:])", parallel=True)
def smooth(source, target):
    """Write the mean of every point and its neighbours; rows are shared out among threads."""
    n, m = source.shape
    for i in prange(1, n - 1):
        for j in range(1, m - 1):
            target[i, j] = mean(
                source[i, j], source[i - 1, j], source[i + 1, j], source[i, j - 1], source[i, j + 1]
            )


@njit
def smooth_in_place(grid):
    """Smooth from top left to bottom right: every point needs new ones."""
    for i in range(1, grid.shape[0] - 1):
        for j in range(1, grid.shape[1] - 1):
            grid[i, j] = mean(grid[i, j], grid[i - 1, j], grid[i + 1, j], grid[i, j - 1], grid[i, j + 1])


@njit(parallel=True, fastmath=True)
def energy(grid):
    """Return the sum of the squares: a reduction that Numba recognises."""
    total = 0.0
    for i in prange(grid.shape[0]):
        for j in range(grid.shape[1]):
            total += grid[i, j] * grid[i, j]
    return total


@njit(parallel=True)
def column_sums(grid):
    """Return the sums of the columns: every thread has columns of its own."""
    sums = np.zeros(grid.shape[1])
    for j in prange(grid.shape[1]):
        for i in range(grid.shape[0]):
            sums[j] += grid[i, j]
    return sums


@njit(cache=False)
def run(grid, steps):
    """Smooth back and forth between two grids."""
    other = grid.copy()
    for _ in range(steps):
        smooth(grid, other)
        smooth(other, grid)


def main():
    """Smooth a peak."""
    grid = np.zeros((N, N))
    grid[N // 2, N // 2] = 1.0
    run(grid, STEPS)
    sums = column_sums(grid)
    print("energy", f"{energy(grid):.9e}")
    print("kept", f"{sums.sum():.9e}")
    smooth_in_place(grid)
    print("checksum", f"{float(np.sum(grid.ravel() * (np.arange(grid.size) % 7 + 1))):.9e}")


if __name__ == "__main__":
    main()
