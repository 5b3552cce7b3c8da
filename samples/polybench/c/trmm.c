/* trmm: B = alpha A^T B in place, where A is lower triangular with ones on its diagonal.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * M                 20      60     200    1000
 * N                 30      80     240    1200
 *
 * Another size: cc -O2 -DM=1000 -DN=1200 trmm.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef M
#define M 20
#endif
#ifndef N
#define N 30
#endif

static void kernel_trmm(int m, int n, double alpha, double A[restrict m][m], double B[restrict m][n])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            for (int k = i + 1; k < m; k++)
                B[i][j] += A[k][i] * B[k][j];
            B[i][j] *= alpha;
        }
}

static void init(int m, int n, double A[m][m], double B[m][n])
{
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++)
            A[i][j] = (3 * i + 5 * j + 1) % 11 / 11.0;
        for (int j = 0; j < n; j++)
            B[i][j] = (7 * i + 2 * j + 2) % 13 / 13.0;
    }
}

static double checksum(int rows, int cols, double A[rows][cols])
{
    double sum = 0.0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            sum += A[i][j] * ((i * cols + j) % 7 + 1);
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
    double (*A)[M] = allocate(sizeof(double[M][M]));
    double (*B)[N] = allocate(sizeof(double[M][N]));

    init(M, N, A, B);
    kernel_trmm(M, N, 1.5, A, B);
    printf("trmm %.12e\n", checksum(M, N, B));

    free(A);
    free(B);
    return 0;
}
