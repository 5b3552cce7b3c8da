/* mvt: x1 = x1 + A y1 and x2 = x2 + A^T y2, two matrix-vector products that share A.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * N                 40     120     400    2000
 *
 * Another size: cc -O2 -DN=2000 mvt.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef N
#define N 40
#endif

/* No restrict here: the answer depends on x1, x2, y1, y2 and A being apart. */
static void kernel_mvt(int n, double x1[n], double x2[n], double y1[n], double y2[n], double A[n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x1[i] = x1[i] + A[i][j] * y1[j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x2[i] = x2[i] + A[j][i] * y2[j];
}

static void init(int n, double x1[n], double x2[n], double y1[n], double y2[n], double A[n][n])
{
    for (int i = 0; i < n; i++) {
        x1[i] = (double)i / n;
        x2[i] = (i + 1.0) / n;
        y1[i] = (i + 3.0) / n;
        y2[i] = (i + 4.0) / n;
        for (int j = 0; j < n; j++)
            A[i][j] = (3 * i + 5 * j + 1) % 11 / 11.0;
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
    double *x1 = allocate(sizeof(double[N]));
    double *x2 = allocate(sizeof(double[N]));
    double *y1 = allocate(sizeof(double[N]));
    double *y2 = allocate(sizeof(double[N]));
    double (*A)[N] = allocate(sizeof(double[N][N]));

    init(N, x1, x2, y1, y2, A);
    kernel_mvt(N, x1, x2, y1, y2, A);
    printf("mvt %.12e\n", checksum(N, x1) + checksum(N, x2));

    free(x1);
    free(x2);
    free(y1);
    free(y2);
    free(A);
    return 0;
}
