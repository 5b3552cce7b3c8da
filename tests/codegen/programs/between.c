#include <stdio.h>
static void f(int n, double *restrict a, double *restrict b, double *restrict c)
{
    for (int i = 0; i < n; i++) a[i] = b[i] * 2; double x = a[3], y[2] = {a[1], b[2]}; /* reads
       both */ a[4] = x + y[0]; // writes one
    for (int i = 0; i < n; i++) { c[i] = a[i] + y[1]; }
    if (c[2] > 3) a[0] = 7; else { c[1] = 5; }
    for (int i = 0; i < n; i++)
        b[i] = c[i] + a[i];
}
int main(void)
{
    double a[40], b[40], c[40];
    for (int i = 0; i < 40; i++) { a[i] = i; b[i] = 2 * i + 1; c[i] = 0; }
    f(40, a, b, c);
    double s = 0;
    for (int i = 0; i < 40; i++) s += a[i] * i + b[i] * 3 + c[i];
    printf("%g\n", s);
}
