"""Prefix sums: by a chain, by doubling, by blocks; moving averages and compaction that use them."""

import numpy as np

N = 1000


def scan(x):
    """Return the sums of all beginnings: every element needs the one before."""
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = y[i - 1] + x[i]
    return y


def scan_by_doubling(x):
    """Return the same in few rounds, each of which is parallel thanks to a second array."""
    y = x.copy()
    distance = 1
    while distance < len(y):
        z = y.copy()
        for i in range(distance, len(y)):
            z[i] = y[i] + y[i - distance]
        y = z
        distance *= 2
    return y


def scan_by_slices(x):
    """Return the same with array statements; NumPy reads all of the right-hand side before it stores."""
    y = x.copy()
    distance = 1
    while distance < y.size:
        y[distance:] += y[:-distance].copy()
        distance *= 2
    return y


def scan_by_blocks(x, block):
    """Return the same: blocks on their own, then their totals, then both together."""
    y = x.copy()
    blocks = -(-len(x) // block)
    for b in range(blocks):
        for i in range(b * block + 1, min(b * block + block, len(x))):
            y[i] += y[i - 1]
    for b in range(1, blocks):
        before = y[b * block - 1]
        for i in range(b * block, min(b * block + block, len(x))):
            y[i] += before
    return y


def moving_average(x, width):
    """Return the means of all windows, as differences of prefix sums."""
    sums = scan(x)
    means = np.zeros(len(x) - width)
    for i in range(len(means)):
        means[i] = (sums[i + width] - sums[i]) / width
    return means


def positive(x):
    """Return the positive elements: where one goes depends on how many came before."""
    kept = []
    for value in x:
        if value > 0:
            kept.append(value)
    return kept


def positive_by_scan(x):
    """Return the same: the prefix sums of the flags are the places."""
    flags = (x > 0).astype(np.int64)
    places = scan(flags)
    kept = np.empty(places[-1], dtype=x.dtype)
    for i in range(len(x)):
        if flags[i]:
            kept[places[i] - 1] = x[i]
    return kept


def main():
    """Compute everything in all ways."""
    i = np.arange(N)
    x = (i * 37 + i * i % 11) % 41 - 15
    sums = scan(x)
    ways = [scan_by_doubling(x), scan_by_slices(x), scan_by_blocks(x, 64), np.cumsum(x)]
    kept = positive_by_scan(x)
    print("total", sums[-1])
    print("differ", int(sum(np.sum(way != sums) for way in ways) + np.sum(kept != positive(x))))
    print("kept", len(kept))
    print("means", f"{float(np.sum(moving_average(x, 10))):.9e}")
    print("checksum", int(np.sum(sums * (i % 7 + 1)) + np.sum(kept * (np.arange(len(kept)) % 7 + 1))))


if __name__ == "__main__":
    main()
