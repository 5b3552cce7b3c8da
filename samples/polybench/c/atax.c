/* atax: y = A^T (A x): a matrix-vector product, then one with the transpose, in one pass over A.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * M                 38     116     390    1900
 * N                 42     124     410    2100
 *
 * Another size: cc -O2 -DM=1900 -DN=2100 atax.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef M
#define M 38
#endif
#ifndef N
#define N 42
#endif

/* No restrict here: the answer depends on the four arrays being apart. */
static void kernel_atax(int m, int n, double A[m][n], double x[n], double y[n], double tmp[m])
{
    for (int j = 0; j < n; j++)
        y[j] = 0.0;
    for (int i = 0; i < m; i++) {
        tmp[i] = 0.0;
        for (int j = 0; j < n; j++)
            tmp[i] = tmp[i] + A[i][j] * x[j];
        for (int j = 0; j < n; j++)
            y[j] = y[j] + A[i][j] * tmp[i];
    }
}

static void init(int m, int n, double A[m][n], double x[n])
{
    for (int j = 0; j < n; j++)
        x[j] = 1.0 + (double)j / n;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            A[i][j] = (3 * i + 7 * j + 1) % 11 / 11.0;
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
    double (*A)[N] = allocate(sizeof(double[M][N]));
    double *x = allocate(sizeof(double[N]));
    double *y = allocate(sizeof(double[N]));
    double *tmp = allocate(sizeof(double[M]));

    init(M, N, A, x);
    kernel_atax(M, N, A, x, y, tmp);
    printf("atax %.12e\n", checksum(N, y));

    free(A);
    free(x);
    free(y);
    free(tmp);
    return 0;
}
