/* jacobi-2d: The mean of a point and its four neighbours, repeated, two grids in turn.
 *
 * size    MINI (default)   SMALL  MEDIUM   LARGE
 * TSTEPS              20      40     100     500
 * N                   30      90     250    1300
 *
 * Another size: cc -O2 -DTSTEPS=500 -DN=1300 jacobi-2d.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef TSTEPS
#define TSTEPS 20
#endif
#ifndef N
#define N 30
#endif

/* No restrict here: each sweep is parallel only if A and B are apart. */
static void kernel_jacobi_2d(int tsteps, int n, double A[n][n], double B[n][n])
{
    for (int t = 0; t < tsteps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[i][j] = 0.2 * (B[i][j] + B[i][j - 1] + B[i][j + 1] + B[i + 1][j] + B[i - 1][j]);
    }
}

static void init(int n, double A[n][n], double B[n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A[i][j] = B[i][j] = (3 * i + 5 * j + 2) % 13 / 13.0;
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
    double (*B)[N] = allocate(sizeof(double[N][N]));

    init(N, A, B);
    kernel_jacobi_2d(TSTEPS, N, A, B);
    printf("jacobi-2d %.12e\n", checksum(N, N, A));

    free(A);
    free(B);
    return 0;
}
