/* gesummv: y = alpha A x + beta B x, two matrix-vector products added.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * N                 30      90     250    1300
 *
 * Another size: cc -O2 -DN=1300 gesummv.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef N
#define N 30
#endif

static void kernel_gesummv(int n, double alpha, double beta,
                           double A[restrict n][n], double B[restrict n][n],
                           double x[restrict n], double y[restrict n])
{
    double from_a, from_b;

    for (int i = 0; i < n; i++) {
        from_a = 0.0;
        from_b = 0.0;
        for (int j = 0; j < n; j++) {
            from_a += A[i][j] * x[j];
            from_b += B[i][j] * x[j];
        }
        y[i] = alpha * from_a + beta * from_b;
    }
}

static void init(int n, double A[n][n], double B[n][n], double x[n])
{
    for (int i = 0; i < n; i++) {
        x[i] = i % 9 / 9.0;
        for (int j = 0; j < n; j++) {
            A[i][j] = (4 * i + 7 * j + 1) % 13 / 13.0;
            B[i][j] = (3 * i + 2 * j + 2) % 17 / 17.0;
        }
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
    double (*B)[N] = allocate(sizeof(double[N][N]));
    double *x = allocate(sizeof(double[N]));
    double *y = allocate(sizeof(double[N]));

    init(N, A, B, x);
    kernel_gesummv(N, 1.5, 1.2, A, B, x, y);
    printf("gesummv %.12e\n", checksum(N, y));

    free(A);
    free(B);
    free(x);
    free(y);
    return 0;
}
