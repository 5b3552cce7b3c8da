"""fdtd-2d: Maxwell's equations in two dimensions by finite differences in the time domain: two electric
fields and one magnetic field on staggered grids.

size  MINI (default)   SMALL  MEDIUM   LARGE
TMAX              20      40     100     500
NX                20      60     200    1000
NY                30      80     240    1200
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

TMAX = 20
NX = 20
NY = 30


def kernel_fdtd_2d(
    tmax: int,
    nx: int,
    ny: int,
    ex: npt.NDArray[np.float64],
    ey: npt.NDArray[np.float64],
    hz: npt.NDArray[np.float64],
    source: npt.NDArray[np.float64],
) -> None:
    """Update the three fields in every time step."""
    for t in range(tmax):
        for j in range(ny):
            ey[0, j] = source[t]
        for i in range(1, nx):
            for j in range(ny):
                ey[i, j] = ey[i, j] - 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(nx):
            for j in range(1, ny):
                ex[i, j] = ex[i, j] - 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(nx - 1):
            for j in range(ny - 1):
                hz[i, j] = hz[i, j] - 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


def kernel_fdtd_2d_numpy(
    tmax: int,
    nx: int,
    ny: int,
    ex: npt.NDArray[np.float64],
    ey: npt.NDArray[np.float64],
    hz: npt.NDArray[np.float64],
    source: npt.NDArray[np.float64],
) -> None:
    """The same with array statements."""
    for t in range(tmax):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def init(
    tmax: int,
    nx: int,
    ny: int,
    ex: npt.NDArray[np.float64],
    ey: npt.NDArray[np.float64],
    hz: npt.NDArray[np.float64],
    source: npt.NDArray[np.float64],
) -> None:
    """Fill the arrays that the kernel reads."""
    for t in range(tmax):
        source[t] = t % 10
    for i in range(nx):
        for j in range(ny):
            ex[i, j] = i * (j + 1) / nx
            ey[i, j] = i * (j + 2) / ny
            hz[i, j] = i * (j + 3) / nx


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_fdtd_2d) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    ex = np.empty((NX, NY))
    ey = np.empty((NX, NY))
    hz = np.empty((NX, NY))
    source = np.empty(TMAX)
    init(TMAX, NX, NY, ex, ey, hz, source)
    kernel(TMAX, NX, NY, ex, ey, hz, source)
    print(f"fdtd-2d {checksum(ex) + checksum(ey) + checksum(hz):.12e}")


if __name__ == "__main__":
    main()
