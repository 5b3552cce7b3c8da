#include <stdio.h>
static void f(int n, double *restrict a, double *restrict b)
{
    a += 5;
    for (int i = 0; i < n; i++) a[i] = b[i];
    a += 1;
    for (int i = 0; i < n; i++) a[i] += 2 * b[i];
}
int main(void)
{
    double a[40] = {1}, b[30];
    for (int i = 0; i < 30; i++) b[i] = i;
    f(30, a, b);
    double s = 0;
    for (int i = 0; i < 36; i++) s += a[i] * i;
    printf("%g\n", s);
}
