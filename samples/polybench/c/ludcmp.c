/* ludcmp: Solves A x = b: A = L U without pivoting, then L y = b forwards and U x = y backwards.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * N                 40     120     400    2000
 *
 * Another size: cc -O2 -DN=2000 ludcmp.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef N
#define N 40
#endif

static void kernel_ludcmp(int n, double A[restrict n][n], double b[restrict n],
                          double x[restrict n], double y[restrict n])
{
    double w;

    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            w = A[i][j];
            for (int k = 0; k < j; k++)
                w -= A[i][k] * A[k][j];
            A[i][j] = w / A[j][j];
        }
        for (int j = i; j < n; j++) {
            w = A[i][j];
            for (int k = 0; k < i; k++)
                w -= A[i][k] * A[k][j];
            A[i][j] = w;
        }
    }
    for (int i = 0; i < n; i++) {
        w = b[i];
        for (int j = 0; j < i; j++)
            w -= A[i][j] * y[j];
        y[i] = w;
    }
    for (int i = n - 1; i >= 0; i--) {
        w = y[i];
        for (int j = i + 1; j < n; j++)
            w -= A[i][j] * x[j];
        x[i] = w / A[i][i];
    }
}

static void init(int n, double A[n][n], double b[n])
{
    for (int i = 0; i < n; i++) {
        b[i] = (i + 1.0) / n / 2.0 + 4.0;
        for (int j = 0; j < n; j++)
            A[i][j] = (5 * i + 3 * j + 1) % 13 / 13.0 + (i == j ? n : 0);
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
    double (*A)[N] = allocate(sizeof(double[N][N]));
    double *b = allocate(sizeof(double[N]));
    double *x = allocate(sizeof(double[N]));
    double *y = allocate(sizeof(double[N]));

    init(N, A, b);
    kernel_ludcmp(N, A, b, x, y);
    printf("ludcmp %.12e\n", checksum(N, x));

    free(A);
    free(b);
    free(x);
    free(y);
    return 0;
}
