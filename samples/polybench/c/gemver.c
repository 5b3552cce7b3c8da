/* gemver: A' = A + u1 v1^T + u2 v2^T, x = beta A'^T y + z, w = alpha A' x: a rank-two update and two
 * matrix-vector products.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * N                 40     120     400    2000
 *
 * Another size: cc -O2 -DN=2000 gemver.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef N
#define N 40
#endif

static void kernel_gemver(int n, double alpha, double beta, double A[restrict n][n],
                          double u1[restrict n], double v1[restrict n],
                          double u2[restrict n], double v2[restrict n],
                          double w[restrict n], double x[restrict n],
                          double y[restrict n], double z[restrict n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A[i][j] = A[i][j] + u1[i] * v1[j] + u2[i] * v2[j];

    /* Walks A by columns: interchanging the two loops makes the accesses contiguous. */
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x[i] = x[i] + beta * A[j][i] * y[j];

    for (int i = 0; i < n; i++)
        x[i] = x[i] + z[i];

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            w[i] = w[i] + alpha * A[i][j] * x[j];
}

static void init(int n, double A[n][n], double u1[n], double v1[n], double u2[n], double v2[n],
                 double w[n], double x[n], double y[n], double z[n])
{
    for (int i = 0; i < n; i++) {
        u1[i] = (double)i / n;
        u2[i] = (i + 1) / 2.0 / n;
        v1[i] = (i + 1) / 4.0 / n;
        v2[i] = (i + 1) / 6.0 / n;
        y[i] = (i + 1) / 8.0 / n;
        z[i] = (i + 1) / 9.0 / n;
        x[i] = 0.0;
        w[i] = 0.0;
        for (int j = 0; j < n; j++)
            A[i][j] = (5 * i + 3 * j + 1) % 19 / 19.0;
    }
}

static double checksum(int n, double x[n])
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += x[i] * (i % 7 + 1);
    return sum;
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

int main(void)
{
    double (*A)[N] = allocate(sizeof(double[N][N]));
    double *u1 = allocate(sizeof(double[N]));
    double *v1 = allocate(sizeof(double[N]));
    double *u2 = allocate(sizeof(double[N]));
    double *v2 = allocate(sizeof(double[N]));
    double *w = allocate(sizeof(double[N]));
    double *x = allocate(sizeof(double[N]));
    double *y = allocate(sizeof(double[N]));
    double *z = allocate(sizeof(double[N]));

    init(N, A, u1, v1, u2, v2, w, x, y, z);
    kernel_gemver(N, 1.5, 1.2, A, u1, v1, u2, v2, w, x, y, z);
    printf("gemver %.12e\n", checksum(N, w) + checksum(N, x));

    free(A);
    free(u1);
    free(v1);
    free(u2);
    free(v2);
    free(w);
    free(x);
    free(y);
    free(z);
    return 0;
}
