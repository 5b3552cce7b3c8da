/* Elements that index arrays choose, no two alike: iterations set them at once. */
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int n;
    int *p, *i;
    double *x;
} sparse;

static void f_put(int n, double *restrict out, const int *restrict list, const double *restrict v)
{
    for (int i = 0; i < n; i++)
        out[list[i]] = v[i];
}

/* The element is read first, and it is another one of each row. */
static void f_rows(int n, double (*restrict out)[3], const int *restrict list, const double *restrict v)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            out[list[i]][k] = out[list[i]][k] / 2 + v[i] * k;
}

static void f_member(sparse *m, const int *restrict list, const double *restrict v, int n)
{
    for (int i = 0; i < n; i++)
        m->x[list[i]] = v[i] + 1;
}

/* What one loop scatters the next one reads, in another order. */
static void f_and_back(int n, double *restrict w, const int *restrict list, double *restrict v)
{
    for (int i = 0; i < n; i++)
        w[list[i]] = 2 * v[i];
    for (int i = 0; i < n; i++)
        v[i] = w[i] - 1;
}

/* The same elements again in each step, which may not overtake the one before. */
static void f_steps(int n, int steps, double *restrict w, const int *restrict list, const double *restrict v)
{
    for (int t = 0; t < steps; t++)
        for (int i = 0; i < n; i++)
            w[list[i]] = w[list[i]] / 3 + v[(i + t) % n];
}

/* Columns of a sparse matrix: their parts follow one another. */
static void f_columns(int n, const int *restrict p, double *restrict x, const double *restrict v)
{
    for (int j = 0; j < n; j++)
        for (int k = p[j]; k < p[j + 1]; k++)
            x[k] = v[j] - k;
}

/* Sums: elements may be the same ones, which is no matter. */
static void f_sums(int n, double *restrict x, const int *restrict p, const double *restrict v)
{
    for (int i = 0; i < n; i++)
        x[p[i]] += v[i];
}

/* A product with a sparse matrix, unless there is nothing in it. */
static void f_product(int n, const int *restrict p, const int *restrict list, const double *restrict v,
                      double *restrict y)
{
    if (p[n] == 0)
        return;
    for (int j = 0; j < n; j++)
        for (int k = p[j]; k < p[j + 1]; k++)
            y[j] += v[k] * list[k];
}

/* Extremes of elements that may be the same ones. */
static void f_largest(int n, double *restrict x, const int *restrict p, const double *restrict v)
{
    for (int i = 0; i < n; i++)
        x[p[i]] = x[p[i]] > v[i] ? x[p[i]] : v[i];
}

static void f_least(int n, int m, float *restrict x, const int *restrict p, const double *restrict v)
{
    for (int i = 0; i < n; i++)
        if (x[p[i] % m] > (float)v[i])
            x[p[i] % m] = (float)v[i];
}

static void f_last(int n, int m, int *restrict x, long *restrict y, const int *restrict p)
{
    for (int i = 0; i < n; i++)
        if (p[i] >= 0)
            x[i % m] = x[i % m] < p[i] ? p[i] : x[i % m];
    for (int i = 0; i < n; i++)
        if (y[p[i] % m] > -3 * i)
            y[p[i] % m] = -3 * i;
}

/* In order, as an element that is chosen by data is read where each iteration needs it. */
static void f_followed(int n, double *restrict out, const int *restrict list, const double *restrict v)
{
    for (int i = 0; i < n; i++)
        out[list[i]] = v[i] + out[n / 2] / 4;
}

static void shown(const char *name, int n, const double *x)
{
    double sum = 0, by = 1;
    for (int i = 0; i < n; i++, by = by > 7 ? 1 : by + 0.5)
        sum += x[i] * by;
    printf("%s %d %.10g %.10g %.10g\n", name, n, sum, n ? x[0] : 0, n ? x[n - 1] : 0);
}

static void filled(int n, double *x)
{
    for (int i = 0; i < n; i++)
        x[i] = (i * 7 + 3) % 11 - 4;
}

int main(void)
{
    int sizes[] = {1, 2, 5, 64, 257, 1500};
    for (int s = 0; s < 6; s++) {
        int n = sizes[s];
        double *v = malloc(sizeof(double) * 3 * n), *w = malloc(sizeof(double) * 3 * n);
        int *list = malloc(sizeof(int) * n), *p = malloc(sizeof(int) * (n + 1));
        sparse m = {n, p, list, w};
        int by = n % 7 ? 7 : 5;
        for (int i = 0; i < n; i++)
            list[i] = (int)((long)i * by % n);
        for (int i = 0; i <= n; i++)
            p[i] = i < 3 ? 0 : i - 2;
        filled(3 * n, v), filled(3 * n, w);
        f_put(n, w, list, v);
        shown("put", n, w);
        f_rows(n, (double (*)[3])w, list, v);
        shown("rows", 3 * n, w);
        f_member(&m, list, v, n);
        shown("member", n, w);
        f_and_back(n, w, list, v);
        shown("back", n, v);
        f_steps(n, 4, w, list, v);
        shown("steps", n, w);
        f_columns(n, p, w, v);
        shown("columns", n, w);
        f_sums(n, w, p, v);
        shown("sums", n, w);
        f_largest(n, w, p, v);
        shown("largest", n, w);
        int few = n < 5 ? n : 5;
        float f[5] = {3, 3, -3, 3, 1};
        int x[5] = {-4, 9, 0, 3, 2};
        long y[5] = {8, 1, -9, 1L << 40, -(1L << 40)};
        f_least(n, few, f, p, v);
        f_last(n, few, x, y, p);
        for (int i = 0; i < few; i++)
            printf("extremes %g %d %ld\n", f[i], x[i], y[i]);
        f_product(n, p, list, v, w);
        shown("product", n, w);
        f_followed(n, w, list, v);
        shown("followed", n, w);
        free(v), free(w), free(list), free(p);
    }
    return 0;
}
