#include <stdio.h>
static void f(int n, double *restrict a, double *restrict b)
{
    for (int i = 0; i < n; i += 2) a[i] = b[i];
    for (int i = 1; i < n; i += 3) b[i] = a[i] + 1;
}
int main(void)
{
    double a[40], b[40];
    for (int i = 0; i < 40; i++) { a[i] = i; b[i] = 2 * i + 1; }
    f(40, a, b);
    double s = 0;
    for (int i = 0; i < 40; i++) s += a[i] * i + b[i];
    printf("%g\n", s);
}
