/* Loops whose headers have several counters, places that nested loops count, and sizes that a function changes. */
#include <stdio.h>
#include <stdlib.h>

static double *shared;
static int size;

static int taken(int *into, int count, int from)
{
    for (int k = 0; k < count; k++)
        into[k] = (from + k) * 7 % 31;
    size += count > 1000;
    return count;
}

static void f_mirror(int n, double *restrict a, const double *restrict b)
{
    for (int i = 0, j = n - 1; i < n; i++, j--)
        a[i] = 2 * b[j];
}

static int f_total(int n, const int *restrict g, int *restrict from)
{
    int i, sum;
    for (sum = i = 0; i < n; i++) {
        from[i] = g[i] + 1;
        sum += g[i];
    }
    return sum + i;
}

static int f_pack(int n, int ny, int nz, double *restrict to, double (*restrict a)[6][8])
{
    int m, j, k, p;
    for (p = 0, m = 1; m < n; m++)
        for (j = 1; j <= ny; j++)
            for (k = 2; k <= nz; k++, p++)
                to[p] = a[m][j][k];
    return p;
}

static void f_down(int n, double *restrict a)
{
    int i = n - 2;
    for (; i >= 0; i--)
        a[i] = 3 * a[i];
}

static long f_steps(long n, double *restrict a)
{
    long i, m = n - 3;
    for (i = 0; i < m; i += 4)
        a[i] += a[i + 1] + a[i + 3];
    for (; i < n; i++)
        a[i] -= 1;
    return i;
}

static long convert(long len, short *restrict to)
{
    int part[16], k, most = 16, count, got;
    long total = 0;
    while (len > 0) {
        count = (len >= most) ? most : (int)len;
        got = taken(part, count, (int)total);
        for (k = 0; k < count; k++)
            to[total + k] = part[k] + 1;
        total += got;
        len -= count;
    }
    return total;
}

static void f_shared(int n)
{
    int own[4];
    taken(own, 2, n);
    size = n;
    taken(own, 2, size);
    for (int i = 0; i < size; i++)
        shared[i] = shared[i] * 2 + own[1];
}

int main(void)
{
    enum { N = 70 };
    static double a[N], b[N], to[6 * 8 * 8], box[8][6][8];
    static int g[N], from[N];
    static short samples[200];
    double sum = 0;
    shared = malloc(N * sizeof *shared);
    if (shared == NULL)
        return 1;
    for (int i = 0; i < N; i++) {
        a[i] = i % 13;
        b[i] = shared[i] = 1 + i % 7;
        g[i] = i % 5;
    }
    for (int i = 0; i < 8 * 6 * 8; i++)
        (&box[0][0][0])[i] = i % 17;
    f_mirror(N, a, b);
    sum += f_total(N, g, from) + f_total(0, g, from);
    sum += f_pack(8, 5, 7, to, box) + f_pack(1, 5, 7, to, box) + f_pack(8, -3, -4, to, box);
    f_down(N, a);
    f_down(1, b);
    sum += f_steps(N, a) + f_steps(2, b);
    sum += convert(137, samples);
    f_shared(N - 3);
    for (int i = 0; i < N; i++)
        sum += (1 + i % 9) * (a[i] + b[i] + shared[i] + g[i] + from[i]);
    for (int i = 0; i < 6 * 8 * 8; i++)
        sum += (1 + i % 5) * to[i];
    for (int i = 0; i < 200; i++)
        sum += (1 + i % 4) * samples[i];
    printf("%.9e\n", sum);
    free(shared);
    return 0;
}
