"""Blurs a picture: by a window, by two passes of a Gaussian, in place, and along one diagonal."""

import math

import numpy as np

WIDTH, HEIGHT = 48, 36
RADIUS = 2


def stripes(width, height):
    """Return a picture of stripes and a disc, as bytes."""
    picture = np.zeros((height, width), dtype=np.uint8)
    for y in range(height):
        for x in range(width):
            value = (7 * x + 3 * y) % 64
            if (x - width // 2) ** 2 + (y - height // 2) ** 2 < 100:
                value += 150
            picture[y, x] = value
    return picture


def box_blur(picture, radius):
    """Return the mean of every pixel's window, which is cut off at the border.

    Parameters
    ----------
    picture : ndarray of uint8, shape (height, width)
    radius : int
    """
    height, width = picture.shape
    out = np.empty_like(picture)
    for y in range(height):
        for x in range(width):
            total = 0
            count = 0
            for dy in range(max(y - radius, 0), min(y + radius + 1, height)):
                for dx in range(max(x - radius, 0), min(x + radius + 1, width)):
                    total += int(picture[dy, dx])
                    count += 1
            out[y, x] = (total + count // 2) // count
    return out


def gaussian_weights(radius):
    """Return weights that add up to one."""
    weights = np.array([math.exp(-(k * k) / (radius * radius)) for k in range(-radius, radius + 1)])
    return weights / weights.sum()


def gaussian_blur(picture, radius):
    """Return the picture convolved along rows, then along columns; the border is left out."""
    weights = gaussian_weights(radius)
    height, width = picture.shape
    rows = picture.astype(np.float64)
    for y in range(height):
        for x in range(radius, width - radius):
            s = 0.0
            for k in range(2 * radius + 1):
                s += weights[k] * picture[y, x + k - radius]
            rows[y, x] = s
    out = rows.copy()
    for y in range(radius, height - radius):
        for x in range(width):
            s = 0.0
            for k in range(2 * radius + 1):
                s += weights[k] * rows[y + k - radius, x]
            out[y, x] = s
    return out


def blur_slices(a):
    """Return the mean of every inner pixel and its four neighbours, without a loop."""
    out = a.copy()
    out[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
    return out


def blur_in_place(a):
    """Mix every pixel with the one above it: each row needs the new one before it."""
    for y in range(1, a.shape[0]):
        a[y, :] = 0.5 * (a[y, :] + a[y - 1, :])


def motion_blur(a, length):
    """Return the mean along the diagonal; the rest of the picture is kept."""
    out = a.copy()
    height, width = a.shape
    for y in range(height - length):
        for x in range(width - length):
            out[y, x] = 0.0
            for k in range(length):
                out[y, x] += a[y + k, x + k]
            out[y, x] /= length
    return out


def weighted(a):
    """Return the sum of all elements, each times its flat index modulo 7, plus 1."""
    return float(np.sum(a.ravel().astype(np.float64) * (np.arange(a.size) % 7 + 1)))


def main():
    """Print a figure for every filter."""
    picture = stripes(WIDTH, HEIGHT)
    boxed = box_blur(picture, RADIUS)
    smooth = gaussian_blur(picture, RADIUS)
    mixed = blur_slices(smooth)
    moved = motion_blur(mixed, 5)
    blur_in_place(mixed)
    print("boxed", int(weighted(boxed)))
    print("smooth", f"{weighted(smooth):.9e}")
    print("moved", f"{weighted(moved):.9e}")
    print("checksum", f"{weighted(mixed):.9e}")


if __name__ == "__main__":
    main()
