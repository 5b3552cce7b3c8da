/* correlation: The Pearson correlation matrix of m variables (columns) observed n times (rows).
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * M                 28      80     240    1200
 * N                 32     100     260    1400
 *
 * Another size: cc -O2 -DM=1200 -DN=1400 correlation.c -lm
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef M
#define M 28
#endif
#ifndef N
#define N 32
#endif

static void kernel_correlation(int m, int n, double data[restrict n][m], double corr[restrict m][m],
                               double mean[restrict m], double stddev[restrict m])
{
    const double smallest = 0.1;

    for (int j = 0; j < m; j++) {
        mean[j] = 0.0;
        for (int i = 0; i < n; i++)
            mean[j] += data[i][j];
        mean[j] /= n;
    }
    for (int j = 0; j < m; j++) {
        stddev[j] = 0.0;
        for (int i = 0; i < n; i++)
            stddev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
        stddev[j] = sqrt(stddev[j] / n);
        /* A constant variable would be divided by zero below. */
        stddev[j] = stddev[j] <= smallest ? 1.0 : stddev[j];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            data[i][j] -= mean[j];
            data[i][j] /= sqrt((double)n) * stddev[j];
        }
    for (int i = 0; i < m - 1; i++) {
        corr[i][i] = 1.0;
        for (int j = i + 1; j < m; j++) {
            corr[i][j] = 0.0;
            for (int k = 0; k < n; k++)
                corr[i][j] += data[k][i] * data[k][j];
            corr[j][i] = corr[i][j];
        }
    }
    corr[m - 1][m - 1] = 1.0;
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
    double (*corr)[M] = allocate(sizeof(double[M][M]));
    double *mean = allocate(sizeof(double[M]));
    double *stddev = allocate(sizeof(double[M]));

    init(M, N, data);
    kernel_correlation(M, N, data, corr, mean, stddev);
    printf("correlation %.12e\n", checksum(M, M, corr));

    free(data);
    free(corr);
    free(mean);
    free(stddev);
    return 0;
}
