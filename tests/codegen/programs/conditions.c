#include <stdio.h>
#define N 30
static double a[N], b[N], c[N];
static void f(int flag)
{
    for (int i = 0; i < N; i++) a[i] = i;
#ifdef NEVER
    for (int i = 0; i < N; i++) a[i] = 0;
#else
    for (int i = 0; i < N; i++) b[i] = a[i];
#endif
    if (flag) {
        for (int i = 0; i < N; i++) c[i] = b[i];
        for (int i = 0; i < N; i++) a[i] = c[i] + 1;
    } else
        for (int i = 0; i < N; i++) c[i] = 2;
    for (int i = 0; i < N; i++) b[i] += c[i];
    for (int i = 0; i < N; i++) { if (i == 7 && flag) b[i] = 1; }
    if (b[3] > 1000) return;
    int k = 3;
    for (int i = 0; i < N; i++) a[i] += k;
    for (int i = 0; i < N; i++) a[i] += b[i] + k;
    k++;
    a[k] = 1;
}
int main(void)
{
    f(1); double s = 0;
    for (int i = 0; i < N; i++) s += a[i] * i + b[i] * 3 + c[i];
    f(0);
    for (int i = 0; i < N; i++) s += a[i] * i + b[i] * 3 + c[i];
    printf("%.12g\n", s);
}
