#include <stdio.h>
static void f(int n, int t, double a[restrict n][n], double *restrict b, int *restrict len)
{
    for (int k = 0; k < t; k++) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) a[i][j] += b[j] * k;
        b[k] = a[k][k] * 0.5;
        for (int i = 1; i < n; i++) a[k][i] = a[k][i - 1] + b[i];
        for (int i = 0; i < n; i++) b[i] += a[i][k];
        b[0] -= 1;
    }
}
static void g(int n, int t, double *restrict a, double *restrict b, int *restrict len)
{
    for (int i = 0; i < n; i++) len[i] = i % 5;
    for (int k = 0; k < len[3]; k++)
        for (int i = 0; i < n; i++) a[i] += b[i];
    for (int k = 0; k < t; k++) {
        for (int i = 0; i < n; i++) a[i] += k;
        if (a[k] > 10) continue;
        b[k] += a[k];
        for (int i = 0; i < n; i++) b[i] += a[i];
    }
}
int main(void)
{
    static double a[20][20], b[20]; int len[20]; double c[20];
    for (int i = 0; i < 20; i++) { b[i] = i; c[i] = i; for (int j = 0; j < 20; j++) a[i][j] = i - j; }
    f(20, 10, a, b, len);
    g(20, 10, b, c, len);
    double s = 0;
    for (int i = 0; i < 20; i++) { s += b[i] + c[i] * i; for (int j = 0; j < 20; j++) s += a[i][j] * (i + 2 * j); }
    printf("%.12g\n", s);
}
