"""The Mandelbrot set: how many steps every point takes to leave, by loops, by arrays, by Numba."""

import numpy as np
from numba import njit, prange

WIDTH, HEIGHT, STEPS = 60, 40, 50


def escape_time(x: float, y: float, steps: int) -> int:
    """Return after how many steps a point leaves the disc, or the number of steps."""
    zx, zy = 0.0, 0.0
    for step in range(steps):
        if zx * zx + zy * zy > 4.0:
            return step
        zx, zy = zx * zx - zy * zy + x, 2.0 * zx * zy + y
    return steps


def by_loops(width: int, height: int, steps: int) -> np.ndarray:
    """Return the counts, one pixel after the other."""
    counts = np.zeros((height, width), dtype=np.int64)
    for row in range(height):
        y = 2.0 * row / (height - 1) - 1.0
        for column in range(width):
            x = 3.0 * column / (width - 1) - 2.0
            counts[row, column] = escape_time(x, y, steps)
    return counts


def by_arrays(width: int, height: int, steps: int) -> np.ndarray:
    """Return the counts, all pixels at once."""
    x = 3.0 * np.arange(width) / (width - 1) - 2.0
    y = 2.0 * np.arange(height) / (height - 1) - 1.0
    c = x[np.newaxis, :] + 1j * y[:, np.newaxis]
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, dtype=np.int64)
    inside = np.ones(c.shape, dtype=bool)
    for _ in range(steps):
        inside &= z.real * z.real + z.imag * z.imag <= 4.0
        z[inside] = z[inside] ** 2 + c[inside]
        counts[inside] += 1
    return counts


@njit(parallel=True)
def by_threads(width, height, steps):
    """Return the counts, with the rows shared out among threads."""
    counts = np.zeros((height, width), dtype=np.int64)
    for row in prange(height):
        y = 2.0 * row / (height - 1) - 1.0
        for column in range(width):
            x = 3.0 * column / (width - 1) - 2.0
            zx = 0.0
            zy = 0.0
            step = 0
            while step < steps and zx * zx + zy * zy <= 4.0:
                zx, zy = zx * zx - zy * zy + x, 2.0 * zx * zy + y
                step += 1
            counts[row, column] = step
    return counts


def main() -> None:
    """Count in three ways."""
    counts = by_loops(WIDTH, HEIGHT, STEPS)
    print("inside", int(np.sum(counts == STEPS)))
    print("arrays_differ", int(np.sum(counts != by_arrays(WIDTH, HEIGHT, STEPS))))
    print("threads_differ", int(np.sum(counts != by_threads(WIDTH, HEIGHT, STEPS))))
    print("checksum", int(np.sum(counts.ravel() * (np.arange(counts.size) % 7 + 1))))


if __name__ == "__main__":
    main()
