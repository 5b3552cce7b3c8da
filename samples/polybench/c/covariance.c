/* covariance: The covariance matrix of m variables (columns) observed n times (rows).
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * M                 28      80     240    1200
 * N                 32     100     260    1400
 *
 * Another size: cc -O2 -DM=1200 -DN=1400 covariance.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef M
#define M 28
#endif
#ifndef N
#define N 32
#endif

static void kernel_covariance(int m, int n, double data[restrict n][m],
                              double cov[restrict m][m], double mean[restrict m])
{
    for (int j = 0; j < m; j++) {
        mean[j] = 0.0;
        for (int i = 0; i < n; i++)
            mean[j] += data[i][j];
        mean[j] /= n;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            data[i][j] -= mean[j];
    for (int i = 0; i < m; i++)
        for (int j = i; j < m; j++) {
            cov[i][j] = 0.0;
            for (int k = 0; k < n; k++)
                cov[i][j] += data[k][i] * data[k][j];
            cov[i][j] /= n - 1.0;
            cov[j][i] = cov[i][j];
        }
}

static void init(int m, int n, double data[n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            data[i][j] = i * j % 13 / 13.0 + (double)i / n;
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
    double (*data)[M] = allocate(sizeof(double[N][M]));
    double (*cov)[M] = allocate(sizeof(double[M][M]));
    double *mean = allocate(sizeof(double[M]));

    init(M, N, data);
    kernel_covariance(M, N, data, cov, mean);
    printf("covariance %.12e\n", checksum(M, M, cov));

    free(data);
    free(cov);
    free(mean);
    return 0;
}
