#include <stdio.h>
#define N 30
static double a[N], b[N];
static double twice(double x) { return 2 * x; }
static double at(const double *v, int i) { return v[i] + 1; }
static void scale(int n, double *v) { for (int i = 0; i < n; i++) v[i] *= 1.5; }
static int step(int n, double *v)
{
    int k = 0;
    while (v[0] < 100) {
        for (int i = 0; i < n; i++) v[i] = v[i] + 10;
        for (int i = 0; i < n; i++) b[i] += v[i];
        k++;
    }
    return k;
}
int main(void)
{
    for (int i = 0; i < N; i++) a[i] = i;
    for (int i = 0; i < N; i++) b[i] = twice(a[i]);
    scale(N, a);
    for (int i = 0; i < N; i++) b[i] += at(a, i);
    for (int i = 0; i < N; i++) a[i] += b[i];
    a[2] = twice(a[3]);
    for (int i = 0; i < N; i++) b[i] += a[i];
    double s = step(N, a);
    for (int i = 0; i < N; i++) s += a[i] * i + b[i] * 3;
    printf("%.12g\n", s);
}
