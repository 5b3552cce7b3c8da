/* heat-3d: The heat equation in three dimensions, explicit, seven points, two grids in turn.
 *
 * size    MINI (default)   SMALL  MEDIUM   LARGE
 * TSTEPS              20      40     100     500
 * N                   10      20      40     120
 *
 * Another size: cc -O2 -DTSTEPS=500 -DN=120 heat-3d.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef TSTEPS
#define TSTEPS 20
#endif
#ifndef N
#define N 10
#endif

static void kernel_heat_3d(double A[restrict N][N][N], double B[restrict N][N][N])
{
    for (int t = 0; t < TSTEPS; t++) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                for (int k = 1; k < N - 1; k++)
                    B[i][j][k] = 0.125 * (A[i + 1][j][k] - 2.0 * A[i][j][k] + A[i - 1][j][k])
                               + 0.125 * (A[i][j + 1][k] - 2.0 * A[i][j][k] + A[i][j - 1][k])
                               + 0.125 * (A[i][j][k + 1] - 2.0 * A[i][j][k] + A[i][j][k - 1])
                               + A[i][j][k];
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                for (int k = 1; k < N - 1; k++)
                    A[i][j][k] = 0.125 * (B[i + 1][j][k] - 2.0 * B[i][j][k] + B[i - 1][j][k])
                               + 0.125 * (B[i][j + 1][k] - 2.0 * B[i][j][k] + B[i][j - 1][k])
                               + 0.125 * (B[i][j][k + 1] - 2.0 * B[i][j][k] + B[i][j][k - 1])
                               + B[i][j][k];
    }
}

static void init(double A[N][N][N], double B[N][N][N])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                A[i][j][k] = B[i][j][k] = (i + j + (N - k)) * 10.0 / N + i * j * k % 5;
}

static double checksum(double A[N][N][N])
{
    double sum = 0.0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                sum += A[i][j][k] * (((i * N + j) * N + k) % 7 + 1);
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
    double (*A)[N][N] = allocate(sizeof(double[N][N][N]));
    double (*B)[N][N] = allocate(sizeof(double[N][N][N]));

    init(A, B);
    kernel_heat_3d(A, B);
    printf("heat-3d %.12e\n", checksum(A));

    free(A);
    free(B);
    return 0;
}
