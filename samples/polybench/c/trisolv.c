/* trisolv: Solves L x = b by forward substitution, L lower triangular.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * N                 40     120     400    2000
 *
 * Another size: cc -O2 -DN=2000 trisolv.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef N
#define N 40
#endif

static void kernel_trisolv(int n, double L[restrict n][n], double x[restrict n], double b[restrict n])
{
    for (int i = 0; i < n; i++) {
        x[i] = b[i];
        for (int j = 0; j < i; j++)
            x[i] -= L[i][j] * x[j];
        x[i] = x[i] / L[i][i];
    }
}

static void init(int n, double L[n][n], double b[n])
{
    for (int i = 0; i < n; i++) {
        b[i] = i % 9 + 1.0;
        for (int j = 0; j < n; j++)
            L[i][j] = j < i ? (i + n - j + 1) * 2.0 / n / n : j == i ? 2.0 : -999.0;
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
    double (*L)[N] = allocate(sizeof(double[N][N]));
    double *x = allocate(sizeof(double[N]));
    double *b = allocate(sizeof(double[N]));

    init(N, L, b);
    kernel_trisolv(N, L, x, b);
    printf("trisolv %.12e\n", checksum(N, x));

    free(L);
    free(x);
    free(b);
    return 0;
}
