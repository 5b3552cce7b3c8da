"""Surroundings of a function of a mixture (`drawn_mixtures`): its data, the functions it calls, and a program
that calls it with several sizes and prints its results."""

from __future__ import annotations

HEAD = """\
#include <stdio.h>
#include <math.h>
#define S 64
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define AT(i, j) ((i) * S + (j))
#define EACH(i, n) for (int i = 0; i < (n); i++)
#define HALF(v) (0.5 * (v))
enum { FEW = 4, LAST = 11 };
typedef double real;
typedef struct cell { double v; float w; int count; double f[FEW]; } Cell;
struct grid { int nx, ny; double *data; Cell *cells; double row[S]; struct { double sum; int hits; } told; };
static double A[S][S], B[S][S], z[S];
static float F[S], G[S];
static int idx[S], hist[S];
static unsigned bits[S];
static unsigned char bytes[S];
static const int TABLE[FEW] = {2, 0, 3, 1};
static const double WEIGHT[FEW] = {0.5, 0.25, 0.125, 0.125};

static double scale(double v, int by)
{
    return by > 2 ? 0.5 * v : v - 0.25;
}

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i] * 0.0625;
    return sum;
}

static void split(double v, double *low, int *high)
{
    *high = (int)fmod(v, 32.0);
    *low = v - 0.5 * *high;
}

static void smooth(double *a, int n)
{
    for (int i = 1; i < n; i++)
        a[i] = 0.5 * a[i] + 0.25 * a[i - 1];
}

static void fill_row(double *row, int n, double v)
{
    for (int i = 0; i < n; i++)
        row[i] = v + 0.125 * i;
}

static int last_of(int n)
{
    return n > LAST ? LAST : n - 1;
}
"""

MAIN = """
static double data[S * S], x[S], y[S], storage[S][S], v[S][S], *rows[S];
static Cell cells[S];
static struct grid g = {S, S, data, cells, {0}, {0, 0}};
static int out[S];

static void init(void)
{
    for (int i = 0; i < S; i++) {
        x[i] = i % 7 * 0.25;
        y[i] = i % 5 * 0.5;
        z[i] = i % 3 - 0.5;
        F[i] = i % 9 * 0.25f;
        G[i] = 0;
        idx[i] = i * 5 % 9;
        hist[i] = i % 4;
        out[i] = i * 3 % 11;
        bits[i] = 77u * i;
        bytes[i] = 7 * i;
        g.row[i] = 0.125 * (i % 6);
        rows[i] = storage[i];
        cells[i].v = i % 4;
        cells[i].w = 0.5f * (i % 5);
        cells[i].count = i % 3;
        for (int j = 0; j < FEW; j++)
            cells[i].f[j] = 0.25 * (i % 5 + j);
        for (int j = 0; j < S; j++) {
            A[i][j] = (3 * i + 5 * j) % 13 * 0.125;
            B[i][j] = (7 * i + 2 * j) % 11 * 0.25;
            v[i][j] = (2 * i + 3 * j) % 17 * 0.0625;
            storage[i][j] = (i + 4 * j) % 15 * 0.125;
            data[AT(i, j)] = (5 * i + j) % 19 * 0.0625;
        }
    }
    g.told.sum = 0.5;
    g.told.hits = 1;
}

/* Numbers of any size, so that equal digits are of equal worth. */
static void show(double value)
{
    printf("%.17g\\n", asinh(value));
}

/* Of single precision: another order of addition changes more. */
static void show_short(double value)
{
    printf("%.17g\\n", 1e-4 * asinh(value));
}

static double weighted(const double *values, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += (1 + i % 97) * values[i];
    return sum;
}

int main(void)
{
    static const int sizes[][2] = {{8, 11}, {5, 3}, {1, 6}, {0, 2}, {-2, -3}, {20, 17}};
    for (int k = 0; k < 6; k++) {
        init();
        show(kernel(sizes[k][0], sizes[k][1], x, y, rows, v, &g, out));
        for (int i = 0; i < S; i++) {
            show(x[i]);
            show(z[i]);
            show_short(F[i]);
            show_short(G[i]);
            show(g.row[i]);
            show(cells[i].v);
            show_short(cells[i].w);
            show(weighted(cells[i].f, FEW));
            show(weighted(A[i], S));
            show(weighted(B[i], S));
            show(weighted(v[i], S));
            show(weighted(storage[i], S));
            show(weighted(data + AT(i, 0), S));
            printf("%d %d %u %d %d\\n", hist[i], out[i], bits[i], bytes[i], cells[i].count);
        }
        show(g.told.sum);
        printf("%d\\n", g.told.hits);
    }
    return 0;
}
"""
