/* Loops over arrays that may not be there: a null pointer stands for none. */
#include <stdio.h>
#include <stdlib.h>

static void f_bias(int n, const float *restrict x, float *restrict y, float *restrict d)
{
    for (int i = 0; i < n; i++) {
        y[i] = 2 * x[i];
        if (d)
            d[i] += y[i];
    }
}

static void f_weighted(int n, const float *restrict x, float *restrict y, const float *restrict w, const int *restrict k)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i] * (w ? w[i] : 1.0f) + (k != NULL && k[i] > 3 ? 2 : 0);
}

static void f_neither(int n, float *restrict y, const float *restrict a, const float *restrict b)
{
    int i;
    for (i = 0; i < n; i++)
        if (!a && NULL == b)
            y[i] = 5;
        else if (a != 0)
            y[i] += a[i];
    if (i > 3)
        y[0] = (float)i;
}

static float f_sum(int n, const float *restrict x, const float *restrict w)
{
    float total = 0;
    for (int i = 0; i < n; i++)
        total += w == 0 ? x[i] : x[i] * w[i];
    return total;
}

#define GIVEN(p) ((p) != NULL)

typedef struct { int n; float *values, *weights; const int *kinds; } table;

static float half(float v) { return v / 2; }

static void f_member(table *t, const float *restrict x)
{
    for (int i = 0; i < t->n; i++)
        if (t->weights)
            t->values[i] += t->weights[i] * half(x[i]);
        else
            t->values[i] -= half(x[i]);
}

static void f_macro(const table *t, const float *restrict x, float *restrict y)
{
    for (int i = 0; i < t->n; i++)
        y[i] += (GIVEN(t->weights) ? t->weights[i] : 2.0f) * half(x[i]) + (!t->kinds ? 1 : t->kinds[i]);
}

int main(void)
{
    static const int sizes[] = {0, 1, 33, 700};
    for (int t = 0; t < 4; t++)
        for (int given = 0; given < 2; given++) {
            int n = sizes[t];
            float *x = malloc((size_t)(n + 1) * sizeof *x), *y = malloc((size_t)(n + 1) * sizeof *y);
            float *d = given ? malloc((size_t)(n + 1) * sizeof *d) : NULL;
            int *k = given ? malloc((size_t)(n + 1) * sizeof *k) : NULL;
            for (int i = 0; i <= n; i++) {
                x[i] = (float)(i % 17);
                y[i] = (float)(i % 5);
                if (given) {
                    d[i] = (float)(i % 7);
                    k[i] = i % 9;
                }
            }
            f_bias(n, x, y, d);
            f_weighted(n, x, y, d, k);
            f_neither(n, y, d, d ? x : NULL);
            table t = {n, y, d, k};
            f_member(&t, x);
            f_macro(&t, x, y);
            double total = f_sum(n, x, d);
            for (int i = 0; i <= n; i++)
                total += y[i] * (i % 13 + 1) + (given ? d[i] * (i % 11) : 0);
            printf("%d %d %.6g\n", n, given, total);
            free(x), free(y), free(d), free(k);
        }
    return 0;
}
