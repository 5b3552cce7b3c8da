"""Reference output of each PolyBench sample, recomputed from the mathematics with numpy.

Each function takes the sizes of the sample by name and returns its checksum. Only the initial data are
written as in the sample; the computation takes another path wherever there is one (matrix products, library
solvers, a convolution for the recursive filter, memoised recursion), so that a mistake does not occur twice.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.floating]

ALPHA, BETA = 1.5, 1.2


def weighted(*outputs: npt.ArrayLike) -> float:
    """Return the checksum that the samples print: each element times its flat index modulo 7, plus 1."""
    flat = [np.ravel(output) for output in outputs]
    return float(sum(np.sum(a * (np.arange(a.size) % 7 + 1)) for a in flat))


def pattern(rows: int, cols: int, p: int, q: int, r: int, modulus: int) -> Array:
    """Return the matrix of (p i + q j + r) mod modulus / modulus."""
    i, j = np.indices((rows, cols))
    return (p * i + q * j + r) % modulus / modulus


def gemm(*, NI: int, NJ: int, NK: int) -> float:
    C, A, B = pattern(NI, NJ, 3, 5, 1, 11), pattern(NI, NK, 7, 2, 2, 13), pattern(NK, NJ, 2, 9, 3, 17)
    return weighted(ALPHA * A @ B + BETA * C)


def gemver(*, N: int) -> float:
    i = np.arange(N)
    u1, u2, v1, v2 = i / N, (i + 1) / 2 / N, (i + 1) / 4 / N, (i + 1) / 6 / N
    y, z = (i + 1) / 8 / N, (i + 1) / 9 / N
    A = pattern(N, N, 5, 3, 1, 19) + np.outer(u1, v1) + np.outer(u2, v2)
    x = BETA * A.T @ y + z
    return weighted(ALPHA * A @ x, x)


def gesummv(*, N: int) -> float:
    x = np.arange(N) % 9 / 9
    return weighted((ALPHA * pattern(N, N, 4, 7, 1, 13) + BETA * pattern(N, N, 3, 2, 2, 17)) @ x)


def symm(*, M: int, N: int) -> float:
    lower = np.tril(pattern(M, M, 5, 2, 1, 17))
    A = lower + np.tril(lower, -1).T
    return weighted(ALPHA * A @ pattern(M, N, 8, 3, 2, 13) + BETA * pattern(M, N, 3, 4, 1, 11))


def syrk(*, M: int, N: int) -> float:
    A = pattern(N, M, 5, 4, 2, 13)
    return weighted(np.tril(ALPHA * A @ A.T + BETA * pattern(N, N, 2, 3, 1, 11)))


def syr2k(*, M: int, N: int) -> float:
    A, B = pattern(N, M, 5, 4, 2, 13), pattern(N, M, 3, 7, 3, 17)
    return weighted(np.tril(ALPHA * (A @ B.T + B @ A.T) + BETA * pattern(N, N, 2, 3, 1, 11)))


def trmm(*, M: int, N: int) -> float:
    A = np.tril(pattern(M, M, 3, 5, 1, 11), -1) + np.eye(M)
    return weighted(ALPHA * A.T @ pattern(M, N, 7, 2, 2, 13))


def two_mm(*, NI: int, NJ: int, NK: int, NL: int) -> float:
    A, B = pattern(NI, NK, 7, 2, 1, 11), pattern(NK, NJ, 2, 9, 2, 13)
    C, D = pattern(NJ, NL, 5, 3, 3, 17), pattern(NI, NL, 4, 7, 4, 19)
    return weighted(ALPHA * A @ (B @ C) + BETA * D)


def three_mm(*, NI: int, NJ: int, NK: int, NL: int, NM: int) -> float:
    A, B = pattern(NI, NK, 7, 2, 1, 11), pattern(NK, NJ, 2, 9, 2, 13)
    C, D = pattern(NJ, NM, 5, 3, 3, 17), pattern(NM, NL, 4, 7, 4, 19)
    return weighted(A @ (B @ C) @ D)


def atax(*, M: int, N: int) -> float:
    A = pattern(M, N, 3, 7, 1, 11)
    return weighted((A.T @ A) @ (1 + np.arange(N) / N))


def bicg(*, M: int, N: int) -> float:
    A = pattern(N, M, 4, 3, 1, 13)
    return weighted(A.T @ (np.arange(N) % 8 / 8), A @ (np.arange(M) % 9 / 9))


def doitgen(*, NR: int, NQ: int, NP: int) -> float:
    r, q, p = np.indices((NR, NQ, NP))
    A = (5 * r + 3 * q + 2 * p + 1) % 11 / 11
    return weighted(np.einsum("rqs,sp->rqp", A, pattern(NP, NP, 3, 7, 2, 13)))


def mvt(*, N: int) -> float:
    A, i = pattern(N, N, 3, 5, 1, 11), np.arange(N)
    return weighted(i / N + A @ ((i + 3) / N), (i + 1) / N + A.T @ ((i + 4) / N))


def cholesky(*, N: int) -> float:
    i, j = np.indices((N, N))
    return weighted(np.linalg.cholesky(np.where(i == j, 2.0, 1 / (1 + abs(i - j)))))


def durbin(*, N: int) -> float:
    r = 1 / (np.arange(N) + 2)
    first = np.concatenate(([1.0], r[: N - 1]))
    i, j = np.indices((N, N))
    return weighted(np.linalg.solve(first[abs(i - j)], -r))


def gramschmidt(*, M: int, N: int) -> float:
    i, j = np.indices((M, N))
    A = (3 * i + 5 * j + i * j % 7) % 13 / 13 + np.where(i == j, 2.0, 0.0)
    Q, R = np.linalg.qr(A)
    signs = np.sign(np.diag(R))  # the method of Gram and Schmidt makes the diagonal of R positive
    return weighted(signs[:, None] * R, Q * signs)


def lu(*, N: int) -> float:
    A = pattern(N, N, 3, 7, 1, 11) + N * np.eye(N)
    for k in range(N - 1):  # right-looking: the rest of the matrix loses a rank-one product per step
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return weighted(A)


def ludcmp(*, N: int) -> float:
    A = pattern(N, N, 5, 3, 1, 13) + N * np.eye(N)
    return weighted(np.linalg.solve(A, (np.arange(N) + 1) / N / 2 + 4))


def trisolv(*, N: int) -> float:
    i, j = np.indices((N, N))
    L = np.tril((i + N - j + 1) * 2 / N / N, -1) + 2 * np.eye(N)
    return weighted(np.linalg.solve(L, np.arange(N) % 9 + 1.0))


def observations(m: int, n: int) -> Array:
    i, j = np.indices((n, m))
    return i * j % 13 / 13 + i / n


def covariance(*, M: int, N: int) -> float:
    return weighted(np.cov(observations(M, N), rowvar=False))


def correlation(*, M: int, N: int) -> float:
    return weighted(np.corrcoef(observations(M, N), rowvar=False))


def deriche(*, W: int, H: int) -> float:
    i, j = np.indices((W, H))
    image = (313 * i + 991 * j) % 257 / 256
    return weighted(smoothing(W) @ image @ smoothing(H))


def smoothing(n: int) -> Array:
    """Return the matrix of the convolution that the two recurrences add up to, zero outside the image."""
    alpha = 0.25
    e = np.exp(-alpha)
    k = (1 - e) ** 2 / (1 + 2 * alpha * e - e**2)
    i, j = np.indices((n, n))
    d = alpha * abs(i - j)
    return k * (1 + d) * np.exp(-d)


def floyd_warshall(*, N: int) -> float:
    i, j = np.indices((N, N))
    path = np.where((i + 2 * j) % 3 == 0, 9999, (5 * i + 11 * j) % 17 + 1)
    path[i == j] = 0
    reached = 1  # the most edges in the paths considered: squaring the (min, +) matrix doubles it
    while reached < N:
        path = np.min(path[:, :, None] + path[None, :, :], axis=1)
        reached *= 2
    return weighted(path)


def nussinov(*, N: int) -> float:
    seq = [(7 * i * i + 3 * i + i // 5) % 4 for i in range(N)]

    @cache
    def pairs(i: int, j: int) -> int:
        """Base i stays alone, or pairs with some k: the textbook's other form of the recursion."""
        if j <= i:
            return 0
        best = pairs(i + 1, j)
        for k in range(i + 2, j + 1):
            if seq[i] + seq[k] == 3:
                best = max(best, pairs(i + 1, k - 1) + 1 + pairs(k + 1, j))
        return best

    table = np.zeros((N, N))
    for i in reversed(range(N)):
        for j in range(i + 1, N):
            table[i, j] = pairs(i, j)
    return weighted(table)


def adi(*, TSTEPS: int, N: int) -> float:
    i, j = np.indices((N, N))
    u, v = (i + N - j) / N, np.zeros((N, N))
    along, across = 2 / TSTEPS * N * N, 1 / TSTEPS * N * N
    for _ in range(TSTEPS):
        v[0], v[-1] = 1, 1
        half = (1 - across) * u[:, 1:-1] + across / 2 * (u[:, :-2] + u[:, 2:])
        v[1:-1, 1:-1] = implicit(along, half[1:-1], v[0, 1:-1], v[-1, 1:-1])
        u[1:-1, 0], u[1:-1, -1] = 1, 1
        half = (1 - along) * v[1:-1] + along / 2 * (v[:-2] + v[2:])
        u[1:-1, 1:-1] = implicit(across, half[:, 1:-1].T, u[1:-1, 0], u[1:-1, -1]).T
    return weighted(u)


def implicit(c: float, right: Array, first: Array, last: Array) -> Array:
    """Solve (1 + c) x[k] - c/2 (x[k-1] + x[k+1]) = right[k] along axis 0 with the ends given."""
    n = right.shape[0]
    matrix = (1 + c) * np.eye(n) - c / 2 * (np.eye(n, k=1) + np.eye(n, k=-1))
    right = right.copy()
    right[0] += c / 2 * first
    right[-1] += c / 2 * last
    return np.linalg.solve(matrix, right)


def fdtd_2d(*, TMAX: int, NX: int, NY: int) -> float:
    i, j = np.indices((NX, NY))
    ex, ey, hz = i * (j + 1) / NX, i * (j + 2) / NY, i * (j + 3) / NX
    for t in range(TMAX):
        ey[0] = t % 10
        ey[1:] -= 0.5 * np.diff(hz, axis=0)
        ex[:, 1:] -= 0.5 * np.diff(hz, axis=1)
        hz[:-1, :-1] -= 0.7 * (np.diff(ex, axis=1)[:-1] + np.diff(ey, axis=0)[:, :-1])
    return weighted(ex, ey, hz)


def heat_3d(*, TSTEPS: int, N: int) -> float:
    i, j, k = np.indices((N, N, N))
    A = (i + j + (N - k)) * 10 / N + i * j * k % 5
    inner = (slice(1, -1),) * 3
    for _ in range(2 * TSTEPS):
        new = A.copy()
        new[inner] += 0.125 * sum(np.diff(A, 2, axis=a)[around(a)] for a in range(3))
        A = new
    return weighted(A)


def around(axis: int) -> tuple[slice, ...]:
    """Return the cut of the border in every axis of three but the one given."""
    return tuple(slice(None) if a == axis else slice(1, -1) for a in range(3))


def jacobi_1d(*, TSTEPS: int, N: int) -> float:
    A = (7 * np.arange(N) + 2) % 11 / 11
    for _ in range(2 * TSTEPS):
        A[1:-1] = np.convolve(A, np.ones(3) / 3, mode="valid")
    return weighted(A)


def jacobi_2d(*, TSTEPS: int, N: int) -> float:
    A = pattern(N, N, 3, 5, 2, 13)
    for _ in range(2 * TSTEPS):
        A[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
    return weighted(A)


def seidel_2d(*, TSTEPS: int, N: int) -> float:
    A = pattern(N, N, 3, 5, 2, 13)
    for _ in range(TSTEPS):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                A[i, j] = A[i - 1 : i + 2, j - 1 : j + 2].mean()
    return weighted(A)


KERNELS: dict[str, Callable[..., float]] = {
    "2mm": two_mm,
    "3mm": three_mm,
    "adi": adi,
    "atax": atax,
    "bicg": bicg,
    "cholesky": cholesky,
    "correlation": correlation,
    "covariance": covariance,
    "deriche": deriche,
    "doitgen": doitgen,
    "durbin": durbin,
    "fdtd-2d": fdtd_2d,
    "floyd-warshall": floyd_warshall,
    "gemm": gemm,
    "gemver": gemver,
    "gesummv": gesummv,
    "gramschmidt": gramschmidt,
    "heat-3d": heat_3d,
    "jacobi-1d": jacobi_1d,
    "jacobi-2d": jacobi_2d,
    "lu": lu,
    "ludcmp": ludcmp,
    "mvt": mvt,
    "nussinov": nussinov,
    "seidel-2d": seidel_2d,
    "symm": symm,
    "syr2k": syr2k,
    "syrk": syrk,
    "trisolv": trisolv,
    "trmm": trmm,
}
"""The reference of every sample, by its file's name."""
