/* syr2k: C = alpha (A B^T + B A^T) + beta C, the lower triangle of a symmetric rank-2m update.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * M                 20      60     200    1000
 * N                 30      80     240    1200
 *
 * Another size: cc -O2 -DM=1000 -DN=1200 syr2k.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef M
#define M 20
#endif
#ifndef N
#define N 30
#endif

static void kernel_syr2k(int m, int n, double alpha, double beta,
                         double C[restrict n][n], double A[restrict n][m], double B[restrict n][m])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++)
            C[i][j] *= beta;
        for (int k = 0; k < m; k++)
            for (int j = 0; j <= i; j++)
                C[i][j] += alpha * (A[i][k] * B[j][k] + B[i][k] * A[j][k]);
    }
}

static void init(int m, int n, double C[n][n], double A[n][m], double B[n][m])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            C[i][j] = (2 * i + 3 * j + 1) % 11 / 11.0;
        for (int k = 0; k < m; k++) {
            A[i][k] = (5 * i + 4 * k + 2) % 13 / 13.0;
            B[i][k] = (3 * i + 7 * k + 3) % 17 / 17.0;
        }
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
    double (*B)[M] = allocate(sizeof(double[N][M]));

    init(M, N, C, A, B);
    kernel_syr2k(M, N, 1.5, 1.2, C, A, B);
    printf("syr2k %.12e\n", checksum(N, C));

    free(C);
    free(A);
    free(B);
    return 0;
}
