#include <stdio.h>
static void f(int n, double **a, double *restrict b)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) a[i][j] = b[j];
    for (int i = 0; i < n; i++) b[i] = 2 * b[i];
}
typedef struct { int n; double v[30]; } S;
static void g(S *s, S t[4])
{
    for (int i = 0; i < 30; i++) s->v[i] += 1;
    for (int i = 0; i < 4; i++) for (int j = 0; j < 30; j++) t[i].v[j] = s->v[j] * i;
    for (int i = 0; i < 4; i++) t[i].n = i;
}
int main(void)
{
    static double m[8][8]; double *r[8], b[8]; S s, t[4];
    for (int i = 0; i < 8; i++) { r[i] = m[i]; b[i] = i; }
    for (int j = 0; j < 30; j++) s.v[j] = j;
    f(8, r, b); g(&s, t);
    double x = 0;
    for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) x += m[i][j] * (i + 2 * j) + b[j];
    for (int i = 0; i < 4; i++) for (int j = 0; j < 30; j++) x += t[i].v[j] * (j + 1) + t[i].n;
    printf("%.12g\n", x);
}
