#include <stdio.h>
static void f(int n, double *restrict a, double *restrict b)
{
    double t[4], s = 0;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 4; k++) t[k] = a[i] + k;
        b[i] = t[0] + t[3];
    }
    for (int k = 0; k < 4; k++) t[k] = k * b[k];
    for (int i = 0; i < n; i++) s += a[i] * t[i % 4];
    b[0] = s;
    for (int i = 0; i < n; i++) a[i] = b[i] + t[1] + s;
}
int main(void)
{
    double a[40], b[40];
    for (int i = 0; i < 40; i++) { a[i] = i; b[i] = 2 * i + 1; }
    f(40, a, b);
    double s = 0;
    for (int i = 0; i < 40; i++) s += a[i] * i + b[i];
    printf("%.12g\n", s);
}
