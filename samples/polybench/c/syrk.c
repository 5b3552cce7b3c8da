/* syrk: C = alpha A A^T + beta C, the lower triangle of a symmetric rank-m update.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * M                 20      60     200    1000
 * N                 30      80     240    1200
 *
 * Another size: cc -O2 -DM=1000 -DN=1200 syrk.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef M
#define M 20
#endif
#ifndef N
#define N 30
#endif

/* No restrict here: whether the outer loop is parallel depends on C and A being apart. */
static void kernel_syrk(int m, int n, double alpha, double beta, double C[n][n], double A[n][m])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++)
            C[i][j] *= beta;
        for (int k = 0; k < m; k++)
            for (int j = 0; j <= i; j++)
                C[i][j] += alpha * A[i][k] * A[j][k];
    }
}

static void init(int m, int n, double C[n][n], double A[n][m])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            C[i][j] = (2 * i + 3 * j + 1) % 11 / 11.0;
        for (int k = 0; k < m; k++)
            A[i][k] = (5 * i + 4 * k + 2) % 13 / 13.0;
    }
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
    double (*C)[N] = allocate(sizeof(double[N][N]));
    double (*A)[M] = allocate(sizeof(double[N][M]));

    init(M, N, C, A);
    kernel_syrk(M, N, 1.5, 1.2, C, A);
    printf("syrk %.12e\n", checksum(N, C));

    free(C);
    free(A);
    return 0;
}
