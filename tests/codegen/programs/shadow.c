#include <stdio.h>
int main(void)
{
    double a[20], b[20];
    for (int i = 0; i < 20; i++) a[i] = i;
    {
        double a[20];
        for (int i = 0; i < 20; i++) a[i] = 100 + i;
        for (int i = 0; i < 20; i++) b[i] = a[i];
    }
    for (int i = 0; i < 20; i++) b[i] += a[i];
    double s = 0;
    for (int i = 0; i < 20; i++) s += b[i] * (i + 1);
    printf("%g\n", s);
}
