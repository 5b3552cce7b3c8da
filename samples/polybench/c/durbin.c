/* durbin: The Levinson-Durbin recursion: solves T y = -r for the symmetric Toeplitz matrix T with ones
 * on its diagonal and r[|i - j| - 1] off it.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * N                 40     120     400    2000
 *
 * Another size: cc -O2 -DN=2000 durbin.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef N
#define N 40
#endif

static void kernel_durbin(int n, double r[restrict n], double y[restrict n], double z[restrict n])
{
    double alpha = -r[0];
    double beta = 1.0;

    y[0] = -r[0];
    for (int k = 1; k < n; k++) {
        double sum = 0.0;
        beta = (1.0 - alpha * alpha) * beta;
        for (int i = 0; i < k; i++)
            sum += r[k - i - 1] * y[i];
        alpha = -(r[k] + sum) / beta;
        for (int i = 0; i < k; i++)
            z[i] = y[i] + alpha * y[k - i - 1];
        for (int i = 0; i < k; i++)
            y[i] = z[i];
        y[k] = alpha;
    }
}

static void init(int n, double r[n])
{
    for (int i = 0; i < n; i++)
        r[i] = 1.0 / (i + 2);
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
    double *r = allocate(sizeof(double[N]));
    double *y = allocate(sizeof(double[N]));
    double *z = allocate(sizeof(double[N]));

    init(N, r);
    kernel_durbin(N, r, y, z);
    printf("durbin %.12e\n", checksum(N, y));

    free(r);
    free(y);
    free(z);
    return 0;
}
