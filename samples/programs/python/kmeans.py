"""k-means: points are assigned to the nearest of k centres, which move to the middle of their points."""

import numpy as np

POINTS, DIMENSIONS, CLUSTERS = 300, 3, 4


def scattered(n, d, k):
    """Return points around k places, out of a small generator of numbers."""
    points = np.zeros((n, d))
    state = 12345
    for i in range(n):
        for j in range(d):
            state = (1103515245 * state + 12345) % 2**31
            points[i, j] = 10.0 * ((i % k) * (j + 1) % k) + state / 2**31
    return points


def assign(points, centres, labels):
    """Label every point with its nearest centre; return how many labels changed."""
    n, d = points.shape
    k = len(centres)
    changed = 0
    for i in range(n):
        best = np.inf
        nearest = 0
        for c in range(k):
            distance = 0.0
            for j in range(d):
                difference = points[i, j] - centres[c, j]
                distance += difference * difference
            if distance < best:
                best = distance
                nearest = c
        if labels[i] != nearest:
            changed += 1
        labels[i] = nearest
    return changed


def distances(points, centres):
    """Return the squared distance of every point from every centre, by broadcasting."""
    difference = points[:, np.newaxis, :] - centres[np.newaxis, :, :]
    return np.sum(difference * difference, axis=2)


def move(points, labels, centres):
    """Move every centre to the mean of its points: two points may add to the same one."""
    n, d = points.shape
    counts = np.zeros(len(centres))
    centres[:] = 0.0
    for i in range(n):
        counts[labels[i]] += 1.0
        for j in range(d):
            centres[labels[i], j] += points[i, j]
    for c in range(len(centres)):
        if counts[c] > 0:
            for j in range(d):
                centres[c, j] /= counts[c]


def cost(points, labels, centres):
    """Return the sum of the squared distances from the centres."""
    total = 0.0
    for i, label in enumerate(labels):
        for j in range(points.shape[1]):
            total += (points[i, j] - centres[label, j]) ** 2
    return total


def main():
    """Cluster points until nothing changes."""
    points = scattered(POINTS, DIMENSIONS, CLUSTERS)
    centres = points[: CLUSTERS * CLUSTERS : CLUSTERS].copy()
    labels = np.full(POINTS, -1, dtype=np.int64)
    rounds = 0
    while assign(points, centres, labels) > 0:
        move(points, labels, centres)
        rounds += 1
    print("rounds", rounds)
    print("largest", int(np.bincount(labels).max()))
    print("differ", int(np.sum(np.argmin(distances(points, centres), axis=1) != labels)))
    print("checksum", f"{cost(points, labels, centres):.9e}")


if __name__ == "__main__":
    main()
