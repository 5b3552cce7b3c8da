#include <stdio.h>
#include <stdlib.h>
static double f(int n, double *restrict out)
{
    double tmp[n], *heap = malloc(n * sizeof *heap), last[10] = {0};
    for (int i = 0; i < n; i++) tmp[i] = i * 2;
    for (int i = 0; i < n; i++) heap[i] = tmp[i] + 1;
    for (int i = 0; i < 10; i++) last[i] = heap[i] + tmp[n - 1 - i];
    for (int i = 0; i < n; i++) out[i] = heap[i] * 3;
    double r = last[4];
    free(heap);
    return r;
}
int main(void)
{
    double o[40], s;
    s = f(40, o);
    for (int i = 0; i < 40; i++) s += o[i] * i;
    printf("%.12g\n", s);
}
