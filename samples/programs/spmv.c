/*
 * spmv: sparse matrices in compressed rows (CSR), and conjugate gradients on
 * the five-point Laplacian of a GRID x GRID square.
 *
 * Sizes: GRID = 20, so 400 unknowns; at most MAX_ITERATIONS = 200
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef GRID
#define GRID 20
#endif
#ifndef MAX_ITERATIONS
#define MAX_ITERATIONS 200
#endif

struct csr {
    size_t rows;
    size_t *start;  /* rows + 1 offsets into column and value */
    size_t *column;
    double *value;
};

/* y = A x. The inner bounds come out of an array, the reads of x are indirect. */
static void spmv(const struct csr *a, const double *restrict x, double *restrict y)
{
    for (size_t row = 0; row < a->rows; row++) {
        double sum = 0.0;
        for (size_t k = a->start[row]; k < a->start[row + 1]; k++)
            sum += a->value[k] * x[a->column[k]];
        y[row] = sum;
    }
}

/* y = A^T x. Now it is the write that is indirect: two rows may hit one y. */
static void spmv_transposed(const struct csr *a, const double *restrict x, double *restrict y)
{
    for (size_t i = 0; i < a->rows; i++)
        y[i] = 0.0;
    for (size_t row = 0; row < a->rows; row++)
        for (size_t k = a->start[row]; k < a->start[row + 1]; k++)
            y[a->column[k]] += a->value[k] * x[row];
}

static double dot(size_t n, const double *x, const double *y)
{
    double sum = 0.0;
    while (n-- > 0)
        sum += *x++ * *y++;
    return sum;
}

static void axpy(size_t n, double alpha, const double *x, double *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] += alpha * x[i];
}

/* Solves A x = b for a symmetric positive definite A; returns the iterations taken. */
static int conjugate_gradients(const struct csr *a, const double *b, double *x,
                               double *r, double *p, double *q, double tolerance)
{
    size_t i, n = a->rows;
    double rr, rr_old, alpha;
    int iteration = 0;

    for (i = 0; i < n; i++) {
        x[i] = 0.0;
        r[i] = p[i] = b[i];
    }
    rr = dot(n, r, r);
    while (sqrt(rr) > tolerance && iteration < MAX_ITERATIONS) {
        spmv(a, p, q);
        alpha = rr / dot(n, p, q);
        axpy(n, alpha, p, x);
        axpy(n, -alpha, q, r);
        rr_old = rr;
        rr = dot(n, r, r);
        for (i = 0; i < n; i++)
            p[i] = r[i] + rr / rr_old * p[i];
        iteration++;
    }
    return iteration;
}

/* A running counter decides where each entry goes. */
static void laplacian(struct csr *a)
{
    size_t k = 0;

    for (size_t i = 0; i < GRID; i++)
        for (size_t j = 0; j < GRID; j++) {
            size_t row = i * GRID + j;
            a->start[row] = k;
            if (i > 0) { a->column[k] = row - GRID; a->value[k++] = -1.0; }
            if (j > 0) { a->column[k] = row - 1; a->value[k++] = -1.0; }
            a->column[k] = row;
            a->value[k++] = 4.0;
            if (j + 1 < GRID) { a->column[k] = row + 1; a->value[k++] = -1.0; }
            if (i + 1 < GRID) { a->column[k] = row + GRID; a->value[k++] = -1.0; }
        }
    a->start[a->rows] = k;
}

static void *xmalloc(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL)
        exit(EXIT_FAILURE);
    return memory;
}

int main(void)
{
    const size_t n = (size_t)GRID * GRID;
    struct csr a = {n, xmalloc((n + 1) * sizeof(size_t)), xmalloc(5 * n * sizeof(size_t)),
                    xmalloc(5 * n * sizeof(double))};
    double *b = xmalloc(n * sizeof *b), *x = xmalloc(n * sizeof *x), *r = xmalloc(n * sizeof *r);
    double *p = xmalloc(n * sizeof *p), *q = xmalloc(n * sizeof *q);
    double sum = 0.0;

    laplacian(&a);
    for (size_t i = 0; i < n; i++)
        b[i] = 1.0 + i % 5;
    printf("iterations %d\n", conjugate_gradients(&a, b, x, r, p, q, 1e-10));
    spmv(&a, x, q);
    axpy(n, -1.0, b, q);
    printf("residual %.12e\n", sqrt(dot(n, q, q)));
    spmv_transposed(&a, b, q);
    spmv(&a, b, r);
    axpy(n, -1.0, q, r);
    printf("asymmetry %.12e\n", sqrt(dot(n, r, r)));
    for (size_t i = 0; i < n; i++)
        sum += x[i] * (double)(i % 7 + 1);
    printf("checksum %.12e\n", sum);
    free(a.start); free(a.column); free(a.value);
    free(b); free(x); free(r); free(p); free(q);
    return 0;
}
