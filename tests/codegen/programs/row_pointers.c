#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Rows of flat arrays through pointers that each iteration sets. */
static void f_softmax(int rows, int cols, float *x)
{
    for (int r = 0; r < rows; r++) {
        float *row = x + r * cols;
        float most = row[0];
        for (int j = 1; j < cols; j++)
            if (row[j] > most)
                most = row[j];
        float sum = 0;
        for (int j = 0; j < cols; j++) {
            row[j] = expf(row[j] - most);
            sum += row[j];
        }
        for (int j = 0; j < cols; j++)
            row[j] /= sum;
    }
}

static void f_addresses(int rows, int cols, double *restrict y, const double *restrict x)
{
    for (int r = 0; r < rows; r++) {
        const double *in = &x[r * cols];
        double *out = &y[(rows - 1 - r) * cols];
        for (int j = 0; j < cols; j++)
            out[j] = 2 * in[j] + *in;
    }
}

/* Declared before the loop, and unsigned. */
static void f_declared(unsigned rows, unsigned cols, double *restrict y, const double *restrict x)
{
    const double *in;
    double *out;
    unsigned r, j;
    for (r = 0; r < rows; r++) {
        in = x + r * cols;
        out = y + (size_t)r * cols;
        for (j = 0; j < cols; j++)
            out[j] += in[cols - 1 - j];
    }
}

/* Offsets in both directions, and rows of a table. */
static void f_offsets(int n, int m, double y[n][m], const double *restrict x)
{
    for (int i = 0; i < n; i++) {
        double *to = y[i];
        const double *behind = x + (i + 1) * m - 1;
        for (int j = 0; j < m; j++)
            to[j] += behind[-j];
    }
}

/* Two depths, each with a pointer. */
static void f_planes(int n, int rows, int cols, float *restrict y, const float *restrict x)
{
    for (int p = 0; p < n; p++) {
        const float *plane = x + p * rows * cols;
        float *result = y + p * rows * cols;
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < cols; c++)
                result[r * cols + c] = plane[r * cols + c] - plane[c];
    }
}

/* Pointers into the rows of others, negative offsets, and rows as arguments. */
static void f_chained(int n, int m, double *restrict x)
{
    for (int i = 0; i < n; i++) {
        double *row = x + i * m;
        double *next = row + 1;
        for (int j = 0; j < m - 1; j++)
            next[j] += 1;
        row[0] -= 3;
    }
}

static double total(int n, const double *a)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i];
    return s;
}

static void f_totals(int n, int m, double *restrict y, const double *restrict x)
{
    for (int i = 0; i < n; i++) {
        const double *row = x + i * m;
        y[i] = total(m, row);
    }
}

/* Rows of arrays in structures, and structures themselves. */
typedef struct {
    int w, h;
    double *d;
} image;

static void f_images(image *restrict a, const image *restrict b)
{
    for (int i = 0; i < a->h; i++) {
        double *to = a->d + i * a->w;
        const double *from = b->d + i * b->w;
        for (int j = 0; j < a->w; j++)
            to[j] += 2 * from[j];
    }
}

/* The part of an image that the window of another one touches. */
static void f_blurred(image *restrict a, const image *restrict b)
{
    for (int y = 0; y < a->h; y++)
        for (int x = 0; x < a->w; x++) {
            double sum = 0;
            int count = 0;
            for (int v = y - 1; v <= y + 1; v++)
                for (int u = x - 1; u <= x + 1; u++) {
                    if (v < 0 || v >= b->h || u < 0 || u >= b->w)
                        continue;
                    sum += b->d[v * b->w + u];
                    count++;
                }
            a->d[y * a->w + x] += count > 0 ? sum / count : 1;
        }
}

typedef struct {
    double x, y;
} point;

static void f_points(int n, point *p)
{
    for (int i = 0; i < n; i++) {
        point *q = &p[i];
        q->x += 2 * q->y;
    }
}

static double sum_of(int n, const double *a)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i] * (i % 7 + 1);
    return s;
}

int main(void)
{
    static const int sizes[][2] = {{1, 1}, {2, 3}, {17, 5}, {33, 70}};
    for (int k = 0; k < 4; k++) {
        int rows = sizes[k][0], cols = sizes[k][1], n = rows * cols;
        double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
        float *u = malloc(n * sizeof *u), *v = malloc(n * sizeof *v);
        for (int i = 0; i < n; i++) {
            a[i] = i % 11 - 4;
            b[i] = i % 5;
            u[i] = (i * 7 % 13) / 8.0f;
            v[i] = 0;
        }
        f_addresses(rows, cols, b, a);
        printf("%.9g\n", sum_of(n, b));
        f_declared(rows, cols, b, a);
        printf("%.9g\n", sum_of(n, b));
        f_offsets(rows, cols, (double(*)[cols])b, a);
        printf("%.9g\n", sum_of(n, b));
        f_chained(rows, cols, b);
        printf("%.9g\n", sum_of(n, b));
        f_totals(rows, cols, b, a);
        printf("%.9g\n", sum_of(n, b));
        image one = {cols, rows, b}, two = {cols, rows, a};
        f_images(&one, &two);
        printf("%.9g\n", sum_of(n, b));
        image less = {(cols + 1) / 2, (rows + 1) / 2, a}, none = {cols, 0, a};
        f_blurred(&one, &two);
        f_blurred(&one, &less);
        f_blurred(&one, &none);
        printf("%.9g\n", sum_of(n, b));
        f_blurred(&less, &one);
        printf("%.9g\n", sum_of(n, a));
        f_points(n / 2, (point *)b);
        printf("%.9g\n", sum_of(n, b));
        f_planes(1, rows, cols, v, u);
        for (int i = 0; i < n; i++)
            a[i] = v[i];
        printf("%.6g\n", sum_of(n, a));
        f_softmax(rows, cols, u);
        for (int i = 0; i < n; i++)
            a[i] = u[i];
        printf("%.5g\n", sum_of(n, a));
        free(a);
        free(b);
        free(u);
        free(v);
    }
    return 0;
}
