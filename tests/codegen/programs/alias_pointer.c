#include <stdio.h>
static double a[50], b[50];
int main(void)
{
    double *q = a + 5;
    for (int i = 0; i < 50; i++) a[i] = i;
    for (int i = 0; i < 40; i++) q[i] *= 2;
    for (int i = 0; i < 50; i++) b[i] = a[i] + 1;
    double s = 0;
    for (int i = 0; i < 50; i++) s += b[i] * i;
    printf("%g\n", s);
}
