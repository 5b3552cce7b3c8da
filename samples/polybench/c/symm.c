/* symm: C = alpha A B + beta C where A is symmetric and only its lower triangle is stored.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * M                 20      60     200    1000
 * N                 30      80     240    1200
 *
 * Another size: cc -O2 -DM=1000 -DN=1200 symm.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef M
#define M 20
#endif
#ifndef N
#define N 30
#endif

static void kernel_symm(int m, int n, double alpha, double beta,
                        double C[restrict m][n], double A[restrict m][m], double B[restrict m][n])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double above = 0.0;
            /* A[i][k] stands for A[k][i] too: it scatters to row k and gathers from it. */
            for (int k = 0; k < i; k++) {
                C[k][j] += alpha * A[i][k] * B[i][j];
                above += A[i][k] * B[k][j];
            }
            C[i][j] = beta * C[i][j] + alpha * A[i][i] * B[i][j] + alpha * above;
        }
}

static void init(int m, int n, double C[m][n], double A[m][m], double B[m][n])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            C[i][j] = (3 * i + 4 * j + 1) % 11 / 11.0;
            B[i][j] = (8 * i + 3 * j + 2) % 13 / 13.0;
        }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++)
            A[i][j] = j <= i ? (5 * i + 2 * j + 1) % 17 / 17.0 : -999.0; /* never read above the diagonal */
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
    double (*C)[N] = allocate(sizeof(double[M][N]));
    double (*A)[M] = allocate(sizeof(double[M][M]));
    double (*B)[N] = allocate(sizeof(double[M][N]));

    init(M, N, C, A, B);
    kernel_symm(M, N, 1.5, 1.2, C, A, B);
    printf("symm %.12e\n", checksum(M, N, C));

    free(C);
    free(A);
    free(B);
    return 0;
}
