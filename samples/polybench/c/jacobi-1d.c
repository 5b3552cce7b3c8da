/* jacobi-1d: The mean of three neighbours in one dimension, repeated, two grids in turn.
 *
 * size    MINI (default)   SMALL  MEDIUM   LARGE
 * TSTEPS              20      40     100     500
 * N                   30     120     400    2000
 *
 * Another size: cc -O2 -DTSTEPS=500 -DN=2000 jacobi-1d.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef TSTEPS
#define TSTEPS 20
#endif
#ifndef N
#define N 30
#endif

static void kernel_jacobi_1d(int tsteps, int n, double A[restrict n], double B[restrict n])
{
    for (int t = 0; t < tsteps; t++) {
        for (int i = 1; i < n - 1; i++)
            B[i] = (A[i - 1] + A[i] + A[i + 1]) / 3.0;
        for (int i = 1; i < n - 1; i++)
            A[i] = (B[i - 1] + B[i] + B[i + 1]) / 3.0;
    }
}

static void init(int n, double A[n], double B[n])
{
    for (int i = 0; i < n; i++) {
        A[i] = (7 * i + 2) % 11 / 11.0;
        B[i] = A[i];
    }
}

static double checksum(int n, double x[n])
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += x[i] * (i % 7 + 1);
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
    double *A = allocate(sizeof(double[N]));
    double *B = allocate(sizeof(double[N]));

    init(N, A, B);
    kernel_jacobi_1d(TSTEPS, N, A, B);
    printf("jacobi-1d %.12e\n", checksum(N, A));

    free(A);
    free(B);
    return 0;
}
