"""Mapping to kernels: tiles, registers, sums, strategies; and whole functions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import Ask, Created, Declined, Edited, applied
from polylsp.targets.gpu.cuda_statements import folded
from tests.codegen.editing import assert_same

from .device import Device, Program, offloaded

SETTINGS = Settings(offload_threshold=0, cuda_slabs=False)
MAIN = """
#include <stdio.h>
#include <math.h>
enum {{ N = 83, M = 71 }};
static double a[N][M], b[M][N], c[N][N], x[N], y[N];
static float z[N];
static int k[N];
{function}
int main(void)
{{
    for (int i = 0; i < N; i++) {{
        x[i] = i % 7 + 0.5;
        y[i] = 1 + i % 5 * 0.0625;
        z[i] = i % 3;
        k[i] = i % 11 - 4;
        for (int j = 0; j < M; j++)
            a[i][j] = (3 * i + 5 * j) % 13 * 0.125, b[j][i] = (i + 2 * j) % 9 * 0.25;
        for (int j = 0; j < N; j++)
            c[i][j] = (i + j) % 5;
    }}
    f(N, M, a, b, c, x, y, z, k);
    double sum = 0;
    for (int i = 0; i < N; i++) {{
        printf("%.9e %.9e %.6e %d\\n", x[i], y[i], z[i], k[i]);
        for (int j = 0; j < M; j++)
            sum += (1 + (i + j) % 17) * (a[i][j] + b[j][i]);
        for (int j = 0; j < N; j++)
            sum += (1 + (i + 3 * j) % 19) * c[i][j];
    }}
    printf("%.9e\\n", sum);
    return 0;
}}
"""
HEAD = """static void f(int n, int m, double a[restrict n][m], double b[restrict m][n],
              double c[restrict n][n], double x[restrict n], double y[restrict n],
              float z[restrict n], int k[restrict n])
"""


@dataclass(frozen=True)
class Nest:
    """The body of a function, and what its kernels must, and must not, say."""

    body: str
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


PRODUCT = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int l = 0; l < m; l++)"

NESTS = {
    "a product has tiles, and sums of its own": Nest(
        f"{PRODUCT} c[i][j] += a[i][l] * b[l][j];",
        (
            "shared_a[64][17]",
            "shared_b[16][64]",
            "own_c[4][4]",
            "if (i0 + 64 <= n && j0 + 64 <= n &&",
            "shared_a[e + ty][tx] = a[row * m + column];",
            "shared_b[e + thread / 64][thread % 64] = b[row * n + column];",
            "#pragma unroll\n                    for (int l = l0; l < l0 + 16; l++)",
            "__launch_bounds__(256, 3)",
        ),
    ),
    "rows of one array at two places are two tiles": Nest(
        f"{PRODUCT} c[i][j] += a[i][l] * a[j][l];", ("shared_a[64][17]", "shared_a2[64][17]")
    ),
    "neighbours in one array are one tile": Nest(
        "for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)"
        " c[i][j] = a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1];",
        ("shared_a[34][34]", "i - i0 + 2", "if (ty < 2) {", "shared_a[thread / 2][32 + thread % 2] ="),
        ("shared_a2",),
    ),
    "a triangle": Nest(
        "for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) for (int l = 0; l < m; l++)"
        " c[i][j] += a[i][l] * b[l][j];",
        ("own_c[p][q]", "__syncthreads();"),
    ),
    "a sum that begins behind the diagonal": Nest(
        "for (int i = 0; i < 70; i++) for (int j = 0; j < 70; j++) for (int l = i + 1; l < 71; l++)"
        " c[i][j] += a[i][l] * b[l][j];",
        ("__shared__",),
    ),
    "columns are read side by side": Nest(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i] = x[i] / 2 + a[i][j] * y[j];",
        ("shared_a[32][17]", "own_x"),
        ("shared_y",),
    ),
    "rows lie side by side already": Nest(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i] = x[i] / 2 + b[j][i] * y[j];",
        ("double own_x = x[i];",),
        ("__shared__",),
    ),
    "terms that lie side by side are a warp's": Nest(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i] += a[i][j] * y[j];",
        ("threads(32, 8)", "for (int j = tx; j < m", "part_x += __shfl_xor_sync(0xffffffff, part_x, half);"),
        ("__shared__",),
    ),
    "sums that lie side by side have a warp's threads, and several warps": Nest(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i] += b[j][i] * y[j];",
        ("threads(16, 32)", "shared_x[32][16]", "if (i < n && ty == 0)"),
    ),
    "terms that lie side by side here and sums that do there have warps of both": Nest(
        "for (int i = 0; i < m; i++) for (int l = 0; l < n; l++) z[i] += (float)a[l][i] * c[i][l];",
        ("threads(8, 64)", "shared_z[64][8]"),
    ),
    "a triangle of terms, and a sum that is used": Nest(
        "for (int i = 0; i < n; i++) { x[i] = 0; for (int j = 0; j < i; j++) x[i] -= c[i][j] * y[j];"
        " x[i] = x[i] / 2 + y[i]; }",
        ("double own_x = 0;", "j < i; j += 32", "if (i < n && tx == 0)"),
    ),
    "what is made of a sum is for one thread to write": Nest(
        "for (int i = 0; i < n; i++) { x[i] = 0; for (int j = 0; j < m; j++) x[i] += a[i][j] * y[j];"
        " z[i] = x[i] * 2; k[i] += i; }",
        ("if (tx == 0)", "part_x += __shfl_xor_sync"),
    ),
    "what another sum reads is not": Nest(
        "for (int i = 0; i < n; i++) { x[i] = 0; for (int j = 0; j < m; j++) x[i] += a[i][j] * y[j];"
        " c[i][0] = x[i]; for (int j = 0; j < m; j++) y[i] = y[i] / 2 + c[i][0] * a[i][j]; }",
    ),
    "terms under a condition": Nest(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) if (a[i][j] > 1) x[i] += a[i][j];",
        ("__shfl_xor_sync",),
    ),
    "a product of shared factors": Nest(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i] *= 1 + a[i][j] * 0.001;",
        ("double part_x = 1;", "part_x *= __shfl_xor_sync"),
    ),
    "the largest of all": Nest(
        "double most = x[0]; for (int i = 1; i < n; i++) if (x[i] > most) most = x[i]; y[0] = most;",
        (
            "double own_most = *most;",
            "shared[thread] = shared[thread] >= shared[thread + half]",
            "shared[thread] = thread < count ? partial[thread] : *element;",
        ),
    ),
    "the smallest by a function": Nest(
        "for (int i = 1; i < n; i++) x[0] = fmin(x[0], y[i]);",
        ("own_x = fmin(own_x, y[i]);", "*element = fmin(*element, shared[0]);"),
    ),
    "how many there are": Nest(
        "int many = 0; for (int i = 0; i < n; i++) if (k[i] > 2) many++; k[0] = many;",
        ("int own_many = 0;", "own_many++;"),
    ),
    "whole numbers of several kinds": Nest(
        "int all = 1, some = 0; unsigned bits = 7; int least = 9; for (int i = 0; i < n; i++)"
        " { all = all && k[i] < 99; some = some || k[i] == 3; bits ^= (unsigned)k[i];"
        " least = k[i] < least ? k[i] : least; } k[0] = all; k[1] = some; k[2] = (int)bits; k[3] = least;",
        (
            "shared[thread] = shared[thread] && shared[thread + half];",
            "shared[thread] = shared[thread] || shared[thread + half];",
            "unsigned own_bits = 0;",
            "int own_least = *least;",
        ),
    ),
    "shared values of whole numbers": Nest(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) k[i] |= (int)(a[i][j] * 8);",
        ("int part_k = own_k;", "part_k |= other;"),
    ),
    "a histogram": Nest(
        "for (int i = 0; i < n; i++) x[(k[i] + 4) % 9] += y[i];",
        ("atomicAdd(&x[(k[i] + 4) % 9], y[i]);", "cudaMemcpy(device_x, x, (size_t)n * sizeof(double)"),
        ("staged_k",),
    ),
    "counts between others": Nest(
        "for (int r = 0; r < 3; r++) { for (int i = 0; i < 9; i++) k[i + 20] = r;"
        " for (int i = 0; i < n; i++) k[20 + (int)y[i]]++;"
        " for (int i = 0; i < 9; i++) z[i] -= k[i + 20]; }",
        ("k[i + 20] = r;", "atomicAdd(&k[20 + (int)y[i]], 1);", "for (int r = 0; r < 3; r++)"),
    ),
    "a count that is used": Nest(
        "int many = 0; for (int i = 0; i < 40; i++) { x[i] *= 2; int e = i % 3;"
        " while (e > 0) { many++; a[i][many % 5] += 1; e--; } } k[0] = many;",
        ("(*many)++;",),
    ),
    "two sums under one condition": Nest(
        "int many = 0; double s = 0; for (int i = 0; i < n; i++) if (k[i] > 2) { many++; s += x[i]; }"
        " x[0] = s; k[0] = many;",
        ("atomicAdd(many, 1);", "atomicAdd(s, x[i]);"),
    ),
    "a sum of other elements of its array": Nest(
        "for (int i = 1; i < n; i++) k[0] += k[i];", ("atomicAdd(&k[0], k[i]);",)
    ),
    "what is taken away, and set bits": Nest(
        "static long long seen[4]; seen[1] = 3; for (int i = 0; i < n; i++) { z[i % 5] -= (float)y[i];"
        " seen[i % 4] |= 1LL << (k[i] + 4); } x[0] = (double)(seen[0] + seen[1]);",
        ("atomicAdd(&z[i % 5], -(float)y[i]);", "atomicOr((unsigned long long *)&seen[i % 4]"),
    ),
    "the largest of shared values": Nest(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i] = a[i][j] > x[i] ? a[i][j] : x[i];",
        ("double part_x = own_x;", "own_x = own_x >= part_x ? own_x : part_x;"),
    ),
    "the smallest of values in columns, beside what is no number": Nest(
        "x[0] = sqrt(-x[0]);"
        " for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i] = fmin(x[i], b[j][i]);",
        ("own_x = fmin(own_x, shared_x[0][tx]);",),
    ),
    "terms over two loops": Nest(
        "for (int i = 0; i < n; i++) for (int l = 0; l < m; l++) for (int j = 0; j < m; j++)"
        " x[i] += a[i][j] * b[l][0];",
        ("j += 32", "for (int l = 0;"),
    ),
    "a product that adds up in a number of its own": Nest(
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { double s = 0;"
        " for (int l = 0; l < m; l++) s += a[i][l] * b[l][j]; c[i][j] = s * 2; }",
        ("own_s[4][4] = {};", "shared_b[16][64]", "c[i * n + j] = own_s[p][q] * 2;"),
        ("device_s",),
    ),
    "two sums of each iteration are a warp's": Nest(
        "double s, t; for (int i = 0; i < n; i++) { s = 0; t = 0; for (int j = 0; j < m; j++)"
        " { s += a[i][j] * y[j]; t += a[i][j]; } x[i] = s / t; }",
        ("part_s += __shfl_xor_sync", "part_t += __shfl_xor_sync", "x[i] = own_s / own_t;", "if (tx == 0)"),
        ("device_s",),
    ),
    "numbers that are called alike": Nest(
        "for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) { double s = 0;"
        " for (int l = 0; l < m; l++) s += a[i][l] * b[l][j]; c[i][j] = s; } double s = 0;"
        " for (int j = 0; j < m; j++) s += a[i][j]; x[i] = s; }",
        ("own_s[4][4] = {};", "part_s += __shfl_xor_sync"),
    ),
    "a sum of each row, by which the row is divided": Nest(
        "for (int i = 0; i < n; i++) { double s = 0; for (int j = 0; j < m; j++) s += exp(a[i][j] / 9);"
        " for (int j = 0; j < m; j++) a[i][j] = exp(a[i][j] / 9) / s; }",
        ("part_s += __shfl_xor_sync", "/ s[i];"),
    ),
    "a number of each iteration of two loops, in a triangle": Nest(
        "for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) { double s = x[i] * y[j];"
        " for (int l = 0; l < m; l++) b[l][j] += s * a[i][l]; }",
        ("cudaMalloc((void **)&device_s, (size_t)n * n * sizeof(double))", "s[i * n + j] = x[i] * y[j];"),
    ),
    "few terms stay with one thread": Nest(
        "for (int i = 0; i < n; i++) for (int l = 0; l < 9; l++) x[i] += a[i][l];", (), ("__shfl",)
    ),
    "what changes beside a sum keeps its terms with one thread": Nest(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { x[i] += a[i][j]; b[j][i] = x[i]; }",
        ("own_x",),
        ("__shfl", "shared_x"),
    ),
    "what is set anew is not loaded": Nest(
        "for (int i = 0; i < n; i++) { x[i] = 0; for (int j = 0; j < m; j++) x[i] += b[j][i]; }",
        ("double own_x = 0;",),
    ),
    "what is set under a condition is loaded": Nest(
        "for (int i = 0; i < n; i++) { if (y[i] > 1.1) x[i] = 0;"
        " for (int j = 0; j < m; j++) x[i] += b[j][i]; }",
        ("double own_x = i < n ? x[i] : 0;",),
    ),
    "two elements of an array are no sum of one thread": Nest(
        "for (int i = 0; i < m; i++) for (int j = 0; j < m; j++) for (int l = 0; l < 9; l++)"
        " { c[i][j] += c[i][n - 1] * 0 + b[l][i]; if (j > 70) c[i][n - 1] += b[l][i]; }",
        (),
        ("own_c",),
    ),
    "an element that others change, too, is no sum of one thread": Nest(
        "for (int i = 0; i < n; i++) for (int l = 0; l < m; l++)"
        " { c[i][0] += b[l][i]; c[i][1] += c[i][0] * b[l][i]; }",
        (),
        ("own_c",),
    ),
    "what a launch only reads of an array stays where it is": Nest(
        "for (int i = 1; i < n; i++) for (int j = 0; j < i; j++) c[i][i] += c[i][j] * c[j][i];",
        ("own_c",),
    ),
    "what a kernel writes is not copied": Nest(
        f"{PRODUCT} {{ c[i][j] += a[i][l] * b[l][j]; if (j == 0) k[i] = l; }}",
        (),
        ("shared_k", "shared_c"),
    ),
    "a sum": Nest(
        "double s = 0; for (int i = 0; i < n; i++) s += x[i] * y[i]; x[0] = s;",
        ("own_s += x[i] * y[i];", "__syncthreads();", "<<<1, 256>>>"),
    ),
    "a product of numbers": Nest(
        "double s = 1; for (int i = 0; i < n; i++) s *= y[i]; x[0] = s;", ("own_s = 1;", "*= shared[")
    ),
    "a sum of whole numbers": Nest(
        "for (int i = 1; i < n; i++) k[0] += i % 7;", ("int own_k = 0;", "device_k")
    ),
    "a difference": Nest("for (int i = 0; i < m; i++) y[n - 1] -= x[i];", ("own_y -= x[i];",)),
    "a sum under a condition": Nest(
        "double s = 0; for (int i = 0; i < n; i++) if (x[i] > 2) s += x[i]; y[1] = s;", ("own_s",)
    ),
    "a sum over two loops": Nest(
        "double s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) s += a[i][j]; x[0] = s;",
        ("blockIdx.y * gridDim.x + blockIdx.x",),
    ),
    "sums with a value of each": Nest(
        "for (int i = 1; i < n; i++) { double s = 0; for (int j = 0; j < i; j++) s += c[i][j] * x[j];"
        " if (i > 5) x[i] = (y[i] - s) * 0.01; else x[i] = s; }",
        ("s[i] += c[i * n + j] * x[j];", "device_s"),
    ),
    "sums in the elements that they end in": Nest(
        "for (int i = 1; i < n; i++) { double s = 0; for (int j = 0; j < i; j++) s += c[i][j] * x[j];"
        " x[i] = (y[i] - s) * 0.01; }",
        ("x[i] += c[i * n + j] * x[j];", "x[i] = (y[i] - x[i]) * 0.01;"),
        ("device_s",),
    ),
    "sums and more in one loop": Nest(
        "for (int i = 0; i < n; i++) { x[i] *= 3; y[0] += x[i]; }", ("own_y += x[i];", "x[i] *= 3;")
    ),
    "a sum of a loop that may end early, which is needed later": Nest(
        "double s = 0; for (int i = 0; i < n; i++) { for (int l = 0; l < 9; l++) {"
        " if (l > y[i] + 3) break; s += x[i]; } z[i] = 1; } x[0] = s;",
        ("staged_s",),
    ),
    "an array that each iteration sets anew": Nest(
        "for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) { x[j] = 0; for (int l = 0; l < m; l++)"
        " x[j] += a[i][l] * b[l][j]; } for (int j = 0; j < n; j++) c[i][j] = x[j]; }",
        ("device_x + (size_t)(n - 1) * n, (size_t)n * sizeof(double)", "x[i * n + j] =", "shared_b[16][64]"),
        ("for (int i = 0;",),
    ),
    "an array that each iteration sets anew, the last one of those with the least counter": Nest(
        "for (int i = n - 1; i >= 0; i--) { for (int j = 0; j < n; j++) x[j] = c[i][j] * 2;"
        " for (int j = 0; j < n; j++) c[i][j] = x[n - 1 - j]; }",
        ("cudaMemcpy(x, device_x, (size_t)n * sizeof", "x[i * n + j] ="),
        ("(n - 1) * n",),
    ),
    "an array that each iteration sets anew, from the last but one to the second": Nest(
        "for (int i = n - 2; i > 0; i--) { for (int j = 0; j < n; j++) x[j] = c[i][j] * 2;"
        " for (int j = 0; j < n; j++) c[i][j] = x[n - 1 - j]; }",
        ("device_x + (size_t)1 * n, (size_t)n", "if (n - 1 <= 1)"),
    ),
    "an array that each iteration sets anew, from the second to the last but one": Nest(
        "for (int i = 1; i < n - 1; i++) { for (int j = 0; j < n; j++) x[j] = c[i][j] * 2;"
        " for (int j = 0; j < n; j++) c[i][j] = x[n - 1 - j]; }",
        ("device_x + (size_t)((n - 1) - 1) * n, (size_t)n", "if (n - 1 <= 1)"),
    ),
    "an array that each iteration sets anew, where every other one is left out": Nest(
        "for (int i = 0; i < n; i += 2) { for (int j = 0; j < n; j++) x[j] = c[i][j] * 2;"
        " for (int j = 0; j < n; j++) c[i][j] = x[n - 1 - j]; }",
        ("if ((n % 2) + n - 1 < 1)", " * n + j] = c"),
    ),
    "an array that each iteration sets anew, in two loops of which one counts down": Nest(
        "static double d[83][9][71]; for (int i = 2; i < n; i++) for (int l = 8; l > 4; l--) {"
        " for (int j = 0; j < 71; j++) x[j] = c[i][j] * l; for (int j = 0; j < 71; j++)"
        " d[i][l][j] = x[70 - j]; } for (int i = 0; i < n; i++) c[i][0] = d[i][5][i % 71];",
        ("device_x + ((size_t)(n - 1) * 9 + 5) * ", "    x[(i * 9 + l) * "),
    ),
    "an array of each iteration below the first element": Nest(
        "for (int i = -3; i < n - 3; i++) { for (int j = 0; j < n; j++) x[j] = c[0][j] * i;"
        " for (int j = 0; j < n; j++) c[i + 3][j] = x[n - 1 - j]; }",
        lacks=(" * n + j] = c",),
    ),
    "an array of the function that each iteration sets anew": Nest(
        "double t[71]; for (int i = 0; i < n; i++) { for (int j = 0; j < 71; j++) t[j] = a[i][j] * 2;"
        " for (int j = 0; j < 71; j++) c[i][j] = t[70 - j] + t[0]; }",
        ("t[i * 71 + j] =", "71 * sizeof(double)"),
    ),
    "a triangular product in its place": Nest(
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {"
        " for (int l = i + 1; l < n; l++) c[i][j] += a[l][i % m] * c[l][j]; c[i][j] *= 0.5; }",
        ("= old_c[row * n + column];", "cudaMemcpyDeviceToDevice", "own_c[4][4]"),
        ("for (int i = 0; i < n; i++)", "old_c[i * n + j]"),
    ),
    "elements that move to the left": Nest(
        "for (int i = 0; i < n - 1; i++) x[i] = x[i + 1] * 2 + x[i];",
        ("x[i] = old_x[i + 1] * 2 + x[i];", "const double *__restrict__ old_x"),
    ),
    "elements that move to the right, in a loop that counts down": Nest(
        "for (int i = n - 1; i > 2; i--) x[i] = x[i - 3] * 2;", ("x[i] = old_x[i - 3] * 2;",)
    ),
    "elements that are read before and behind": Nest(
        "for (int i = 1; i < n; i++) for (int j = 0; j < n - 1; j++) c[i][j] = c[i - 1][j] + c[i][j + 1];",
        ("= c[(i - 1) * n + j] + old_c[i * n + j + 1]",),
    ),
    "elements of which some have changed before they are read": Nest(
        "for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) c[i][j] = c[i][n - 1 - j] * 2;",
        lacks=("old_c",),
    ),
    "elements that data chooses, which may have changed": Nest(
        "for (int i = 0; i < n; i++) { x[i] = x[k[i] + 9] * 2; for (int j = 0; j < m; j++) a[i][j] = y[i]; }",
        lacks=("old_x",),
    ),
    "an array that some iterations set in part": Nest(
        "for (int i = 0; i < n; i++) { for (int j = 0; j < i; j++) x[j] = c[i][j] * 2;"
        " for (int j = 0; j < i; j++) c[i][j] = x[i - 1 - j]; }",
        ("= old_c[", "x[c0 - 1] = own_x;"),
        ("device_x + ",),
    ),
    "an array that a condition sets": Nest(
        "for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) if (y[j] > 1) x[j] = a[i][j];"
        " for (int j = 0; j < m; j++) a[i][j] = x[m - 1 - j]; }",
        ("old_a", "double *__restrict__ x,"),
        ("device_x + ",),
    ),
    "an array of which an earlier iteration is read": Nest(
        "for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) a[i][j] += x[m - 1 - j];"
        " for (int j = 0; j < m; j++) x[j] = a[i][j] / 9; }",
        ("for (int i = 0;",),
    ),
    "an array that is as large as any": Nest(
        "for (int i = 0; i < 9; i++) { for (int j = 0; j < n; j++) x[j] = y[j] / (i + 1);"
        " for (int j = 0; j < n; j++) z[j] += x[n - 1 - j]; }",
        ("TRY(cudaMemcpy(x, device_x, (size_t)n",),
    ),
    "numbers that are set in one statement, for a filter along rows": Nest(
        "for (int i = 0; i < n; i++) { double p, q, r; p = q = r = 0.5; for (int j = 0; j < m; j++) {"
        " r = 0.5 * a[i][j] + 0.25 * p + 0.125 * q; q = p; p = r; c[i][j] = r; } }",
        ("shared_a[32][17]", "own_q = own_p;"),
    ),
    "a loop that no iteration gets to": Nest(
        "for (int i = 0; i < 3; i++) for (int j = 2; j != (i + 2 < m ? i + 2 : m); j++) {"
        " x[2 * j + 1] = y[j]; for (int l = j - 1; l > i; l--) z[0] = z[1] * l; }"
    ),
    "one row, and what reads it": Nest(
        "for (int l = 0; l < m; l++) for (int i = 0; i < m; i++) for (int j = 0; j < m; j++)"
        " c[i][j] = fmin(c[i][j], c[i][l] + c[l][j]);",
        ("for (int l = 0;",),
    ),
}


UNUSED = "-Wno-unused-parameter"


def function(body: str) -> str:
    return f"{HEAD}{{\n    {body}\n}}\n"


def asked(text: str, ordinal: int, settings: Settings = SETTINGS) -> Edited | Declined:
    placed = next(p for p in analyse("a.c", text, settings, schedules=False).functions)
    answer = edit("a.c", text, settings, Ask("cuda", placed.answer.facts.name, placed.start, ordinal))
    assert isinstance(answer, (Edited, Declined))
    return answer


def says(text: str, nest: Nest, device: Device) -> tuple[Edited, Created]:
    """Edit of a text, and its kernels, whose text is as expected and compiles."""
    answer = asked(text, 1)
    assert isinstance(answer, Edited), answer
    (created,) = answer.created
    for wanted in nest.has:
        assert wanted in created.text, created.text
    for unwanted in nest.lacks:
        assert unwanted not in created.text, created.text
    assert device.compiled(created.text, "sm_80") == ""
    return answer, created


@pytest.mark.sweep
@pytest.mark.parametrize("nest", NESTS.values(), ids=NESTS.keys())
def test_runs(nest: Nest, program: Program, device: Device) -> None:
    text = MAIN.format(function=function(nest.body))
    answer, kernels = says(text, nest, device)
    built = program.build(applied(text, answer.replacements), {kernels.name: kernels.text}, UNUSED)
    assert program.calls(built) > 0
    assert_same(program.output(program.build(text, {}, UNUSED)), program.output(built))


SHOWN = {
    "a number that nothing needs": Nest(
        "for (int i = 0; i < n; i++) { double s = y[0]; s = y[1]; x[i] = z[i]; }",
        ("x[i] = z[i];",),
        ("kernel1", "double s", " y"),
    ),
    "a sum that another one adds up is in order": Nest(
        "for (int i = 0; i < n; i++) { double s = 0, t = 0; for (int j = 0; j < m; j++)"
        " { s += a[i][j]; t += s * y[j]; } x[i] = t; }",
        ("own_t += own_s * y[j];",),
        ("__shfl",),
    ),
    "a number that is set in one of two ways": Nest(
        "double s = 3; for (int i = 0; i < n; i++) { if (y[i] > 1.1) s = y[i]; else s = 2;"
        " for (int j = 0; j < m; j++) s += a[i][j]; x[i] = s; }",
        ("own_s = y[i];", "part_s += __shfl_xor_sync"),
    ),
    "a number that a part of a loop may set": Nest(
        "for (int i = 0; i < n; i++) { double s; s = y[i]; for (int j = 0; j < m; j++)"
        " if (a[i][j] > 1) s = a[i][j]; x[i] = s; }",
        ("own_s = shared_a[",),
        ("__shfl",),
    ),
    "a whole number of each iteration": Nest(
        "for (int i = 0; i < n; i++) { int s = 0; for (int j = 0; j < m; j++) s += k[j]; z[i] = s; }",
        ("s += k[j];",),
        ("own_s",),
    ),
    "a number that the iterations of a short loop share": Nest(
        "for (int i = 0; i < n; i++) { double s = y[i] * 2; for (int j = 0; j < 3; j++) a[i][j] *= s; }",
        ("a[i * m + j] *= s;",),
        ("device_s",),
    ),
    "numbers that are computed again where they are used": Nest(
        "for (int i = 0; i < n; i++) { double s = i * 0.5, t = s * s; int row = i * 2;"
        " for (int j = 0; j < m; j++) { double u = t + j; for (int l = 0; l < n; l++) c[l][j] += u * s; }"
        " for (int j = 0; j < m; j++) a[i][j] = t + row; }",
        ("t = s * s;", "u = t + j;", "row = i * 2;"),
        ("device_t", "device_s", "device_u"),
    ),
    "a number that is read before it changes": Nest(
        "for (int i = 0; i < n; i++) { int h = i; double s = h * 0.5; h += 2; for (int j = 0; j < m; j++)"
        " a[i][j] *= s + h; }",
    ),
    "a number that the iterations of a loop share": Nest(
        "for (int i = 0; i < n; i++) { double s = y[i] * 2; for (int j = 0; j < m; j++) a[i][j] *= s; }",
        ("s[i] = y[i] * 2;", "a[i * m + j] *= s[i];", "cudaMalloc((void **)&device_s, (size_t)n * sizeof("),
        ("own_s", "cudaMemcpy(device_s", "staged_s"),
    ),
    "a sum of terms that share a number": Nest(
        "for (int i = 0; i < n; i++) { double s = -9; for (int j = 0; j < m; j++)"
        " s = a[i][j] > s ? a[i][j] : s; double t = 0; for (int j = 0; j < m; j++) t += exp(a[i][j] - s);"
        " x[i] = t; }",
        ("part_t += __shfl_xor_sync",),
    ),
    "counters that are called alike": Nest(
        "for (int i = 0; i < n; i++) { int s = 0; for (int j = 0; j < n; j++) s += k[j];"
        " for (int j = 0; j < m; j++) a[i][j] *= s; }",
        ("for (int j = 0; j < m; j++)",),
    ),
    "a condition on a sum of each iteration": Nest(
        "for (int i = 0; i < n; i++) { double s = 0; for (int j = 0; j < m; j++) s += a[i][j];"
        " if (s > 32) x[i] = 1; for (int j = 0; j < n; j++) if (s > 30 * y[j]) c[i][j] = s; }",
        (),
        ("own_s > 30",),
    ),
    "a number that two loops use is one of each": Nest(
        "double s; for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) { s = 0;"
        " for (int l = 0; l < m; l++) s += a[i][l] * a[j][l]; c[i][j] = s; }"
        " for (int j = 0; j < m; j++) { s = 1; for (int l = 0; l < m; l++) s += a[i][l] * y[j];"
        " b[j][i] = s; } }",
        ("c[i * n + j] = own_s[p][q];", "b[j * n + i] = own_s"),
        ("device_s", "    double s;"),
    ),
}
"""Nests whose kernels are like those above, which run."""


@pytest.mark.parametrize("nest", SHOWN.values(), ids=SHOWN.keys())
def test_says(nest: Nest, device: Device) -> None:
    says(MAIN.format(function=function(nest.body)), nest, device)


NO_SUM = {
    "what is read in between": "for (int i = 0; i < n; i++) { x[0] += y[i]; y[i] = x[0]; }",
    "a recurrence": "for (int i = 1; i < n; i++) x[0] = x[0] * 0.5 + y[i];",
    "an element that changes": "for (int i = 1; i < n; i++) x[i] += x[i - 1];",
    "a count that is used": "int c = 0; for (int i = 0; i < n; i++) { if (k[i] > 2) c++; k[i] = c; }",
    "sums that are seen": "for (int i = 0; i < n; i++) { x[k[i] + 9] += y[i]; y[i] = x[3]; }",
    "sums and products": "for (int i = 0; i < n; i++) { x[k[i] + 9] += y[i]; x[i % 4] *= 2; }",
}


@pytest.mark.parametrize("body", NO_SUM.values(), ids=NO_SUM.keys())
def test_is_no_sum(body: str) -> None:
    answer = asked(MAIN.format(function=function(body)), 1)
    assert isinstance(answer, Declined)
    assert "can run at once" in answer.reason or "twice: its subscripts are data" in answer.reason


# --- Which statements share a kernel -----------------------------------------------------

FOLDER = Path(__file__).parents[2] / "samples" / "polybench" / "c"


@pytest.mark.sweep(7)
@pytest.mark.parametrize("fusion", ["min", "max", "maximal-band"])
@pytest.mark.parametrize("name", ["atax", "lu", "trmm", "covariance", "fdtd-2d"])
def test_every_strategy_keeps_the_meaning(name: str, fusion: str, program: Program) -> None:
    file = FOLDER / f"{name}.c"
    text = file.read_text(encoding="utf-8")
    settings = Settings(offload_threshold=0, cuda_fusion=fusion)
    done = offloaded(str(file), text, settings, "kernel_", whole=True)
    assert not done.declined
    assert_same(program.output(program.build(text, {})), program.output(program.build(done.text, done.files)))


@pytest.mark.parametrize(
    ("name", "count"),
    [("floyd-warshall", 5), ("fdtd-2d", 2), ("durbin", 6), ("lu", 2), ("jacobi-2d", 2), ("seidel-2d", 1)],
)
def test_independent_kernels_of_a_host_loop_share_launches(name: str, count: int) -> None:
    text = (FOLDER / f"{name}.c").read_text(encoding="utf-8")
    done = offloaded(f"{name}.c", text, Settings(offload_threshold=0), "kernel_", whole=True)
    assert not done.declined
    assert sum(made.count("__global__") for made in done.files.values()) == count


SHARED = {
    "a number beside a row": ("y[0] = x[1] * 0.5 + x[2];", "y[j] * y[0]", 2),
    "a number that needs two elements of the row": ("y[0] = y[1] * 0.5 + y[2];", "y[j] * y[0]", 3),
}


@pytest.mark.parametrize(("point", "value", "count"), SHARED.values(), ids=SHARED.keys())
def test_a_launch_is_shared_where_no_thread_needs_another(
    point: str, value: str, count: int, program: Program
) -> None:
    rows = "for (int j = 1; j < n - 1; j++) y[j] = (x[j - 1] + x[j + 1]) * 0.5; "
    rows += f"{point} for (int j = 1; j < n - 1; j++) x[j] = {value};"
    text = MAIN.format(function=function(f"for (int t = 0; t < m; t++) {{ {rows} }}"))
    answer = asked(text, 1)
    assert _kernels(answer) == count
    assert isinstance(answer, Edited)
    built = program.build(
        applied(text, answer.replacements), {each.name: each.text for each in answer.created}, UNUSED
    )
    assert_same(program.output(program.build(text, {}, UNUSED)), program.output(built))


def test_a_strategy_says_what_shares_a_kernel() -> None:
    body = "for (int i = 0; i < n; i++) { x[i] = 2 * y[i]; z[i] = x[i]; }"
    text = MAIN.format(function=function(body))
    counts = {
        fusion: _kernels(asked(text, 1, Settings(offload_threshold=0, cuda_fusion=fusion)))
        for fusion in ("min", "max", "maximal-band")
    }
    assert counts == {"min": 2, "max": 1, "maximal-band": 1}


def _kernels(answer: Edited | Declined) -> int:
    assert isinstance(answer, Edited)
    return sum(created.text.count("__global__") for created in answer.created)


# --- Sizes that a user sets --------------------------------------------------------------

VECTOR = "for (int i = 0; i < n; i++) x[i] = 2 * y[i];"
STENCIL = (
    "for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)"
    " c[i][j] = a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1];"
)


@pytest.mark.parametrize(
    ("body", "blocks", "tiles", "has"),
    [
        (VECTOR, (64,), (), "threads(64)"),
        (VECTOR, (16, 4), (), "threads(16)"),
        (f"{PRODUCT} c[i][j] += a[i][l] * b[l][j];", (), (32, 48, 8), "shared_a[32][9]"),
        (f"{PRODUCT} c[i][j] += a[i][l] * b[l][j];", (8, 4), (12, 16), "own_c[3][2]"),
        (STENCIL, (32, 4), (16,), "shared_a[18][34]"),
        (STENCIL, (), (16, 64), "shared_a[18][66]"),
    ],
)
def test_sizes_are_those_that_are_set(
    body: str, blocks: tuple[int, ...], tiles: tuple[int, ...], has: str, program: Program, device: Device
) -> None:
    text = MAIN.format(function=function(body))
    answer = asked(text, 1, Settings(offload_threshold=0, cuda_block_sizes=blocks, cuda_tile_sizes=tiles))
    assert isinstance(answer, Edited), answer
    (created,) = answer.created
    assert has in created.text, created.text
    assert device.compiled(created.text, "sm_80") == ""
    built = program.build(applied(text, answer.replacements), {created.name: created.text}, UNUSED)
    assert_same(program.output(program.build(text, {}, UNUSED)), program.output(built))


@pytest.mark.parametrize(
    ("blocks", "tiles", "reason"),
    [
        ((0,), (), "below 1"),
        ((64, 32), (), "blocks of 2048 threads"),
        ((8,), (), "blocks of 8 threads"),
        ((96,), (), "`cuda_block_sizes` has 96"),
        ((1, 1, 128), (), "`cuda_block_sizes` has 128"),
        ((16, 16), (40, 64), "has 40, and `cuda_block_sizes` 16"),
        ((), (256, 256), "gives each thread 256 values"),
    ],
)
def test_sizes_that_no_device_has_are_refused(
    blocks: tuple[int, ...], tiles: tuple[int, ...], reason: str
) -> None:
    text = MAIN.format(function=function(f"{PRODUCT} c[i][j] += a[i][l] * b[l][j];"))
    answer = asked(text, 1, Settings(offload_threshold=0, cuda_block_sizes=blocks, cuda_tile_sizes=tiles))
    assert isinstance(answer, Declined)
    assert reason in answer.reason


# --- Messages for the user -------------------------------------------------------------

TOLD = {
    "a condition on an element of each thread": ("for (int i = 0; i < n; i++) if (x[i] > 2) z[i] = 1;", True),
    "a condition on one element for all": ("for (int i = 0; i < n; i++) if (x[0] > 2) z[i] = 1;", False),
    "every other thread": ("for (int i = 0; i < n; i++) { if (i % 2) x[i] = 1; y[i] = x[i] + 1; }", True),
    "a condition on a size": ("for (int i = 0; i < n; i++) { if (m > 9) x[i] = 1; y[i] = x[i] / 2; }", False),
    "a loop that is longer for some": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) x[i] = x[i] / 2 + c[j][i];",
        True,
    ),
    "a loop that begins later, and ends later": (
        "for (int i = 0; i < n - 9; i++) for (int j = i; j < i + 9; j++) x[i] = x[i] / 2 + y[j];",
        False,
    ),
    "a loop that ends where data say": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < k[i]; j++) x[i] = x[i] / 2 + y[i];",
        True,
    ),
    "the last threads of a block": ("for (int i = 3; i < n - 2; i++) x[i] = y[i];", False),
}


@pytest.mark.parametrize(("body", "told"), TOLD.values(), ids=TOLD.keys())
def test_tells_where_threads_of_a_warp_diverge(body: str, told: bool) -> None:
    answer = asked(function(body), 1)
    assert isinstance(answer, Edited), answer
    assert any("diverge in line 5:" in remark for remark in answer.remarks) == told, answer.remarks


# --- Whole functions ---------------------------------------------------------------------

LOOPS = """for (int i = 0; i < n; i++)
        x[i] = 2 * y[i];
    for (int i = 1; i < n; i++)
        y[i] = x[i - 1];
    k[0] = 3;
    for (int i = 0; i < n; i++)
        z[i] = x[i];
"""


def test_loops_that_follow_one_another_share_what_is_on_the_device(program: Program) -> None:
    text = MAIN.format(function=function(LOOPS))
    answer = asked(text, 0)
    assert isinstance(answer, Edited)
    first, second = answer.created
    assert first.text.count("cudaMalloc((void **)&device_x") == 1
    assert first.text.count("cudaMemcpyHostToDevice") == 1, first.text
    after = applied(text, answer.replacements)
    assert "        for (int i = 0; i < n; i++)\n            x[i] = 2 * y[i];\n" in after
    assert after.count('#ifdef __cplusplus\nextern "C"\n#endif\nint f_cuda') == 2
    built = program.build(after, {each.name: each.text for each in (first, second)}, UNUSED)
    assert program.calls(built) > 0
    assert_same(program.output(program.build(text, {}, UNUSED)), program.output(built))


SELDOM = """#include <stdio.h>
static int hist[5], most[5];
static double y[40];
static int f(int m, int c)
{
    int k = 1;
    for (int i = 0; i < m; ++i) {
        y[i] = 0.25 * i;
        if (i > 1)
            hist[c] += i;
        if (i > 1)
            if (i > most[c]) most[c] = i;
        y[k] = 1;
    }
    return k;
}
int main(void)
{
    f(1, 3), f(2, 4), f(30, 2);
    printf("%d %d %d %d %d\\n", hist[2], hist[3], hist[4], most[2], most[3]);
    return 0;
}
"""
"""Of `hist` and `most`, the device has nothing where nothing is added to them."""


def test_nothing_is_added_to_an_element_that_the_device_does_not_have(program: Program) -> None:
    done = offloaded("a.c", SELDOM, SETTINGS, "f")
    (kernels,) = done.files.values()
    assert "malloc((size_t)(m > 2 ? 1 : 0) * sizeof(int))" in kernels
    condition = "        if ((size_t)(c - (ptrdiff_t)c) < (size_t)(m > 2 ? 1 : 0)) {\n"
    assert kernels.count(condition) == 2
    assert program.output(program.build(done.text, done.files)) == "434 0 0 29 0\n"
    hasty = kernels.replace(condition, condition.replace("if", "if (true) //"))
    with pytest.raises(AssertionError):
        program.output(program.build(done.text, dict.fromkeys(done.files, hasty)))


NEVER = """#include <stdio.h>
static int a[9][9];
static int f(int n)
{
    int s = 0, t = 0;
    for (int i = 0; i < n; i++) {
        s = a[i][0] * 3;
        for (int j = i + 1; j < i; j++)
            a[j][j] = 7;
        t += a[i][0];
    }
    return s + t;
}
int main(void)
{
    for (int i = 0; i < 9; i++)
        a[i][0] = i + 1;
    int s = f(9);
    for (int i = 0; i < 9; i++)
        s = s * 3 + a[i][0];
    printf("%d\\n", s);
    return 0;
}
"""


def test_what_never_runs_changes_nothing(program: Program) -> None:
    done = offloaded("a.c", NEVER, SETTINGS, "f")
    (kernels,) = done.files.values()
    assert "const int *a" in kernels and "staged_a" not in kernels
    built = program.build(done.text, done.files, UNUSED)
    assert program.output(built) == program.output(program.build(NEVER, {}, UNUSED))


def test_what_cannot_run_together_runs_apart() -> None:
    body = "for (int i = 0; i < n; i++) x[i] = 2 * y[i];\n    for (int i = 0; i < n; i++) x[i] = exp10(x[i]);"
    answer = asked("double exp10(double);\n" + function(body), 0)
    assert isinstance(answer, Edited)
    assert len(answer.created) == 1
    assert any("`exp10`" in remark for remark in answer.remarks)


# --- How kernels are laid out ------------------------------------------------------------

LONG = {
    "a sum": "    x[i] = " + " + ".join(f"2.5 * a[{k} * n + i - 1]" for k in range(9)) + ";",
    "a loop": f"    for (int {'i' * 30} = blockIdx.x * 32; {'i' * 30} < n; {'i' * 30} += gridDim.x * 32) {{",
    "a condition": "    if (" + " && ".join(f"index_{k} < limit_{k} + 1" for k in range(7)) + ")",
}


@pytest.mark.parametrize("line", LONG.values(), ids=LONG.keys())
def test_long_statements_go_on_in_further_lines(line: str) -> None:
    lines = list(folded(line))
    assert len(lines) > 1
    assert max(map(len, lines)) <= 100
    assert " ".join(each.strip() for each in lines) == line.strip()
    assert all(each.count("[") == each.count("]") for each in lines)


def test_short_statements_and_comments_stay_as_they_are() -> None:
    comment = f"// {'The loops of a kernel, ' * 9}"
    assert list(folded("    x[i] = 2;")) == ["    x[i] = 2;"]
    assert list(folded(comment)) == [comment]


# --- The device that is played -----------------------------------------------------------

KERNEL = """#include <cuda_runtime.h>
/* --- On the device --- */
__global__ void kernel(int n, double *x)
{{
    __shared__ double shared[64];
    {lines}
}}
extern "C" int run(double *x)
{{
    double *device = NULL;
    cudaMalloc((void **)&device, 64 * sizeof(double));
    cudaMemcpy(device, x, 64 * sizeof(double), cudaMemcpyHostToDevice);
    kernel<<<2, 64>>>(64, device);
    cudaMemcpy(x, device, 64 * sizeof(double), cudaMemcpyDeviceToHost);
    return cudaFree(device);
}}
"""
CALLER = """#include <stdio.h>
int run(double *x);
int main(void)
{
    double x[64], sum = 0;
    for (int i = 0; i < 64; i++) x[i] = i;
    run(x);
    for (int i = 0; i < 64; i++) sum += x[i] * (i + 1);
    printf("%g\\n", sum);
    return 0;
}
"""
COPY = "shared[threadIdx.x] = x[threadIdx.x];"
USE = "x[threadIdx.x] = shared[63 - threadIdx.x] + 0 * n;"


def test_a_barrier_lets_all_threads_see_what_one_wrote(program: Program) -> None:
    right = program.build(CALLER, {"a.cu": KERNEL.format(lines=f"{COPY} __syncthreads(); {USE}")}, "-w")
    assert program.output(right) == "87360\n"


def test_without_a_barrier_shared_memory_is_not_a_number(program: Program) -> None:
    lines = f"if (n == 0) __syncthreads(); {COPY} {USE}"
    assert "nan" in program.output(program.build(CALLER, {"a.cu": KERNEL.format(lines=lines)}, "-w"))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (f"{COPY} if (threadIdx.x < 9) __syncthreads(); {USE}", "others never reach"),
        (
            f"{COPY} if (threadIdx.x < 9)\n__syncthreads();\nelse\n__syncthreads();\n{USE}",
            "different barriers",
        ),
    ],
)
def test_a_barrier_that_threads_do_not_share_ends_the_program(
    lines: str, said: str, program: Program
) -> None:
    built = program.build(CALLER, {"a.cu": KERNEL.format(lines=lines)}, "-w")
    with pytest.raises(AssertionError, match=said):
        program.output(built)
