"""Solves Laplace's equation by sweeps until they change little: a loop that ends by what it computes."""

import numpy as np

N, TOLERANCE, MOST = 30, 1e-4, 5000


def boundary(n):
    """Return a grid that is warm along one side."""
    grid = np.zeros((n, n))
    grid[0, :] = 1.0
    return grid


def sweep(old, new):
    """Write the mean of the neighbours of every inner point; return the largest change."""
    change = 0.0
    for i in range(1, old.shape[0] - 1):
        for j in range(1, old.shape[1] - 1):
            new[i, j] = 0.25 * (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1])
            change = max(change, abs(new[i, j] - old[i, j]))
    return change


def solve(grid, tolerance, most):
    """Sweep back and forth between two grids; return the solution and the number of sweeps."""
    old, new = grid, grid.copy()
    for count in range(1, most + 1):
        change = sweep(old, new)
        old, new = new, old
        if change < tolerance:
            break
    else:
        raise ArithmeticError("no convergence")
    return old, count


def solve_at_once(grid, tolerance):
    """Sweep with array statements."""
    count = 0
    error = tolerance
    while error >= tolerance:
        before = grid.copy()
        grid[1:-1, 1:-1] = (before[:-2, 1:-1] + before[2:, 1:-1] + before[1:-1, :-2] + before[1:-1, 2:]) / 4
        error = np.max(np.abs(grid - before))
        count += 1
    return grid, count


def red_black(grid, sweeps, omega):
    """Relax the points of one colour, then those of the other: points of a colour are independent."""
    n, m = grid.shape
    for _ in range(sweeps):
        for colour in range(2):
            for i in range(1, n - 1):
                for j in range(1 + (i + colour) % 2, m - 1, 2):
                    mean = (grid[i - 1, j] + grid[i + 1, j] + grid[i, j - 1] + grid[i, j + 1]) / 4
                    grid[i, j] += omega * (mean - grid[i, j])


def main():
    """Solve in three ways."""
    by_loops, sweeps = solve(boundary(N), TOLERANCE, MOST)
    at_once, count = solve_at_once(boundary(N), TOLERANCE)
    coloured = boundary(N)
    red_black(coloured, 200, 1.8)
    print("sweeps", sweeps)
    print("differ", abs(sweeps - count) + int(np.sum(by_loops != at_once)))
    print("distance", f"{np.max(np.abs(coloured - by_loops)):.6e}")
    print("checksum", f"{float(np.sum(coloured.ravel() * (np.arange(coloured.size) % 7 + 1))):.9e}")


if __name__ == "__main__":
    main()
