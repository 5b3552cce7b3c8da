/* lu: A = L U in place without pivoting; L has ones on its diagonal, which are not stored.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * N                 40     120     400    2000
 *
 * Another size: cc -O2 -DN=2000 lu.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef N
#define N 40
#endif

static void kernel_lu(int n, double A[n][n])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                A[i][j] -= A[i][k] * A[k][j];
            A[i][j] /= A[j][j];
        }
        for (int j = i; j < n; j++)
            for (int k = 0; k < i; k++)
                A[i][j] -= A[i][k] * A[k][j];
    }
}

/* The heavy diagonal makes pivoting unnecessary. */
static void init(int n, double A[n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A[i][j] = (3 * i + 7 * j + 1) % 11 / 11.0 + (i == j ? n : 0);
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
    double (*A)[N] = allocate(sizeof(double[N][N]));

    init(N, A);
    kernel_lu(N, A);
    printf("lu %.12e\n", checksum(N, N, A));

    free(A);
    return 0;
}
