/* cholesky: A = L L^T in place for a symmetric positive definite A; L replaces the lower triangle, row
 * by row.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * N                 40     120     400    2000
 *
 * Another size: cc -O2 -DN=2000 cholesky.c -lm
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef N
#define N 40
#endif

static void kernel_cholesky(int n, double A[n][n])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                A[i][j] -= A[i][k] * A[j][k];
            A[i][j] /= A[j][j];
        }
        for (int k = 0; k < i; k++)
            A[i][i] -= A[i][k] * A[i][k];
        A[i][i] = sqrt(A[i][i]);
    }
}

static void init(int n, double A[n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A[i][j] = i == j ? 2.0 : 1.0 / (1 + abs(i - j));
}

/* The lower triangle alone: the kernel leaves the rest as it was. */
static double checksum(int n, double A[n][n])
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            sum += A[i][j] * ((i * n + j) % 7 + 1);
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

    init(N, A);
    kernel_cholesky(N, A);
    printf("cholesky %.12e\n", checksum(N, A));

    free(A);
    return 0;
}
