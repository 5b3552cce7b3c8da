/* adi: The two-dimensional heat equation by alternating directions: each time step solves a
 * tridiagonal system per column, then one per row, by elimination and back substitution. The
 * border is kept at one.
 *
 * size    MINI (default)   SMALL  MEDIUM   LARGE
 * TSTEPS              20      40     100     500
 * N                   20      60     200    1000
 *
 * Another size: cc -O2 -DTSTEPS=500 -DN=1000 adi.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef TSTEPS
#define TSTEPS 20
#endif
#ifndef N
#define N 20
#endif

static void kernel_adi(int tsteps, int n, double u[restrict n][n], double v[restrict n][n],
                       double p[restrict n][n], double q[restrict n][n])
{
    const double along = 2.0 / tsteps * n * n;  /* twice as conductive along columns as along rows */
    const double across = 1.0 / tsteps * n * n;
    const double a = -along / 2.0, b = 1.0 + along, c = a;
    const double d = -across / 2.0, e = 1.0 + across, f = d;

    for (int t = 1; t <= tsteps; t++) {
        for (int i = 1; i < n - 1; i++) {
            v[0][i] = 1.0;
            p[i][0] = 0.0;
            q[i][0] = v[0][i];
            for (int j = 1; j < n - 1; j++) {
                p[i][j] = -c / (a * p[i][j - 1] + b);
                q[i][j] = (-d * u[j][i - 1] + (1.0 + 2.0 * d) * u[j][i] - f * u[j][i + 1]
                           - a * q[i][j - 1]) / (a * p[i][j - 1] + b);
            }
            v[n - 1][i] = 1.0;
            for (int j = n - 2; j >= 1; j--)
                v[j][i] = p[i][j] * v[j + 1][i] + q[i][j];
        }
        for (int i = 1; i < n - 1; i++) {
            u[i][0] = 1.0;
            p[i][0] = 0.0;
            q[i][0] = u[i][0];
            for (int j = 1; j < n - 1; j++) {
                p[i][j] = -f / (d * p[i][j - 1] + e);
                q[i][j] = (-a * v[i - 1][j] + (1.0 + 2.0 * a) * v[i][j] - c * v[i + 1][j]
                           - d * q[i][j - 1]) / (d * p[i][j - 1] + e);
            }
            u[i][n - 1] = 1.0;
            for (int j = n - 2; j >= 1; j--)
                u[i][j] = p[i][j] * u[i][j + 1] + q[i][j];
        }
    }
}

static void init(int n, double u[n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            u[i][j] = (double)(i + n - j) / n;
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
    double (*u)[N] = allocate(sizeof(double[N][N]));
    double (*v)[N] = allocate(sizeof(double[N][N]));
    double (*p)[N] = allocate(sizeof(double[N][N]));
    double (*q)[N] = allocate(sizeof(double[N][N]));

    init(N, u);
    kernel_adi(TSTEPS, N, u, v, p, q);
    printf("adi %.12e\n", checksum(N, N, u));

    free(u);
    free(v);
    free(p);
    free(q);
    return 0;
}
