"""A file in the middle of being edited: functions that do not parse, each in its own way, between good ones."""

import numpy as np
import numpy.typing as npt


def good_scale(a: npt.NDArray[np.float64], n: int) -> None:
    """Before anything is wrong."""
    for i in range(n):
        a[i] = 2.0 * a[i]


def half_header(a: npt.NDArray[np.float64], n: int


def good_chain(a: npt.NDArray[np.float64], n: int) -> None:
    """After a header that was never finished."""
    for i in range(1, n):
        a[i] = a[i - 1] + 1.0


def missing_colon(a, n):
    for i in range(n)
        a[i] = 0.0


def good_sum(a: npt.NDArray[np.float64], n: int) -> float:
    """After a loop without its colon."""
    s = 0.0
    for i in range(n):
        s += a[i]
    return s


def unclosed_parenthesis(a, b, n):
    for i in range(n):
        a[i] = max(b[i], (b[i] - 1.0)
    return a


def good_copy(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64], n: int) -> None:
    """After a call that was never closed."""
    for i in range(n):
        b[i] = a[n - 1 - i]


def body_to_come(a, n):
    for i in range(n):


def good_matrix(c: npt.NDArray[np.float64], n: int, m: int) -> None:
    """After a loop without a body."""
    for i in range(n):
        for j in range(m):
            c[i, j] = i + j


def wrong_indentation(a, n):
    for i in range(n):
        a[i] = 1.0
      a[i] += 1.0


def good_sweep(u: npt.NDArray[np.float64], n: int) -> None:
    """After a line that is indented like nothing else."""
    for t in range(10):
        for i in range(1, n - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1])


def open_string(a, n):
    print("still at work on
    for i in range(n):
        a[i] = 3.0


class Grid:
    """After a string that was never closed; one of its methods is half typed."""

    def good_clear(self, a: npt.NDArray[np.float64], n: int) -> None:
        """In a class."""
        for i in range(n):
            a[i] = 0.0

    def half_expression(self, a, n):
        for i in range(n):
            a[i] = a[i] +

    def good_shift(self, a: npt.NDArray[np.float64], n: int) -> None:
        """After a half expression, in the same class."""
        for i in range(n - 1):
            a[i] = a[i + 1]


def stray_else(a, n):
    for i in range(n):
        a[i] = 0.0
    else if n > 0:
        a[0] = 1.0


def good_last(a: npt.NDArray[np.float64], n: int) -> None:
    """Before the line at which the cursor stands."""
    for i in range(0, n, 2):
        a[i] = a[i] * a[i]


def cursor_here(a, n):
    for i in ran
