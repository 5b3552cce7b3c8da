/* bicg: q = A p and s = A^T r in one pass over A, the heart of the biconjugate gradient method.
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * M                 38     116     390    1900
 * N                 42     124     410    2100
 *
 * Another size: cc -O2 -DM=1900 -DN=2100 bicg.c
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef M
#define M 38
#endif
#ifndef N
#define N 42
#endif

static void kernel_bicg(int m, int n, double A[restrict n][m], double s[restrict m],
                        double q[restrict n], double p[restrict m], double r[restrict n])
{
    int i, j;

    for (i = 0; i < m; i++)
        s[i] = 0.0;
    for (i = 0; i < n; i++) {
        q[i] = 0.0;
        for (j = 0; j < m; j++) {
            s[j] = s[j] + r[i] * A[i][j];
            q[i] = q[i] + A[i][j] * p[j];
        }
    }
}

static void init(int m, int n, double A[n][m], double p[m], double r[n])
{
    for (int j = 0; j < m; j++)
        p[j] = j % 9 / 9.0;
    for (int i = 0; i < n; i++) {
        r[i] = i % 8 / 8.0;
        for (int j = 0; j < m; j++)
            A[i][j] = (4 * i + 3 * j + 1) % 13 / 13.0;
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
    double (*A)[M] = allocate(sizeof(double[N][M]));
    double *s = allocate(sizeof(double[M]));
    double *q = allocate(sizeof(double[N]));
    double *p = allocate(sizeof(double[M]));
    double *r = allocate(sizeof(double[N]));

    init(M, N, A, p, r);
    kernel_bicg(M, N, A, s, q, p, r);
    printf("bicg %.12e\n", checksum(M, s) + checksum(N, q));

    free(A);
    free(s);
    free(q);
    free(p);
    free(r);
    return 0;
}
