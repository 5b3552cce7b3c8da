/* gramschmidt: A = Q R by the modified Gram-Schmidt method, column by column. There are more rows than
 * columns, so that the columns are independent.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * M                 30      80     240    1200
 * N                 20      60     200    1000
 *
 * Another size: cc -O2 -DM=1200 -DN=1000 gramschmidt.c -lm
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef M
#define M 30
#endif
#ifndef N
#define N 20
#endif

static void kernel_gramschmidt(int m, int n, double A[restrict m][n],
                               double R[restrict n][n], double Q[restrict m][n])
{
    double norm;

    for (int k = 0; k < n; k++) {
        norm = 0.0;
        for (int i = 0; i < m; i++)
            norm += A[i][k] * A[i][k];
        R[k][k] = sqrt(norm);
        for (int i = 0; i < m; i++)
            Q[i][k] = A[i][k] / R[k][k];
        for (int j = k + 1; j < n; j++) {
            R[k][j] = 0.0;
            for (int i = 0; i < m; i++)
                R[k][j] += Q[i][k] * A[i][j];
            for (int i = 0; i < m; i++)
                A[i][j] = A[i][j] - Q[i][k] * R[k][j];
        }
    }
}

static void init(int m, int n, double A[m][n], double R[n][n])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            A[i][j] = (3 * i + 5 * j + i * j % 7) % 13 / 13.0 + (i == j ? 2.0 : 0.0);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            R[i][j] = 0.0;
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
    double (*A)[N] = allocate(sizeof(double[M][N]));
    double (*R)[N] = allocate(sizeof(double[N][N]));
    double (*Q)[N] = allocate(sizeof(double[M][N]));

    init(M, N, A, R);
    kernel_gramschmidt(M, N, A, R, Q);
    printf("gramschmidt %.12e\n", checksum(N, N, R) + checksum(M, N, Q));

    free(A);
    free(R);
    free(Q);
    return 0;
}
