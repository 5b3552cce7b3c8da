/* seidel-2d: The mean of a point and its eight neighbours, repeated in place (Gauss-Seidel): half of the
 * neighbours are new already.
 *
 * size    MINI (default)   SMALL  MEDIUM   LARGE
 * TSTEPS              20      40     100     500
 * N                   40     120     400    2000
 *
 * Another size: cc -O2 -DTSTEPS=500 -DN=2000 seidel-2d.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef TSTEPS
#define TSTEPS 20
#endif
#ifndef N
#define N 40
#endif

static void kernel_seidel_2d(double A[N][N])
{
    for (int t = 0; t < TSTEPS; t++)
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1]
                           + A[i][j - 1] + A[i][j] + A[i][j + 1]
                           + A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]) / 9.0;
}

static void init(double A[N][N])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            A[i][j] = (3 * i + 5 * j + 2) % 13 / 13.0;
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

    init(A);
    kernel_seidel_2d(A);
    printf("seidel-2d %.12e\n", checksum(N, N, A));

    free(A);
    return 0;
}
