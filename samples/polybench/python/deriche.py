"""deriche: The recursive smoothing filter of Deriche: convolves an image with k (1 + alpha |d|) exp(-alpha
|d|) along both of its axes, with two recurrences per line (left to right and back, down and up).

size  MINI (default)   SMALL  MEDIUM   LARGE
W                 64     192     720    4096
H                 64     128     480    2160
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

W = 64
H = 64


def kernel_deriche(
    w: int,
    h: int,
    alpha: float,
    image: npt.NDArray[np.float32],
    out: npt.NDArray[np.float32],
    y1: npt.NDArray[np.float32],
    y2: npt.NDArray[np.float32],
) -> None:
    """Four recurrences, two along each axis."""
    e1 = math.exp(-alpha)
    e2 = math.exp(-2.0 * alpha)
    k = (1.0 - e1) * (1.0 - e1) / (1.0 + 2.0 * alpha * e1 - e2)
    a1 = k
    a2 = k * e1 * (alpha - 1.0)
    a3 = k * e1 * (alpha + 1.0)
    a4 = -k * e2
    b1 = 2.0 * e1
    b2 = -e2
    for i in range(w):
        x1 = p2 = p1 = 0.0
        for j in range(h):
            y1[i, j] = a1 * image[i, j] + a2 * x1 + b1 * p1 + b2 * p2
            x1 = image[i, j]
            p2 = p1
            p1 = y1[i, j]
    for i in range(w):
        x2 = x1 = p2 = p1 = 0.0
        for j in range(h - 1, -1, -1):
            y2[i, j] = a3 * x1 + a4 * x2 + b1 * p1 + b2 * p2
            x2 = x1
            x1 = image[i, j]
            p2 = p1
            p1 = y2[i, j]
    for i in range(w):
        for j in range(h):
            out[i, j] = y1[i, j] + y2[i, j]
    for j in range(h):
        x1 = p2 = p1 = 0.0
        for i in range(w):
            y1[i, j] = a1 * out[i, j] + a2 * x1 + b1 * p1 + b2 * p2
            x1 = out[i, j]
            p2 = p1
            p1 = y1[i, j]
    for j in range(h):
        x2 = x1 = p2 = p1 = 0.0
        for i in range(w - 1, -1, -1):
            y2[i, j] = a3 * x1 + a4 * x2 + b1 * p1 + b2 * p2
            x2 = x1
            x1 = out[i, j]
            p2 = p1
            p1 = y2[i, j]
    for i in range(w):
        for j in range(h):
            out[i, j] = y1[i, j] + y2[i, j]


def init(w: int, h: int, image: npt.NDArray[np.float32]) -> None:
    """Fill the arrays that the kernel reads."""
    for i in range(w):
        for j in range(h):
            image[i, j] = (313 * i + 991 * j) % 257 / 256.0


def checksum(A: npt.NDArray) -> float:
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(A.ravel() * (np.arange(A.size) % 7 + 1)))


def main(kernel: Callable[..., None] = kernel_deriche) -> None:
    """Run one form of the kernel and print the checksum of what it leaves."""
    image = np.empty((W, H), np.float32)
    out = np.empty((W, H), np.float32)
    y1 = np.empty((W, H), np.float32)
    y2 = np.empty((W, H), np.float32)
    init(W, H, image)
    kernel(W, H, 0.25, image, out, y1, y2)
    print(f"deriche {checksum(out):.12e}")


if __name__ == "__main__":
    main()
